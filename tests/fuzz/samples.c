/*
 * The table at the end is what the tests walk; the values above it are chosen so that no two fields
 * of a message agree, which is how a pair of swapped fields shows.
 */
#include "samples.h"

#include "base/ntstatus.h"

#define FILE_ID                                                                                    \
    {                                                                                              \
        0x0102030405060708, 0x1112131415161718                                                     \
    }
#define TIMES                                                                                      \
    .created = 133000000000000001, .accessed = 133000000000000002, .written = 133000000000000003,  \
    .changed = 133000000000000004

const struct wire_negotiate_request sample_negotiate_request = {
    .dialect_count = 5,
    .dialect = {SMB2_DIALECT_202, SMB2_DIALECT_210, SMB2_DIALECT_300, SMB2_DIALECT_302,
                SMB2_DIALECT_311},
    .security_mode = SMB2_NEGOTIATE_SIGNING_ENABLED,
    .capabilities = SMB2_GLOBAL_CAP_LEASING | SMB2_GLOBAL_CAP_LARGE_MTU,
    .client_guid = "larder-client-id",
    .contexts = {.preauth_count = 1,
                 .preauth = {SMB2_PREAUTH_SHA512},
                 .salt_len = 32,
                 .salt = "0123456789abcdef0123456789ABCDEF",
                 .cipher_count = 2,
                 .cipher = {SMB2_CIPHER_AES128_GCM, SMB2_CIPHER_AES128_CCM},
                 .signing_count = 3,
                 .signing = {SMB2_SIGNING_AES_GMAC, SMB2_SIGNING_AES_CMAC,
                             SMB2_SIGNING_HMAC_SHA256}},
};

const struct wire_negotiate_response sample_negotiate_response = {
    .security_mode = SMB2_NEGOTIATE_SIGNING_ENABLED | SMB2_NEGOTIATE_SIGNING_REQUIRED,
    .dialect = SMB2_DIALECT_311,
    .server_guid = "larder-server-id",
    .capabilities = SMB2_GLOBAL_CAP_DFS | SMB2_GLOBAL_CAP_LEASING,
    .max_transact = 0x100000,
    .max_read = 0x200000,
    .max_write = 0x300000,
    .system_time = 133000000000000005,
    .start_time = 133000000000000006,
    .token = BYTES("a token that GSSAPI would know"),
    .contexts = {.preauth_count = 1,
                 .preauth = {SMB2_PREAUTH_SHA512},
                 .salt_len = 5,
                 .salt = "salty",
                 .cipher_count = 1,
                 .cipher = {SMB2_CIPHER_AES256_GCM},
                 .signing_count = 1,
                 .signing = {SMB2_SIGNING_AES_CMAC}},
};

const struct wire_session_setup_request sample_session_setup_request = {
    .flags = 1,
    .security_mode = SMB2_NEGOTIATE_SIGNING_REQUIRED,
    .capabilities = SMB2_GLOBAL_CAP_DFS,
    .previous_session_id = 0x2122232425262728,
    .token = BYTES("NTLMSSP and so on"),
};

const struct wire_session_setup_response sample_session_setup_response = {
    .session_flags = SMB2_SESSION_FLAG_IS_GUEST,
    .token = BYTES("a challenge"),
};

const struct wire_tree_connect_request sample_tree_connect_request = {
    .flags = 2,
    .path = BYTES(u"\\\\server\\share"),
};

const struct wire_tree_connect_response sample_tree_connect_response = {
    .share_type = SMB2_SHARE_TYPE_DISK,
    .share_flags = 0x800,
    .capabilities = 0x10,
    .maximal_access = 0x001f01ff,
};

const struct wire_create_request sample_create_request = {
    .oplock_level = 0xff,
    .impersonation = SMB2_IMPERSONATION,
    .desired_access = FILE_READ_ATTRIBUTES | ACCESS_SYNCHRONIZE,
    .file_attributes = FILE_ATTRIBUTE_NORMAL,
    .share_access = FILE_SHARE_ALL,
    .disposition = FILE_OPEN,
    .options = FILE_OPEN_REPARSE_POINT,
    .name = BYTES(u"lib\\sympy\\core\\basic.py"),
};

