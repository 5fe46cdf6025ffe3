/*
 * The conversation is written once, a segment a record, and its records are taken out of that
 * capture; encryption comes afterwards. What there was to be found is counted from the records
 * themselves, by the chain of NextCommand: no code is shared with the dissector.
 */
#include "capture/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ntstatus.h"
#include "capture/speak.h"

enum {
    TURNS = 12,
    PACKET_HEADER = 16,
    FILE_HEADER = 24,
    HEADER_COUNTED = 20, /* of an SMB2 header: Command and Flags are whole */
};
static const uint8_t sealing_key[16] = "not secret: 1234";

void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "capture_cases: %s\n", what);
        exit(1);
    }
}

/* ---- the conversation ---- */

static void list(struct speaker *s, struct wire_file_id id)
{
    uint8_t buf[8192];
    struct wr output = wr_init(buf, sizeof(buf));
    size_t last = SIZE_MAX;
    for (int i = 0; i < 30; i++)
        wire_dirent_encode(&output, &last,
                           &(struct wire_dirent){.name = rd_init("f\0i\0l\0e\0" + 2 * (i % 3), 2),
                                                 .attr.size = (uint64_t)i});
    speak_create(speak_request(s, SMB2_CREATE), "dir", FILE_READ_DATA, FILE_OPEN);
    speak_query(speak_related(s, SMB2_QUERY_DIRECTORY), WIRE_FILE_ID_RELATED, "*");
    speak_query(speak_related(s, SMB2_QUERY_DIRECTORY), WIRE_FILE_ID_RELATED, "*");
    speak(s);
    speak_created(speak_response(s, SMB2_CREATE, STATUS_SUCCESS), id, true, 0);
    wire_buffer_response_encode(speak_response(s, SMB2_QUERY_DIRECTORY, STATUS_SUCCESS), buf,
                                (uint32_t)output.pos);
    speak_response(s, SMB2_QUERY_DIRECTORY, STATUS_NO_MORE_FILES);
    speak(s);
    speak_close(speak_request(s, SMB2_CLOSE), id);
    speak(s);
    speak_closed(speak_response(s, SMB2_CLOSE, STATUS_SUCCESS));
    speak(s);
}

static void read_file(struct speaker *s, struct wire_file_id id, bool slow)
{
    static uint8_t data[SCENE_READ];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i % 251);
    speak_create(speak_request(s, SMB2_CREATE), "dir/file", FILE_READ_DATA, FILE_OPEN);
    speak(s);
    speak_created(speak_response(s, SMB2_CREATE, STATUS_SUCCESS), id, false, SCENE_READ);
    speak(s);
    wire_read_request_encode(speak_request(s, SMB2_READ),
                             &(struct wire_read_request){.length = SCENE_READ, .file_id = id});
    speak(s);
    if (slow) {
        speak_response(s, SMB2_READ, STATUS_PENDING);
        speak(s);
    }
    wire_read_response_encode(speak_response(s, SMB2_READ, STATUS_SUCCESS),
                              &(struct wire_read_response){.data = rd_init(data, SCENE_READ)});
    speak(s);
    speak_close(speak_request(s, SMB2_CLOSE), id);
    speak(s);
    speak_closed(speak_response(s, SMB2_CLOSE, STATUS_SUCCESS));
    speak(s);
}

/* All of it into a capture of its own, a packet a record. */
static void converse(struct capture *c)
{
    struct speaker s;
    capture_begin(c, CAPTURE_PCAP, false, 1);
    speaker_init(&s, c, 1, SCENE_SESSION);
    s.tcp.mss = 60000;
    s.tcp.acks = false;
    speak_logon(&s, "\\\\server\\share");
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        list(&s, (struct wire_file_id){2 * turn + 1, 7});
        read_file(&s, (struct wire_file_id){2 * turn + 2, 7}, turn % 4 == 1);
    }
    speak_logoff(&s);
    speaker_done(&s);
}

static uint32_t le32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint8_t *copy(const uint8_t *data, uint32_t n)
{
    uint8_t *out = malloc(n);
    must(out, "out of memory");
    return memcpy(out, data, n);
}

/* The payloads of a capture's packets, in order. */
static void take_records(struct scene *k, const struct capture *c)
{
    for (size_t at = FILE_HEADER; at < c->len;) {
        uint32_t captured = le32(c->data + at + 8);
        const uint8_t *frame = c->data + at + PACKET_HEADER, *payload = frame + SCENE_HEADERS;
        at += PACKET_HEADER + captured;
        if (captured <= SCENE_HEADERS)
            continue;
        must(k->count < SCENE_RECORDS, "too many records");
        struct record *r = &k->record[k->count++];
        r->side = (frame[14 + 20] << 8 | frame[14 + 20 + 1]) == 445 ? SERVER : CLIENT;
        r->n = r->plain_n = r->seen = captured - SCENE_HEADERS;
        r->wire = copy(payload, r->n);
        r->plain = copy(payload, r->n);
    }
}

