/*
 * SMB2 messages as bytes and as structs (MS-SMB2 section 2.2), both directions of each.
 *
 * Encoders append to a `struct wr`; the message's header goes first (wire_header_encode sets the
 * origin that offsets count from). Decoders take a `struct rd` over one whole message, header
 * included, positioned after the header, and allocate nothing: names, buffers and chains come back
 * as cursors into the message's own memory. They return 0, or -EBADMSG for bytes that are not that
 * message. Every length from outside is checked by the cursors; nothing here does I/O or reads a
 * clock.
 *
 * One file a command: negotiate.c, session.c, tree.c, create.c, close.c, read.c, directory.c,
 * info.c, echo.c (ECHO, CANCEL, LOGOFF ...), frame.c (framing, header, compounds, error bodies).
 */
#ifndef LARDER_WIRE_WIRE_H
#define LARDER_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fileattr.h"
#include "base/rd.h"
#include "base/wr.h"

/* ---- framing: 2.1 ---- */

#define WIRE_FRAME_HEADER 4                    /* zero byte, 24-bit big-endian length */
#define WIRE_FRAME_MAX    ((uint32_t)0xffffff) /* bytes after the frame header */
#define WIRE_HEADER_SIZE  64

enum wire_command {
    SMB2_NEGOTIATE,
    SMB2_SESSION_SETUP,
    SMB2_LOGOFF,
    SMB2_TREE_CONNECT,
    SMB2_TREE_DISCONNECT,
    SMB2_CREATE,
    SMB2_CLOSE,
    SMB2_FLUSH,
    SMB2_READ,
    SMB2_WRITE,
    SMB2_LOCK,
    SMB2_IOCTL,
    SMB2_CANCEL,
    SMB2_ECHO,
    SMB2_QUERY_DIRECTORY,
    SMB2_CHANGE_NOTIFY,
    SMB2_QUERY_INFO,
    SMB2_SET_INFO,
    SMB2_OPLOCK_BREAK,
    SMB2_COMMANDS
};

enum {
    SMB2_FLAGS_SERVER_TO_REDIR = 0x00000001,
    SMB2_FLAGS_ASYNC_COMMAND = 0x00000002,
    SMB2_FLAGS_RELATED_OPERATIONS = 0x00000004,
    SMB2_FLAGS_SIGNED = 0x00000008,
};

/* 2.2.1. async_id is meant where flags has SMB2_FLAGS_ASYNC_COMMAND, tree_id where not. */
struct wire_header {
    uint16_t credit_charge;
    uint32_t status; /* requests: channel sequence, 0 here */
    uint16_t command;
    uint16_t credits; /* asked for, or granted */
    uint32_t flags;
    uint32_t next; /* offset of the next element of a compound, 0: the last */
    uint64_t message_id;
    uint64_t async_id;
    uint32_t tree_id;
    uint64_t session_id;
    uint8_t signature[16];
};

/* Writes 64 bytes and makes them the origin of what follows. */
void wire_header_encode(struct wr *w, const struct wire_header *h);
/* -EBADMSG unless ProtocolId and StructureSize are SMB2's. */
int wire_header_decode(struct rd *msg, struct wire_header *ret);

/* The next element of a compound. `frame` is over all bytes behind the frame header; *ret_msg gets
 * a cursor over just that element (header and body, up to the next one), positioned after the
 * header. 1: got one; 0: no more; -EBADMSG: NextCommand leads nowhere (unaligned, backwards, past
 * the end). */
int wire_frame_next(struct rd *frame, struct wire_header *ret, struct rd *ret_msg);

/* Closes an element of a compound: pads to 8 bytes and writes NextCommand where another one
 * follows. */
void wire_element_end(struct wr *w, bool another_follows);

/* 2.2.2: the body of a failed response. `data` of ErrorData, empty where there is none. */
struct wire_error {
    uint8_t context_count;
    struct rd data;
};
void wire_error_encode(struct wr *w, const uint8_t *data, uint32_t len);
int wire_error_decode(struct rd msg, struct wire_error *ret);
/* Whether a response with this status carries the command's own body rather than an error's
 * (2.2.2, 3.3.4.4: success, BUFFER_OVERFLOW, MORE_PROCESSING_REQUIRED, NO_MORE... per command). */
bool wire_has_body(uint16_t command, uint32_t status);

/* "CREATE"; "UNKNOWN" past the last. */
const char *wire_command_name(uint16_t command);

/* ---- NEGOTIATE: 2.2.3, 2.2.4 ---- */

