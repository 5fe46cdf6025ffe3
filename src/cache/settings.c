/*
 * Settings and profiles, both as data.
 *
 * A profile is a filled struct. A setting is a row of one table: its name, what kind of value it
 * holds and where in the struct, and what a person needs to know of it. Setting, printing and the
 * texts of errors all go by the row, so that a new setting is one new row. What is not in the table
 * is what makes a profile (how it asks on a miss, compounds): that is chosen by the profile's name
 * only.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "cache/settings.h"

#define KIB        1024ull
#define MIB        (1024 * KIB)
#define TIB        (1024 * 1024 * MIB)
#define LENGTH(of) (sizeof(of) / sizeof(of)[0])

/* ---- profiles ---- */

/* Windows' defaults for handles that are kept under a lease, and the turn of its lazy writer. */
#define PROMISES .dormant_directory_timeout = 600, .dormant_file_limit = 1023, .write_delay = 1

/* What 23H2 and 25H2 share: Windows' defaults (Get-SmbClientConfiguration), requests one by one,
 * nothing left to the kernel. CacheMemoryMax is ours; it is out of the way here. */
#define WINDOWS_PROFILE                                                                            \
    .directory_cache_lifetime = 10, .directory_cache_entries_max = 16,                             \
    .directory_cache_entry_size_max = 64 * KIB, .file_info_cache = true,                           \
    .file_info_cache_lifetime = 10, .file_info_cache_entries_max = 64,                             \
    .file_not_found_cache = true, .file_not_found_cache_lifetime = 5,                              \
    .file_not_found_cache_entries_max = 128, .cache_memory_max = 1024 * MIB, .cache_max_age = 60,  \
    PROMISES

/* Windows' lifetimes, with room for a whole source tree; the memory is what bounds it. */
#define LARDER_FIGURES                                                                             \
    .directory_cache_lifetime = 10, .directory_cache_entries_max = 4096,                           \
    .directory_cache_entry_size_max = 64 * MIB, .file_info_cache_lifetime = 10,                    \
    .file_info_cache_entries_max = 65536, .file_not_found_cache_lifetime = 5,                      \
    .file_not_found_cache_entries_max = 65536, .cache_memory_max = 64 * MIB, .cache_max_age = 60,  \
    PROMISES

#define CONNECTION                                                                                 \
    .require_security_signature = true, .encryption_ciphers = {4, {2, 1, 4, 3}},                   \
    .signing_algorithms = {3, {2, 1, 0}}, .smb2_dialect_min = 0x0202, .smb2_dialect_max = 0x0311

static const struct settings profiles[] = {
    {
        .profile = "23h2",
        WINDOWS_PROFILE,
        .directory_cache = true,
        .on_miss = ON_MISS_LIST,
        CONNECTION,
    },
    {
        .profile = "25h2",
        WINDOWS_PROFILE,
        .directory_cache = false,
        .on_miss = ON_MISS_SEARCH,
        .performance_events = true,
        CONNECTION,
    },
    {
        .profile = "larder",
        LARDER_FIGURES,
        .directory_cache = true,
        .file_info_cache = true,
        .file_not_found_cache = true,
        .info_answers_lookup = true,
        .on_miss = ON_MISS_EVIDENCE,
        .leases = true,
        .watches = true,
        .compound = true,
        .kernel_cache = true,
        .inotify = true,
        .performance_events = true,
        CONNECTION,
    },
    {
        .profile = "off",
        LARDER_FIGURES, /* for whoever switches one cache back on */
        .on_miss = ON_MISS_STAT,
        .performance_events = true,
        CONNECTION,
    },
};

const char *settings_profile_name(size_t index)
{
    return index < LENGTH(profiles) ? profiles[index].profile : NULL;
}

int settings_profile(const char *name, struct settings *ret, struct error *err)
{
    for (size_t i = 0; i < LENGTH(profiles); i++) {
        if (strcasecmp(profiles[i].profile, name) == 0) {
            *ret = profiles[i];
            return 0;
        }
    }
    return error_set(err, -ENOENT, 0, "unknown profile '%.60s': there are %s, %s, %s and %s", name,
                     profiles[0].profile, profiles[1].profile, profiles[2].profile,
                     profiles[3].profile);
}
_Static_assert(LENGTH(profiles) == 4, "the text above names all profiles");

