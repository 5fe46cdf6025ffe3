/*
 * Field by field, since the structs have padding and cursors point into different memory.
 */
#include "same.h"

bool same_bytes(const struct rd *a, const struct rd *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->base, b->base, a->len) == 0);
}

static bool same_file_id(struct wire_file_id a, struct wire_file_id b)
{
    return a.persistent == b.persistent && a.volatile_ == b.volatile_;
}

bool same_header(const struct wire_header *a, const struct wire_header *b)
{
    return a->credit_charge == b->credit_charge && a->status == b->status &&
           a->command == b->command && a->credits == b->credits && a->flags == b->flags &&
           a->next == b->next && a->message_id == b->message_id && a->async_id == b->async_id &&
           a->tree_id == b->tree_id && a->session_id == b->session_id &&
           memcmp(a->signature, b->signature, sizeof(a->signature)) == 0;
}

bool same_error(const struct wire_error *a, const struct wire_error *b)
{
    return a->context_count == b->context_count && same_bytes(&a->data, &b->data);
}

static bool same_ids(uint16_t a_count, const uint16_t *a, uint16_t b_count, const uint16_t *b)
{
    return a_count == b_count && memcmp(a, b, a_count * sizeof(*a)) == 0;
}

/* Contexts of unknown types are counted when decoded, but cannot be sent: they are not compared. */
static bool same_contexts(const struct wire_negotiate_contexts *a,
                          const struct wire_negotiate_contexts *b)
{
    return same_ids(a->preauth_count, a->preauth, b->preauth_count, b->preauth) &&
           a->salt_len == b->salt_len && memcmp(a->salt, b->salt, a->salt_len) == 0 &&
           same_ids(a->cipher_count, a->cipher, b->cipher_count, b->cipher) &&
           same_ids(a->signing_count, a->signing, b->signing_count, b->signing);
}

bool same_negotiate_request(const struct wire_negotiate_request *a,
                            const struct wire_negotiate_request *b)
{
    return same_ids(a->dialect_count, a->dialect, b->dialect_count, b->dialect) &&
           a->security_mode == b->security_mode && a->capabilities == b->capabilities &&
           memcmp(a->client_guid, b->client_guid, sizeof(a->client_guid)) == 0 &&
           same_contexts(&a->contexts, &b->contexts);
}

bool same_negotiate_response(const struct wire_negotiate_response *a,
                             const struct wire_negotiate_response *b)
{
    return a->security_mode == b->security_mode && a->dialect == b->dialect &&
           memcmp(a->server_guid, b->server_guid, sizeof(a->server_guid)) == 0 &&
           a->capabilities == b->capabilities && a->max_transact == b->max_transact &&
           a->max_read == b->max_read && a->max_write == b->max_write &&
           a->system_time == b->system_time && a->start_time == b->start_time &&
           same_bytes(&a->token, &b->token) && same_contexts(&a->contexts, &b->contexts);
}

bool same_session_setup_request(const struct wire_session_setup_request *a,
                                const struct wire_session_setup_request *b)
{
    return a->flags == b->flags && a->security_mode == b->security_mode &&
           a->capabilities == b->capabilities && a->previous_session_id == b->previous_session_id &&
           same_bytes(&a->token, &b->token);
}

bool same_session_setup_response(const struct wire_session_setup_response *a,
                                 const struct wire_session_setup_response *b)
{
    return a->session_flags == b->session_flags && same_bytes(&a->token, &b->token);
}

bool same_tree_connect_request(const struct wire_tree_connect_request *a,
                               const struct wire_tree_connect_request *b)
{
    return a->flags == b->flags && same_bytes(&a->path, &b->path);
}

bool same_tree_connect_response(const struct wire_tree_connect_response *a,
                                const struct wire_tree_connect_response *b)
{
    return a->share_type == b->share_type && a->share_flags == b->share_flags &&
           a->capabilities == b->capabilities && a->maximal_access == b->maximal_access;
}

bool same_create_context(const struct wire_create_context *a, const struct wire_create_context *b)
{
    return same_bytes(&a->name, &b->name) && same_bytes(&a->data, &b->data);
}

bool same_create_request(const struct wire_create_request *a, const struct wire_create_request *b)
{
    return a->oplock_level == b->oplock_level && a->impersonation == b->impersonation &&
           a->desired_access == b->desired_access && a->file_attributes == b->file_attributes &&
           a->share_access == b->share_access && a->disposition == b->disposition &&
           a->options == b->options && same_bytes(&a->name, &b->name) &&
           same_bytes(&a->contexts, &b->contexts);
}

bool same_create_response(const struct wire_create_response *a,
                          const struct wire_create_response *b)
{
    return a->oplock_level == b->oplock_level && a->flags == b->flags &&
           a->create_action == b->create_action && same_attr(&a->attr, &b->attr) &&
           same_file_id(a->file_id, b->file_id) && same_bytes(&a->contexts, &b->contexts);
}

bool same_close_request(const struct wire_close_request *a, const struct wire_close_request *b)
{
    return a->flags == b->flags && same_file_id(a->file_id, b->file_id);
}

