/*
 * What a client did: the unit that is analysed and replayed. An open with everything done on it,
 * from its CREATE to its CLOSE, is one operation, and so is a CREATE that failed. An open whose
 * directory is enumerated again (RESTART_SCANS, REOPEN) ends one operation and begins the next,
 * which then has no CREATE. Made from the dissector's exchanges.
 */
#ifndef LARDER_CAPTURE_OPERATION_H
#define LARDER_CAPTURE_OPERATION_H

#include "capture/dissect.h"

enum operation_kind {
    OPERATION_LIST,   /* a directory was enumerated with `*` */
    OPERATION_SEARCH, /* names were searched in a directory (a pattern without wildcards), or a
                         wildcard other than `*` */
    OPERATION_STAT,   /* opened for attributes only: CREATE, perhaps QUERY_INFO, CLOSE */
    OPERATION_DATA,   /* data, locks, security, control codes: what only the server can answer */
    OPERATION_MISS,   /* the CREATE found no such name */
    OPERATION_OTHER,  /* the CREATE failed otherwise, or nothing can be said (opened before the
                         capture) */
};
const char *operation_kind_name(enum operation_kind k);

struct operation_name { /* one name that a listing or search showed; owned by the operation */
    const char *name;
    size_t len;
    struct file_attr attr;
    uint32_t wire_bytes; /* in FileIdBothDirectoryInformation */
};

struct operation {
    enum operation_kind kind;
    const struct smb_share *share;
    const char *path; /* as the client spelled it, "" the root; NULL: not known */
    bool is_directory;
    const char *pattern;              /* LIST, SEARCH: of the first QUERY_DIRECTORY */
    bool search_found;                /* SEARCH for one name: whether it was there */
    uint32_t status;                  /* of the CREATE */
    uint64_t begin_ns, end_ns;        /* first request sent, last response received */
    uint64_t waited_ns;               /* sum over its round trips */
    uint32_t requests[SMB2_COMMANDS]; /* by command */
    uint32_t messages;                /* requests and responses */
    uint32_t round_trips;
    uint64_t read_bytes, written_bytes;
    bool changes;           /* it created, wrote, renamed, deleted, set something */
    bool changes_elsewhere; /* it changed a second path, which is not told */
    const char *moved_to;   /* the second path, which it was renamed or linked to; NULL: none */
    bool lease_granted; /* a lease or an oplock: it serves as a promise, and is never avoidable */
    bool served; /* what only the server can do: data, locks, notifications, security, control codes
                    ... */
    uint32_t desired_access, disposition, options;
    struct file_attr attr; /* of the object; attr_known */
    bool attr_known;
    const struct operation_name *names; /* LIST, SEARCH */
    size_t name_count;
    uint64_t listing_bytes; /* FileIdBothDirectoryInformation bytes of all names */
    bool complete;          /* LIST, SEARCH: the end was seen (NO_MORE_FILES, NO_SUCH_FILE) */
    bool names_cut;         /* more names than are kept */
};

/* Whether this exchange changed something on the server, as far as can be told: never says no
 * where it did. ELSEWHERE_TOO: a rename or a new link, whose other name is the exchange's pattern.
 */
enum exchange_change { CHANGE_NONE, CHANGE_PATH, CHANGE_ELSEWHERE_TOO };
enum exchange_change exchange_changes(const struct exchange *x);
/* NOT_FOUND, PATH_NOT_FOUND and their kin. */
bool status_is_missing(uint32_t status);
/* `*`, or nothing, which servers take for it. */
bool pattern_is_everything(const char *pattern);
bool pattern_has_wildcard(const char *pattern);
/* A share of named pipes (IPC$), whose names are no files. */
bool share_is_pipes(const struct smb_share *share);

struct operations;
/* `done` gets each operation when its open is closed or its CREATE has failed; borrowed until it
 * returns. Operations come in order of their end. Of names in operations under way, 1,000,000 are
 * kept in all; what is over is counted in listing_bytes and told by names_cut. */
struct operations *operations_new(void (*done)(void *user, const struct operation *o), void *user);
/* For the dissector's events. */
void operations_exchange(void *operations, const struct exchange *x);
void operations_open_closed(void *operations, struct smb_open *o);
struct operations *operations_free(struct operations *o);

#endif