void settings_keep_connection(const struct settings *from, struct settings *to)
{
    to->require_security_signature = from->require_security_signature;
    to->signing_algorithms = from->signing_algorithms;
    to->require_encryption = from->require_encryption;
    to->encryption_ciphers = from->encryption_ciphers;
    to->enable_insecure_guest_logons = from->enable_insecure_guest_logons;
    to->block_ntlm = from->block_ntlm;
    to->smb2_dialect_min = from->smb2_dialect_min;
    to->smb2_dialect_max = from->smb2_dialect_max;
}

/* ---- the table ---- */

enum kind {
    KIND_SWITCH,
    KIND_U32,
    KIND_U64,
    KIND_DIALECT_MIN,
    KIND_DIALECT_MAX,
    KIND_CIPHERS,
    KIND_SIGNING
};

struct setting {
    struct setting_info info;
    enum kind kind;
    size_t offset; /* in struct settings */
};

#define AT(field) offsetof(struct settings, field)

/* Where Windows has a setting of that name. */
#define CMDLET   "Set-SmbClientConfiguration"
#define REGISTRY "registry"
#define OURS     NULL

/* Lifetimes and bounds may be as large as Windows' REG_DWORD has them; 0 switches a cache off. */
#define SWITCH(name, field, windows, meaning)                                                      \
    {                                                                                              \
        {name, "", meaning, windows, 0, 1}, KIND_SWITCH, AT(field)                                 \
    }
#define NUMBER(name, field, unit, windows, meaning)                                                \
    {                                                                                              \
        {name, unit, meaning, windows, 0, UINT32_MAX}, KIND_U32, AT(field)                         \
    }

static const struct setting table[] = {
    SWITCH("DirectoryCache", directory_cache, OURS,
           "keep complete listings of directories; off whatever the lifetime says"),
    NUMBER("DirectoryCacheLifetime", directory_cache_lifetime, "s", CMDLET,
           "how long a listing is believed; 0: not at all"),
    NUMBER("DirectoryCacheEntriesMax", directory_cache_entries_max, "entries", CMDLET,
           "listings kept; 0: none"),
    NUMBER("DirectoryCacheEntrySizeMax", directory_cache_entry_size_max, "bytes", CMDLET,
           "the largest listing kept, counted as FileIdBothDirectoryInformation"),
    SWITCH("FileInfoCache", file_info_cache, OURS,
           "keep attributes of files; off whatever the lifetime says"),
    NUMBER("FileInfoCacheLifetime", file_info_cache_lifetime, "s", CMDLET,
           "how long attributes are believed; 0: not at all"),
    NUMBER("FileInfoCacheEntriesMax", file_info_cache_entries_max, "entries", CMDLET,
           "files whose attributes are kept; 0: none"),
    SWITCH("FileNotFoundCache", file_not_found_cache, OURS,
           "keep names that do not exist; off whatever the lifetime says"),
    NUMBER("FileNotFoundCacheLifetime", file_not_found_cache_lifetime, "s", CMDLET,
           "how long a name is believed not to exist; 0: not at all"),
    NUMBER("FileNotFoundCacheEntriesMax", file_not_found_cache_entries_max, "entries", CMDLET,
           "names kept that do not exist; 0: none"),
    {{"CacheMemoryMax", "bytes", "memory of the three caches together", OURS, 64 * KIB, TIB},
     KIND_U64,
     AT(cache_memory_max)},
    SWITCH("Leases", leases, OURS, "ask for leases, and believe until they break; needs compounds"),
    SWITCH("Watches", watches, OURS, "have the server tell of changes, and believe for as long"),
    SWITCH("Inotify", inotify, OURS,
           "tell local inotify what others change in the directories that are watched"),
    NUMBER("CacheMaxAge", cache_max_age, "s", OURS,
           "how long anything is believed under a lease or watch; 0: no longer than without"),
    NUMBER("DormantDirectoryTimeout", dormant_directory_timeout, "s", REGISTRY,
           "how long a handle that nobody uses is kept open under a lease; 0: not at all"),
    NUMBER("DormantFileLimit", dormant_file_limit, "handles", CMDLET,
           "handles kept open that nobody uses, of files and directories; 0: none"),
    NUMBER("WriteDelay", write_delay, "s", OURS,
           "how long what is written may wait under a lease; 0: not at all"),
    SWITCH("RequireSecuritySignature", require_security_signature, CMDLET,
           "sign every request and refuse what is not signed"),
    {{"SigningAlgorithms", "", "what may sign, the preferred one first", OURS, 0, 2},
     KIND_SIGNING,
     AT(signing_algorithms)},
    SWITCH("RequireEncryption", require_encryption, CMDLET,
           "encrypt everything, and refuse a server that can not"),
    {{"EncryptionCiphers", "", "what may encrypt, the preferred one first", CMDLET, 1, 4},
     KIND_CIPHERS,
     AT(encryption_ciphers)},
    SWITCH("EnableInsecureGuestLogons", enable_insecure_guest_logons, CMDLET,
           "accept a guest session, which is neither signed nor encrypted"),
    SWITCH("BlockNTLM", block_ntlm, CMDLET, "log on by Kerberos or not at all"),
    {{"Smb2DialectMin", "", "the oldest dialect offered; None: no limit", CMDLET, 0x0202, 0x0311},
     KIND_DIALECT_MIN,
     AT(smb2_dialect_min)},
    {{"Smb2DialectMax", "", "the newest dialect offered; None: no limit", CMDLET, 0x0202, 0x0311},
     KIND_DIALECT_MAX,
     AT(smb2_dialect_max)},
};

