/*
 * From exchanges to operations.
 *
 * Each open carries what has been done on it so far (`struct building`, hung on the dissector's
 * smb_open); every exchange on the open adds to it, and when the open is closed its kind is decided
 * from what came together, in one function. A CREATE that failed has no open and is an operation at
 * once. Names of listings live in blocks of text that the building owns, so that a listing of any
 * size is a few allocations.
 *
 * A round trip is a compound's wait, so the elements of one compound on the same open count once:
 * from the first one sent to the last one answered. Responses of a few compounds may come mixed;
 * the latest of them are remembered for that.
 */
#include "capture/operation.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "base/ntstatus.h"
#include "base/utf.h"

#define NAMES_MAX  1000000
#define TEXT_BLOCK 4096
#define ROUNDS     8
#define NAME_UNITS 255 /* UTF-16 units of a name: MS-FSCC 2.1.5.2 */

#define WIRE_BYTES(utf16_bytes) (((utf16_bytes) + WIRE_DIRENT_FIXED + 7) / 8 * 8)

/* Access that looks and does not touch: a directory's LIST and TRAVERSE bits among them, since
 * enumerating shows as QUERY_DIRECTORY. */
#define ACCESS_LOOKS                                                                               \
    (FILE_READ_ATTRIBUTES | FILE_READ_EA | ACCESS_READ_CONTROL | ACCESS_SYNCHRONIZE)
#define ACCESS_LOOKS_IN_DIRECTORY (ACCESS_LOOKS | FILE_READ_DATA | ACCESS_TRAVERSE)
#define ACCESS_TRAVERSE           0x00000020u
/* WRITE_DATA, APPEND_DATA, WRITE_EA, DELETE_CHILD, WRITE_ATTRIBUTES, DELETE, WRITE_DAC,
 * WRITE_OWNER, MAXIMUM_ALLOWED, GENERIC_ALL, GENERIC_WRITE: MS-SMB2 2.2.13.1. */
#define ACCESS_TOUCHES       0x520d0156u
#define FILE_DELETE_ON_CLOSE 0x00001000u

enum { FILE_LINK_INFORMATION_EX = 72 }; /* MS-FSCC 2.4 */

struct text {
    struct text *next;
    size_t used, cap;
    char bytes[];
};

struct round {
    uint64_t group, first_ns, waited_ns;
};

struct building {
    struct list in_all; /* of struct operations */
    struct operation op;
    struct operation_name *names;
    size_t names_cap;
    struct text *text;
    struct round rounds[ROUNDS]; /* the latest, in a ring */
    unsigned round_at;
    bool scanned; /* a QUERY_DIRECTORY has told something */
};

struct operations {
    void (*done)(void *user, const struct operation *o);
    void *user;
    struct list all; /* buildings */
    size_t names;    /* kept in all of them */
};

const char *operation_kind_name(enum operation_kind k)
{
    static const char *const names[] = {
        [OPERATION_LIST] = "list", [OPERATION_SEARCH] = "search", [OPERATION_STAT] = "stat",
        [OPERATION_DATA] = "data", [OPERATION_MISS] = "miss",     [OPERATION_OTHER] = "other",
    };
    return k < sizeof(names) / sizeof(names[0]) ? names[k] : "unknown";
}

/* ---- what exchanges say ---- */

bool status_is_missing(uint32_t status)
{
    return status == STATUS_OBJECT_NAME_NOT_FOUND || status == STATUS_OBJECT_PATH_NOT_FOUND ||
           status == STATUS_NO_SUCH_FILE || status == STATUS_OBJECT_NAME_INVALID ||
           status == STATUS_OBJECT_PATH_SYNTAX_BAD;
}

bool pattern_is_everything(const char *pattern)
{
    return !pattern || !*pattern || strcmp(pattern, "*") == 0;
}

/* MS-FSCC 2.1.4.4: `<`, `>` and `"` are DOS_STAR, DOS_QM and DOS_DOT. */
bool pattern_has_wildcard(const char *pattern)
{
    return pattern && strpbrk(pattern, "*?<>\"");
}

bool share_is_pipes(const struct smb_share *share)
{
    const char *last = share ? strrchr(share->name, '\\') : NULL;
    return last && strcasecmp(last + 1, "IPC$") == 0;
}

