/* Settings by name, their texts, and what the four profiles say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cache/settings.h"

static struct settings profile(const char *name)
{
    struct settings s;
    assert_int_equal(settings_profile(name, &s, NULL), 0);
    return s;
}

static void set(struct settings *s, const char *name, const char *value)
{
    struct error err = {0};
    if (settings_set(s, name, value, &err) != 0)
        fail_msg("%s=%s: %s", name, value, err.text);
}

/* The value as text, by name. */
static const char *get(const struct settings *s, const char *name,
                       char out[static SETTINGS_TEXT_MAX])
{
    const struct setting_info *info;
    for (size_t i = 0; (info = settings_info(i)); i++)
        if (strcmp(info->name, name) == 0)
            return settings_get(s, i, out);
    fail_msg("no setting is called %s", name);
    return NULL;
}

/* Refused with this errno and a text that holds every word (up to NULL); nothing is changed. */
static void refused(const char *name, const char *value, int code, const char *const words[])
{
    struct settings s = profile("larder"), before = s;
    struct error err = {0};
    assert_int_equal(settings_set(&s, name, value, &err), code);
    assert_int_equal(err.code, code);
    for (; *words; words++)
        if (!strstr(err.text, *words))
            fail_msg("%s=%s: '%s' does not say '%s'", name, value, err.text, *words);
    assert_memory_equal(&s, &before, sizeof s);
    assert_int_equal(settings_set(&s, name, value, NULL), code);
}
#define REFUSED(name, value, code, ...)                                                            \
    refused(name, value, code, (const char *const[]){__VA_ARGS__, NULL})

/* What the manual and the completion offer. */
static void every_word_that_is_told_is_taken(void **state)
{
    const struct setting_info *info;
    const char *word;
    for (size_t i = 0; (info = settings_info(i)); i++) {
        struct settings s = profile("larder");
        size_t words = 0;
        for (; (word = settings_value(i, words)); words++)
            set(&s, info->name, word);
        assert_true(words ? words > 1 && !*info->unit : *info->unit && info->min < info->max);
        assert_true(*info->meaning && (!info->windows || *info->windows));
    }
    size_t profiles = 0;
    for (; (word = settings_profile_name(profiles)); profiles++)
        assert_string_equal(profile(word).profile, word);
    assert_int_equal(profiles, 4);
}

/* ---- profiles ---- */

static void windows_profiles_have_windows_figures(void **state)
{
    static const char *const names[] = {"23h2", "25h2"};
    for (size_t i = 0; i < 2; i++) {
        struct settings s = profile(names[i]);
        assert_string_equal(s.profile, names[i]);
        assert_int_equal(s.directory_cache_lifetime, 10);
        assert_int_equal(s.directory_cache_entries_max, 16);
        assert_int_equal(s.directory_cache_entry_size_max, 65536);
        assert_true(s.file_info_cache);
        assert_int_equal(s.file_info_cache_lifetime, 10);
        assert_int_equal(s.file_info_cache_entries_max, 64);
        assert_true(s.file_not_found_cache);
        assert_int_equal(s.file_not_found_cache_lifetime, 5);
        assert_int_equal(s.file_not_found_cache_entries_max, 128);
        assert_int_equal(s.cache_memory_max, 1 << 30);
        assert_false(s.compound);
        assert_false(s.kernel_cache);
        assert_false(s.info_answers_lookup);
        assert_true(s.require_security_signature);
    }
}

static void the_two_windows_profiles_differ_in_the_directory_cache_alone(void **state)
{
    struct settings before = profile("23h2"), after = profile("25h2");
    assert_true(before.directory_cache);
    assert_false(after.directory_cache);
    assert_int_equal(before.on_miss, ON_MISS_LIST);
    assert_int_equal(after.on_miss, ON_MISS_SEARCH);
    assert_false(before.performance_events);
    assert_true(after.performance_events);
    /* nothing else */
    strcpy(after.profile, before.profile);
    after.directory_cache = true;
    after.on_miss = ON_MISS_LIST;
    after.performance_events = false;
    assert_memory_equal(&before, &after, sizeof before);
}