/* Not a setting of its own: three rows at once. */
#define ACTIMEO "actimeo"
static const size_t actimeo_offsets[] = {
    AT(directory_cache_lifetime),
    AT(file_info_cache_lifetime),
    AT(file_not_found_cache_lifetime),
};

const struct setting_info *settings_info(size_t index)
{
    return index < LENGTH(table) ? &table[index].info : NULL;
}

/* ---- values ---- */

static const struct dialect {
    const char *name, *windows;
    uint16_t revision;
} dialects[] = {
    /* oldest first; of two spellings the first is shown, the other is mount.cifs' */
    {"2.0.2", "SMB202", 0x0202}, {"2.0", "SMB202", 0x0202},   {"2.1", "SMB210", 0x0210},
    {"3.0", "SMB300", 0x0300},   {"3.0.2", "SMB302", 0x0302}, {"3.02", "SMB302", 0x0302},
    {"3.1.1", "SMB311", 0x0311}, {"3.11", "SMB311", 0x0311},
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* Decimal digits alone: no sign, no space, no unit. */
static int parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
    uint64_t value = 0;
    if (*text == 0)
        return -EINVAL;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -EINVAL;
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (max - digit) / 10)
            return -EINVAL;
        value = value * 10 + digit;
    }
    if (value < min)
        return -EINVAL;
    *ret = value;
    return 0;
}

static int parse_switch(const char *text, bool *ret)
{
    static const char *const words[2][4] = {{"false", "0", "no", "off"},
                                            {"true", "1", "yes", "on"}};
    for (int value = 0; value < 2; value++) {
        for (size_t i = 0; i < LENGTH(words[0]); i++) {
            if (strcasecmp(words[value][i], text) == 0) {
                *ret = value;
                return 0;
            }
        }
    }
    return -EINVAL;
}

/* By Windows' names, where Windows has any. */
struct algorithm {
    const char *name; /* NULL: past the last */
    uint8_t id;
};
static const struct algorithm ciphers[] = {
    {"AES_128_GCM", 2}, {"AES_128_CCM", 1}, {"AES_256_GCM", 4}, {"AES_256_CCM", 3}, {NULL, 0},
};
static const struct algorithm signers[] = {
    {"AES_GMAC", 2},
    {"AES_CMAC", 1},
    {"HMAC_SHA256", 0},
    {NULL, 0},
};

static const struct algorithm *algorithms_of(const struct setting *row)
{
    return row->kind == KIND_CIPHERS ? ciphers : signers;
}