const struct wire_create_response sample_create_response = {
    .oplock_level = 8,
    .flags = 1,
    .create_action = 2,
    .attr = {TIMES, .size = 4097, .allocated = 8192,
             .attributes = FILE_ATTRIBUTE_ARCHIVE | FILE_ATTRIBUTE_READONLY},
    .file_id = FILE_ID,
};

const struct wire_close_request sample_close_request = {
    .flags = SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB,
    .file_id = FILE_ID,
};

const struct wire_close_response sample_close_response = {
    .flags = SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB,
    .attr = {TIMES, .size = 5, .allocated = 4096, .attributes = FILE_ATTRIBUTE_HIDDEN},
};

const struct wire_read_request sample_read_request = {
    .length = 65536,
    .offset = 0x3132333435363738,
    .file_id = FILE_ID,
    .minimum_count = 1,
    .remaining = 7,
};

const struct wire_read_response sample_read_response = {
    .remaining = 9,
    .data = BYTES("print('hello from a share')\n"),
};

const struct wire_write_request sample_write_request = {
    .offset = 0x4142434445464748,
    .file_id = FILE_ID,
    .remaining = 17,
    .flags = SMB2_WRITEFLAG_WRITE_THROUGH,
    .data = BYTES("what is written"),
};

const struct wire_write_response sample_write_response = {.count = 15};

const struct wire_flush_request sample_flush_request = {.file_id = FILE_ID};

const struct wire_lock_element sample_lock_elements[2] = {
    {.offset = 18, .length = 19, .flags = SMB2_LOCKFLAG_SHARED_LOCK},
    {.offset = 0x5152535455565758,
     .length = UINT64_MAX,
     .flags = SMB2_LOCKFLAG_EXCLUSIVE_LOCK | SMB2_LOCKFLAG_FAIL_IMMEDIATELY},
};

const struct wire_lock_request sample_lock_request = {.sequence = 0x21, .file_id = FILE_ID};

const struct wire_ioctl_request sample_ioctl_request = {
    .code = FSCTL_VALIDATE_NEGOTIATE_INFO,
    .file_id = {UINT64_MAX, UINT64_MAX},
    .input = BYTES("what we said when we negotiated"),
    .max_input = 20,
    .max_output = 24,
    .flags = SMB2_0_IOCTL_IS_FSCTL,
};

const struct wire_ioctl_response sample_ioctl_response = {
    .code = FSCTL_PIPE_TRANSCEIVE,
    .file_id = FILE_ID,
    .input = BYTES("passed on"),
    .output = BYTES("the answer of a pipe"),
};

const struct wire_change_notify_request sample_change_notify_request = {
    .flags = SMB2_WATCH_TREE,
    .output_length = 4096,
    .file_id = FILE_ID,
    .filter = FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_SIZE,
};

const struct wire_change sample_changes[3] = {
    {.action = FILE_ACTION_ADDED, .name = BYTES(u"lib\\new.py")},
    {.action = FILE_ACTION_RENAMED_OLD_NAME, .name = BYTES(u"a")},
    {.action = FILE_ACTION_RENAMED_NEW_NAME, .name = BYTES(u"b")},
};

const struct wire_rename sample_rename = {.replace = true, .name = BYTES(u"lib\\other.py")};

const struct wire_basic sample_basic = {
    .created = 133000000000000021,
    .accessed = 133000000000000022,
    .written = 133000000000000023,
    .changed = 133000000000000024,
    .attributes = FILE_ATTRIBUTE_HIDDEN | FILE_ATTRIBUTE_ARCHIVE,
};

const struct wire_validate_request sample_validate_request = {
    .capabilities = 0x7f,
    .guid = "the client's id",
    .security_mode = SMB2_NEGOTIATE_SIGNING_ENABLED,
    .dialect_count = 3,
    .dialect = {SMB2_DIALECT_202, SMB2_DIALECT_210, SMB2_DIALECT_300},
};
const struct wire_validate_response sample_validate_response = {
    .capabilities = 0x46,
    .guid = "the server's id",
    .security_mode = SMB2_NEGOTIATE_SIGNING_ENABLED,
    .dialect = SMB2_DIALECT_300,
};
const struct wire_zero_data sample_zero_data = {.offset = 4096, .beyond = 0x6162636465666768};

const struct wire_range sample_ranges[2] = {
    {.offset = 65536, .length = 131072},
    {.offset = 0x4152535455565758, .length = 1},
};