static void larder_caches_all_and_asks_by_evidence(void **state)
{
    struct settings s = profile("larder");
    bool enabled[3];
    settings_enabled(&s, enabled);
    assert_true(enabled[0] && enabled[1] && enabled[2]);
    assert_int_equal(s.directory_cache_lifetime, 10);
    assert_int_equal(s.file_info_cache_lifetime, 10);
    assert_int_equal(s.file_not_found_cache_lifetime, 5);
    assert_int_equal(s.directory_cache_entries_max, 4096);
    assert_int_equal(s.directory_cache_entry_size_max, 64 << 20);
    assert_int_equal(s.file_info_cache_entries_max, 65536);
    assert_int_equal(s.file_not_found_cache_entries_max, 65536);
    assert_int_equal(s.cache_memory_max, 64 << 20);
    assert_int_equal(s.on_miss, ON_MISS_EVIDENCE);
    assert_true(s.compound && s.kernel_cache && s.info_answers_lookup && s.performance_events);
    assert_true(s.require_security_signature);
}

static void off_believes_nothing(void **state)
{
    struct settings s = profile("off");
    bool enabled[3];
    settings_enabled(&s, enabled);
    assert_false(enabled[0] || enabled[1] || enabled[2]);
    assert_int_equal(s.on_miss, ON_MISS_STAT);
    assert_false(s.compound || s.kernel_cache || s.info_answers_lookup);
    assert_true(s.require_security_signature && s.performance_events);
}

static void only_larder_asks_for_promises_and_bounds_what_it_holds_open(void **state)
{
    static const char *const names[] = {"23h2", "25h2", "off", "larder"};
    for (size_t i = 0; i < 4; i++) {
        struct settings s = profile(names[i]);
        assert_int_equal(s.watches, i == 3);
        assert_int_equal(s.leases, i == 3);
        assert_int_equal(s.cache_max_age, 60);
        assert_int_equal(s.dormant_directory_timeout, 600);
        assert_int_equal(s.dormant_file_limit, 1023);
    }
}

static void every_profile_offers_every_dialect(void **state)
{
    static const char *const names[] = {"23h2", "25h2", "larder", "off"};
    for (size_t i = 0; i < 4; i++) {
        struct settings s = profile(names[i]);
        assert_int_equal(s.smb2_dialect_min, 0x0202);
        assert_int_equal(s.smb2_dialect_max, 0x0311);
    }
}

static void a_profile_is_found_in_any_case_and_keeps_its_own_name(void **state)
{
    assert_string_equal(profile("25H2").profile, "25h2");
    assert_string_equal(profile("LARDER").profile, "larder");
}

