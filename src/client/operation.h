/* What the operations of this room have in common: the client object, paths, and errors that name
 * what was tried. Private to this room. */
#ifndef LARDER_CLIENT_OPERATION_H
#define LARDER_CLIENT_OPERATION_H

#include "client/conn.h"

struct auth_source;

/* What a server and we have agreed on (negotiate.c). */
struct agreed {
    uint16_t dialect;
    enum secure_algorithm signing_algorithm;
    unsigned cipher;
    uint32_t capabilities, max_read, max_write, max_transact;
    uint8_t lease_version;
    bool leases_dirs, multi_credit;
};

/* All constant after client_connect, but for `facts`. */
struct client {
    struct conn *conn;
    char *host, *share;
    struct auth_source *source; /* who logs on */
    char user[320];             /* as what it was let in */
    bool map_names;
    struct client_options options; /* what it takes to connect again; who logs on is `source` */
    uint8_t guid[16];              /* ClientGuid, the same for all connections (3.2.1.1) */
    struct agreed agreed;
    struct {
        atomic_bool stop;    /* the reviver is to end */
        uint64_t session_id; /* of the last session, which the next one replaces; the reviver's */
    } revival;
    struct client_facts facts; /* protected by conn->lock, once established */
};

/* One operation on its way, for its error texts. */
struct operation {
    struct client *client;
    const char *verb; /* "stat" */
    const char *path; /* as the caller gave it */
    struct error *err;
    bool makes_name; /* the path is to come to be: one that cannot be is -EINVAL, not -ENOENT */
    const char *to;  /* where it gets another name: that is to come to be */
};

/* Fail the operation; each fills the error and returns its negative errno. The text begins with
 * "VERB //HOST/SHARE/PATH: ". */
int operation_failed(const struct operation *op, const struct error *why); /* no answer came */
int operation_status(const struct operation *op, uint32_t status);         /* the server said no */
int operation_malformed(const struct operation *op, uint16_t command);     /* nonsense came */
int operation_error(const struct operation *op, int code, const char *text);

/* The bound of a path on the wire: a 16-bit length, in whole UTF-16 units. */
#define WIRE_PATH_MAX      65534
#define WIRE_COMPONENT_MAX 510 /* 255 UTF-16 units */

/* A path or pattern as it goes over the wire. */
struct wire_path {
    struct rd name; /* over bytes, or empty */
    uint8_t *bytes;
};
/* names.c. -ENAMETOOLONG, -EILSEQ, -ENOENT or -EINVAL (a `\` in a name that is not mapped: it would
 * be a separator there), -ENOMEM; the error is set. Free with wire_path_done, also after a failure.
 */
int wire_path_init(const struct operation *op, const char *path, struct wire_path *ret);
/* The same for a pattern: "*" for all names, or one name. */
int wire_pattern_init(const struct operation *op, const char *pattern, struct wire_path *ret);
void wire_path_done(struct wire_path *p);

/* Maps names where that is wanted, and puts the one separator for the other; in place. ret_longest:
 * bytes of the longest name. */
void names_to_wire(bool map, uint8_t *utf16, size_t bytes, size_t *ret_longest);
void names_from_wire(bool map, uint8_t *utf16, size_t bytes);
/* One name out of a server's answer. The length; negative where it can not be a name here: empty,
 * too long, `.` or `..`, with `/`, `\` or NUL. */
int name_from_wire(bool map, const struct rd *utf16, char ret[static CLIENT_NAME_MAX]);
/* Whether it is so many dots (1 or 2) and nothing else. */
bool name_is_dots(const struct rd *utf16, size_t dots);

/* ---- what compounds and single requests of several operations are made of ---- */

enum open_kind { OPEN_ATTRIBUTES, OPEN_READ, OPEN_LIST };

/* Adds the CREATE of an existing file, with a QFid context where an id is wanted. `lease` NULL:
 * none is asked for. No CLOSE travels together with a CREATE that asks for one. */
void add_create(struct compound *m, enum open_kind kind, const struct rd *name,
                struct client_lease_ask *lease);