static bool renames(const struct exchange *x)
{
    return x->info_type == SMB2_0_INFO_FILE &&
           (x->info_class == FILE_RENAME_INFORMATION ||
            x->info_class == FILE_RENAME_INFORMATION_EX || x->info_class == FILE_LINK_INFORMATION ||
            x->info_class == FILE_LINK_INFORMATION_EX);
}

enum exchange_change exchange_changes(const struct exchange *x)
{
    if ((x->answered && ntstatus_failed(x->status)) || share_is_pipes(x->share))
        return CHANGE_NONE;
    uint32_t access = x->open && x->open->path_known ? x->open->desired_access : ACCESS_TOUCHES;
    switch (x->command) {
    case SMB2_CREATE:
        return x->disposition != FILE_OPEN || x->options & FILE_DELETE_ON_CLOSE ? CHANGE_PATH
                                                                                : CHANGE_NONE;
    case SMB2_CLOSE:
        return x->open && x->open->options & FILE_DELETE_ON_CLOSE ? CHANGE_PATH : CHANGE_NONE;
    case SMB2_WRITE:
        return CHANGE_PATH;
    case SMB2_IOCTL: /* copies on the server, among others */
        return access & ACCESS_TOUCHES ? CHANGE_PATH : CHANGE_NONE;
    case SMB2_SET_INFO:
        return renames(x) ? CHANGE_ELSEWHERE_TOO : CHANGE_PATH;
    }
    return CHANGE_NONE;
}

/* Questions about an open that no cache of attributes holds: extended attributes, streams, pipes,
 * anything but the file itself. */
static bool only_server_knows(const struct exchange *x)
{
    static const uint8_t classes[] = {15, 22, 23, 24, 25};
    return x->info_type != SMB2_0_INFO_FILE || memchr(classes, x->info_class, sizeof(classes));
}

static bool is_served(const struct exchange *x)
{
    switch (x->command) {
    case SMB2_FLUSH:
    case SMB2_READ:
    case SMB2_WRITE:
    case SMB2_LOCK:
    case SMB2_IOCTL:
    case SMB2_CHANGE_NOTIFY:
    case SMB2_SET_INFO:
    case SMB2_OPLOCK_BREAK:
        return true;
    case SMB2_QUERY_INFO:
        return only_server_knows(x);
    }
    return false;
}

/* ---- buildings ---- */

static struct building *building_new(struct operations *all)
{
    struct building *b = calloc(1, sizeof(*b));
    if (b)
        list_add_tail(&all->all, &b->in_all);
    return b;
}

static void forget_names(struct operations *all, struct building *b)
{
    all->names -= b->op.name_count;
    free(b->names);
    while (b->text) {
        struct text *next = b->text->next;
        free(b->text);
        b->text = next;
    }
}

static void building_free(struct operations *all, struct building *b)
{
    forget_names(all, b);
    list_del(&b->in_all);
    free(b);
}

/* Room for `len` bytes and a NUL; NULL: out of memory. */
static char *text_room(struct building *b, size_t len)
{
    if (!b->text || b->text->cap - b->text->used <= len) {
        size_t cap = b->text ? TEXT_BLOCK * 4 : TEXT_BLOCK / 8;
        if (cap <= len)
            cap = len + 1;
        struct text *t = malloc(sizeof(*t) + cap);
        if (!t)
            return NULL;
        *t = (struct text){.next = b->text, .cap = cap};
        b->text = t;
    }
    char *room = b->text->bytes + b->text->used;
    b->text->used += len + 1;
    room[len] = 0;
    return room;
}

static const char *keep_text(struct building *b, const char *text)
{
    size_t len = strlen(text);
    char *room = text_room(b, len);
    return room ? memcpy(room, text, len) : NULL;
}

static bool names_grow(struct building *b)
{
    size_t cap = b->names_cap ? b->names_cap * 2 : 8;
    struct operation_name *wider = realloc(b->names, cap * sizeof(*wider));
    if (!wider)
        return false;
    b->names = wider;
    b->names_cap = cap;
    return true;
}

static bool is_dot(const char *name, size_t len)
{
    return (len == 1 && name[0] == '.') || (len == 2 && memcmp(name, "..", 2) == 0);
}

