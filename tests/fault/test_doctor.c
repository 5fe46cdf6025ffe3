/*
 * What the doctor says of servers that nobody has: such as promise and do not keep it, refuse what
 * is right, have a wrong clock, or go away in the middle. Each time it says so, and where the
 * server is still there, leaves nothing on it.
 */
#include "bed.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/doctor.h"

enum { LEASES = SMB2_GLOBAL_CAP_LEASING | SMB2_GLOBAL_CAP_DIRECTORY_LEASING };
enum { ALL = SMB2_LEASE_READ_CACHING | SMB2_LEASE_HANDLE_CACHING | SMB2_LEASE_WRITE_CACHING };

static const struct server_node nodes[] = {
    {SERVER_ROOT, SERVER_NAME(u"lib"), {.id = 10, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    {SERVER_ROOT,
     SERVER_NAME(u"readme"),
     {.id = 11, .attributes = FILE_ATTRIBUTE_ARCHIVE},
     SERVER_CONTENT("read me\n")},
};

static struct server_script script_of(uint16_t dialect, uint32_t capabilities)
{
    return (struct server_script){
        .dialect = dialect,
        .capabilities = capabilities,
        .nodes = nodes,
        .node_count = COUNT(nodes),
        .remembers = true,
        .logon = true,
        .lease = {.state = ALL, .epoch = 1},
    };
}

/* ---- one examination ---- */

struct visit {
    struct server *server;
    const char *leaves_at; /* the server goes away when this is tried; NULL: it stays */
    unsigned trials;
};

static void on_step(void *user, const char *what)
{
    struct visit *v = user;
    v->trials++;
    if (v->leaves_at && strcmp(what, v->leaves_at) == 0)
        server_stay_away(v->server, true);
}

/* How many entries are in the top directory, as another client sees it. */
static int count_entry(void *user, const char *name, size_t len, const struct file_attr *attr,
                       size_t wire_bytes)
{
    ++*(unsigned *)user;
    return 0;
}

static void nothing_is_left(struct server *s, bool logon)
{
    struct client_options o = options(s);
    struct client *c;
    struct client_list_result result;
    struct error err = {0};
    unsigned count = 0;
    o.guest = !logon;
    o.user = SERVER_DOMAIN "\\" SERVER_USER;
    o.password = SERVER_PASSWORD;
    if (client_connect(&o, &c, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(
        client_list(c, "", "*", CLIENT_SINGLE, false, count_entry, &count, &result, &err), 0);
    assert_int_equal(count, COUNT(nodes));
    client_free(c);
}

static json_t *examine_at(const struct server_script *script, const char *more,
                          const char *leaves_at)
{
    struct visit v = {.server = server_new(script), .leaves_at = leaves_at};
    struct share_options o;
    struct error err = {0};
    struct doctor_report *report = NULL;
    atomic_bool made = false;
    char target[64];
    assert_non_null(v.server);
    share_options_init(&o);
    snprintf(target, sizeof(target), "//127.0.0.1:%u/share", server_port(v.server));
    assert_int_equal(share_options_target(&o, target, &err), 0);
    assert_int_equal(share_options_parse(&o,
                                         script->logon
                                             ? "domain=" SERVER_DOMAIN ",user=" SERVER_USER
                                               ",password=\"" SERVER_PASSWORD "\",timeo=10"
                                             : "guest,timeo=10",
                                         &err),
                     0);
    if (more && share_options_parse(&o, more, &err) < 0)
        fail_msg("%s", err.text);
    const struct doctor_options options = {
        .share = &o,
        .patience_ns = NS_PER_SEC / 5,
        .made = &made,
        .step = on_step,
        .user = &v,
    };
    if (doctor_run(&options, &report, &err) < 0)
        fail_msg("%s", err.text);
    json_t *all = doctor_json(report);
    FILE *out = fopen("/dev/null", "w");
    assert_int_equal(doctor_print(report, out), 0);
    fclose(out);
    doctor_report_free(report);
    share_options_done(&o);
    if (!leaves_at) {
        assert_false(made);
        nothing_is_left(v.server, script->logon);
    }
    server_free(v.server);
    return all;
}

static json_t *examine(const struct server_script *script)
{
    return examine_at(script, NULL, NULL);
}

static const json_t *finding(const json_t *all, const char *key)
{
    const json_t *f = json_object_get(json_object_get(all, "findings"), key);
    if (!f)
        fail_msg("nothing is said of %s", key);
    return f;
}

static void says(const json_t *all, const char *key, const char *state, const char *text)
{
    const json_t *f = finding(all, key);
    const char *is = json_string_value(json_object_get(f, "state"));
    const char *told = json_string_value(json_object_get(f, "text"));
    if (!is || strcmp(is, state) != 0 || !told || !strstr(told, text))
        fail_msg("%s is %s (%s), not %s (%s)", key, is, told, state, text);
    if (strcmp(state, "wrong") == 0)
        assert_false(json_is_true(json_object_get(all, "well")));
}

static void promises(const json_t *all, const char *directories, const char *files)
{
    const json_t *p = json_object_get(all, "promises");
    assert_string_equal(json_string_value(json_object_get(p, "directories")), directories);
    assert_string_equal(json_string_value(json_object_get(p, "files")), files);
}

/* ---- promises ---- */

static void test_promises_that_are_not_kept_are_found_out(void **state)
{
    struct server_script script = script_of(SMB2_DIALECT_311, LEASES);
    script.durable = SERVER_DURABLE;
    json_t *all = examine(&script);
    says(all, "file_leases", "wrong", "granted (read, handle, write), but not taken back");
    says(all, "directory_leases", "wrong", "granted (read, handle), but not taken back");
    says(all, "change_notify", "wrong", "nothing is ever told");
    says(all, "durable", "good", "granted");
    says(all, "mount_directories", "wrong", "by lease, but a file that another client made");
    says(all, "mount_files", "wrong", "by lease, but what another client wrote");
    says(all, "names", "good", "reserved characters");
    says(all, "reach", "good", "127.0.0.1");
    json_decref(all);
}

static void test_a_lease_that_is_taken_back_is_kept(void **state)
{
    static const struct server_break broken[] = {{.lease = 0, .state = 0, .epoch = 2}};
    static const struct server_rule at_the_write[] = {
        {SMB2_WRITE, 1, SERVER_ANYWHERE, SERVER_BREAK, 0}};
    struct server_script script = script_of(SMB2_DIALECT_300, SMB2_GLOBAL_CAP_LEASING);
    script.breaks = broken;
    script.break_count = 1;
    set_rule(&script, at_the_write, NULL);
    json_t *all = examine(&script);
    says(all, "file_leases", "good", "taken back");
    says(all, "directory_leases", "note", "does not offer");
    says(all, "durable", "note", "not granted");
    json_decref(all);
}

static void test_what_is_offered_and_not_granted_is_told(void **state)
{
    struct server_script script = script_of(SMB2_DIALECT_302, LEASES);
    script.lease.state = 0;
    json_t *all = examine_at(&script, "Watches=0", NULL);
    says(all, "file_leases", "note", "offered, but not granted");
    says(all, "directory_leases", "note", "offered, but not granted");
    promises(all, "time", "time");
    says(all, "mount_directories", "note", "10 s late");
    json_decref(all);
}

static void test_a_server_without_promises_leaves_time(void **state)
{
    static const struct server_rule no_watch[] = {
        {SMB2_CHANGE_NOTIFY, 0, SERVER_ANYWHERE, SERVER_FAIL, STATUS_NOT_SUPPORTED}};
    struct server_script script = script_of(SMB2_DIALECT_210, 0);
    set_rule(&script, no_watch, NULL);
    json_t *all = examine(&script);
    says(all, "file_leases", "note", "does not offer");
    says(all, "directory_leases", "note", "SMB 3");
    says(all, "change_notify", "note", "does not tell");
    promises(all, "time", "time");
    assert_true(json_is_true(json_object_get(all, "well"))); /* it has little, and keeps that */
    json_decref(all);
}

/* ---- the connection ---- */

static void test_a_guest_has_neither_signature_nor_encryption(void **state)
{
    struct server_script script = script_of(SMB2_DIALECT_210, 0);
    script.logon = false;
    json_t *all = examine(&script);
    says(all, "logon", "note", "as a guest");
    says(all, "signing", "note", "no key");
    says(all, "encryption", "note", "SMB 3");
    json_decref(all);
}

static void test_what_protects_is_told(void **state)
{
    struct server_script script = script_of(SMB2_DIALECT_311, LEASES);
    script.must_sign = true;
    script.signing = SERVER_SIGN_CMAC;
    json_t *all = examine(&script);
    says(all, "signing", "good", "AES-CMAC");
    says(all, "encryption", "note", "no cipher in common");
    json_decref(all);
    script.cipher = SMB2_CIPHER_AES128_GCM;
    script.share_encrypts = true;
    all = examine(&script);
    says(all, "signing", "good", "encrypted");
    says(all, "encryption", "good", "AES-128-GCM, of everything: the server requires it");
    json_decref(all);
}

static void test_refused_compounds_are_told(void **state)
{
    static const struct server_rule alone[] = {
        {SERVER_ANY, 0, SERVER_IN_COMPOUND, SERVER_FAIL, STATUS_INVALID_PARAMETER}};
    struct server_script script = script_of(SMB2_DIALECT_210, 0);
    set_rule(&script, alone, NULL);
    json_t *all = examine(&script);
    says(all, "compounds", "note", "refused");
    says(all, "listing", "good", "2 entries");
    json_decref(all);
    script.rule_count = 0;
    all = examine(&script);
    says(all, "compounds", "good", "answered");
    json_decref(all);
}

/* SystemTime in NEGOTIATE's response: MS-SMB2 2.2.4. */
static json_t *examine_at_clock(int64_t seconds)
{
    const struct server_alteration clock[] = {
        {WIRE_HEADER_SIZE + 40, 8, SERVER_ADD, (uint64_t)(seconds * 10000000), false}};
    static const struct server_rule alter[] = {
        {SMB2_NEGOTIATE, 0, SERVER_ANYWHERE, SERVER_ALTER, 0}};
    struct server_script script = script_of(SMB2_DIALECT_210, 0);
    set_rule(&script, alter, clock);
    return examine(&script);
}

static void test_the_clock_is_compared(void **state)
{
    static const struct {
        int seconds;
        const char *state, *text;
    } cases[] = {{0, "good", "the same"},
                 {-60, "note", "60.0 s behind ours"},
                 {4000, "wrong", "4000.0 s ahead of ours"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        json_t *all = examine_at_clock(cases[i].seconds);
        says(all, "clock", cases[i].state, cases[i].seconds ? "" : cases[i].text);
        double ahead = json_number_value(json_object_get(finding(all, "clock"), "ahead_s"));
        assert_true(ahead > cases[i].seconds - 1 && ahead < cases[i].seconds + 1);
        json_decref(all);
    }
}

static void test_few_credits_are_told(void **state)
{
    static const struct server_rule one[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1}};
    struct server_script script = script_of(SMB2_DIALECT_210, 0);
    set_rule(&script, one, NULL);
    json_t *all = examine(&script);
    says(all, "credits", "note", "");
    says(all, "change_notify", "note", "too few credits");
    json_decref(all);
}

/* ---- what goes wrong ---- */

static void test_a_failure_of_one_trial_ends_no_other(void **state)
{
    static const struct server_rule odd[] = {
        {SMB2_ECHO, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_INSUFFICIENT_RESOURCES},
        {SMB2_WRITE, 0, SERVER_ANYWHERE, SERVER_FAIL, STATUS_DISK_FULL},
    };
    struct server_script script = script_of(SMB2_DIALECT_300, SMB2_GLOBAL_CAP_LEASING);
    script.rules = odd;
    script.rule_count = COUNT(odd);
    json_t *all = examine(&script);
    says(all, "round_trip", "wrong", "STATUS_INSUFFICIENT_RESOURCES");
    says(all, "file_leases", "untried", "STATUS_DISK_FULL");
    says(all, "case", "good", "the same file");
    json_decref(all);
}

static void test_a_share_where_nothing_may_be_made_is_tried_without(void **state)
{
    /* the fourth CREATE is that of its directory: behind a stat, a listing, and the room */
    static const struct server_rule denied[] = {
        {SMB2_CREATE, 4, SERVER_ANYWHERE, SERVER_FAIL, STATUS_ACCESS_DENIED}};
    struct server_script script = script_of(SMB2_DIALECT_311, LEASES);
    set_rule(&script, denied, NULL);
    json_t *all = examine(&script);
    says(all, "names", "untried", "read-only");
    says(all, "file_leases", "untried", "granted (read, handle); whether they are kept");
    says(all, "change_notify", "untried", "could not be tried");
    says(all, "case", "good", "");
    promises(all, "lease", "lease");
    json_decref(all);
}

static void test_a_server_that_goes_away_is_told_with_what_it_kept(void **state)
{
    struct server_script script = script_of(SMB2_DIALECT_311, LEASES);
    json_t *all = examine_at(&script, NULL, "change notify");
    says(all, "connection", "wrong", "change notify");
    says(all, "left_behind", "wrong", "/" DOCTOR_PREFIX);
    assert_null(json_object_get(json_object_get(all, "findings"), "mount"));
    assert_non_null(json_object_get(finding(all, "left_behind"), "advice"));
    json_decref(all);
}

static void test_a_server_that_is_not_there_is_told(void **state)
{
    struct server_script script = script_of(SMB2_DIALECT_311, LEASES);
    json_t *all = examine_at(&script, "port=1", NULL);
    says(all, "reach", "wrong", "refused");
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promises_that_are_not_kept_are_found_out),
        cmocka_unit_test(test_a_lease_that_is_taken_back_is_kept),
        cmocka_unit_test(test_what_is_offered_and_not_granted_is_told),
        cmocka_unit_test(test_a_server_without_promises_leaves_time),
        cmocka_unit_test(test_a_guest_has_neither_signature_nor_encryption),
        cmocka_unit_test(test_what_protects_is_told),
        cmocka_unit_test(test_refused_compounds_are_told),
        cmocka_unit_test(test_the_clock_is_compared),
        cmocka_unit_test(test_few_credits_are_told),
        cmocka_unit_test(test_a_failure_of_one_trial_ends_no_other),
        cmocka_unit_test(test_a_share_where_nothing_may_be_made_is_tried_without),
        cmocka_unit_test(test_a_server_that_goes_away_is_told_with_what_it_kept),
        cmocka_unit_test(test_a_server_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