enum {
    SMB2_DIALECT_202 = 0x0202,
    SMB2_DIALECT_210 = 0x0210,
    SMB2_DIALECT_300 = 0x0300,
    SMB2_DIALECT_302 = 0x0302,
    SMB2_DIALECT_311 = 0x0311,
    SMB2_DIALECT_WILD = 0x02ff,
};
enum { SMB2_NEGOTIATE_SIGNING_ENABLED = 1, SMB2_NEGOTIATE_SIGNING_REQUIRED = 2 };
enum {
    SMB2_GLOBAL_CAP_DFS = 0x01,
    SMB2_GLOBAL_CAP_LEASING = 0x02,
    SMB2_GLOBAL_CAP_LARGE_MTU = 0x04,
    SMB2_GLOBAL_CAP_MULTI_CHANNEL = 0x08,
    SMB2_GLOBAL_CAP_PERSISTENT_HANDLES = 0x10,
    SMB2_GLOBAL_CAP_DIRECTORY_LEASING = 0x20,
    SMB2_GLOBAL_CAP_ENCRYPTION = 0x40,
    SMB2_GLOBAL_CAP_NOTIFICATIONS = 0x80,
};
enum { SMB2_PREAUTH_SHA512 = 1 };
enum { SMB2_SIGNING_HMAC_SHA256, SMB2_SIGNING_AES_CMAC, SMB2_SIGNING_AES_GMAC };
enum {
    SMB2_CIPHER_AES128_CCM = 1,
    SMB2_CIPHER_AES128_GCM,
    SMB2_CIPHER_AES256_CCM,
    SMB2_CIPHER_AES256_GCM
};

#define WIRE_IDS_MAX 16
/* Negotiate contexts (2.2.3.1, 2.2.4.1). A count of 0 means that the context is not there. A
 * message with more than WIRE_IDS_MAX ids in one list is refused with -EBADMSG by the decoder. */
struct wire_negotiate_contexts {
    uint16_t preauth_count, preauth[WIRE_IDS_MAX];
    uint8_t salt_len, salt[255]; /* a longer salt is refused */
    uint16_t cipher_count, cipher[WIRE_IDS_MAX];
    uint16_t signing_count, signing[WIRE_IDS_MAX];
    uint16_t unknown_count; /* contexts of other types, passed over */
};

struct wire_negotiate_request {
    uint16_t dialect_count, dialect[WIRE_IDS_MAX];
    uint16_t security_mode;
    uint32_t capabilities;
    uint8_t client_guid[16];
    struct wire_negotiate_contexts
        contexts; /* on the wire only with SMB2_DIALECT_311 in the list */
};
void wire_negotiate_request_encode(struct wr *w, const struct wire_negotiate_request *m);
int wire_negotiate_request_decode(struct rd msg, struct wire_negotiate_request *ret);

struct wire_negotiate_response {
    uint16_t security_mode;
    uint16_t dialect;
    uint8_t server_guid[16];
    uint32_t capabilities;
    uint32_t max_transact, max_read, max_write;
    uint64_t system_time, start_time;
    struct rd token;                         /* encode: base and len are written */
    struct wire_negotiate_contexts contexts; /* dialect 3.1.1 only */
};
void wire_negotiate_response_encode(struct wr *w, const struct wire_negotiate_response *m);
int wire_negotiate_response_decode(struct rd msg, struct wire_negotiate_response *ret);

/* ---- SESSION_SETUP, LOGOFF: 2.2.5 - 2.2.8 ---- */

enum {
    SMB2_SESSION_FLAG_IS_GUEST = 1,
    SMB2_SESSION_FLAG_IS_NULL = 2,
    SMB2_SESSION_FLAG_ENCRYPT_DATA = 4
};

struct wire_session_setup_request {
    uint8_t flags;
    uint8_t security_mode;
    uint32_t capabilities;
    uint64_t previous_session_id;
    struct rd token;
};
void wire_session_setup_request_encode(struct wr *w, const struct wire_session_setup_request *m);
int wire_session_setup_request_decode(struct rd msg, struct wire_session_setup_request *ret);

struct wire_session_setup_response {
    uint16_t session_flags;
    struct rd token;
};
void wire_session_setup_response_encode(struct wr *w, const struct wire_session_setup_response *m);
int wire_session_setup_response_decode(struct rd msg, struct wire_session_setup_response *ret);

/* LOGOFF, TREE_DISCONNECT, ECHO, CANCEL: StructureSize 4 and a reserved field, both directions
 * alike. */
void wire_empty_encode(struct wr *w);
int wire_empty_decode(struct rd msg);