static void seal(struct record *r, struct secure_sealer *sealer, uint8_t number)
{
    const uint32_t n = r->plain_n + WIRE_TRANSFORM_SIZE;
    const struct wire_transform t = {
        .nonce = {number, (uint8_t)r->side},
        .original_size = r->plain_n - 4,
        .flags = 1,
        .session_id = SCENE_SESSION,
    };
    uint8_t *wire = malloc(n);
    must(wire, "out of memory");
    struct wr w = wr_init(wire, n);
    wr_zero(&w, 4);
    wire_transform_encode(&w, &t);
    wr_bytes(&w, r->plain + 4, r->plain_n - 4);
    must(wr_ok(&w) && secure_seal(sealer, wire + 4, n - 4) == 0, "cannot seal");
    free(r->wire);
    r->wire = wire;
    r->n = r->seen = n;
    record_set_length(r);
}

void record_set_length(struct record *r)
{
    r->wire[0] = 0;
    for (int byte = 0; byte < 3; byte++)
        r->wire[1 + byte] = (uint8_t)((r->n - 4) >> (16 - 8 * byte));
}

/* All behind the logon: from the TREE_CONNECT on. */
static void seal_all(struct scene *k, enum secure_cipher cipher)
{
    struct secure_sealer *sealer;
    must(secure_sealer_new(cipher, sealing_key, &sealer) == 0, "no such cipher");
    size_t first = 0;
    while (record_command(&k->record[first]) != SMB2_TREE_CONNECT)
        first++;
    for (size_t i = first; i < k->count; i++)
        seal(&k->record[i], sealer, (uint8_t)i);
    secure_sealer_free(sealer);
}

void scene_init(struct scene *k, enum secure_cipher cipher)
{
    struct capture c;
    *k = (struct scene){.times = 1, .sealed = cipher != 0};
    converse(&c);
    take_records(k, &c);
    capture_done(&c);
    if (cipher)
        seal_all(k, cipher);
    capture_begin(&k->c, CAPTURE_PCAP, false, 1);
    session_init(&k->tcp, &k->c, 1, 445);
}

void scene_done(struct scene *k)
{
    for (size_t i = 0; i < k->count; i++) {
        free(k->record[i].wire);
        free(k->record[i].plain);
    }
    capture_done(&k->c);
}

uint32_t record_command(const struct record *r)
{
    return r->plain[4 + 12];
}

bool record_is_large_read(const struct record *r)
{
    return r->side == SERVER && record_command(r) == SMB2_READ && r->plain_n > SCENE_READ;
}

/* ---- what there was to be found ---- */

struct truth {
    uint64_t sent, seen;
    uint64_t by_command[SMB2_COMMANDS][2];
};

static void count(const struct scene *k, const struct record *r, struct truth *t)
{
    for (uint32_t at = 4, next = 1; next; at += next) {
        const uint8_t *header = r->plain + at;
        next = le32(header + 20);
        t->sent += k->times;
        /* of what is encrypted one sees all or nothing */
        bool seen =
            r->n == r->plain_n || r->seen < r->n ? r->seen >= at + HEADER_COUNTED : r->seen == r->n;
        if (!seen)
            continue;
        t->seen += k->times;
        t->by_command[header[12]][header[16] & 1] += k->times;
    }
}

void scene_print(const struct scene *k, const char *name)
{
    struct truth t = {0};
    const char *between = "";
    for (size_t i = 0; i < k->count; i++)
        if (!k->record[i].before)
            count(k, &k->record[i], &t);
    printf("{\"case\": \"%s\", \"sent\": %llu, \"seen\": %llu, \"port\": %u, \"keys\": ", name,
           (unsigned long long)t.sent, (unsigned long long)t.seen, k->tcp.port[SERVER]);
    if (k->sealed) {
        printf("[\"");
        for (int i = 0; i < 8; i++)
            printf("%02x", (unsigned)(SCENE_SESSION >> 8 * i & 0xff));
        printf("\", \"");
        for (size_t i = 0; i < sizeof(sealing_key); i++)
            printf("%02x", sealing_key[i]);
        printf("\"]");
    } else {
        printf("null");
    }
    printf(", \"commands\": {");
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
        if (t.by_command[c][0] + t.by_command[c][1]) {
            printf("%s\"%s\": [%llu, %llu]", between, wire_command_name(c),
                   (unsigned long long)t.by_command[c][0], (unsigned long long)t.by_command[c][1]);
            between = ", ";
        }
    printf("}}\n");
}
