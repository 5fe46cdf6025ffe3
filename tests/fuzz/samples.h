/*
 * One specimen of every message in both directions, with every field set to a value of its own and
 * no variable part empty. The unit tests send them there and back and tamper with them; the fuzz
 * corpus starts from them.
 */
#ifndef LARDER_TESTS_SAMPLES_H
#define LARDER_TESTS_SAMPLES_H

#include "roundtrip.h"
#include "wire/durable.h"
#include "wire/validate.h"

#define BYTES(literal)                                                                             \
    {                                                                                              \
        .base = (const uint8_t *)(literal), .len = sizeof(literal) - sizeof(*(literal))            \
    }

extern const struct wire_negotiate_request sample_negotiate_request;
extern const struct wire_negotiate_response sample_negotiate_response;
extern const struct wire_session_setup_request sample_session_setup_request;
extern const struct wire_session_setup_response sample_session_setup_response;
extern const struct wire_tree_connect_request sample_tree_connect_request;
extern const struct wire_tree_connect_response sample_tree_connect_response;
extern const struct wire_create_request sample_create_request;   /* without contexts */
extern const struct wire_create_response sample_create_response; /* without contexts */
extern const struct wire_close_request sample_close_request;
extern const struct wire_close_response sample_close_response;
extern const struct wire_read_request sample_read_request;
extern const struct wire_read_response sample_read_response;
extern const struct wire_write_request sample_write_request;
extern const struct wire_write_response sample_write_response;
extern const struct wire_flush_request sample_flush_request;
extern const struct wire_lock_element sample_lock_elements[2];
extern const struct wire_lock_request sample_lock_request; /* without its elements */
extern const struct wire_ioctl_request sample_ioctl_request;
extern const struct wire_ioctl_response sample_ioctl_response;
extern const struct wire_change_notify_request sample_change_notify_request;
extern const struct wire_change sample_changes[3];
extern const struct wire_set_info_request sample_set_info_request; /* its data is the rename */
extern const struct wire_rename sample_rename;
extern const struct wire_basic sample_basic;
extern const struct wire_validate_request sample_validate_request;
extern const struct wire_validate_response sample_validate_response;
extern const struct wire_zero_data sample_zero_data;
extern const struct wire_range sample_ranges[2];
extern const struct wire_copy_key sample_copy_key;
extern const struct wire_copy_chunk sample_copy_chunks[2];
extern const struct wire_copy_response sample_copy_response;
extern const struct wire_reparse sample_symlink, sample_junction, sample_lx_symlink;
extern const struct wire_lease sample_lease, sample_lease_v1;
extern const struct wire_durable_request sample_durable_request, sample_durable_request_v1;
extern const struct wire_durable_reconnect sample_durable_reconnect, sample_durable_reconnect_v1;
extern const struct wire_durable_response sample_durable_response;
void sample_create_durable_request(struct wr *w);
void sample_create_durable_response(struct wr *w);
extern const struct wire_oplock_break sample_oplock_break;
extern const struct wire_lease_break sample_lease_break;
extern const struct wire_lease_ack sample_lease_ack;
extern const struct wire_query_directory_request sample_query_directory_request;
extern const struct wire_query_info_request sample_query_info_request;
extern const struct wire_dirent sample_dirents[3];
extern const struct file_attr sample_attr; /* as FileAllInformation tells it, with a name */
extern const struct rd sample_path;
extern const struct wire_fs_size sample_fs_size;
extern const struct wire_fs_attribute sample_fs_attribute;

/* A chain of two create contexts, and one that is a lease. */
void sample_contexts_encode(struct wr *w);
void sample_lease_context_encode(struct wr *w, const struct wire_lease *lease);

/* What stands in place of a header, with some bytes behind it. */
extern const struct wire_transform sample_transform;
extern const struct wire_compression sample_compression;
extern const struct wire_compression_payload sample_payloads[3];
struct sample_envelope {
    const char *name;
    void (*encode)(struct wr *w);
    size_t least; /* fewer bytes of it are refused */
};
extern const struct sample_envelope sample_envelopes[3];

struct sample {
    const char *name; /* a file name of the corpus */
    enum direction direction;
    uint16_t command;
    uint32_t status;
    void (*encode)(struct wr *w); /* the body */
    size_t slack; /* bytes at the end that say nothing: the one byte of an empty buffer */
};
extern const struct sample samples[];
extern const size_t sample_count;

/* Header and body. */
void sample_encode(struct wr *w, const struct sample *s);
/* Several as one related compound; header and body each. */
void sample_encode_compound(struct wr *w, const struct sample *const *s, size_t count);
const struct sample *sample_find(const char *name);

#endif