const char *settings_value(size_t index, size_t i)
{
    static const char *const switched[] = {"true", "false", NULL};
    static const char *const offered[] = {"2.0.2", "2.1", "3.0", "3.0.2", "3.1.1", "None", NULL};
    switch (table[index].kind) {
    case KIND_SWITCH:
        return switched[i];
    case KIND_DIALECT_MIN:
    case KIND_DIALECT_MAX:
        return offered[i];
    case KIND_CIPHERS:
    case KIND_SIGNING:
        return algorithms_of(&table[index])[i].name;
    case KIND_U32:
    case KIND_U64:
        break;
    }
    return NULL;
}

/* Windows writes AES_128_GCM, everybody else AES-128-GCM. */
static bool is_algorithm(const char *text, size_t len, const char *name)
{
    if (strlen(name) != len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (lower(text[i] == '-' ? '_' : text[i]) != lower(name[i]))
            return false;
    return true;
}

/* Names with commas or spaces between, each at most once. */
static int parse_choice(const char *text, const struct algorithm *known,
                        struct settings_choice *ret)
{
    struct settings_choice c = {0};
    for (text += strspn(text, ", "); *text; text += strspn(text, ", ")) {
        size_t len = strcspn(text, ", ");
        const struct algorithm *a = known;
        while (a->name && !is_algorithm(text, len, a->name))
            a++;
        if (!a->name || memchr(c.id, a->id, c.count))
            return -EINVAL;
        c.id[c.count++] = a->id;
        text += len;
    }
    if (c.count == 0)
        return -EINVAL;
    *ret = c;
    return 0;
}

static void print_choice(const struct settings_choice *c, const struct algorithm *known, char *out,
                         size_t cap)
{
    size_t len = 0;
    for (uint8_t i = 0; i < c->count; i++)
        for (const struct algorithm *a = known; a->name; a++)
            if (a->id == c->id[i])
                len += (size_t)snprintf(out + len, cap - len, "%s%s", i ? ", " : "", a->name);
}

/* Windows' "None" is no limit: the far end of what there is. */
static int parse_dialect(const char *text, uint16_t none, uint16_t *ret)
{
    if (strcasecmp(text, "None") == 0) {
        *ret = none;
        return 0;
    }
    for (size_t i = 0; i < LENGTH(dialects); i++) {
        if (strcmp(dialects[i].name, text) == 0 || strcasecmp(dialects[i].windows, text) == 0) {
            *ret = dialects[i].revision;
            return 0;
        }
    }
    return -EINVAL;
}

static int set_value(struct settings *s, const struct setting *row, const char *text)
{
    void *at = (char *)s + row->offset;
    uint64_t number;
    int r = 0;
    switch (row->kind) {
    case KIND_SWITCH:
        return parse_switch(text, at);
    case KIND_DIALECT_MIN:
        return parse_dialect(text, dialects[0].revision, at);
    case KIND_DIALECT_MAX:
        return parse_dialect(text, dialects[LENGTH(dialects) - 1].revision, at);
    case KIND_CIPHERS:
    case KIND_SIGNING:
        return parse_choice(text, algorithms_of(row), at);
    case KIND_U32:
        if ((r = parse_number(text, row->info.min, row->info.max, &number)) == 0)
            *(uint32_t *)at = (uint32_t)number;
        return r;
    case KIND_U64:
        if ((r = parse_number(text, row->info.min, row->info.max, &number)) == 0)
            *(uint64_t *)at = number;
        return r;
    }
    return -EINVAL;
}

static int bad_value(const struct setting *row, const char *name, const char *value,
                     struct error *err)
{
    switch (row->kind) {
    case KIND_SWITCH:
        return error_set(err, -EINVAL, 0, "%s=%.60s: takes true or false", name, value);
    case KIND_DIALECT_MIN:
    case KIND_DIALECT_MAX:
        return error_set(err, -EINVAL, 0,
                         "%s=%.60s: takes one of 2.0.2, 2.1, 3.0, 3.0.2, 3.1.1 or None", name,
                         value);
    case KIND_CIPHERS:
        return error_set(err, -EINVAL, 0,
                         "%s=%.60s: takes some of AES_128_GCM, AES_128_CCM, AES_256_GCM, "
                         "AES_256_CCM, the preferred one first",
                         name, value);
    case KIND_SIGNING:
        return error_set(err, -EINVAL, 0,
                         "%s=%.60s: takes some of AES_GMAC, AES_CMAC, HMAC_SHA256, the preferred "
                         "one first",
                         name, value);
    case KIND_U32:
    case KIND_U64:
        break;
    }
    return error_set(err, -EINVAL, 0,
                     "%s=%.60s: takes a whole number of %s from %" PRIu64 " to %" PRIu64, name,
                     value, strcmp(row->info.unit, "s") == 0 ? "seconds" : row->info.unit,
                     row->info.min, row->info.max);
}

/* ---- by name ---- */

static const struct setting *find(const char *name)
{
    for (size_t i = 0; i < LENGTH(table); i++)
        if (strcasecmp(table[i].info.name, name) == 0)
            return &table[i];
    return NULL;
}

static int unknown(const char *name, struct error *err)
{
    struct nearest n = nearest_to(name);
    nearest_offer(&n, ACTIMEO);
    for (size_t i = 0; i < LENGTH(table); i++)
        nearest_offer(&n, table[i].info.name);
    const char *meant = nearest_meant(&n);
    if (!meant)
        return error_set(err, -ENOENT, 0, "unknown setting '%.60s'", name);
    return error_set(err, -ENOENT, 0, "unknown setting '%.60s': did you mean %s?", name, meant);
}

static int set_actimeo(struct settings *s, const char *value, struct error *err)
{
    const struct setting *lifetime = find("DirectoryCacheLifetime");
    uint64_t seconds;
    if (parse_number(value, lifetime->info.min, lifetime->info.max, &seconds) < 0)
        return bad_value(lifetime, ACTIMEO, value, err);
    for (size_t i = 0; i < LENGTH(actimeo_offsets); i++)
        *(uint32_t *)((char *)s + actimeo_offsets[i]) = (uint32_t)seconds;
    return 0;
}

int settings_set(struct settings *s, const char *name, const char *value, struct error *err)
{
    if (strcasecmp(name, ACTIMEO) == 0)
        return set_actimeo(s, value, err);
    const struct setting *row = find(name);
    if (!row)
        return unknown(name, err);
    if (set_value(s, row, value) < 0)
        return bad_value(row, row->info.name, value, err);
    return 0;
}

const char *settings_get(const struct settings *s, size_t index, char out[static SETTINGS_TEXT_MAX])
{
    const struct setting *row = &table[index];
    const void *at = (const char *)s + row->offset;
    switch (row->kind) {
    case KIND_SWITCH:
        snprintf(out, SETTINGS_TEXT_MAX, "%s", *(const bool *)at ? "true" : "false");
        break;
    case KIND_U32:
        snprintf(out, SETTINGS_TEXT_MAX, "%" PRIu32, *(const uint32_t *)at);
        break;
    case KIND_U64:
        snprintf(out, SETTINGS_TEXT_MAX, "%" PRIu64, *(const uint64_t *)at);
        break;
    case KIND_CIPHERS:
    case KIND_SIGNING:
        print_choice(at, algorithms_of(row), out, SETTINGS_TEXT_MAX);
        break;
    case KIND_DIALECT_MIN:
    case KIND_DIALECT_MAX:
        for (size_t i = LENGTH(dialects); i-- > 0;) /* the first spelling stays */
            if (dialects[i].revision == *(const uint16_t *)at)
                snprintf(out, SETTINGS_TEXT_MAX, "%s", dialects[i].name);
        break;
    }
    return out;
}

void settings_enabled(const struct settings *s, bool ret_enabled[static 3])
{
    ret_enabled[0] =
        s->directory_cache && s->directory_cache_lifetime > 0 && s->directory_cache_entries_max > 0;
    ret_enabled[1] =
        s->file_info_cache && s->file_info_cache_lifetime > 0 && s->file_info_cache_entries_max > 0;
    ret_enabled[2] = s->file_not_found_cache && s->file_not_found_cache_lifetime > 0 &&
                     s->file_not_found_cache_entries_max > 0;
}
