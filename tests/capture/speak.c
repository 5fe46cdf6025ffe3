/* Messages into a buffer that begins with the room for the frame header, and for a transform's. */
#include "capture/speak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ntstatus.h"
#include "base/utf.h"

enum { RECORD_MAX = 1 << 17, NAME_MAX_BYTES = 1024 };

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "speak: %s\n", what);
        abort();
    }
}

/* ---- records ---- */

static void begin_record(struct speaker *s, int side)
{
    size_t before = WIRE_FRAME_HEADER + (s->sealer ? WIRE_TRANSFORM_SIZE : 0);
    s->body = wr_init(s->record, RECORD_MAX);
    wr_zero(&s->body, before);
    s->side = side;
    s->begun = true;
}

void speaker_init(struct speaker *s, struct capture *c, uint8_t client, uint64_t session_id)
{
    *s = (struct speaker){.session_id = session_id, .record = malloc(RECORD_MAX)};
    must(s->record, "out of memory");
    session_init(&s->tcp, c, client, 445);
}

void speaker_done(struct speaker *s)
{
    free(s->record);
}

static struct wr *element(struct speaker *s, const struct wire_header *h)
{
    if (s->begun)
        wire_element_end(&s->body, true);
    else
        begin_record(s, h->flags & SMB2_FLAGS_SERVER_TO_REDIR ? SERVER : CLIENT);
    wire_header_encode(&s->body, h);
    return &s->body;
}

struct wr *speak_request(struct speaker *s, uint16_t command)
{
    if (!s->begun)
        s->answer_id = s->message_id;
    return element(s, &(struct wire_header){.command = command,
                                            .credit_charge = 1,
                                            .credits = 64,
                                            .message_id = s->message_id++,
                                            .session_id = s->session_id,
                                            .tree_id = s->tree_id});
}

struct wr *speak_related(struct speaker *s, uint16_t command)
{
    return element(s, &(struct wire_header){.command = command,
                                            .credit_charge = 1,
                                            .credits = 64,
                                            .flags = SMB2_FLAGS_RELATED_OPERATIONS,
                                            .message_id = s->message_id++,
                                            .session_id = UINT64_MAX,
                                            .tree_id = UINT32_MAX});
}

struct wr *speak_late_response(struct speaker *s, uint16_t command, uint32_t status, uint64_t id)
{
    struct wire_header h = {
        .command = command,
        .credit_charge = 1,
        .credits = 64,
        .message_id = id,
        .status = status,
        .flags = SMB2_FLAGS_SERVER_TO_REDIR,
        .session_id = s->session_id,
        .tree_id = s->tree_id,
    };
    if (status == STATUS_PENDING || command == SMB2_CHANGE_NOTIFY) {
        h.flags |= SMB2_FLAGS_ASYNC_COMMAND;
        h.async_id = id + 1;
    }
    struct wr *body = element(s, &h);
    if (!wire_has_body(command, status))
        wire_error_encode(body, NULL, 0);
    return body;
}

struct wr *speak_response(struct speaker *s, uint16_t command, uint32_t status)
{
    return speak_late_response(s, command, status,
                               status == STATUS_PENDING ? s->answer_id : s->answer_id++);
}

static void seal(struct speaker *s)
{
    const struct wire_transform t = {.session_id = s->session_id, .flags = 1};
    struct wr head = wr_init(s->record + WIRE_FRAME_HEADER, WIRE_TRANSFORM_SIZE);
    wire_transform_encode(&head, &t);
    must(secure_seal(s->sealer, s->record + WIRE_FRAME_HEADER, s->body.pos - WIRE_FRAME_HEADER) ==
             0,
         "cannot seal");
}

void speak(struct speaker *s)
{
    must(wr_ok(&s->body) && s->begun, "no record, or one that is too large");
    size_t n = s->body.pos - WIRE_FRAME_HEADER;
    if (s->sealer)
        seal(s);
    for (int i = 0; i < WIRE_FRAME_HEADER; i++)
        s->record[i] = (uint8_t)(n >> (24 - 8 * i));
    s->sent_seq = s->tcp.seq[s->side];
    session_send(&s->tcp, s->side, s->record, s->body.pos);
    s->begun = false;
}

void speak_again(struct speaker *s)
{
    size_t n = s->body.pos < s->tcp.mss ? s->body.pos : s->tcp.mss;
    session_segment(&s->tcp, s->side, s->sent_seq, s->record, (uint32_t)n, TCP_HAS_ACK);
}

/* ---- bodies ---- */

