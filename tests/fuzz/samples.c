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