const struct wire_copy_key sample_copy_key = {"a key of some 24 bytes.."};

const struct wire_copy_chunk sample_copy_chunks[2] = {
    {.source = 101, .target = 102, .length = 103},
    {.source = 0x2122232425262728, .target = 0x3132333435363738, .length = 0x41424344},
};

const struct wire_copy_response sample_copy_response = {
    .chunks = 256, .chunk_bytes = 1048576, .total_bytes = 16777216};

const struct wire_reparse sample_symlink = {
    .tag = IO_REPARSE_TAG_SYMLINK,
    .relative = true,
    .substitute = BYTES(u"..\\lib\\real"),
    .print = BYTES(u"real"),
};

const struct wire_reparse sample_junction = {
    .tag = IO_REPARSE_TAG_MOUNT_POINT,
    .substitute = BYTES(u"\\\x3f?\\C:\\elsewhere"),
    .print = BYTES(u"C:\\elsewhere"),
};

const struct wire_reparse sample_lx_symlink = {
    .tag = IO_REPARSE_TAG_LX_SYMLINK,
    .data = BYTES("../lib/real"),
};

const struct wire_set_info_request sample_set_info_request = {
    .info_type = SMB2_0_INFO_FILE,
    .info_class = FILE_RENAME_INFORMATION,
    .additional = 22,
    .file_id = FILE_ID,
};

const struct wire_lease sample_lease = {
    .version = 2,
    .key = "a key of a lease",
    .state = SMB2_LEASE_READ_CACHING | SMB2_LEASE_HANDLE_CACHING,
    .flags = SMB2_LEASE_FLAG_PARENT_LEASE_KEY_SET,
    .parent_key = "key of a parent.",
    .epoch = 0x2324,
};

const struct wire_lease sample_lease_v1 = {
    .version = 1,
    .key = "an older lease's",
    .state = SMB2_LEASE_WRITE_CACHING,
    .flags = SMB2_LEASE_FLAG_BREAK_IN_PROGRESS,
};

const struct wire_oplock_break sample_oplock_break = {
    .level = SMB2_OPLOCK_LEVEL_II,
    .file_id = FILE_ID,
};

const struct wire_lease_break sample_lease_break = {
    .epoch = 0x2526,
    .flags = SMB2_NOTIFY_BREAK_LEASE_FLAG_ACK_REQUIRED,
    .key = "a key of a lease",
    .current_state = SMB2_LEASE_READ_CACHING | SMB2_LEASE_WRITE_CACHING,
    .new_state = SMB2_LEASE_READ_CACHING,
};

const struct wire_lease_ack sample_lease_ack = {
    .flags = 27,
    .key = "a key of a lease",
    .state = SMB2_LEASE_READ_CACHING,
};

const struct wire_transform sample_transform = {
    .signature = "a tag of 16 byte",
    .nonce = "used just once..",
    .original_size = 28,
    .flags = SMB2_TRANSFORM_ENCRYPTED,
    .session_id = 0x6162636465666768,
};

const struct wire_compression sample_compression = {
    .original_size = 4096,
    .algorithm = SMB2_COMPRESSION_LZ77,
    .offset = 5,
};

const struct wire_compression_payload sample_payloads[3] = {
    {.algorithm = SMB2_COMPRESSION_NONE, .data = BYTES("as it was")},
    {.algorithm = SMB2_COMPRESSION_LZNT1, .original_size = 4000, .data = BYTES("squeezed")},
    {.algorithm = SMB2_COMPRESSION_PATTERN_V1, .data = BYTES("a\0\0\0\x40\0\0\0")},
};

const struct wire_query_directory_request sample_query_directory_request = {
    .info_class = FILE_ID_BOTH_DIRECTORY_INFORMATION,
    .flags = SMB2_RESTART_SCANS,
    .file_index = 11,
    .file_id = FILE_ID,
    .pattern = BYTES(u"*.py"),
    .output_length = 65536,
};

const struct wire_query_info_request sample_query_info_request = {
    .info_type = SMB2_0_INFO_FILE,
    .info_class = FILE_ALL_INFORMATION,
    .output_length = 1024,
    .additional = 12,
    .flags = 13,
    .file_id = FILE_ID,
};

