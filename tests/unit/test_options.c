/* share/: targets, options, lists and credentials files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "share/options.h"

static void check_target(const char *target, const char *host, unsigned port, const char *share,
                         const char *path)
{
    struct share_options o;
    struct error err = {0};
    share_options_init(&o);
    assert_int_equal(share_options_target(&o, target, &err), 0);
    assert_string_equal(o.host, host);
    assert_int_equal(o.port, port);
    assert_string_equal(o.share, share);
    assert_string_equal(o.path, path);
    share_options_done(&o);
}

static void targets_are_read_in_both_forms(void **state)
{
    check_target("//srv/share", "srv", 0, "share", "");
    check_target("//srv:4455/share", "srv", 4455, "share", "");
    check_target("//srv/my share/a/b/", "srv", 0, "my share", "a/b");
    check_target("//srv/share//a", "srv", 0, "share", "a");
    check_target("\\\\srv\\share\\a\\b", "srv", 0, "share", "a/b");
    check_target("//[::1]/share", "::1", 0, "share", "");
    check_target("//[fe80::1]:445/share/x", "fe80::1", 445, "share", "x");
    check_target("smb://srv/share/a%20b", "srv", 0, "share", "a b");
    check_target("SMB://srv:4455/my%2Bshare", "srv", 4455, "my+share", "");
    check_target("//srv/a%20b", "srv", 0, "a%20b", "");
}

static void an_url_may_carry_a_user(void **state)
{
    struct share_options o;
    share_options_init(&o);
    assert_int_equal(share_options_target(&o, "smb://DOM;us%40er:p%3Aw@srv:9/share", NULL), 0);
    assert_string_equal(o.domain, "DOM");
    assert_string_equal(o.user, "us@er");
    assert_string_equal(o.password, "p:w");
    assert_int_equal(o.port, 9);
    share_options_done(&o);
}

static void bad_targets_are_refused_with_the_form(void **state)
{
    static const char *const bad[] = {"",
                                      "srv/share",
                                      "/srv/share",
                                      "//srv",
                                      "//srv/",
                                      "///share",
                                      "//srv:0/s",
                                      "//srv:99999/s",
                                      "//srv:x/s",
                                      "//[::1/s",
                                      "//::1/s",
                                      "smb://srv",
                                      "smb://srv/%zz",
                                      "smb://srv/%00",
                                      "smb://@srv/share",
                                      "http://srv/s",
                                      "//[::1]x/s"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct share_options o;
        struct error err = {0};
        share_options_init(&o);
        assert_int_equal(share_options_target(&o, bad[i], &err), -EINVAL);
        assert_true(strlen(err.text) > 0);
        share_options_done(&o);
    }
}

static void lists_keep_quoted_commas_and_reach_the_settings(void **state)
{
    struct share_options o;
    struct error err = {0};
    share_options_init(&o);
    assert_int_equal(share_options_parse(&o,
                                         "profile=23h2,user=DOM\\ann,password=\"a,b=c\","
                                         "directorycachelifetime=60,vers=3.0,,port=44",
                                         &err),
                     0);
    assert_string_equal(o.user, "ann");
    assert_string_equal(o.domain, "DOM");
    assert_string_equal(o.password, "a,b=c");
    assert_int_equal(o.port, 44);
    assert_string_equal(o.settings.profile, "23h2");
    assert_int_equal(o.settings.directory_cache_lifetime, 60);
    assert_int_equal(o.settings.smb2_dialect_min, 0x300);
    assert_int_equal(o.settings.smb2_dialect_max, 0x300);
    share_options_done(&o);
}

static void wrong_options_are_named_and_passwords_are_not(void **state)
{
    static const struct {
        const char *list;
        int code;
        const char *says;
    } cases[] = {
        {"DirectoryCacheLifetme=3", -ENOENT, "DirectoryCacheLifetime"},
        {"DirectoryCacheLifetime=abc", -EINVAL, "DirectoryCacheLifetime"},
        {"profile=24h2", -EINVAL, "25h2"},
        {"vers=9", -EINVAL, "3.1.1"},
        {"port=0", -EINVAL, "65535"},
        {"guest=yes", -EINVAL, "guest"},
        {"user", -EINVAL, "user"},
        {"password=sesame,port=x", -EINVAL, "port"},
        {"timeo=3", -EINVAL, "tenths"},
        {"timeo=1s", -EINVAL, "tenths"},
        {"hard=yes", -EINVAL, "hard"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct share_options o;
        struct error err = {0};
        share_options_init(&o);
        assert_int_equal(share_options_parse(&o, cases[i].list, &err), cases[i].code);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_null(strstr(err.text, "sesame"));
        share_options_done(&o);
    }
}

static char *write_file(const char *content)
{
    static char path[] = "/tmp/larder-credentials-XXXXXX";
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    close(fd);
    return path;
}

static void credentials_files_are_read_as_mount_cifs_reads_them(void **state)
{
    struct share_options o;
    struct error err = {0};
    share_options_init(&o);
    char *path = write_file(
        "# ours\r\n  username = ann\r\npassword=  two words = fine\n\ndomain=DOM\nignored=1\n");
    /* a space before `=` belongs to nobody, one behind it to the value */
    assert_int_equal(share_options_credentials(&o, path, &err), 0);
    unlink(path);
    assert_string_equal(o.user, " ann");
    assert_string_equal(o.password, "  two words = fine");
    assert_string_equal(o.domain, "DOM");
    share_options_done(&o);
}