static void an_unknown_profile_is_told_which_there_are(void **state)
{
    struct settings s = profile("off"), before = s;
    struct error err = {0};
    assert_int_equal(settings_profile("24h2", &s, &err), -ENOENT);
    assert_int_equal(err.code, -ENOENT);
    static const char *const words[] = {"24h2", "23h2", "25h2", "larder", "off"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        assert_non_null(strstr(err.text, words[i]));
    assert_memory_equal(&s, &before, sizeof s);
    assert_int_equal(settings_profile("", &s, NULL), -ENOENT);
}

/* ---- what is on ---- */

static void raising_the_lifetime_does_not_revive_a_cache_that_is_switched_off(void **state)
{
    struct settings s = profile("25h2");
    bool enabled[3];
    set(&s, "DirectoryCacheLifetime", "600");
    set(&s, "DirectoryCacheEntriesMax", "4096");
    settings_enabled(&s, enabled);
    assert_false(enabled[0]);
    set(&s, "DirectoryCache", "true");
    settings_enabled(&s, enabled);
    assert_true(enabled[0]);
}

static void a_switch_a_lifetime_and_a_bound_each_turn_their_own_cache_off(void **state)
{
    static const char *const off[3][3] = {
        {"DirectoryCache", "DirectoryCacheLifetime", "DirectoryCacheEntriesMax"},
        {"FileInfoCache", "FileInfoCacheLifetime", "FileInfoCacheEntriesMax"},
        {"FileNotFoundCache", "FileNotFoundCacheLifetime", "FileNotFoundCacheEntriesMax"},
    };
    for (size_t cache = 0; cache < 3; cache++) {
        for (size_t i = 0; i < 3; i++) {
            struct settings s = profile("larder");
            bool enabled[3];
            set(&s, off[cache][i], "0");
            settings_enabled(&s, enabled);
            for (size_t other = 0; other < 3; other++)
                assert_int_equal(enabled[other], other != cache);
        }
    }
}

static void actimeo_sets_the_three_lifetimes_and_nothing_else(void **state)
{
    struct settings s = profile("23h2"), expected = s;
    set(&s, "actimeo", "7");
    expected.directory_cache_lifetime = 7;
    expected.file_info_cache_lifetime = 7;
    expected.file_not_found_cache_lifetime = 7;
    assert_memory_equal(&s, &expected, sizeof s);
    set(&s, "ActimeO", "0");
    assert_int_equal(s.file_not_found_cache_lifetime, 0);
    REFUSED("actimeo", "soon", -EINVAL, "actimeo", "seconds", "4294967295");
    REFUSED("actimeo", "4294967296", -EINVAL, "actimeo", "seconds");
}

/* ---- names ---- */

/* Exactly these; other programs' option lists rely on the names. */
static const char *const all_names[] = {
    "DirectoryCache",
    "DirectoryCacheLifetime",
    "DirectoryCacheEntriesMax",
    "DirectoryCacheEntrySizeMax",
    "FileInfoCache",
    "FileInfoCacheLifetime",
    "FileInfoCacheEntriesMax",
    "FileNotFoundCache",
    "FileNotFoundCacheLifetime",
    "FileNotFoundCacheEntriesMax",
    "CacheMemoryMax",
    "Leases",
    "Watches",
    "Inotify",
    "CacheMaxAge",
    "DormantDirectoryTimeout",
    "DormantFileLimit",
    "WriteDelay",
    "RequireSecuritySignature",
    "SigningAlgorithms",
    "RequireEncryption",
    "EncryptionCiphers",
    "EnableInsecureGuestLogons",
    "BlockNTLM",
    "Smb2DialectMin",
    "Smb2DialectMax",
};

static void the_table_has_every_setting_once(void **state)
{
    size_t count = 0;
    while (settings_info(count))
        count++;
    assert_int_equal(count, sizeof all_names / sizeof all_names[0]);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(settings_info(i)->name, all_names[i]);
    assert_null(settings_info(count));
    assert_null(settings_info(SIZE_MAX));
}

static void every_setting_says_its_meaning_and_fits_a_line(void **state)
{
    const struct setting_info *info;
    for (size_t i = 0; (info = settings_info(i)); i++) {
        assert_true(strlen(info->name) <= 31); /* what the search for a near name assumes */
        assert_true(strlen(info->meaning) > 10);
        assert_true(strlen(info->meaning) < 80);
        assert_true(info->min < info->max);
        bool known_unit = strcmp(info->unit, "") == 0 || strcmp(info->unit, "s") == 0 ||
                          strcmp(info->unit, "entries") == 0 || strcmp(info->unit, "bytes") == 0 ||
                          strcmp(info->unit, "handles") == 0;
        assert_true(known_unit);
    }
}

static void names_are_taken_in_any_case(void **state)
{
    struct settings s = profile("larder");
    set(&s, "fileinfocacheentriesmax", "5");
    assert_int_equal(s.file_info_cache_entries_max, 5);
    set(&s, "FILEINFOCACHEENTRIESMAX", "6");
    assert_int_equal(s.file_info_cache_entries_max, 6);
}

static void an_unknown_name_is_told_the_nearest_known_one(void **state)
{
    REFUSED("DirectoryCacheLifetme", "1", -ENOENT, "DirectoryCacheLifetme",
            "DirectoryCacheLifetime?");
    REFUSED("fileinfoentriesmax", "1", -ENOENT, "FileInfoCacheEntriesMax?");
    REFUSED("FileNotFound", "1", -ENOENT, "FileNotFoundCache?");
    REFUSED("dircache", "1", -ENOENT, "DirectoryCache?");
    REFUSED("acttimeo", "1", -ENOENT, "actimeo?");
    REFUSED("actimeo ", "1", -ENOENT, "actimeo?");
    REFUSED("Smb2DialectMix", "1", -ENOENT, "Smb2DialectMi");
    static const char *const far[] = {"signature", "Foo", "uid", "noserverino", "domain", ""};
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        struct settings s = profile("larder");
        struct error err = {0};
        assert_int_equal(settings_set(&s, far[i], "1", &err), -ENOENT);
        assert_null(strchr(err.text, '?'));
    }
}