bool same_close_response(const struct wire_close_response *a, const struct wire_close_response *b)
{
    return a->flags == b->flags && same_attr(&a->attr, &b->attr);
}

bool same_read_request(const struct wire_read_request *a, const struct wire_read_request *b)
{
    return a->length == b->length && a->offset == b->offset &&
           same_file_id(a->file_id, b->file_id) && a->minimum_count == b->minimum_count &&
           a->remaining == b->remaining;
}

bool same_read_response(const struct wire_read_response *a, const struct wire_read_response *b)
{
    return a->remaining == b->remaining && same_bytes(&a->data, &b->data);
}

bool same_write_request(const struct wire_write_request *a, const struct wire_write_request *b)
{
    return a->offset == b->offset && same_file_id(a->file_id, b->file_id) &&
           a->remaining == b->remaining && a->flags == b->flags && same_bytes(&a->data, &b->data);
}

bool same_write_response(const struct wire_write_response *a, const struct wire_write_response *b)
{
    return a->count == b->count;
}

bool same_flush_request(const struct wire_flush_request *a, const struct wire_flush_request *b)
{
    return same_file_id(a->file_id, b->file_id);
}

bool same_lock_element(const struct wire_lock_element *a, const struct wire_lock_element *b)
{
    return a->offset == b->offset && a->length == b->length && a->flags == b->flags;
}

/* The elements' reserved bytes are part of the cursor: they are compared one by one elsewhere. */
bool same_lock_request(const struct wire_lock_request *a, const struct wire_lock_request *b)
{
    return a->sequence == b->sequence && same_file_id(a->file_id, b->file_id) &&
           same_bytes(&a->locks, &b->locks);
}

bool same_ioctl_request(const struct wire_ioctl_request *a, const struct wire_ioctl_request *b)
{
    return a->code == b->code && same_file_id(a->file_id, b->file_id) &&
           same_bytes(&a->input, &b->input) && a->max_input == b->max_input &&
           a->max_output == b->max_output && a->flags == b->flags;
}

bool same_ioctl_response(const struct wire_ioctl_response *a, const struct wire_ioctl_response *b)
{
    return a->code == b->code && same_file_id(a->file_id, b->file_id) &&
           same_bytes(&a->input, &b->input) && same_bytes(&a->output, &b->output);
}

bool same_change_notify_request(const struct wire_change_notify_request *a,
                                const struct wire_change_notify_request *b)
{
    return a->flags == b->flags && a->output_length == b->output_length &&
           same_file_id(a->file_id, b->file_id) && a->filter == b->filter;
}

bool same_change(const struct wire_change *a, const struct wire_change *b)
{
    return a->action == b->action && same_bytes(&a->name, &b->name);
}

bool same_set_info_request(const struct wire_set_info_request *a,
                           const struct wire_set_info_request *b)
{
    return a->info_type == b->info_type && a->info_class == b->info_class &&
           a->additional == b->additional && same_file_id(a->file_id, b->file_id) &&
           same_bytes(&a->data, &b->data);
}

bool same_rename(const struct wire_rename *a, const struct wire_rename *b)
{
    return a->replace == b->replace && same_bytes(&a->name, &b->name);
}

bool same_basic(const struct wire_basic *a, const struct wire_basic *b)
{
    return a->created == b->created && a->accessed == b->accessed && a->written == b->written &&
           a->changed == b->changed && a->attributes == b->attributes;
}

bool same_validate_request(const struct wire_validate_request *a,
                           const struct wire_validate_request *b)
{
    return a->capabilities == b->capabilities && a->security_mode == b->security_mode &&
           memcmp(a->guid, b->guid, sizeof(a->guid)) == 0 &&
           same_ids(a->dialect_count, a->dialect, b->dialect_count, b->dialect);
}

bool same_validate_response(const struct wire_validate_response *a,
                            const struct wire_validate_response *b)
{
    return a->capabilities == b->capabilities && a->security_mode == b->security_mode &&
           a->dialect == b->dialect && memcmp(a->guid, b->guid, sizeof(a->guid)) == 0;
}

bool same_zero_data(const struct wire_zero_data *a, const struct wire_zero_data *b)
{
    return a->offset == b->offset && a->beyond == b->beyond;
}

bool same_range(const struct wire_range *a, const struct wire_range *b)
{
    return a->offset == b->offset && a->length == b->length;
}