static void keep_name(struct operations *all, struct building *b, const struct wire_dirent *e)
{
    char name[UTF8_MAX_FOR_UTF16(NAME_UNITS * 2)];
    int len = utf16_to_utf8(e->name.base, e->name.len, name, sizeof(name));
    if (len >= 0 && is_dot(name, (size_t)len))
        return;
    uint32_t bytes = (uint32_t)WIRE_BYTES(e->name.len);
    b->op.listing_bytes += bytes;
    char *room = NULL;
    if (len >= 0 && all->names < NAMES_MAX && (b->op.name_count < b->names_cap || names_grow(b)))
        room = text_room(b, (size_t)len);
    if (!room) {
        b->op.names_cut = true;
        return;
    }
    memcpy(room, name, (size_t)len);
    b->names[b->op.name_count++] = (struct operation_name){
        .name = room, .len = (size_t)len, .attr = e->attr, .wire_bytes = bytes};
    all->names++;
}

/* ---- an exchange comes in ---- */

static void add_round(struct building *b, const struct exchange *x)
{
    uint64_t until = x->answered && x->answered_ns > x->asked_ns ? x->answered_ns : x->asked_ns;
    struct round *r = NULL;
    for (unsigned i = 0; i < ROUNDS && !r; i++)
        if (x->group && b->rounds[i].group == x->group)
            r = &b->rounds[i];
    if (!r) {
        r = &b->rounds[b->round_at++ % ROUNDS];
        *r = (struct round){.group = x->group, .first_ns = x->asked_ns};
        b->op.round_trips++;
    }
    uint64_t waited = until > r->first_ns ? until - r->first_ns : 0;
    if (waited > r->waited_ns) {
        b->op.waited_ns += waited - r->waited_ns;
        r->waited_ns = waited;
    }
}

static void add_query_directory(struct operations *all, struct building *b,
                                const struct exchange *x)
{
    struct operation *op = &b->op;
    if (op->requests[SMB2_QUERY_DIRECTORY] == 1)
        op->pattern = keep_text(b, x->pattern ? x->pattern : "");
    if (!x->answered)
        return;
    if (x->status == STATUS_NO_MORE_FILES || status_is_missing(x->status)) {
        op->complete = true;
        b->scanned = true;
    } else if (!ntstatus_failed(x->status)) {
        struct rd listing = x->listing;
        struct wire_dirent e;
        while (wire_listing_next(&listing, x->info_class, &e) > 0)
            keep_name(all, b, &e);
        op->search_found |= x->payload > 0;
        b->scanned = true;
    }
}

static void add_change(struct building *b, const struct exchange *x)
{
    struct operation *op = &b->op;
    enum exchange_change change = exchange_changes(x);
    op->changes |= change != CHANGE_NONE;
    if (change != CHANGE_ELSEWHERE_TOO)
        return;
    op->changes_elsewhere |= op->moved_to != NULL; /* one that went before is not told any more */
    /* one that could not be read is "", which nothing can be renamed to */
    op->moved_to = x->pattern && *x->pattern ? keep_text(b, x->pattern) : NULL;
    op->changes_elsewhere |= !op->moved_to;
}

static void add_exchange(struct operations *all, struct building *b, const struct exchange *x)
{
    struct operation *op = &b->op;
    if (x->request_seen) {
        if (!op->messages || x->asked_ns < op->begin_ns)
            op->begin_ns = x->asked_ns;
        if (x->command < SMB2_COMMANDS)
            op->requests[x->command]++;
        add_round(b, x);
    } else if (!op->messages) {
        op->begin_ns = x->answered_ns;
    }
    uint64_t last = x->answered ? x->answered_ns : x->asked_ns;
    if (last > op->end_ns)
        op->end_ns = last;
    op->messages += (uint32_t)x->request_seen + x->answered;
    add_change(b, x);
    op->served |= is_served(x);
    if (x->attr_known) {
        op->attr = x->attr;
        op->attr_known = true;
    }
    if (x->command == SMB2_READ)
        op->read_bytes += x->payload;
    if (x->command == SMB2_WRITE)
        op->written_bytes += x->payload;
    if (x->command == SMB2_QUERY_DIRECTORY)
        add_query_directory(all, b, x);
}

/* ---- an operation ends ---- */

static bool looks_only(const struct operation *op)
{
    uint32_t looks = op->is_directory ? ACCESS_LOOKS_IN_DIRECTORY : ACCESS_LOOKS;
    return (op->desired_access & ~looks) == 0;
}