const struct wire_dirent sample_dirents[3] = {
    {.attr = {TIMES, .id = 101, .size = 1, .allocated = 4096, .attributes = FILE_ATTRIBUTE_ARCHIVE},
     .name = BYTES(u"a"),
     .file_index = 14},
    {.attr = {TIMES, .id = 102, .attributes = FILE_ATTRIBUTE_DIRECTORY},
     .name = BYTES(u"a directory with a long name"),
     .short_name = BYTES(u"ADIREC~1")},
    {.attr = {TIMES, .id = 103, .attributes = FILE_ATTRIBUTE_REPARSE_POINT,
              .reparse_tag = 0xa000000c},
     .name = BYTES(u"link")},
};

const struct file_attr sample_attr = {
    TIMES,      .id = 104, .size = 100001, .allocated = 102400, .attributes = FILE_ATTRIBUTE_SYSTEM,
    .links = 3,
};

const struct rd sample_path = BYTES(u"\\lib\\Basic.py");

const struct wire_fs_size sample_fs_size = {
    .total_units = 1000000,
    .caller_free_units = 500000,
    .actual_free_units = 600000,
    .sectors_per_unit = 8,
    .bytes_per_sector = 512,
};

const struct wire_fs_attribute sample_fs_attribute = {
    .attributes = 0x0001006f,
    .max_component = 255,
    .name = BYTES(u"NTFS"),
};

/* ---- bodies ---- */

void sample_contexts_encode(struct wr *w)
{
    wire_create_context_encode(w, "MxAc", NULL, 0, false);
    wire_create_context_encode(w, "QFid", "an id of a file and its volume..", 32, true);
}

void sample_lease_context_encode(struct wr *w, const struct wire_lease *lease)
{
    uint8_t buf[64];
    struct wr data = wr_init(buf, sizeof(buf));
    wire_lease_encode(&data, lease);
    wire_create_context_encode(w, WIRE_LEASE_CONTEXT, buf, (uint32_t)data.pos, true);
}

#define ENCODE(message)                                                                            \
    static void message(struct wr *w)                                                              \
    {                                                                                              \
        wire_##message##_encode(w, &sample_##message);                                             \
    }
ENCODE(negotiate_request)
ENCODE(negotiate_response)
ENCODE(session_setup_request)
ENCODE(session_setup_response)
ENCODE(tree_connect_request)
ENCODE(tree_connect_response)
ENCODE(close_request)
ENCODE(close_response)
ENCODE(read_request)
ENCODE(read_response)
ENCODE(write_request)
ENCODE(write_response)
ENCODE(flush_request)
ENCODE(ioctl_request)
ENCODE(ioctl_response)
ENCODE(change_notify_request)
ENCODE(oplock_break)
ENCODE(lease_break)
ENCODE(lease_ack)
ENCODE(query_directory_request)
ENCODE(query_info_request)

static void create_request(struct wr *w)
{
    uint8_t buf[256];
    struct wr chain = wr_init(buf, sizeof(buf));
    struct wire_create_request m = sample_create_request;
    sample_contexts_encode(&chain);
    m.contexts = rd_init(buf, chain.pos);
    wire_create_request_encode(w, &m);
}

static void create_response(struct wr *w)
{
    uint8_t buf[256];
    struct wr chain = wr_init(buf, sizeof(buf));
    struct wire_create_response m = sample_create_response;
    sample_contexts_encode(&chain);
    m.contexts = rd_init(buf, chain.pos);
    wire_create_response_encode(w, &m);
}

static void create_lease_request(struct wr *w)
{
    uint8_t buf[256];
    struct wr chain = wr_init(buf, sizeof(buf));
    struct wire_create_request m = sample_create_request;
    sample_lease_context_encode(&chain, &sample_lease);
    m.contexts = rd_init(buf, chain.pos);
    wire_create_request_encode(w, &m);
}

static void create_lease_response(struct wr *w)
{
    uint8_t buf[256];
    struct wr chain = wr_init(buf, sizeof(buf));
    struct wire_create_response m = sample_create_response;
    sample_lease_context_encode(&chain, &sample_lease_v1);
    m.contexts = rd_init(buf, chain.pos);
    wire_create_response_encode(w, &m);
}