static void a_broken_credentials_file_is_named_with_its_line(void **state)
{
    struct share_options o;
    struct error err = {0};
    share_options_init(&o);
    char *path = write_file("username=ann\nsesame\n");
    assert_int_equal(share_options_credentials(&o, path, &err), -EINVAL);
    assert_non_null(strstr(err.text, ":2:"));
    assert_null(strstr(err.text, "sesame"));
    unlink(path);
    assert_int_equal(share_options_credentials(&o, "/nonexistent/file", &err), -ENOENT);
    share_options_done(&o);
}

static void a_copy_is_whole_and_its_own(void **state)
{
    struct share_options o, copy;
    share_options_init(&o);
    assert_int_equal(share_options_target(&o, "smb://d;u:p@h:1/s/x", NULL), 0);
    assert_int_equal(share_options_set(&o, "events", "/tmp/e", NULL), 0);
    assert_int_equal(share_options_set(&o, "keylog", "/tmp/k", NULL), 0);
    assert_int_equal(share_options_parse(&o, "soft,hard,timeo=50", NULL), 0);
    assert_int_equal(share_options_copy(&o, &copy), 0);
    share_options_done(&o);
    assert_string_equal(copy.user, "u");
    assert_string_equal(copy.password, "p");
    assert_string_equal(copy.path, "x");
    assert_string_equal(copy.events_path, "/tmp/e");
    assert_string_equal(copy.keylog_path, "/tmp/k");
    assert_true(copy.hard);
    assert_int_equal(copy.timeo, 50);
    share_options_done(&copy);
}

static void a_profile_does_not_take_back_what_the_connection_was_to_be(void **state)
{
    struct share_options o;
    share_options_init(&o);
    const char list[] =
        "seal,\"EncryptionCiphers=AES_256_GCM,AES_128_GCM\",SigningAlgorithms=AES_CMAC,"
        "EnableInsecureGuestLogons,vers=3.1.1,DirectoryCacheLifetime=77,profile=23h2";
    assert_int_equal(share_options_parse(&o, list, NULL), 0);
    assert_string_equal(o.settings.profile, "23h2");
    assert_int_equal(o.settings.directory_cache_lifetime, 10);
    assert_true(o.settings.require_encryption && o.settings.enable_insecure_guest_logons);
    assert_int_equal(o.settings.encryption_ciphers.count, 2);
    assert_int_equal(o.settings.encryption_ciphers.id[0], 4);
    assert_int_equal(o.settings.signing_algorithms.count, 1);
    assert_int_equal(o.settings.smb2_dialect_min, 0x0311);
    share_options_done(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_read_in_both_forms),
        cmocka_unit_test(an_url_may_carry_a_user),
        cmocka_unit_test(bad_targets_are_refused_with_the_form),
        cmocka_unit_test(lists_keep_quoted_commas_and_reach_the_settings),
        cmocka_unit_test(wrong_options_are_named_and_passwords_are_not),
        cmocka_unit_test(credentials_files_are_read_as_mount_cifs_reads_them),
        cmocka_unit_test(a_broken_credentials_file_is_named_with_its_line),
        cmocka_unit_test(a_copy_is_whole_and_its_own),
        cmocka_unit_test(a_profile_does_not_take_back_what_the_connection_was_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