static void an_endless_unknown_name_is_refused_in_one_line(void **state)
{
    char name[100000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    name[3] = '\n';
    struct settings s = profile("larder");
    struct error err = {0};
    assert_int_equal(settings_set(&s, name, "1", &err), -ENOENT);
    assert_true(strlen(err.text) < 200);
    assert_null(strchr(err.text, '\n'));
}

/* ---- values ---- */

static void numbers_are_taken_up_to_their_range_and_not_beyond(void **state)
{
    const struct setting_info *info;
    unsigned numbers = 0;
    for (size_t i = 0; (info = settings_info(i)); i++) {
        if (*info->unit == 0)
            continue;
        numbers++;
        struct settings s = profile("larder");
        char value[SETTINGS_TEXT_MAX], got[SETTINGS_TEXT_MAX];
        uint64_t ends[] = {info->min, info->max};
        for (size_t k = 0; k < 2; k++) {
            snprintf(value, sizeof value, "%llu", (unsigned long long)ends[k]);
            set(&s, info->name, value);
            assert_string_equal(settings_get(&s, i, got), value);
        }
        char max[32];
        snprintf(max, sizeof max, "%llu", (unsigned long long)info->max);
        snprintf(value, sizeof value, "%llu", (unsigned long long)info->max + 1);
        REFUSED(info->name, value, -EINVAL, info->name, value, max,
                strcmp(info->unit, "s") == 0 ? "seconds" : info->unit);
        snprintf(value, sizeof value, "%llu0", (unsigned long long)info->max);
        REFUSED(info->name, value, -EINVAL, info->name);
        if (info->min > 0) {
            snprintf(value, sizeof value, "%llu", (unsigned long long)info->min - 1);
            REFUSED(info->name, value, -EINVAL, info->name, max);
        }
    }
    assert_int_equal(numbers, 12);
}

static void what_is_no_plain_number_is_refused(void **state)
{
    static const char *const values[] = {"",
                                         " ",
                                         "-1",
                                         "+1",
                                         "1s",
                                         "0x10",
                                         "1.5",
                                         "1 ",
                                         " 1",
                                         "ten",
                                         "1e3",
                                         "true",
                                         "\xd9\xa1",
                                         "18446744073709551616",
                                         "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        REFUSED("DirectoryCacheLifetime", values[i], -EINVAL, "DirectoryCacheLifetime");
        REFUSED("CacheMemoryMax", values[i], -EINVAL, "CacheMemoryMax", "bytes");
    }
}

static void leading_zeros_do_not_make_a_number_octal(void **state)
{
    struct settings s = profile("larder");
    set(&s, "FileInfoCacheLifetime", "0010");
    assert_int_equal(s.file_info_cache_lifetime, 10);
}

static void a_switch_takes_the_words_that_people_use(void **state)
{
    static const char *const on[] = {"true", "1", "yes", "on", "True", "YES", "oN"};
    static const char *const off[] = {"false", "0", "no", "off", "FALSE", "No", "oFF"};
    struct settings s = profile("larder");
    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
        set(&s, "RequireSecuritySignature", off[i]);
        assert_false(s.require_security_signature);
        set(&s, "RequireSecuritySignature", on[i]);
        assert_true(s.require_security_signature);
    }
    REFUSED("FileInfoCache", "2", -EINVAL, "FileInfoCache", "true", "false");
    REFUSED("FileInfoCache", "", -EINVAL, "FileInfoCache");
    REFUSED("FileInfoCache", "tru", -EINVAL, "FileInfoCache");
}