static void lock_request(struct wr *w)
{
    uint8_t buf[64];
    struct wr locks = wr_init(buf, sizeof(buf));
    struct wire_lock_request m = sample_lock_request;
    for (size_t i = 0; i < 2; i++)
        wire_lock_element_encode(&locks, &sample_lock_elements[i]);
    m.locks = rd_init(buf, locks.pos);
    wire_lock_request_encode(w, &m);
}

static void change_notify_response(struct wr *w)
{
    uint8_t buf[256];
    struct wr output = wr_init(buf, sizeof(buf));
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < 3; i++)
        wire_change_encode(&output, &last, &sample_changes[i]);
    wire_buffer_response_encode(w, buf, (uint32_t)output.pos);
}

static void set_info_request(struct wr *w)
{
    uint8_t buf[64];
    struct wr data = wr_init(buf, sizeof(buf));
    struct wire_set_info_request m = sample_set_info_request;
    wire_rename_encode(&data, &sample_rename);
    m.data = rd_init(buf, data.pos);
    wire_set_info_request_encode(w, &m);
}

/* The same message with another class' buffer. */
static void set_info(struct wr *w, uint8_t info_class, const struct wr *data)
{
    struct wire_set_info_request m = sample_set_info_request;
    m.info_class = info_class;
    m.data = rd_init(data->buf, data->pos);
    wire_set_info_request_encode(w, &m);
}

static void set_basic_request(struct wr *w)
{
    uint8_t buf[64];
    struct wr data = wr_init(buf, sizeof(buf));
    wire_basic_encode(&data, &sample_basic);
    set_info(w, FILE_BASIC_INFORMATION, &data);
}

static void set_size_request(struct wr *w)
{
    uint8_t buf[64];
    struct wr data = wr_init(buf, sizeof(buf));
    wire_size_encode(&data, 0x7172737475767778);
    set_info(w, FILE_END_OF_FILE_INFORMATION, &data);
}

static void set_disposition_request(struct wr *w)
{
    uint8_t buf[64];
    struct wr data = wr_init(buf, sizeof(buf));
    wire_disposition_encode(&data, true);
    set_info(w, FILE_DISPOSITION_INFORMATION, &data);
}

static void ioctl_with(struct wr *w, uint32_t code, const struct wr *input)
{
    struct wire_ioctl_request m = sample_ioctl_request;
    m.code = code;
    m.input = rd_init(input->buf, input->pos);
    wire_ioctl_request_encode(w, &m);
}

static void ioctl_reply_with(struct wr *w, uint32_t code, const struct wr *output)
{
    const struct wire_ioctl_response m = {.code = code,
                                          .file_id = sample_ioctl_response.file_id,
                                          .output = rd_init(output->buf, output->pos)};
    wire_ioctl_response_encode(w, &m);
}

static void validate_request(struct wr *w)
{
    uint8_t buf[WIRE_VALIDATE_REQUEST_MAX];
    struct wr input = wr_init(buf, sizeof(buf));
    wire_validate_request_encode(&input, &sample_validate_request);
    ioctl_with(w, FSCTL_VALIDATE_NEGOTIATE_INFO, &input);
}

static void validate_response(struct wr *w)
{
    uint8_t buf[WIRE_VALIDATE_RESPONSE_SIZE];
    struct wr output = wr_init(buf, sizeof(buf));
    wire_validate_response_encode(&output, &sample_validate_response);
    ioctl_reply_with(w, FSCTL_VALIDATE_NEGOTIATE_INFO, &output);
}

static void zero_data_request(struct wr *w)
{
    uint8_t buf[64];
    struct wr input = wr_init(buf, sizeof(buf));
    wire_zero_data_encode(&input, &sample_zero_data);
    ioctl_with(w, FSCTL_SET_ZERO_DATA, &input);
}

static void ranges_request(struct wr *w)
{
    uint8_t buf[64];
    struct wr input = wr_init(buf, sizeof(buf));
    wire_range_encode(&input, &sample_ranges[1]);
    ioctl_with(w, FSCTL_QUERY_ALLOCATED_RANGES, &input);
}

static void ranges_response(struct wr *w)
{
    uint8_t buf[64];
    struct wr output = wr_init(buf, sizeof(buf));
    for (size_t i = 0; i < 2; i++)
        wire_range_encode(&output, &sample_ranges[i]);
    ioctl_reply_with(w, FSCTL_QUERY_ALLOCATED_RANGES, &output);
}

