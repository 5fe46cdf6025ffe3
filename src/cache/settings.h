/*
 * Settings: Windows' names where Windows has the setting (Get-SmbClientConfiguration), accepted in
 * any case, and the four profiles as data. One table (settings.c) knows name, unit, range and
 * meaning of each; the manual and the checks are made from it.
 */
#ifndef LARDER_CACHE_SETTINGS_H
#define LARDER_CACHE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What a profile does when no belief answers a look-up. */
enum settings_on_miss {
    ON_MISS_LIST,     /* list the parent (`*`), answer from it */
    ON_MISS_SEARCH,   /* search the one name in the parent */
    ON_MISS_EVIDENCE, /* STAT the path; LIST the parent when it is probed repeatedly */
    ON_MISS_STAT,     /* STAT the path */
};

/* Algorithms that may be agreed on, the one that is wanted most first; by their numbers on the
 * wire. */
#define SETTINGS_CHOICES 4
struct settings_choice {
    uint8_t count; /* at least 1 */
    uint8_t id[SETTINGS_CHOICES];
};

struct settings {
    char profile[16]; /* "23h2", "25h2", "larder", "off" */

    /* The three caches. Lifetimes in seconds; a lifetime or EntriesMax of 0, or the switch, is off.
     */
    bool directory_cache;
    uint32_t directory_cache_lifetime;
    uint32_t directory_cache_entries_max;
    uint32_t directory_cache_entry_size_max; /* bytes of FileIdBothDirectoryInformation */
    bool file_info_cache;
    uint32_t file_info_cache_lifetime;
    uint32_t file_info_cache_entries_max;
    bool file_not_found_cache;
    uint32_t file_not_found_cache_lifetime;
    uint32_t file_not_found_cache_entries_max;
    uint64_t cache_memory_max; /* bytes, of all three caches together */

    /* Promises of the server. */
    bool leases;            /* ask for them, where the server has them */
    bool watches;           /* have the server tell of changes, where it does */
    bool inotify;           /* local inotify tells of what others change */
    uint32_t cache_max_age; /* s that a belief lives under a promise; 0: as without one */
    uint32_t
        dormant_directory_timeout; /* s that a handle which nobody uses is kept under a lease */
    uint32_t dormant_file_limit;   /* such handles, of files and directories together */
    uint32_t write_delay;          /* s that written data may wait under a WRITE lease */

    /* What makes a profile. */
    bool info_answers_lookup; /* false: file info answers attributes only, as the report's Windows
                                 does */
    enum settings_on_miss on_miss;
    bool compound;     /* compounds, CLOSE deferred; false: one by one, each waited for */
    bool kernel_cache; /* let the kernel keep entries and attributes for as long as we believe them
                        */
    bool performance_events; /* one event a request */

    /* The connection. */
    bool require_security_signature, require_encryption;
    struct settings_choice encryption_ciphers; /* MS-SMB2 2.2.3.1.2 */
    struct settings_choice signing_algorithms; /* 2.2.3.1.7 */
    bool enable_insecure_guest_logons, block_ntlm;
    uint16_t smb2_dialect_min, smb2_dialect_max; /* 0x0202 ... 0x0311 */
};

/* Their names: index 0 .. ; NULL past the last. */
const char *settings_profile_name(size_t index);

/* A profile's settings; -ENOENT (err names the profiles) for an unknown name. */
int settings_profile(const char *name, struct settings *ret, struct error *err);

/* What is said of the connection, its signing and encryption, is no profile's affair: copied from
 * `from`. */
void settings_keep_connection(const struct settings *from, struct settings *to);

/* Sets one by its name. -ENOENT for an unknown name (err has a known one that is near), -EINVAL for
 * a bad value (err has the range and the unit). `actimeo` sets all three lifetimes. */
int settings_set(struct settings *s, const char *name, const char *value, struct error *err);

/* The table, for printing: index 0 .. ; NULL past the last. */
struct setting_info {
    const char *name;
    const char *unit; /* of numbers: "s", "entries", "handles", "bytes"; else "" */
    const char *meaning;
    const char *windows; /* where Windows has it: its cmdlet, "registry"; NULL: it has not */
    uint64_t min, max;   /* of numbers */
};
const struct setting_info *settings_info(size_t index);
/* The i-th word that one which is no number takes; NULL past the last, and for numbers. Ask in
 * order. */
const char *settings_value(size_t index, size_t i);
/* The value as text, as settings_set takes it. Returns `out`. */
#define SETTINGS_TEXT_MAX 64
const char *settings_get(const struct settings *s, size_t index,
                         char out[static SETTINGS_TEXT_MAX]);

/* Whether each cache is on: switch, lifetime and bound taken together. Order of enum observe_cache.
 */
void settings_enabled(const struct settings *s, bool ret_enabled[static 3]);

#endif
