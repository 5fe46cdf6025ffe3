/*
 * What every message has: the header, its place in a compound, and the body of a failure.
 *
 * A frame is what stands between two frame headers on the connection: one message, or a compound of
 * several whose headers point to the next by NextCommand. wire_frame_next cuts a frame into cursors
 * of one element each, so that a decoder cannot see its neighbours, and refuses a NextCommand that
 * does not lead to another whole header further on: the walk always moves forward by a header at
 * least.
 */
#include "base/ntstatus.h"
#include "wire/layout.h"

enum { HEADER_NEXT_COMMAND = 20 };
static const uint8_t protocol_id[4] = {0xfe, 'S', 'M', 'B'};

/* 2.2.1.1 ASYNC, 2.2.1.2 SYNC. */
void wire_header_encode(struct wr *w, const struct wire_header *h)
{
    w->origin = w->pos;
    wr_bytes(w, protocol_id, sizeof(protocol_id));
    wr_u16(w, WIRE_HEADER_SIZE);
    wr_u16(w, h->credit_charge);
    wr_u32(w, h->status);
    wr_u16(w, h->command);
    wr_u16(w, h->credits);
    wr_u32(w, h->flags);
    wr_u32(w, h->next);
    wr_u64(w, h->message_id);
    if (h->flags & SMB2_FLAGS_ASYNC_COMMAND) {
        wr_u64(w, h->async_id);
    } else {
        wr_u32(w, 0);
        wr_u32(w, h->tree_id);
    }
    wr_u64(w, h->session_id);
    wr_bytes(w, h->signature, sizeof(h->signature));
}

int wire_header_decode(struct rd *msg, struct wire_header *ret)
{
    struct wire_header h = {0};
    uint8_t protocol[sizeof(protocol_id)];

    rd_copy(msg, protocol, sizeof(protocol));
    if (memcmp(protocol, protocol_id, sizeof(protocol_id)) != 0)
        msg->bad = true;
    layout_size(msg, WIRE_HEADER_SIZE);
    h.credit_charge = rd_u16(msg);
    h.status = rd_u32(msg);
    h.command = rd_u16(msg);
    h.credits = rd_u16(msg);
    h.flags = rd_u32(msg);
    h.next = rd_u32(msg);
    h.message_id = rd_u64(msg);
    if (h.flags & SMB2_FLAGS_ASYNC_COMMAND) {
        h.async_id = rd_u64(msg);
    } else {
        rd_skip(msg, 4);
        h.tree_id = rd_u32(msg);
    }
    h.session_id = rd_u64(msg);
    rd_copy(msg, h.signature, sizeof(h.signature));

    if (!rd_ok(msg))
        return -EBADMSG;
    *ret = h;
    return 0;
}

int wire_frame_next(struct rd *frame, struct wire_header *ret, struct rd *ret_msg)
{
    if (!rd_ok(frame))
        return -EBADMSG;
    size_t left = rd_left(frame);
    if (left == 0)
        return 0;

    struct rd msg = rd_sub(frame, frame->pos, left);
    struct wire_header h;
    int r = wire_header_decode(&msg, &h);
    if (r < 0)
        goto bad;
    if (h.next) {
        if (h.next % 8 || h.next < WIRE_HEADER_SIZE || h.next > left - WIRE_HEADER_SIZE)
            goto bad;
        msg.len = h.next;
    }
    rd_skip(frame, msg.len);
    *ret = h;
    *ret_msg = msg;
    return 1;

bad:
    frame->bad = true;
    return -EBADMSG;
}

void wire_element_end(struct wr *w, bool another_follows)
{
    if (!another_follows)
        return;
    wr_align(w, 8);
    wr_put32(w, w->origin + HEADER_NEXT_COMMAND, layout_here(w));
}

/* 2.2.2 ERROR Response. */
void wire_error_encode(struct wr *w, const uint8_t *data, uint32_t len)
{
    struct rd bytes = rd_init(data, len);

    wr_u16(w, 9);
    wr_u8(w, 0); /* ErrorContextCount */
    wr_u8(w, 0); /* Reserved */
    wr_u32(w, len);
    layout_put_buffer(w, &bytes);
}

int wire_error_decode(struct rd msg, struct wire_error *ret)
{
    struct wire_error m = {0};

    layout_size(&msg, 9);
    m.context_count = rd_u8(&msg);
    rd_skip(&msg, 1); /* Reserved */
    uint32_t len = rd_u32(&msg);
    m.data = layout_buffer(&msg, msg.pos, len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 3.3.4.4, for the commands that are spoken here. An interim response is an error's body too
 * (3.3.4.2). */
bool wire_has_body(uint16_t command, uint32_t status)
{
    switch (status) {
    case (uint32_t)STATUS_MORE_PROCESSING_REQUIRED:
        return command == SMB2_SESSION_SETUP;
    case (uint32_t)STATUS_BUFFER_OVERFLOW:
        return command == SMB2_QUERY_INFO || command == SMB2_READ || command == SMB2_IOCTL;
    case STATUS_PENDING:
    case STATUS_NOTIFY_CLEANUP:
        return false;
    default:
        return status >> 31 == 0; /* success and information, NOTIFY_ENUM_DIR among them */
    }
}

const char *wire_command_name(uint16_t command)
{
    static const char *const names[SMB2_COMMANDS] = {
        [SMB2_NEGOTIATE] = "NEGOTIATE",
        [SMB2_SESSION_SETUP] = "SESSION_SETUP",
        [SMB2_LOGOFF] = "LOGOFF",
        [SMB2_TREE_CONNECT] = "TREE_CONNECT",
        [SMB2_TREE_DISCONNECT] = "TREE_DISCONNECT",
        [SMB2_CREATE] = "CREATE",
        [SMB2_CLOSE] = "CLOSE",
        [SMB2_FLUSH] = "FLUSH",
        [SMB2_READ] = "READ",
        [SMB2_WRITE] = "WRITE",
        [SMB2_LOCK] = "LOCK",
        [SMB2_IOCTL] = "IOCTL",
        [SMB2_CANCEL] = "CANCEL",
        [SMB2_ECHO] = "ECHO",
        [SMB2_QUERY_DIRECTORY] = "QUERY_DIRECTORY",
        [SMB2_CHANGE_NOTIFY] = "CHANGE_NOTIFY",
        [SMB2_QUERY_INFO] = "QUERY_INFO",
        [SMB2_SET_INFO] = "SET_INFO",
        [SMB2_OPLOCK_BREAK] = "OPLOCK_BREAK",
    };
    return command < SMB2_COMMANDS ? names[command] : "UNKNOWN";
}