static void copy_key_response(struct wr *w)
{
    uint8_t buf[64];
    struct wr output = wr_init(buf, sizeof(buf));
    wire_copy_key_encode(&output, &sample_copy_key);
    ioctl_reply_with(w, FSCTL_SRV_REQUEST_RESUME_KEY, &output);
}

static void copy_request(struct wr *w)
{
    uint8_t chunk[64], buf[128];
    struct wr chunks = wr_init(chunk, sizeof(chunk)), input = wr_init(buf, sizeof(buf));
    for (size_t i = 0; i < 2; i++)
        wire_copy_chunk_encode(&chunks, &sample_copy_chunks[i]);
    const struct wire_copy_request m = {sample_copy_key, rd_init(chunk, chunks.pos)};
    wire_copy_request_encode(&input, &m);
    ioctl_with(w, FSCTL_SRV_COPYCHUNK, &input);
}

static void copy_response(struct wr *w)
{
    uint8_t buf[64];
    struct wr output = wr_init(buf, sizeof(buf));
    wire_copy_response_encode(&output, &sample_copy_response);
    ioctl_reply_with(w, FSCTL_SRV_COPYCHUNK, &output);
}

static void set_symlink_request(struct wr *w)
{
    uint8_t buf[256];
    struct wr input = wr_init(buf, sizeof(buf));
    wire_reparse_encode(&input, &sample_symlink);
    ioctl_with(w, FSCTL_SET_REPARSE_POINT, &input);
}

#define REPARSE(what)                                                                              \
    static void what##_response(struct wr *w)                                                      \
    {                                                                                              \
        uint8_t buf[256];                                                                          \
        struct wr output = wr_init(buf, sizeof(buf));                                              \
        wire_reparse_encode(&output, &sample_##what);                                              \
        ioctl_reply_with(w, FSCTL_GET_REPARSE_POINT, &output);                                     \
    }
REPARSE(symlink)
REPARSE(junction)
REPARSE(lx_symlink)

static void query_directory_response(struct wr *w)
{
    uint8_t buf[1024];
    struct wr output = wr_init(buf, sizeof(buf));
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < 3; i++)
        wire_dirent_encode(&output, &last, &sample_dirents[i]);
    wire_buffer_response_encode(w, buf, (uint32_t)output.pos);
}

#define INFORMATION(what, ...)                                                                     \
    static void what##_response(struct wr *w)                                                      \
    {                                                                                              \
        uint8_t buf[256];                                                                          \
        struct wr output = wr_init(buf, sizeof(buf));                                              \
        wire_##what##_encode(&output, __VA_ARGS__);                                                \
        wire_buffer_response_encode(w, buf, (uint32_t)output.pos);                                 \
    }
INFORMATION(all_information, &sample_attr, &sample_path)
INFORMATION(network_open_information, &sample_attr)
INFORMATION(fs_size, &sample_fs_size)
INFORMATION(fs_attribute, &sample_fs_attribute)

static void error_response(struct wr *w)
{
    wire_error_encode(w, (const uint8_t *)"data of an error", 16);
}

static void empty_error_response(struct wr *w)
{
    wire_error_encode(w, NULL, 0);
}

/* ---- the table ---- */

#define NOT_FOUND ((uint32_t)STATUS_OBJECT_NAME_NOT_FOUND)
#define MORE      ((uint32_t)STATUS_MORE_PROCESSING_REQUIRED)

