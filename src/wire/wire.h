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
 * One file a command: negotiate.c, session.c, tree.c, create.c, close.c, read.c, write.c (and
 * FLUSH), lock.c, ioctl.c, fsctl.c (what is in an IOCTL's buffers), directory.c, notify.c, info.c,
 * setinfo.c, oplock.c (breaks and leases), echo.c (ECHO, CANCEL, LOGOFF ...), frame.c (framing,
 * header, compounds, error bodies), listing.c (the entries of every listing class), transform.c
 * (what encrypted and compressed messages come in), xca.c (how the latter are inflated). What is
 * said on named pipes is in rpc.h.
 */
#ifndef LARDER_WIRE_WIRE_H
#define LARDER_WIRE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/create.h"
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
/* "3.1.1"; "unknown". */
const char *wire_dialect_name(uint16_t dialect);
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
 * alike; and the responses to FLUSH and LOCK. */
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
/* To be put in later. */
#define WIRE_FILE_ID_NONE ((struct wire_file_id){0, 0})

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

/* Writes another FileId into a request that has been encoded: `body` is what is behind its header.
 * Only for the commands of one open: CLOSE, FLUSH, READ, WRITE, LOCK, IOCTL, QUERY_DIRECTORY,
 * CHANGE_NOTIFY, QUERY_INFO, SET_INFO. False, and nothing written, for any other one. */
bool wire_file_id_replace(uint16_t command, uint8_t *body, size_t len, struct wire_file_id id);

/* CreateAction. */
enum { FILE_SUPERSEDED, FILE_OPENED, FILE_CREATED, FILE_OVERWRITTEN };

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

/* ---- FLUSH: 2.2.17 (its response is wire_empty) ---- */

struct wire_flush_request {
    struct wire_file_id file_id;
};
void wire_flush_request_encode(struct wr *w, const struct wire_flush_request *m);
int wire_flush_request_decode(struct rd msg, struct wire_flush_request *ret);

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

/* ---- WRITE: 2.2.21, 2.2.22 ---- */

enum { SMB2_WRITEFLAG_WRITE_THROUGH = 1, SMB2_WRITEFLAG_WRITE_UNBUFFERED = 2 };

struct wire_write_request {
    uint64_t offset;
    struct wire_file_id file_id;
    uint32_t remaining;
    uint32_t flags;
    struct rd data;
};
void wire_write_request_encode(struct wr *w, const struct wire_write_request *m);
/* All but the data itself, which follows right behind. */
void wire_write_request_encode_head(struct wr *w, const struct wire_write_request *m);
int wire_write_request_decode(struct rd msg, struct wire_write_request *ret);

struct wire_write_response {
    uint32_t count;
};
void wire_write_response_encode(struct wr *w, const struct wire_write_response *m);
int wire_write_response_decode(struct rd msg, struct wire_write_response *ret);

/* ---- OPLOCK_BREAK: 2.2.23 - 2.2.25; leases: 2.2.13.2.8, .10, 2.2.14.2.10, .11 ---- */

enum {
    SMB2_OPLOCK_LEVEL_NONE = 0,
    SMB2_OPLOCK_LEVEL_II = 1,
    SMB2_OPLOCK_LEVEL_EXCLUSIVE = 8,
    SMB2_OPLOCK_LEVEL_BATCH = 9,
    SMB2_OPLOCK_LEVEL_LEASE = 0xff,
};
enum {
    SMB2_LEASE_READ_CACHING = 1,
    SMB2_LEASE_HANDLE_CACHING = 2,
    SMB2_LEASE_WRITE_CACHING = 4,
};
enum { SMB2_LEASE_FLAG_BREAK_IN_PROGRESS = 2, SMB2_LEASE_FLAG_PARENT_LEASE_KEY_SET = 4 };
enum { SMB2_NOTIFY_BREAK_LEASE_FLAG_ACK_REQUIRED = 1 };
#define WIRE_LEASE_KEY_SIZE 16
#define WIRE_LEASE_CONTEXT  "RqLs" /* the create context's name, asked for and granted */

/* The data of the create context, both directions and versions alike. Version 1 has no parent and
 * no epoch. */
struct wire_lease {
    uint8_t version; /* 1 or 2 */
    uint8_t key[WIRE_LEASE_KEY_SIZE];
    uint32_t state;
    uint32_t flags;
    uint8_t parent_key[WIRE_LEASE_KEY_SIZE];
    uint16_t epoch;
};
void wire_lease_encode(struct wr *w, const struct wire_lease *l);
int wire_lease_decode(struct rd data, struct wire_lease *ret);

/* Of an oplock: the notification, its acknowledgment and the response to that are one layout. */
struct wire_oplock_break {
    uint8_t level;
    struct wire_file_id file_id;
};
void wire_oplock_break_encode(struct wr *w, const struct wire_oplock_break *m);
int wire_oplock_break_decode(struct rd msg, struct wire_oplock_break *ret);

/* Of a lease, from the server: 2.2.23.2. */
struct wire_lease_break {
    uint16_t epoch;
    uint32_t flags;
    uint8_t key[WIRE_LEASE_KEY_SIZE];
    uint32_t current_state, new_state;
};
void wire_lease_break_encode(struct wr *w, const struct wire_lease_break *m);
int wire_lease_break_decode(struct rd msg, struct wire_lease_break *ret);

/* What the client answers to it, and the server to that: 2.2.24.2, 2.2.25.2. */
struct wire_lease_ack {
    uint32_t flags;
    uint8_t key[WIRE_LEASE_KEY_SIZE];
    uint32_t state;
};
void wire_lease_ack_encode(struct wr *w, const struct wire_lease_ack *m);
int wire_lease_ack_decode(struct rd msg, struct wire_lease_ack *ret);

/* ---- LOCK: 2.2.26 (its response is wire_empty) ---- */

enum {
    SMB2_LOCKFLAG_SHARED_LOCK = 1,
    SMB2_LOCKFLAG_EXCLUSIVE_LOCK = 2,
    SMB2_LOCKFLAG_UNLOCK = 4,
    SMB2_LOCKFLAG_FAIL_IMMEDIATELY = 0x10,
};

struct wire_lock_element {
    uint64_t offset, length;
    uint32_t flags;
};
void wire_lock_element_encode(struct wr *w, const struct wire_lock_element *e);
/* 1: got one; 0: no more; -EBADMSG. `locks` is a request's cursor. */
int wire_lock_element_next(struct rd *locks, struct wire_lock_element *ret);

struct wire_lock_request {
    uint32_t sequence;
    struct wire_file_id file_id;
    struct rd locks; /* encoded elements, one at least */
};
void wire_lock_request_encode(struct wr *w, const struct wire_lock_request *m);
int wire_lock_request_decode(struct rd msg, struct wire_lock_request *ret);

/* ---- IOCTL: 2.2.31, 2.2.32 ---- */

enum {
    FSCTL_DFS_GET_REFERRALS = 0x00060194,
    FSCTL_PIPE_TRANSCEIVE = 0x0011c017,
    FSCTL_QUERY_NETWORK_INTERFACE_INFO = 0x001401fc,
    FSCTL_VALIDATE_NEGOTIATE_INFO = 0x00140204,
    FSCTL_SET_REPARSE_POINT = 0x000900a4,
    FSCTL_GET_REPARSE_POINT = 0x000900a8,
    FSCTL_SET_SPARSE = 0x000900c4,
    FSCTL_QUERY_ALLOCATED_RANGES = 0x000940cf,
    FSCTL_SET_ZERO_DATA = 0x000980c8,
    FSCTL_SRV_REQUEST_RESUME_KEY = 0x00140078,
    FSCTL_SRV_COPYCHUNK = 0x001440f2,
};
enum { SMB2_0_IOCTL_IS_FSCTL = 1 };

struct wire_ioctl_request {
    uint32_t code;
    struct wire_file_id file_id; /* all ones for those that are on no open */
    struct rd input;
    uint32_t max_input, max_output; /* in the response */
    uint32_t flags;
};
void wire_ioctl_request_encode(struct wr *w, const struct wire_ioctl_request *m);
int wire_ioctl_request_decode(struct rd msg, struct wire_ioctl_request *ret);

struct wire_ioctl_response {
    uint32_t code;
    struct wire_file_id file_id;
    struct rd input; /* given back by pass-through operations only */
    struct rd output;
};
void wire_ioctl_response_encode(struct wr *w, const struct wire_ioctl_response *m);
int wire_ioctl_response_decode(struct rd msg, struct wire_ioctl_response *ret);

/* ---- what is in an IOCTL's buffers: fsctl.c ---- */

/* FSCTL_SET_ZERO_DATA: MS-FSCC 2.3.85. The bytes [offset, beyond) become zero. */
struct wire_zero_data {
    uint64_t offset, beyond;
};
void wire_zero_data_encode(struct wr *w, const struct wire_zero_data *m);
int wire_zero_data_decode(struct rd input, struct wire_zero_data *ret);

/* FSCTL_QUERY_ALLOCATED_RANGES: MS-FSCC 2.3.51, 2.3.52. One range is asked about, any number of
 * them are the answer. */
struct wire_range {
    uint64_t offset, length;
};
#define WIRE_RANGE_SIZE 16
void wire_range_encode(struct wr *w, const struct wire_range *m);
/* 1: got one; 0: no more; -EBADMSG. */
int wire_range_next(struct rd *ranges, struct wire_range *ret);

/* FSCTL_SRV_REQUEST_RESUME_KEY: 2.2.32.3. Names an open as the source of copies. */
struct wire_copy_key {
    uint8_t bytes[24];
};
void wire_copy_key_encode(struct wr *w, const struct wire_copy_key *m);
int wire_copy_key_decode(struct rd output, struct wire_copy_key *ret);

/* FSCTL_SRV_COPYCHUNK: 2.2.31.1, 2.2.32.1. */
struct wire_copy_chunk {
    uint64_t source, target; /* offsets */
    uint32_t length;
};
#define WIRE_COPY_CHUNK_SIZE 24
void wire_copy_chunk_encode(struct wr *w, const struct wire_copy_chunk *m);
/* 1: got one; 0: no more; -EBADMSG. `chunks` is a request's cursor. */
int wire_copy_chunk_next(struct rd *chunks, struct wire_copy_chunk *ret);

struct wire_copy_request {
    struct wire_copy_key source;
    struct rd chunks; /* encoded */
};
void wire_copy_request_encode(struct wr *w, const struct wire_copy_request *m);
int wire_copy_request_decode(struct rd input, struct wire_copy_request *ret);

/* What was copied; with STATUS_INVALID_PARAMETER, the most that the server takes in one request. */
struct wire_copy_response {
    uint32_t chunks;
    uint32_t chunk_bytes; /* of the chunk that was not copied whole; of one chunk */
    uint32_t total_bytes;
};
void wire_copy_response_encode(struct wr *w, const struct wire_copy_response *m);
int wire_copy_response_decode(struct rd output, struct wire_copy_response *ret);

/* FSCTL_GET_REPARSE_POINT, FSCTL_SET_REPARSE_POINT: MS-FSCC 2.1.2. */
#define IO_REPARSE_TAG_MOUNT_POINT 0xa0000003u
#define IO_REPARSE_TAG_SYMLINK     0xa000000cu
#define IO_REPARSE_TAG_LX_SYMLINK  0xa000001du
enum { SYMLINK_FLAG_RELATIVE = 1 };
#define WIRE_REPARSE_MAX 16384 /* bytes: MAXIMUM_REPARSE_DATA_BUFFER_SIZE */
struct wire_reparse {
    uint32_t tag;
    bool relative;               /* SYMLINK only */
    struct rd substitute, print; /* SYMLINK and MOUNT_POINT: UTF-16LE, \ between components */
    struct rd data;              /* LX_SYMLINK: the target in UTF-8; other tags: all of it */
};
void wire_reparse_encode(struct wr *w, const struct wire_reparse *m);
int wire_reparse_decode(struct rd output, struct wire_reparse *ret);

/* ---- QUERY_DIRECTORY: 2.2.33, 2.2.34; MS-FSCC 2.4 ---- */

enum {
    FILE_DIRECTORY_INFORMATION = 1,
    FILE_FULL_DIRECTORY_INFORMATION = 2,
    FILE_BOTH_DIRECTORY_INFORMATION = 3,
    FILE_NAMES_INFORMATION = 12,
    FILE_ID_BOTH_DIRECTORY_INFORMATION = 37,
    FILE_ID_FULL_DIRECTORY_INFORMATION = 38,
    FILE_ID_EXTD_DIRECTORY_INFORMATION = 60,
    FILE_ID_64_EXTD_DIRECTORY_INFORMATION = 78,
    FILE_ID_64_EXTD_BOTH_DIRECTORY_INFORMATION = 79,
    FILE_ID_ALL_EXTD_DIRECTORY_INFORMATION = 80,
    FILE_ID_ALL_EXTD_BOTH_DIRECTORY_INFORMATION = 81,
};
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

/* A response that is one OutputBuffer: QUERY_DIRECTORY, CHANGE_NOTIFY and QUERY_INFO alike. */
struct wire_buffer_response {
    struct rd output;
};
void wire_buffer_response_encode(struct wr *w, const void *data, uint32_t len);
int wire_buffer_response_decode(struct rd msg, struct wire_buffer_response *ret);

/* One entry of a listing. What its class does not tell is 0. */
struct wire_dirent {
    struct file_attr attr; /* reparse_tag where the attribute says so; id: 0 where it needs more
                              than 64 bits */
    struct rd name;        /* UTF-16LE */
    struct rd short_name;  /* UTF-16LE, empty where there is none */
    uint32_t file_index;
};
#define WIRE_DIRENT_FIXED 104 /* bytes before the name; entries are 8-byte aligned */
/* Of the class that we ask for, FileIdBothDirectoryInformation (MS-FSCC 2.4.22). 1: got one; 0: no
 * more; -EBADMSG. `output` is a response's output cursor. */
int wire_dirent_next(struct rd *output, struct wire_dirent *ret);
/* Appends an entry, linking it behind the one at *inout_last (SIZE_MAX: none yet). */
void wire_dirent_encode(struct wr *w, size_t *inout_last, const struct wire_dirent *e);
/* The same for any class above, which the request says; -EBADMSG (a bad writer) for others. */
int wire_listing_next(struct rd *output, uint8_t info_class, struct wire_dirent *ret);
void wire_listing_encode(struct wr *w, uint8_t info_class, size_t *inout_last,
                         const struct wire_dirent *e);

/* ---- CHANGE_NOTIFY: 2.2.35, 2.2.36 (a wire_buffer_response); MS-FSCC 2.7.1 ---- */

enum { SMB2_WATCH_TREE = 1 };
enum {
    FILE_NOTIFY_CHANGE_FILE_NAME = 0x001,
    FILE_NOTIFY_CHANGE_DIR_NAME = 0x002,
    FILE_NOTIFY_CHANGE_ATTRIBUTES = 0x004,
    FILE_NOTIFY_CHANGE_SIZE = 0x008,
    FILE_NOTIFY_CHANGE_LAST_WRITE = 0x010,
    FILE_NOTIFY_CHANGE_CREATION = 0x040,
};

struct wire_change_notify_request {
    uint16_t flags;
    uint32_t output_length;
    struct wire_file_id file_id;
    uint32_t filter;
};
void wire_change_notify_request_encode(struct wr *w, const struct wire_change_notify_request *m);
int wire_change_notify_request_decode(struct rd msg, struct wire_change_notify_request *ret);

enum {
    FILE_ACTION_ADDED = 1,
    FILE_ACTION_REMOVED,
    FILE_ACTION_MODIFIED,
    FILE_ACTION_RENAMED_OLD_NAME,
    FILE_ACTION_RENAMED_NEW_NAME,
};
/* One change; the name is relative to the directory watched, UTF-16LE. */
struct wire_change {
    uint32_t action;
    struct rd name;
};
/* 1: got one; 0: no more; -EBADMSG. `output` is a response's output cursor. */
int wire_change_next(struct rd *output, struct wire_change *ret);
/* Appends a change, linking it behind the one at *inout_last (SIZE_MAX: none yet). */
void wire_change_encode(struct wr *w, size_t *inout_last, const struct wire_change *c);

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

/* FileNetworkOpenInformation (MS-FSCC 2.4.34): attributes, without id and links. */
void wire_network_open_information_encode(struct wr *w, const struct file_attr *a);
int wire_network_open_information_decode(struct rd output, struct file_attr *ret);

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

/* ---- SET_INFO: 2.2.39, 2.2.40; MS-FSCC 2.4 ---- */

enum {
    FILE_BASIC_INFORMATION = 4,
    FILE_RENAME_INFORMATION = 10,
    FILE_LINK_INFORMATION = 11,
    FILE_DISPOSITION_INFORMATION = 13,
    FILE_ALLOCATION_INFORMATION = 19,
    FILE_END_OF_FILE_INFORMATION = 20,
    FILE_DISPOSITION_INFORMATION_EX = 64,
    FILE_RENAME_INFORMATION_EX = 65,
};

struct wire_set_info_request {
    uint8_t info_type;
    uint8_t info_class;
    uint32_t additional;
    struct wire_file_id file_id;
    struct rd data;
};
void wire_set_info_request_encode(struct wr *w, const struct wire_set_info_request *m);
int wire_set_info_request_decode(struct rd msg, struct wire_set_info_request *ret);

/* The response is its StructureSize. */
void wire_set_info_response_encode(struct wr *w);
int wire_set_info_response_decode(struct rd msg);

/* FileRenameInformation and FileLinkInformation, which are laid out alike; padded to the least
 * length that servers take. */
struct wire_rename {
    bool replace;
    struct rd name; /* UTF-16LE, relative to the share */
};
void wire_rename_encode(struct wr *w, const struct wire_rename *m);
int wire_rename_decode(struct rd data, struct wire_rename *ret);

/* FileBasicInformation (MS-FSCC 2.4.7): 0 in a time or in the attributes leaves it as it is. */
struct wire_basic {
    uint64_t created, accessed, written, changed;
    uint32_t attributes;
};
#define WIRE_BASIC_SIZE 40
void wire_basic_encode(struct wr *w, const struct wire_basic *m);
int wire_basic_decode(struct rd data, struct wire_basic *ret);

/* FileEndOfFileInformation and FileAllocationInformation (MS-FSCC 2.4.14, 2.4.4): one size. */
void wire_size_encode(struct wr *w, uint64_t size);
int wire_size_decode(struct rd data, uint64_t *ret);

/* FileDispositionInformation (MS-FSCC 2.4.11): whether the last close removes the file. */
void wire_disposition_encode(struct wr *w, bool remove);
int wire_disposition_decode(struct rd data, bool *ret);

/* ---- what stands in place of a header: 2.2.41, 2.2.42 ---- */

enum wire_protocol { WIRE_UNKNOWN, WIRE_SMB1, WIRE_SMB2, WIRE_TRANSFORM, WIRE_COMPRESSION };
/* By the first four bytes; the cursor stays where it is. */
enum wire_protocol wire_protocol(const struct rd *frame);

#define WIRE_TRANSFORM_SIZE   52
#define WIRE_TRANSFORM_SIGNED 20 /* where the bytes that the signature covers begin */
enum { SMB2_TRANSFORM_ENCRYPTED = 1 };

/* Before one encrypted message (or compound). */
struct wire_transform {
    uint8_t signature[16];
    uint8_t nonce[16];
    uint32_t original_size;
    uint16_t flags; /* 3.1.1: ENCRYPTED; 3.0 and 3.0.2: the algorithm, which has the same value */
    uint64_t session_id;
};
void wire_transform_encode(struct wr *w, const struct wire_transform *t);
/* Leaves the cursor at the encrypted bytes. */
int wire_transform_decode(struct rd *frame, struct wire_transform *ret);

enum {
    SMB2_COMPRESSION_NONE,
    SMB2_COMPRESSION_LZNT1,
    SMB2_COMPRESSION_LZ77,
    SMB2_COMPRESSION_LZ77_HUFFMAN,
    SMB2_COMPRESSION_PATTERN_V1,
    SMB2_COMPRESSION_LZ4,
};

struct wire_compression {
    uint32_t original_size;
    bool chained;
    uint16_t algorithm; /* unchained only: the chain has one a payload */
    uint32_t offset;    /* unchained only: bytes that follow uncompressed before the others */
};
void wire_compression_encode(struct wr *w, const struct wire_compression *c);
/* Leaves the cursor at the bytes (unchained), or at the first payload's header. */
int wire_compression_decode(struct rd *frame, struct wire_compression *ret);

struct wire_compression_payload {
    uint16_t algorithm;
    uint32_t original_size; /* 0 for algorithms that do not tell: NONE and PATTERN_V1 */
    struct rd data;
};
/* `first` goes into the flags. */
void wire_compression_payload_encode(struct wr *w, const struct wire_compression_payload *p,
                                     bool first);
/* 1: got one; 0: no more; -EBADMSG. */
int wire_compression_payload_next(struct rd *chain, struct wire_compression_payload *ret);
/* Bytes that the payload becomes; -EBADMSG where it does not hold them. */
int wire_compression_payload_size(const struct wire_compression_payload *p, uint32_t *ret);

/* Writes the `len` bytes that `in` was made from (xca.c). -EBADMSG where it was made from anything
 * else, -EOPNOTSUPP for LZ4 and what is not known. */
int wire_inflate(uint16_t algorithm, struct rd in, uint8_t *out, size_t len);

#endif