/* What came together says what it was. Enumerating wins, since that is what the open was for;
 * `served` tells what else happened on it. */
static enum operation_kind kind_of(const struct operation *op, bool opened)
{
    if (op->requests[SMB2_QUERY_DIRECTORY])
        return pattern_is_everything(op->pattern) ? OPERATION_LIST : OPERATION_SEARCH;
    if (op->served || op->changes)
        return OPERATION_DATA;
    if (!opened)
        return OPERATION_OTHER;
    return looks_only(op) && !share_is_pipes(op->share) ? OPERATION_STAT : OPERATION_DATA;
}

static void describe(struct operation *op, const struct smb_open *o)
{
    op->share = o->share;
    op->path = o->path_known ? o->path : NULL;
    op->is_directory = o->is_directory || op->requests[SMB2_QUERY_DIRECTORY];
    op->desired_access = o->desired_access;
    op->disposition = o->disposition;
    op->options = o->options;
    op->lease_granted = (o->lease_granted_known && o->lease_granted_state) ||
                        (o->oplock_granted != SMB2_OPLOCK_LEVEL_NONE &&
                         o->oplock_granted != SMB2_OPLOCK_LEVEL_LEASE);
}

static void emit(struct operations *all, struct building *b, const struct smb_open *o)
{
    struct operation *op = &b->op;
    describe(op, o);
    op->names = b->names;
    op->kind = kind_of(op, o->path_known);
    all->done(all->user, op);
}

static struct building *building_of(struct operations *all, struct smb_open *o)
{
    if (!o->user)
        o->user = building_new(all);
    return o->user;
}

/* The same open begins anew: what was done so far is one operation. */
static void begin_again(struct operations *all, struct building *b, const struct smb_open *o)
{
    emit(all, b, o);
    forget_names(all, b);
    *b = (struct building){.in_all = b->in_all};
}

static bool begins_again(const struct building *b, const struct exchange *x)
{
    return x->command == SMB2_QUERY_DIRECTORY && b->scanned &&
           x->flags & (SMB2_RESTART_SCANS | SMB2_REOPEN);
}

/* A CREATE that made no open. Names of pipes are no files; a CREATE that would have made the file
 * says nothing about its name when it fails. */
static void emit_failed(struct operations *all, const struct exchange *x)
{
    struct building b = {0};
    add_exchange(all, &b, x);
    bool miss = x->answered && status_is_missing(x->status) && !share_is_pipes(x->share) &&
                (x->disposition == FILE_OPEN || x->disposition == FILE_OVERWRITE);
    b.op.kind = miss ? OPERATION_MISS : OPERATION_OTHER;
    b.op.share = x->share;
    b.op.path = x->request_seen ? x->path : NULL;
    b.op.is_directory = x->options & FILE_DIRECTORY_FILE;
    b.op.status = x->status;
    b.op.desired_access = x->desired_access;
    b.op.disposition = x->disposition;
    b.op.options = x->options;
    all->done(all->user, &b.op);
}

void operations_exchange(void *operations, const struct exchange *x)
{
    struct operations *all = operations;
    if (!x->open) {
        if (x->command == SMB2_CREATE && (!x->answered || ntstatus_failed(x->status)))
            emit_failed(all, x);
        return;
    }
    struct building *b = building_of(all, x->open);
    if (!b)
        return;
    if (begins_again(b, x))
        begin_again(all, b, x->open);
    add_exchange(all, b, x);
}

void operations_open_closed(void *operations, struct smb_open *o)
{
    struct operations *all = operations;
    struct building *b = o->user;
    if (!b)
        return;
    emit(all, b, o);
    building_free(all, b);
    o->user = NULL;
}

struct operations *operations_new(void (*done)(void *user, const struct operation *o), void *user)
{
    struct operations *all = calloc(1, sizeof(*all));
    if (!all)
        return NULL;
    all->done = done;
    all->user = user;
    list_init(&all->all);
    return all;
}

struct operations *operations_free(struct operations *all)
{
    if (!all)
        return NULL;
    struct list *item, *after;
    list_for_each_safe(item, after, &all->all)
        building_free(all, container_of(item, struct building, in_all));
    free(all);
    return NULL;
}
