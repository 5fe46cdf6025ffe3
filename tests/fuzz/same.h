/*
 * Whether two messages say the same: every field that is on the wire, cursors by their bytes. What
 * the unit tests, the fuzz targets and the corpus replay mean by "comes back as it was sent".
 */
#ifndef LARDER_TESTS_SAME_H
#define LARDER_TESTS_SAME_H

#include "wire/durable.h"
#include "wire/validate.h"

bool same_bytes(const struct rd *a, const struct rd *b);

bool same_header(const struct wire_header *a, const struct wire_header *b);
bool same_error(const struct wire_error *a, const struct wire_error *b);
bool same_negotiate_request(const struct wire_negotiate_request *a,
                            const struct wire_negotiate_request *b);
bool same_negotiate_response(const struct wire_negotiate_response *a,
                             const struct wire_negotiate_response *b);
bool same_session_setup_request(const struct wire_session_setup_request *a,
                                const struct wire_session_setup_request *b);
bool same_session_setup_response(const struct wire_session_setup_response *a,
                                 const struct wire_session_setup_response *b);
bool same_tree_connect_request(const struct wire_tree_connect_request *a,
                               const struct wire_tree_connect_request *b);
bool same_tree_connect_response(const struct wire_tree_connect_response *a,
                                const struct wire_tree_connect_response *b);
bool same_create_context(const struct wire_create_context *a, const struct wire_create_context *b);
/* The fixed parts, the name and the create contexts as bytes. */
bool same_create_request(const struct wire_create_request *a, const struct wire_create_request *b);
bool same_create_response(const struct wire_create_response *a,
                          const struct wire_create_response *b);
bool same_close_request(const struct wire_close_request *a, const struct wire_close_request *b);
bool same_close_response(const struct wire_close_response *a, const struct wire_close_response *b);
bool same_read_request(const struct wire_read_request *a, const struct wire_read_request *b);
bool same_read_response(const struct wire_read_response *a, const struct wire_read_response *b);
bool same_write_request(const struct wire_write_request *a, const struct wire_write_request *b);
bool same_write_response(const struct wire_write_response *a, const struct wire_write_response *b);
bool same_flush_request(const struct wire_flush_request *a, const struct wire_flush_request *b);
bool same_lock_element(const struct wire_lock_element *a, const struct wire_lock_element *b);
bool same_lock_request(const struct wire_lock_request *a, const struct wire_lock_request *b);
bool same_ioctl_request(const struct wire_ioctl_request *a, const struct wire_ioctl_request *b);
bool same_ioctl_response(const struct wire_ioctl_response *a, const struct wire_ioctl_response *b);
bool same_change_notify_request(const struct wire_change_notify_request *a,
                                const struct wire_change_notify_request *b);
bool same_change(const struct wire_change *a, const struct wire_change *b);
bool same_set_info_request(const struct wire_set_info_request *a,
                           const struct wire_set_info_request *b);
bool same_rename(const struct wire_rename *a, const struct wire_rename *b);
bool same_basic(const struct wire_basic *a, const struct wire_basic *b);
bool same_zero_data(const struct wire_zero_data *a, const struct wire_zero_data *b);
bool same_range(const struct wire_range *a, const struct wire_range *b);
bool same_copy_key(const struct wire_copy_key *a, const struct wire_copy_key *b);
bool same_copy_chunk(const struct wire_copy_chunk *a, const struct wire_copy_chunk *b);
bool same_copy_request(const struct wire_copy_request *a, const struct wire_copy_request *b);
bool same_copy_response(const struct wire_copy_response *a, const struct wire_copy_response *b);
bool same_validate_request(const struct wire_validate_request *a,
                           const struct wire_validate_request *b);
bool same_validate_response(const struct wire_validate_response *a,
                            const struct wire_validate_response *b);
bool same_reparse(const struct wire_reparse *a, const struct wire_reparse *b);
bool same_lease(const struct wire_lease *a, const struct wire_lease *b);
bool same_durable_request(const struct wire_durable_request *a,
                          const struct wire_durable_request *b);
bool same_durable_reconnect(const struct wire_durable_reconnect *a,
                            const struct wire_durable_reconnect *b);
bool same_durable_response(const struct wire_durable_response *a,
                           const struct wire_durable_response *b);
bool same_oplock_break(const struct wire_oplock_break *a, const struct wire_oplock_break *b);
bool same_lease_break(const struct wire_lease_break *a, const struct wire_lease_break *b);
bool same_lease_ack(const struct wire_lease_ack *a, const struct wire_lease_ack *b);
bool same_transform(const struct wire_transform *a, const struct wire_transform *b);
bool same_compression(const struct wire_compression *a, const struct wire_compression *b);
bool same_compression_payload(const struct wire_compression_payload *a,
                              const struct wire_compression_payload *b);
bool same_query_directory_request(const struct wire_query_directory_request *a,
                                  const struct wire_query_directory_request *b);
bool same_query_info_request(const struct wire_query_info_request *a,
                             const struct wire_query_info_request *b);
bool same_buffer_response(const struct wire_buffer_response *a,
                          const struct wire_buffer_response *b);
bool same_dirent(const struct wire_dirent *a, const struct wire_dirent *b);
bool same_attr(const struct file_attr *a, const struct file_attr *b);
bool same_fs_size(const struct wire_fs_size *a, const struct wire_fs_size *b);
bool same_fs_attribute(const struct wire_fs_attribute *a, const struct wire_fs_attribute *b);

#endif