static void a_dialect_is_taken_by_its_number_and_by_windows_name(void **state)
{
    static const struct {
        const char *name, *windows;
        unsigned revision;
    } all[] = {
        {"2.0.2", "SMB202", 0x0202}, {"2.1", "SMB210", 0x0210},   {"3.0", "smb300", 0x0300},
        {"3.0.2", "Smb302", 0x0302}, {"3.1.1", "SMB311", 0x0311},
    };
    struct settings s = profile("larder");
    char text[SETTINGS_TEXT_MAX];
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        set(&s, "Smb2DialectMin", all[i].name);
        set(&s, "Smb2DialectMax", all[i].windows);
        assert_int_equal(s.smb2_dialect_min, all[i].revision);
        assert_int_equal(s.smb2_dialect_max, all[i].revision);
        assert_string_equal(get(&s, "Smb2DialectMax", text), all[i].name);
    }
    static const char *const also[][2] = {{"2.0", "2.0.2"}, {"3.02", "3.0.2"}, {"3.11", "3.1.1"}};
    for (size_t i = 0; i < sizeof also / sizeof also[0]; i++) {
        set(&s, "Smb2DialectMax", also[i][0]);
        assert_string_equal(get(&s, "Smb2DialectMax", text), also[i][1]);
    }
    REFUSED("Smb2DialectMin", "1.0", -EINVAL, "Smb2DialectMin", "2.0.2", "3.1.1");
    REFUSED("Smb2DialectMax", "3", -EINVAL, "Smb2DialectMax", "3.0.2");
    REFUSED("Smb2DialectMax", "", -EINVAL, "Smb2DialectMax");
}

static void algorithms_are_chosen_and_ordered_by_windows_names(void **state)
{
    struct settings s = profile("larder");
    char text[SETTINGS_TEXT_MAX];
    assert_string_equal(get(&s, "EncryptionCiphers", text),
                        "AES_128_GCM, AES_128_CCM, AES_256_GCM, AES_256_CCM");
    assert_string_equal(get(&s, "SigningAlgorithms", text), "AES_GMAC, AES_CMAC, HMAC_SHA256");
    static const char *const same[] = {"AES_256_CCM,AES_128_GCM", "aes-256-ccm aes-128-gcm",
                                       " AES_256_CCM ,, AES_128_GCM, "};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        set(&s, "EncryptionCiphers", same[i]);
        assert_int_equal(s.encryption_ciphers.count, 2);
        assert_int_equal(s.encryption_ciphers.id[0], 3);
        assert_int_equal(s.encryption_ciphers.id[1], 2);
        assert_string_equal(get(&s, "EncryptionCiphers", text), "AES_256_CCM, AES_128_GCM");
    }
    static const char *const wrong[] = {"",
                                        ",",
                                        "AES",
                                        "AES_128_GCM,AES_128_GCM",
                                        "DES",
                                        "2",
                                        "\n",
                                        "AES_128_GCM;",
                                        "AES_128_GCMX",
                                        "true"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        REFUSED("EncryptionCiphers", wrong[i], -EINVAL, "EncryptionCiphers", "AES_256_CCM");
    REFUSED("EncryptionCiphers", "AES_CMAC", -EINVAL, "AES_128_GCM");
    REFUSED("SigningAlgorithms", "AES_128_GCM", -EINVAL, "AES_GMAC", "HMAC_SHA256");
}

static void no_profile_encrypts_or_accepts_guests_by_itself(void **state)
{
    static const char *const names[] = {"23h2", "25h2", "larder", "off"};
    for (size_t i = 0; i < 4; i++) {
        struct settings s = profile(names[i]);
        assert_false(s.require_encryption || s.enable_insecure_guest_logons);
        assert_int_equal(s.encryption_ciphers.count, 4);
        assert_int_equal(s.signing_algorithms.count, 3);
    }
}

static void none_is_no_limit_on_the_dialects(void **state)
{
    struct settings s = profile("larder");
    set(&s, "Smb2DialectMin", "3.0");
    set(&s, "Smb2DialectMax", "3.0");
    set(&s, "Smb2DialectMin", "None");
    set(&s, "Smb2DialectMax", "none");
    assert_int_equal(s.smb2_dialect_min, 0x0202);
    assert_int_equal(s.smb2_dialect_max, 0x0311);
}