/* ---- TREE_CONNECT: 2.2.9, 2.2.10 ---- */

enum { SMB2_SHARE_TYPE_DISK = 1, SMB2_SHARE_TYPE_PIPE = 2, SMB2_SHARE_TYPE_PRINT = 3 };

struct wire_tree_connect_request {
    uint16_t flags;
    struct rd path; /* \\server\share in UTF-16LE */
};
void wire_tree_connect_request_encode(struct wr *w, const struct wire_tree_connect_request *m);
int wire_tree_connect_request_decode(struct rd msg, struct wire_tree_connect_request *ret);

struct wire_tree_connect_response {
    uint8_t share_type;
    uint32_t share_flags;
    uint32_t capabilities;
    uint32_t maximal_access;
};
void wire_tree_connect_response_encode(struct wr *w, const struct wire_tree_connect_response *m);
int wire_tree_connect_response_decode(struct rd msg, struct wire_tree_connect_response *ret);

/* ---- CREATE, CLOSE: 2.2.13 - 2.2.16 ---- */

struct wire_file_id {
    uint64_t persistent, volatile_;
};
/* In a related compound: the FileId of the element before. */
#define WIRE_FILE_ID_RELATED ((struct wire_file_id){UINT64_MAX, UINT64_MAX})

enum {
    FILE_READ_DATA = 0x00000001, /* directories: FILE_LIST_DIRECTORY */
    FILE_READ_EA = 0x00000008,
    FILE_READ_ATTRIBUTES = 0x00000080,
    ACCESS_READ_CONTROL = 0x00020000,
    ACCESS_SYNCHRONIZE = 0x00100000,
};
enum { FILE_SHARE_READ = 1, FILE_SHARE_WRITE = 2, FILE_SHARE_DELETE = 4, FILE_SHARE_ALL = 7 };
enum { FILE_SUPERSEDE, FILE_OPEN, FILE_CREATE, FILE_OPEN_IF, FILE_OVERWRITE, FILE_OVERWRITE_IF };
enum {
    FILE_DIRECTORY_FILE = 0x00000001,
    FILE_NON_DIRECTORY_FILE = 0x00000040,
    FILE_OPEN_REPARSE_POINT = 0x00200000,
};
enum { SMB2_IMPERSONATION = 2 };

/* One create context (2.2.13.2); the name is 4 bytes for all but a few. */
struct wire_create_context {
    struct rd name;
    struct rd data;
};
/* Writes the next one of a chain; `last` says whether another one follows. */
void wire_create_context_encode(struct wr *w, const char *name, const void *data, uint32_t len,
                                bool last);
/* 1: got one; 0: no more; -EBADMSG. `chain` is a message's contexts cursor. */
int wire_create_context_next(struct rd *chain, struct wire_create_context *ret);

struct wire_create_request {
    uint8_t oplock_level;
    uint32_t impersonation;
    uint32_t desired_access;
    uint32_t file_attributes;
    uint32_t share_access;
    uint32_t disposition;
    uint32_t options;
    struct rd name;     /* UTF-16LE, relative to the share, \ between components; empty: the root */
    struct rd contexts; /* an encoded chain, empty for none */
};
void wire_create_request_encode(struct wr *w, const struct wire_create_request *m);
int wire_create_request_decode(struct rd msg, struct wire_create_request *ret);

struct wire_create_response {
    uint8_t oplock_level;
    uint8_t flags;
    uint32_t create_action;
    struct file_attr attr; /* id and links are 0: CREATE does not tell (see the QFid context) */
    struct wire_file_id file_id;
    struct rd contexts;
};
void wire_create_response_encode(struct wr *w, const struct wire_create_response *m);
int wire_create_response_decode(struct rd msg, struct wire_create_response *ret);

enum { SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB = 1 };
struct wire_close_request {
    uint16_t flags;
    struct wire_file_id file_id;
};
void wire_close_request_encode(struct wr *w, const struct wire_close_request *m);
int wire_close_request_decode(struct rd msg, struct wire_close_request *ret);

struct wire_close_response {
    uint16_t flags; /* attr is filled only with SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB */
    struct file_attr attr;
};
void wire_close_response_encode(struct wr *w, const struct wire_close_response *m);
int wire_close_response_decode(struct rd msg, struct wire_close_response *ret);

/* ---- READ: 2.2.19, 2.2.20 ---- */

struct wire_read_request {
    uint32_t length;
    uint64_t offset;
    struct wire_file_id file_id;
    uint32_t minimum_count;
    uint32_t remaining;
};
void wire_read_request_encode(struct wr *w, const struct wire_read_request *m);
int wire_read_request_decode(struct rd msg, struct wire_read_request *ret);