void add_query_info(struct compound *m, uint8_t type, uint8_t info_class, uint32_t output_length,
                    struct wire_file_id id);
/* One in the caller's terms, with a QFid context. */
void add_create_how(struct compound *m, const struct client_how *how, const struct rd *name);
/* One that asks for an open back that the server holds: its file is the one that it had. */
void add_create_back(struct compound *m, const struct client_how *how, const struct handle *lost,
                     const struct rd *name);
void add_close(struct compound *m, struct wire_file_id id, bool post_query);

/* A CREATE by itself, waited for. */
int create_run(const struct operation *op, enum open_kind kind, const struct rd *name,
               struct client_lease_ask *lease, struct handle **ret, struct file_attr *ret_attr);
int create_run_how(const struct operation *op, const struct client_how *how, const struct rd *name,
                   struct handle **ret, struct file_attr *ret_attr, bool *ret_created);
/* What a CREATE at 0 that succeeded tells; attr.id is from its QFid context, or 0. */
int create_answered(const struct operation *op, const struct compound *m,
                    struct file_attr *ret_attr);
/* Takes its open, too. ret_created may be NULL. */
int create_take(const struct operation *op, struct compound *m, struct handle **ret,
                struct file_attr *ret_attr, bool *ret_created);

/* close.c: what the CLOSE at `i` was answered. ret_attr may be NULL. */
int close_answered(const struct operation *op, const struct compound *m, unsigned i,
                   struct file_attr *ret_attr);
/* A CLOSE by itself, waited for, or queued. Frees `h`. ret_attr may be NULL. */
int close_run(const struct operation *op, struct handle *h, enum client_style style,
              struct file_attr *ret_attr);

/* change.c: one SET_INFO; `data` as its class wants it. */
struct setting {
    uint8_t info_class;
    struct rd data;
    bool optional; /* one that fails is no failure */
};
/* By an open, waited for. ret_status (may be NULL): the server's, also where it failed. */
int set_open(const struct operation *op, struct handle *h, const struct setting *s,
             uint32_t *ret_status);

/* The attributes of an open, waited for (stat.c). */
int stat_open(const struct operation *op, struct handle *h, struct file_attr *ret);

/* How a compound asks for its requests to be sent one by one instead. */
struct retry {
    bool one_by_one;
    unsigned learn; /* REFUSES_...: what to remember if that works */
};

/* Whether a compound of n elements is worth trying: not refused, and n credits can be had. */
bool may_compound(struct client *c, unsigned n, unsigned refusals);
/* Statuses by which servers refuse what is right in itself: the form, rather than the object. */
bool is_refusal(uint32_t status);
/* Runs a compound that begins with a CREATE. 0 where that succeeded; else its error, and whether
 * the requests are to be sent one by one. */
int operation_run(const struct operation *op, struct compound *m, struct retry *ret_retry);

/* MS-FSCC 2.1.9: all ones where no unique id could be made. Gives 0 as for no id at all. */
static inline uint64_t usable_id(uint64_t id)
{
    return id == UINT64_MAX ? 0 : id;
}

static inline bool status_is(uint32_t status, uint32_t code)
{
    return status == code;
}

/* STATUS_BUFFER_OVERFLOW comes with as much data as fitted. */
static inline bool has_output(uint32_t status)
{
    return status_is(status, STATUS_SUCCESS) || status_is(status, STATUS_BUFFER_OVERFLOW);
}

/* ---- connecting, in this order ---- */

/* negotiate.c. `preauth` is fed with request and response. */
int negotiate(struct client *c, const struct client_options *options,
              struct secure_preauth *preauth, struct error *err);
/* session.c */
int session_setup(struct client *c, const struct client_options *options,
                  struct secure_preauth *preauth, struct error *err);
void session_logoff(struct client *c);
/* tree.c */
int tree_connect(struct client *c, struct error *err);
void tree_disconnect(struct client *c);
/* validate.c; the connection is ended where the negotiation was not what it seemed. */
int validate_negotiation(struct client *c, struct error *err);

#endif