const struct sample samples[] = {
    {"negotiate", REQUEST, SMB2_NEGOTIATE, 0, negotiate_request, 0},
    {"session_setup", REQUEST, SMB2_SESSION_SETUP, 0, session_setup_request, 0},
    {"logoff", REQUEST, SMB2_LOGOFF, 0, wire_empty_encode, 0},
    {"tree_connect", REQUEST, SMB2_TREE_CONNECT, 0, tree_connect_request, 0},
    {"tree_disconnect", REQUEST, SMB2_TREE_DISCONNECT, 0, wire_empty_encode, 0},
    {"create", REQUEST, SMB2_CREATE, 0, create_request, 0},
    {"close", REQUEST, SMB2_CLOSE, 0, close_request, 0},
    {"read", REQUEST, SMB2_READ, 0, read_request, 1},
    {"write", REQUEST, SMB2_WRITE, 0, write_request, 0},
    {"flush", REQUEST, SMB2_FLUSH, 0, flush_request, 0},
    {"lock", REQUEST, SMB2_LOCK, 0, lock_request, 0},
    {"ioctl", REQUEST, SMB2_IOCTL, 0, ioctl_request, 0},
    {"change_notify", REQUEST, SMB2_CHANGE_NOTIFY, 0, change_notify_request, 0},
    {"set_info", REQUEST, SMB2_SET_INFO, 0, set_info_request, 0},
    {"set_info_basic", REQUEST, SMB2_SET_INFO, 0, set_basic_request, 0},
    {"set_info_size", REQUEST, SMB2_SET_INFO, 0, set_size_request, 0},
    {"set_info_disposition", REQUEST, SMB2_SET_INFO, 0, set_disposition_request, 0},
    {"ioctl_validate", REQUEST, SMB2_IOCTL, 0, validate_request, 0},
    {"ioctl_zero_data", REQUEST, SMB2_IOCTL, 0, zero_data_request, 0},
    {"ioctl_ranges", REQUEST, SMB2_IOCTL, 0, ranges_request, 0},
    {"ioctl_copy", REQUEST, SMB2_IOCTL, 0, copy_request, 0},
    {"ioctl_set_symlink", REQUEST, SMB2_IOCTL, 0, set_symlink_request, 0},
    {"oplock_ack", REQUEST, SMB2_OPLOCK_BREAK, 0, oplock_break, 0},
    {"lease_ack", REQUEST, SMB2_OPLOCK_BREAK, 0, lease_ack, 0},
    {"create_lease", REQUEST, SMB2_CREATE, 0, create_lease_request, 0},
    {"create_durable", REQUEST, SMB2_CREATE, 0, sample_create_durable_request, 0},
    {"cancel", REQUEST, SMB2_CANCEL, 0, wire_empty_encode, 0},
    {"echo", REQUEST, SMB2_ECHO, 0, wire_empty_encode, 0},
    {"query_directory", REQUEST, SMB2_QUERY_DIRECTORY, 0, query_directory_request, 0},
    {"query_info", REQUEST, SMB2_QUERY_INFO, 0, query_info_request, 1},
    {"negotiate_reply", RESPONSE, SMB2_NEGOTIATE, 0, negotiate_response, 0},
    {"session_setup_reply", RESPONSE, SMB2_SESSION_SETUP, MORE, session_setup_response, 0},
    {"logoff_reply", RESPONSE, SMB2_LOGOFF, 0, wire_empty_encode, 0},
    {"tree_connect_reply", RESPONSE, SMB2_TREE_CONNECT, 0, tree_connect_response, 0},
    {"tree_disconnect_reply", RESPONSE, SMB2_TREE_DISCONNECT, 0, wire_empty_encode, 0},
    {"create_reply", RESPONSE, SMB2_CREATE, 0, create_response, 0},
    {"close_reply", RESPONSE, SMB2_CLOSE, 0, close_response, 0},
    {"read_reply", RESPONSE, SMB2_READ, 0, read_response, 0},
    {"write_reply", RESPONSE, SMB2_WRITE, 0, write_response, 0},
    {"flush_reply", RESPONSE, SMB2_FLUSH, 0, wire_empty_encode, 0},
    {"lock_reply", RESPONSE, SMB2_LOCK, 0, wire_empty_encode, 0},
    {"ioctl_reply", RESPONSE, SMB2_IOCTL, 0, ioctl_response, 0},
    {"ioctl_validate_reply", RESPONSE, SMB2_IOCTL, 0, validate_response, 0},
    {"ioctl_ranges_reply", RESPONSE, SMB2_IOCTL, 0, ranges_response, 0},
    {"ioctl_copy_key_reply", RESPONSE, SMB2_IOCTL, 0, copy_key_response, 0},
    {"ioctl_copy_reply", RESPONSE, SMB2_IOCTL, 0, copy_response, 0},
    {"ioctl_symlink_reply", RESPONSE, SMB2_IOCTL, 0, symlink_response, 0},
    {"ioctl_junction_reply", RESPONSE, SMB2_IOCTL, 0, junction_response, 0},
    {"ioctl_lx_symlink_reply", RESPONSE, SMB2_IOCTL, 0, lx_symlink_response, 0},
    {"change_notify_reply", RESPONSE, SMB2_CHANGE_NOTIFY, 0, change_notify_response, 0},
    {"set_info_reply", RESPONSE, SMB2_SET_INFO, 0, wire_set_info_response_encode, 0},
    {"oplock_break", RESPONSE, SMB2_OPLOCK_BREAK, 0, oplock_break, 0},
    {"lease_break", RESPONSE, SMB2_OPLOCK_BREAK, 0, lease_break, 0},
    {"lease_ack_reply", RESPONSE, SMB2_OPLOCK_BREAK, 0, lease_ack, 0},
    {"create_lease_reply", RESPONSE, SMB2_CREATE, 0, create_lease_response, 0},
    {"create_durable_reply", RESPONSE, SMB2_CREATE, 0, sample_create_durable_response, 0},
    {"query_info_network_open_reply", RESPONSE, SMB2_QUERY_INFO, 0,
     network_open_information_response, 0},
    {"echo_reply", RESPONSE, SMB2_ECHO, 0, wire_empty_encode, 0},
    {"query_directory_reply", RESPONSE, SMB2_QUERY_DIRECTORY, 0, query_directory_response, 0},
    {"query_info_all_reply", RESPONSE, SMB2_QUERY_INFO, 0, all_information_response, 0},
    {"query_info_fs_size_reply", RESPONSE, SMB2_QUERY_INFO, 0, fs_size_response, 0},
    {"query_info_fs_attribute_reply", RESPONSE, SMB2_QUERY_INFO, 0, fs_attribute_response, 0},
    {"error_reply", RESPONSE, SMB2_CREATE, NOT_FOUND, error_response, 0},
    {"error_empty_reply", RESPONSE, SMB2_CREATE, NOT_FOUND, empty_error_response, 1},
    {"pending_reply", RESPONSE, SMB2_READ, STATUS_PENDING, empty_error_response, 1},
};
const size_t sample_count = sizeof(samples) / sizeof(samples[0]);