struct wire_read_response {
    uint32_t remaining;
    struct rd data;
};
void wire_read_response_encode(struct wr *w, const struct wire_read_response *m);
int wire_read_response_decode(struct rd msg, struct wire_read_response *ret);

/* ---- QUERY_DIRECTORY: 2.2.33, 2.2.34; MS-FSCC 2.4.22 ---- */

enum { FILE_ID_BOTH_DIRECTORY_INFORMATION = 0x25 };
enum {
    SMB2_RESTART_SCANS = 1,
    SMB2_RETURN_SINGLE_ENTRY = 2,
    SMB2_INDEX_SPECIFIED = 4,
    SMB2_REOPEN = 0x10
};

struct wire_query_directory_request {
    uint8_t info_class;
    uint8_t flags;
    uint32_t file_index;
    struct wire_file_id file_id;
    struct rd pattern; /* UTF-16LE */
    uint32_t output_length;
};
void wire_query_directory_request_encode(struct wr *w,
                                         const struct wire_query_directory_request *m);
int wire_query_directory_request_decode(struct rd msg, struct wire_query_directory_request *ret);

/* A response that is one OutputBuffer: QUERY_DIRECTORY and QUERY_INFO alike. */
struct wire_buffer_response {
    struct rd output;
};
void wire_buffer_response_encode(struct wr *w, const void *data, uint32_t len);
int wire_buffer_response_decode(struct rd msg, struct wire_buffer_response *ret);

/* One FileIdBothDirectoryInformation entry. */
struct wire_dirent {
    struct file_attr attr; /* reparse_tag from EaSize where the attribute says so */
    struct rd name;        /* UTF-16LE */
    struct rd short_name;  /* UTF-16LE, empty where there is none */
    uint32_t file_index;
};
#define WIRE_DIRENT_FIXED 104 /* bytes before the name; entries are 8-byte aligned */
/* 1: got one; 0: no more; -EBADMSG. `output` is a response's output cursor. */
int wire_dirent_next(struct rd *output, struct wire_dirent *ret);
/* Appends an entry, linking it behind the one at *inout_last (SIZE_MAX: none yet). */
void wire_dirent_encode(struct wr *w, size_t *inout_last, const struct wire_dirent *e);

/* ---- QUERY_INFO: 2.2.37, 2.2.38; MS-FSCC 2.4, 2.5 ---- */

enum { SMB2_0_INFO_FILE = 1, SMB2_0_INFO_FILESYSTEM = 2 };
enum {
    FILE_ALL_INFORMATION = 18,
    FILE_NETWORK_OPEN_INFORMATION = 34,
    FILE_FS_FULL_SIZE_INFORMATION = 7,
    FILE_FS_ATTRIBUTE_INFORMATION = 5,
};
struct wire_query_info_request {
    uint8_t info_type;
    uint8_t info_class;
    uint32_t output_length;
    uint32_t additional;
    uint32_t flags;
    struct wire_file_id file_id;
};
void wire_query_info_request_encode(struct wr *w, const struct wire_query_info_request *m);
int wire_query_info_request_decode(struct rd msg, struct wire_query_info_request *ret);

/* FileAllInformation (MS-FSCC 2.4.2): attributes, id, links. `name`: the path in the share, with a
 * backslash in front, UTF-16LE. */
void wire_all_information_encode(struct wr *w, const struct file_attr *a, const struct rd *name);
int wire_all_information_decode(struct rd output, struct file_attr *ret);
/* The path in the share that stands at the end of it, UTF-16LE; -EBADMSG where it was cut short. */
int wire_all_information_name(struct rd output, struct rd *ret);

/* FileFsFullSizeInformation (MS-FSCC 2.5.4). */
struct wire_fs_size {
    uint64_t total_units, caller_free_units, actual_free_units;
    uint32_t sectors_per_unit, bytes_per_sector;
};
void wire_fs_size_encode(struct wr *w, const struct wire_fs_size *s);
int wire_fs_size_decode(struct rd output, struct wire_fs_size *ret);

/* FileFsAttributeInformation (MS-FSCC 2.5.1). */
struct wire_fs_attribute {
    uint32_t attributes;
    uint32_t max_component; /* UTF-16 units */
    struct rd name;         /* UTF-16LE */
};
void wire_fs_attribute_encode(struct wr *w, const struct wire_fs_attribute *a);
int wire_fs_attribute_decode(struct rd output, struct wire_fs_attribute *ret);

#endif