static struct rd utf16(const char *text, uint8_t out[static NAME_MAX_BYTES])
{
    int n = utf8_to_utf16(text, strlen(text), out, NAME_MAX_BYTES);
    must(n >= 0, "a name that is too long");
    return rd_init(out, (size_t)n);
}

void speak_create(struct wr *body, const char *path, uint32_t access, uint32_t disposition)
{
    uint8_t name[NAME_MAX_BYTES];
    wire_create_request_encode(body,
                               &(struct wire_create_request){.impersonation = SMB2_IMPERSONATION,
                                                             .desired_access = access,
                                                             .share_access = FILE_SHARE_ALL,
                                                             .disposition = disposition,
                                                             .name = utf16(path, name)});
}

void speak_created(struct wr *body, struct wire_file_id id, bool directory, uint64_t size)
{
    struct wire_create_response r = {.create_action = 1, .file_id = id};
    r.attr.attributes = directory ? FILE_ATTRIBUTE_DIRECTORY : FILE_ATTRIBUTE_NORMAL;
    r.attr.size = size;
    wire_create_response_encode(body, &r);
}

void speak_query(struct wr *body, struct wire_file_id id, const char *pattern)
{
    uint8_t name[NAME_MAX_BYTES];
    wire_query_directory_request_encode(body, &(struct wire_query_directory_request){
                                                  .info_class = FILE_ID_BOTH_DIRECTORY_INFORMATION,
                                                  .file_id = id,
                                                  .pattern = utf16(pattern, name),
                                                  .output_length = 65536});
}

void speak_close(struct wr *body, struct wire_file_id id)
{
    wire_close_request_encode(body, &(struct wire_close_request){.file_id = id});
}

void speak_closed(struct wr *body)
{
    wire_close_response_encode(body, &(struct wire_close_response){0});
}

/* ---- sessions ---- */

static void negotiate(struct speaker *s)
{
    wire_negotiate_request_encode(
        speak_request(s, SMB2_NEGOTIATE),
        &(struct wire_negotiate_request){.dialect_count = 2,
                                         .dialect = {SMB2_DIALECT_210, SMB2_DIALECT_302},
                                         .security_mode = SMB2_NEGOTIATE_SIGNING_ENABLED});
    speak(s);
    wire_negotiate_response_encode(
        speak_response(s, SMB2_NEGOTIATE, STATUS_SUCCESS),
        &(struct wire_negotiate_response){.security_mode = SMB2_NEGOTIATE_SIGNING_ENABLED,
                                          .dialect = SMB2_DIALECT_302,
                                          .capabilities = SMB2_GLOBAL_CAP_LEASING |
                                                          SMB2_GLOBAL_CAP_DIRECTORY_LEASING,
                                          .max_transact = 1 << 20,
                                          .max_read = 1 << 20,
                                          .max_write = 1 << 20});
    speak(s);
}

static void connect_tree(struct speaker *s, const char *share)
{
    uint8_t name[NAME_MAX_BYTES];
    wire_tree_connect_request_encode(
        speak_request(s, SMB2_TREE_CONNECT),
        &(struct wire_tree_connect_request){.path = utf16(share, name)});
    speak(s);
    s->tree_id = 7;
    wire_tree_connect_response_encode(
        speak_response(s, SMB2_TREE_CONNECT, STATUS_SUCCESS),
        &(struct wire_tree_connect_response){.share_type = SMB2_SHARE_TYPE_DISK,
                                             .maximal_access = 0x1f01ff});
    speak(s);
}

/* The session's id goes with its first response; what is encrypted is what comes after. */
void speak_logon(struct speaker *s, const char *share)
{
    const uint64_t session_id = s->session_id;
    struct secure_sealer *sealer = s->sealer;
    s->sealer = NULL;
    s->session_id = 0;
    s->tree_id = 0;
    session_handshake(&s->tcp);
    negotiate(s);
    wire_session_setup_request_encode(speak_request(s, SMB2_SESSION_SETUP),
                                      &(struct wire_session_setup_request){.security_mode = 1});
    speak(s);
    s->session_id = session_id;
    wire_session_setup_response_encode(speak_response(s, SMB2_SESSION_SETUP, STATUS_SUCCESS),
                                       &(struct wire_session_setup_response){0});
    speak(s);
    s->sealer = sealer;
    connect_tree(s, share);
}

void speak_logoff(struct speaker *s)
{
    wire_empty_encode(speak_request(s, SMB2_LOGOFF));
    speak(s);
    wire_empty_encode(speak_response(s, SMB2_LOGOFF, STATUS_SUCCESS));
    speak(s);
    session_close(&s->tcp);
}
