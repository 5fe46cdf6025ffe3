/*
 * What to connect to and how: target, credentials, profile and settings, by the names that users
 * know: mount.cifs' for options, Windows' for settings. The one parser of all of them.
 */
#ifndef LARDER_SHARE_OPTIONS_H
#define LARDER_SHARE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cache/settings.h"
#include "client/client.h"

struct share_options {
    char *host;    /* name or literal, without brackets */
    char *address; /* ip: where it is; NULL: as the name says */
    uint16_t port;
    char *share;
    char *path; /* inside the share, "" for its root; mount and tools start there */
    char *user, *domain, *password; /* NULL: not given */
    enum client_logon logon;        /* of sec=, where logon_given: see share_options_logon */
    bool logon_given;
    char *keytab;  /* NULL: none */
    int64_t cruid; /* whose ticket cache; -1: our own */
    bool guest;
    bool sign_asked; /* by the user, not by the profile */
    bool map_names;  /* mapposix: on unless `nomap` */
    bool mfsymlinks;
    bool byte_range_locks;  /* brl: on unless `nobrl`: locks then work within this mount only */
    bool hard;              /* who waits for a server that is away does so without an end */
    uint32_t timeo;         /* tenths of a second that a call waits for the server; 0: 300 */
    uint32_t echo_interval; /* seconds of silence after which the server is probed; 0: 60 */
    char *events_path;      /* NULL: none */
    /* Of an embedding program alone, see struct observe_options; NULL: nobody listens. */
    void (*event_line)(void *user, const char *line);
    void *event_user;
    char *keylog_path; /* of session keys; NULL: none */
    struct settings settings;
};

/* Profile larder, everything else empty. */
void share_options_init(struct share_options *o);
/* Wipes the password and frees. */
void share_options_done(struct share_options *o);
int share_options_copy(const struct share_options *from, struct share_options *ret);

/* `//host[:port]/share[/path]` or `smb://[[domain;]user[:password]@]host[:port]/share[/path]`; IPv6
 * in brackets; %XX decoded in the smb: form. -EINVAL with a text that shows the form. */
int share_options_target(struct share_options *o, const char *target, struct error *err);

/* The target for people and mount tables: //host[:port]/share[/path], no user. Returns `out`. */
#define SHARE_SOURCE_MAX 1024
const char *share_options_source(const struct share_options *o, char out[static SHARE_SOURCE_MAX]);

/* How to log on: as sec= says; without it as a guest where that was given, by Kerberos with a
 * keytab or where no password was given and the ticket cache has a ticket, and else by NTLM; with
 * BlockNTLM by Kerberos instead. */
enum client_logon share_options_logon(const struct share_options *o);
/* Whether that still lacks a password; whether one would be used that is at hand. */
bool share_options_lack_password(const struct share_options *o);
bool share_options_take_password(const struct share_options *o);

/* Whether a connection can be asked for by these options: -EINVAL with what contradicts what. */
int share_options_check(const struct share_options *o, struct error *err);
/* What a client is asked for by them; borrows from `o`. Its events, observer and keylog are the
 * caller's to add. */
void share_options_client(const struct share_options *o, struct client_options *ret);

/* One option: profile, username/user, password/pass, domain/dom/workgroup, guest, credentials=FILE,
 * sec, keytab=FILE, cruid, ip/addr, port, vers, sign, seal, soft, hard, timeo=TENTHS,
 * echo_interval=SECONDS, events=FILE, keylog=FILE, actimeo, mapposix, nomap, mfsymlinks, brl,
 * nobrl, and every setting of settings.h. `value` may be NULL for flags. Setting `profile` keeps
 * nothing of the settings given before it, but those of the connection: give it first. -ENOENT for
 * an unknown name, with a known one that is near; -EINVAL for a bad value. A password never appears
 * in an error. */
int share_options_set(struct share_options *o, const char *name, const char *value,
                      struct error *err);

/* Their names: index 0 .. ; NULL past the last. Whether one is among them, in any case. */
const char *share_options_name(size_t index);
bool share_options_know(const char *name);
/* Whether the index-th takes a value. */
bool share_options_takes_value(size_t index);

/* "name" or "name=value"; `item` is taken apart in place. */
int share_options_item(struct share_options *o, char *item, struct error *err);

/* A comma-separated list as after -o; a value may be quoted with "..." to hold commas. */
int share_options_parse(struct share_options *o, const char *list, struct error *err);

/* The list taken apart, for callers with options of their own: `each` gets one item at a time, in a
 * buffer that it may change and that is wiped afterwards. Stops at the first non-zero result and
 * returns it. */
int share_options_split(const char *list, int (*each)(void *user, char *item, struct error *err),
                        void *user, struct error *err);

/* A credentials file in mount.cifs' format (username=, password=, domain=; # comments). -EPERM: its
 * mode lets others read it, or more than its owner write it. */
int share_options_credentials(struct share_options *o, const char *file, struct error *err);

#endif