bool same_copy_key(const struct wire_copy_key *a, const struct wire_copy_key *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool same_copy_chunk(const struct wire_copy_chunk *a, const struct wire_copy_chunk *b)
{
    return a->source == b->source && a->target == b->target && a->length == b->length;
}

/* The chunks are compared one by one: they have reserved bytes. */
bool same_copy_request(const struct wire_copy_request *a, const struct wire_copy_request *b)
{
    return same_copy_key(&a->source, &b->source) && a->chunks.len == b->chunks.len;
}

bool same_copy_response(const struct wire_copy_response *a, const struct wire_copy_response *b)
{
    return a->chunks == b->chunks && a->chunk_bytes == b->chunk_bytes &&
           a->total_bytes == b->total_bytes;
}

bool same_reparse(const struct wire_reparse *a, const struct wire_reparse *b)
{
    return a->tag == b->tag && a->relative == b->relative &&
           same_bytes(&a->substitute, &b->substitute) && same_bytes(&a->print, &b->print) &&
           same_bytes(&a->data, &b->data);
}

bool same_lease(const struct wire_lease *a, const struct wire_lease *b)
{
    return a->version == b->version && memcmp(a->key, b->key, sizeof(a->key)) == 0 &&
           a->state == b->state && a->flags == b->flags &&
           memcmp(a->parent_key, b->parent_key, sizeof(a->parent_key)) == 0 && a->epoch == b->epoch;
}

bool same_durable_request(const struct wire_durable_request *a,
                          const struct wire_durable_request *b)
{
    return a->version == b->version && a->timeout == b->timeout && a->flags == b->flags &&
           memcmp(a->guid, b->guid, sizeof(a->guid)) == 0;
}

bool same_durable_reconnect(const struct wire_durable_reconnect *a,
                            const struct wire_durable_reconnect *b)
{
    return a->version == b->version && same_file_id(a->file_id, b->file_id) &&
           memcmp(a->guid, b->guid, sizeof(a->guid)) == 0 && a->flags == b->flags;
}

bool same_durable_response(const struct wire_durable_response *a,
                           const struct wire_durable_response *b)
{
    return a->timeout == b->timeout && a->flags == b->flags;
}

bool same_oplock_break(const struct wire_oplock_break *a, const struct wire_oplock_break *b)
{
    return a->level == b->level && same_file_id(a->file_id, b->file_id);
}

bool same_lease_break(const struct wire_lease_break *a, const struct wire_lease_break *b)
{
    return a->epoch == b->epoch && a->flags == b->flags &&
           memcmp(a->key, b->key, sizeof(a->key)) == 0 && a->current_state == b->current_state &&
           a->new_state == b->new_state;
}

bool same_lease_ack(const struct wire_lease_ack *a, const struct wire_lease_ack *b)
{
    return a->flags == b->flags && memcmp(a->key, b->key, sizeof(a->key)) == 0 &&
           a->state == b->state;
}

bool same_transform(const struct wire_transform *a, const struct wire_transform *b)
{
    return memcmp(a->signature, b->signature, sizeof(a->signature)) == 0 &&
           memcmp(a->nonce, b->nonce, sizeof(a->nonce)) == 0 &&
           a->original_size == b->original_size && a->flags == b->flags &&
           a->session_id == b->session_id;
}

bool same_compression(const struct wire_compression *a, const struct wire_compression *b)
{
    return a->original_size == b->original_size && a->chained == b->chained &&
           a->algorithm == b->algorithm && a->offset == b->offset;
}

bool same_compression_payload(const struct wire_compression_payload *a,
                              const struct wire_compression_payload *b)
{
    return a->algorithm == b->algorithm && a->original_size == b->original_size &&
           same_bytes(&a->data, &b->data);
}

bool same_query_directory_request(const struct wire_query_directory_request *a,
                                  const struct wire_query_directory_request *b)
{
    return a->info_class == b->info_class && a->flags == b->flags &&
           a->file_index == b->file_index && same_file_id(a->file_id, b->file_id) &&
           same_bytes(&a->pattern, &b->pattern) && a->output_length == b->output_length;
}

bool same_query_info_request(const struct wire_query_info_request *a,
                             const struct wire_query_info_request *b)
{
    return a->info_type == b->info_type && a->info_class == b->info_class &&
           a->output_length == b->output_length && a->additional == b->additional &&
           a->flags == b->flags && same_file_id(a->file_id, b->file_id);
}

bool same_buffer_response(const struct wire_buffer_response *a,
                          const struct wire_buffer_response *b)
{
    return same_bytes(&a->output, &b->output);
}

bool same_dirent(const struct wire_dirent *a, const struct wire_dirent *b)
{
    return same_attr(&a->attr, &b->attr) && same_bytes(&a->name, &b->name) &&
           same_bytes(&a->short_name, &b->short_name) && a->file_index == b->file_index;
}

bool same_attr(const struct file_attr *a, const struct file_attr *b)
{
    return a->id == b->id && a->attributes == b->attributes && a->reparse_tag == b->reparse_tag &&
           a->links == b->links && a->unlinked == b->unlinked && a->size == b->size &&
           a->allocated == b->allocated && a->created == b->created && a->accessed == b->accessed &&
           a->written == b->written && a->changed == b->changed;
}

bool same_fs_size(const struct wire_fs_size *a, const struct wire_fs_size *b)
{
    return a->total_units == b->total_units && a->caller_free_units == b->caller_free_units &&
           a->actual_free_units == b->actual_free_units &&
           a->sectors_per_unit == b->sectors_per_unit && a->bytes_per_sector == b->bytes_per_sector;
}

bool same_fs_attribute(const struct wire_fs_attribute *a, const struct wire_fs_attribute *b)
{
    return a->attributes == b->attributes && a->max_component == b->max_component &&
           same_bytes(&a->name, &b->name);
}