/* ---- what stands in place of a header ---- */

static void transform(struct wr *w)
{
    wire_transform_encode(w, &sample_transform);
    wr_bytes(w, "nobody can read these bytes.", 28);
}

static void compression(struct wr *w)
{
    wire_compression_encode(w, &sample_compression);
    wr_bytes(w, "plain and the rest", 18);
}

static void compression_chain(struct wr *w)
{
    wire_compression_encode(w, &(struct wire_compression){.original_size = 29, .chained = true});
    for (size_t i = 0; i < 3; i++)
        wire_compression_payload_encode(w, &sample_payloads[i], i == 0);
}

const struct sample_envelope sample_envelopes[3] = {
    {"transform", transform, WIRE_TRANSFORM_SIZE},
    {"compression", compression, 16 + 5},
    {"compression_chain", compression_chain, 16},
};

static void encode_element(struct wr *w, const struct sample *s, uint32_t flags, uint64_t id)
{
    struct wire_header h = {
        .credit_charge = 1,
        .status = s->status,
        .command = s->command,
        .credits = 31,
        .flags = flags | (s->direction == RESPONSE ? SMB2_FLAGS_SERVER_TO_REDIR : 0),
        .message_id = id,
        .tree_id = 0x41424344,
        .session_id = 0x5152535455565758,
        .signature = "sixteen bytes...",
    };
    if (s->status == STATUS_PENDING) {
        h.flags |= SMB2_FLAGS_ASYNC_COMMAND;
        h.tree_id = 0;
        h.async_id = 0x6162636465666768;
    }
    wire_header_encode(w, &h);
    s->encode(w);
}

void sample_encode(struct wr *w, const struct sample *s)
{
    encode_element(w, s, 0, 0x7172737475767778);
}

void sample_encode_compound(struct wr *w, const struct sample *const *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        encode_element(w, s[i], i ? SMB2_FLAGS_RELATED_OPERATIONS : 0, 100 + i);
        wire_element_end(w, i + 1 < count);
    }
}

const struct sample *sample_find(const char *name)
{
    for (size_t i = 0; i < sample_count; i++)
        if (strcmp(samples[i].name, name) == 0)
            return &samples[i];
    return NULL;
}
