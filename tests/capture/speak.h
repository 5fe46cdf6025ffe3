/*
 * SMB2 conversations in captures: messages by wire/'s encoders, put into records and segments by
 * traffic.h.
 *
 * A record is built element by element: speak_request, speak_related and speak_response give the
 * writer for the body, and `speak` closes the compound and sends it. Responses answer the requests
 * of the record before, in their order.
 */
#ifndef LARDER_TESTS_CAPTURE_SPEAK_H
#define LARDER_TESTS_CAPTURE_SPEAK_H

#include "capture/traffic.h"
#include "secure/secure.h"
#include "wire/wire.h"

struct speaker {
    struct tcp_session tcp;
    uint64_t session_id, message_id; /* message_id: of the next request */
    uint64_t answer_id;              /* of the request that the next response answers */
    uint32_t tree_id;
    struct secure_sealer *sealer; /* borrowed; NULL: records go unencrypted. Both directions' key */
    uint8_t *record;              /* its frame header and all behind it; kept after it was sent */
    struct wr body;
    bool begun; /* an element is open */
    int side;   /* whose record it is */
    uint32_t sent_seq;
};

/* A client 10.0.0.CLIENT of 10.0.0.200. */
void speaker_init(struct speaker *s, struct capture *c, uint8_t client, uint64_t session_id);
void speaker_done(struct speaker *s);

struct wr *speak_request(struct speaker *s, uint16_t command);
/* The next request of a related compound: FileIds are WIRE_FILE_ID_RELATED. */
struct wr *speak_related(struct speaker *s, uint16_t command);
/* STATUS_PENDING is an interim response, and the request stays the one that is answered next.
 * Where the status has no body of its own, an error's was written. */
struct wr *speak_response(struct speaker *s, uint16_t command, uint32_t status);
/* The same for a request that others came after; `id` is its MessageId. */
struct wr *speak_late_response(struct speaker *s, uint16_t command, uint32_t status, uint64_t id);
/* From the client or the server: by whose the elements are. */
void speak(struct speaker *s);
/* The first segment of the record that was sent last, again. */
void speak_again(struct speaker *s);

/* Bodies that need more than a line. Paths and names in UTF-8. */
void speak_create(struct wr *body, const char *path, uint32_t access, uint32_t disposition);
void speak_created(struct wr *body, struct wire_file_id id, bool directory, uint64_t size);
void speak_query(struct wr *body, struct wire_file_id id, const char *pattern);
void speak_close(struct wr *body, struct wire_file_id id);
void speak_closed(struct wr *body);

/* From the handshake to the tree: dialect 3.0.2. */
void speak_logon(struct speaker *s, const char *share);
/* LOGOFF and the end of the connection. */
void speak_logoff(struct speaker *s);

#endif