static void what_is_printed_can_be_set_again(void **state)
{
    struct settings from = profile("23h2"), to = profile("off");
    const struct setting_info *info;
    set(&from, "Smb2DialectMin", "3.0.2");
    set(&from, "RequireSecuritySignature", "no");
    set(&from, "RequireEncryption", "yes");
    set(&from, "EncryptionCiphers", "AES_256_CCM, AES_128_CCM");
    set(&from, "SigningAlgorithms", "HMAC_SHA256");
    set(&from, "EnableInsecureGuestLogons", "yes");
    for (size_t i = 0; (info = settings_info(i)); i++) {
        char value[SETTINGS_TEXT_MAX], again[SETTINGS_TEXT_MAX];
        assert_ptr_equal(settings_get(&from, i, value), value);
        set(&to, info->name, value);
        assert_string_equal(settings_get(&to, i, again), value);
    }
    /* what a profile alone decides stays */
    to.on_miss = from.on_miss;
    to.performance_events = from.performance_events;
    strcpy(to.profile, from.profile);
    assert_memory_equal(&from, &to, sizeof from);
}

/* A value that no setting has in profile larder. */
static const char *another(const struct setting_info *info)
{
    if (strncmp(info->name, "Smb2", 4) == 0)
        return "2.1";
    if (strcmp(info->name, "EncryptionCiphers") == 0)
        return "AES_256_GCM, AES_128_CCM";
    if (strcmp(info->name, "SigningAlgorithms") == 0)
        return "AES_CMAC";
    if (strncmp(info->name, "Enable", 6) == 0 || strcmp(info->name, "RequireEncryption") == 0)
        return "true";
    if (strcmp(info->unit, "handles") == 0)
        return "700";
    return *info->unit ? "70000" : "false";
}

/* No setting lies in another's place: setting one changes what is printed of it alone. */
static void a_setting_changes_itself_alone(void **state)
{
    const struct setting_info *info;
    for (size_t i = 0; (info = settings_info(i)); i++) {
        struct settings before = profile("larder"), after = before;
        const char *value = another(info);
        set(&after, info->name, value);
        for (size_t j = 0; settings_info(j); j++) {
            char old[SETTINGS_TEXT_MAX], new[SETTINGS_TEXT_MAX];
            settings_get(&before, j, old);
            settings_get(&after, j, new);
            if (i == j)
                assert_string_equal(new, value);
            else
                assert_string_equal(new, old);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_that_is_told_is_taken),
        cmocka_unit_test(windows_profiles_have_windows_figures),
        cmocka_unit_test(the_two_windows_profiles_differ_in_the_directory_cache_alone),
        cmocka_unit_test(larder_caches_all_and_asks_by_evidence),
        cmocka_unit_test(off_believes_nothing),
        cmocka_unit_test(only_larder_asks_for_promises_and_bounds_what_it_holds_open),
        cmocka_unit_test(every_profile_offers_every_dialect),
        cmocka_unit_test(a_profile_is_found_in_any_case_and_keeps_its_own_name),
        cmocka_unit_test(an_unknown_profile_is_told_which_there_are),
        cmocka_unit_test(raising_the_lifetime_does_not_revive_a_cache_that_is_switched_off),
        cmocka_unit_test(a_switch_a_lifetime_and_a_bound_each_turn_their_own_cache_off),
        cmocka_unit_test(actimeo_sets_the_three_lifetimes_and_nothing_else),
        cmocka_unit_test(the_table_has_every_setting_once),
        cmocka_unit_test(every_setting_says_its_meaning_and_fits_a_line),
        cmocka_unit_test(names_are_taken_in_any_case),
        cmocka_unit_test(an_unknown_name_is_told_the_nearest_known_one),
        cmocka_unit_test(an_endless_unknown_name_is_refused_in_one_line),
        cmocka_unit_test(numbers_are_taken_up_to_their_range_and_not_beyond),
        cmocka_unit_test(what_is_no_plain_number_is_refused),
        cmocka_unit_test(leading_zeros_do_not_make_a_number_octal),
        cmocka_unit_test(a_switch_takes_the_words_that_people_use),
        cmocka_unit_test(a_dialect_is_taken_by_its_number_and_by_windows_name),
        cmocka_unit_test(algorithms_are_chosen_and_ordered_by_windows_names),
        cmocka_unit_test(no_profile_encrypts_or_accepts_guests_by_itself),
        cmocka_unit_test(none_is_no_limit_on_the_dialects),
        cmocka_unit_test(what_is_printed_can_be_set_again),
        cmocka_unit_test(a_setting_changes_itself_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
