/*
 * The client against a real Samba that requires signing: every dialect lists a directory of 10,000
 * names whole and reads 100 MiB bit for bit, alone and from two threads at once; and what does not
 * work says what was tried and what came back.
 *
 * client.sh starts the server and fills the share. Environment: LARDER_TEST_PORT, _SHARE (the
 * share's directory on this machine), _USER, _PASSWORD; _OPEN_PORT is that of a second server with
 * the same share, which requires nothing, speaks 3.0 at most, and takes guests.
 */
#include "client_bed.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum { MANY = 10000 };

static struct client *connect_dialect(uint16_t dialect)
{
    struct client_options o = options();
    o.dialect_min = o.dialect_max = dialect;
    struct client *c = connect_or_fail(&o);
    struct client_facts facts;
    client_facts(c, &facts);
    assert_int_equal(facts.dialect, dialect);
    assert_true(facts.signing);
    assert_string_equal(facts.signing_algorithm, dialect < 0x0300   ? "HMAC-SHA256"
                                                 : dialect < 0x0311 ? "AES-CMAC"
                                                                    : "AES-GMAC");
    return c;
}

/* ---- listing ---- */

struct seen {
    unsigned count, wrong;
    bool name[MANY];
};

static int note_name(void *user, const char *name, size_t len, const struct file_attr *attr,
                     size_t wire_bytes)
{
    struct seen *seen = user;
    unsigned i;
    char expected[32];
    if (sscanf(name, "a file with the number %u", &i) == 1 && i < MANY && !seen->name[i]) {
        seen->name[i] = true;
        seen->count++;
        snprintf(expected, sizeof(expected), "a file with the number %05u", i);
        seen->wrong += strcmp(expected, name) != 0 || len != strlen(name) || attr->size != i % 7 ||
                       file_attr_is_dir(attr) || wire_bytes != (104 + 2 * len + 7) / 8 * 8;
    } else {
        seen->wrong++;
    }
    return 0;
}

static int list_many(struct client *c, enum client_style style, struct error *why)
{
    struct seen *seen = calloc(1, sizeof(*seen));
    struct client_list_result result = {0};
    int r = client_list(c, "many", "*", style, false, note_name, seen, &result, why);
    if (r == 0 && (!result.complete || seen->count != MANY || seen->wrong ||
                   !file_attr_is_dir(&result.dir_attr) || result.dir_attr.id == 0))
        r = error_set(why, -EIO, 0, "%u of %u names, %u wrong, %scomplete", seen->count,
                      (unsigned)MANY, seen->wrong, result.complete ? "" : "not ");
    free(seen);
    return r;
}

/* ---- reading ---- */

static int compare_bytes(const uint8_t *got, uint64_t offset, size_t len, struct error *why)
{
    if (offset + len > bed.big_size || memcmp(got, bed.big + offset, len) != 0)
        return error_set(why, -EIO, 0, "wrong bytes somewhere behind %llu",
                         (unsigned long long)offset);
    return 0;
}

/* By pieces of an odd size from the compound's first bytes on, to the end of the file. */
static int read_big(struct client *c, size_t piece, struct error *why)
{
    struct client_file *f;
    struct file_attr attr;
    size_t len;
    bool eof;
    uint8_t *buf = malloc(piece);
    int r = client_open(c, "big", CLIENT_COMPOUND, buf, piece, &f, &attr, &len, &eof, why);
    if (r < 0)
        goto out;
    uint64_t offset = len;
    r = compare_bytes(buf, 0, len, why);
    if (r == 0 && (len == 0 || eof || attr.size != bed.big_size || attr.id == 0))
        r = error_set(why, -EIO, 0, "the open told wrong attributes");
    while (r == 0 && offset < bed.big_size) {
        int64_t n = client_read(f, buf, piece, offset, why);
        size_t expected = bed.big_size - offset < piece ? bed.big_size - offset : piece;
        if (n < 0)
            r = (int)n;
        else if ((size_t)n != expected)
            r = error_set(why, -EIO, 0, "a read of %zu bytes gave %lld", expected, (long long)n);
        else
            r = compare_bytes(buf, offset, (size_t)n, why);
        offset += n > 0 ? (uint64_t)n : 0;
    }
    if (r == 0 && client_read(f, buf, piece, offset, why) != 0)
        r = error_set(why, -EIO, 0, "something behind the end of the file");
    int closed = client_close(f, CLIENT_SINGLE, NULL, why);
    r = r ? r : closed;
out:
    free(buf);
    return r;
}

/* ---- every dialect ---- */

struct job {
    struct client *client;
    struct error why;
    int result;
};

static void *list_and_read(void *arg)
{
    struct job *j = arg;
    j->result = list_many(j->client, CLIENT_COMPOUND, &j->why);
    if (j->result == 0)
        j->result = list_many(j->client, CLIENT_SINGLE, &j->why);
    if (j->result == 0)
        j->result = read_big(j->client, 5 * 1000 * 1000 + 1, &j->why);
    return NULL;
}

static void dialect_works(uint16_t dialect)
{
    struct client *c = connect_dialect(dialect);
    struct job alone = {.client = c}, pair[2] = {{.client = c}, {.client = c}};
    pthread_t thread[2];

    list_and_read(&alone);
    if (alone.result < 0)
        fail_msg("%s", alone.why.text);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, list_and_read, &pair[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++)
        if (pair[i].result < 0)
            fail_msg("thread %d: %s", i, pair[i].why.text);
    client_free(c);
}

static void test_dialect_202_lists_and_reads_whole(void **state)
{
    dialect_works(0x0202);
}

static void test_dialect_210_lists_and_reads_whole(void **state)
{
    dialect_works(0x0210);
}

static void test_dialect_300_lists_and_reads_whole(void **state)
{
    dialect_works(0x0300);
}

static void test_dialect_302_lists_and_reads_whole(void **state)
{
    dialect_works(0x0302);
}

static void test_dialect_311_lists_and_reads_whole(void **state)
{
    dialect_works(0x0311);
}

/* ---- operations, and what they cost ---- */

static int count_name(void *user, const char *name, size_t len, const struct file_attr *attr,
                      size_t wire_bytes)
{
    (*(unsigned *)user)++;
    return 0;
}

static void test_a_stat_is_one_round_trip_and_tells_the_servers_spelling(void **state)
{
    struct file_attr attr = {0}, single = {0};
    char spelling[CLIENT_NAME_MAX] = "?";

    COSTS(1, client_stat(client, "a/DEEP/way/Down.txt", CLIENT_COMPOUND, &attr, spelling, &err));
    assert_string_equal(spelling, "down.TXT");
    assert_int_equal(attr.size, stat_local("a/deep/way/down.TXT").st_size);
    assert_int_equal(attr.links, 1);
    assert_int_not_equal(attr.id, 0);

    COSTS(3, client_stat(client, "a/deep/way/down.TXT", CLIENT_SINGLE, &single, NULL, &err));
    assert_memory_equal(&attr, &single, sizeof(attr));

    WORKS(client_stat(client, "", CLIENT_COMPOUND, &attr, spelling, &err));
    assert_true(file_attr_is_dir(&attr));
    assert_string_equal(spelling, "");
}

static void test_a_small_listing_is_one_round_trip(void **state)
{
    struct client_list_result result = {0};
    unsigned names = 0;

    COSTS(1,
          client_list(client, "a", "*", CLIENT_COMPOUND, false, count_name, &names, &result, &err));
    assert_int_equal(names, 1);
    assert_true(result.complete);

    names = 0;
    WORKS(client_list(client, "a", "none", CLIENT_COMPOUND, false, count_name, &names, &result,
                      &err));
    assert_int_equal(names, 0);
    assert_true(result.complete);

    COSTS(1, client_list(client, "many", "*", CLIENT_COMPOUND, true, count_name, &names, &result,
                         &err));
    assert_false(result.complete);
    assert_in_range(names, 100, MANY - 1);
}

static int stop_at_once(void *user, const char *name, size_t len, const struct file_attr *attr,
                        size_t wire_bytes)
{
    return ++*(int *)user == 3 ? 77 : 0;
}

static void test_a_listing_ends_with_what_the_callback_returns(void **state)
{
    struct client_list_result result = {.dir_attr.id = 1234};
    int calls = 0;
    assert_int_equal(client_list(client, "many", "*", CLIENT_COMPOUND, false, stop_at_once, &calls,
                                 &result, NULL),
                     77);
    assert_int_equal(calls, 3);
    assert_int_equal(result.dir_attr.id, 1234);
}

static void test_a_small_file_is_opened_and_read_in_one_round_trip(void **state)
{
    struct client_file *f;
    struct file_attr attr, post;
    char buf[100];
    size_t len;
    bool eof;

    COSTS(1, client_open(client, "a/deep/way/down.TXT", CLIENT_COMPOUND, buf, sizeof(buf), &f,
                         &attr, &len, &eof, &err));
    assert_int_equal(len, 6);
    assert_memory_equal(buf, "down\r\n", 6);
    assert_true(eof);
    COSTS(0, client_close(f, CLIENT_COMPOUND, NULL, &err));

    WORKS(client_open(client, "empty", CLIENT_COMPOUND, buf, sizeof(buf), &f, &attr, &len, &eof,
                      &err));
    assert_int_equal(len, 0);
    assert_true(eof);
    WORKS(client_close(f, CLIENT_SINGLE, &post, &err));
    assert_int_equal(post.created, attr.created);

    FAILS(-EISDIR,
          client_open(client, "a", CLIENT_COMPOUND, buf, sizeof(buf), &f, &attr, &len, &eof, &err));
}

static void test_statfs_and_echo_work(void **state)
{
    struct client_statfs fs = {0};
    WORKS(client_statfs(client, &fs, &err));
    WORKS(client_echo(client, &err));
    assert_int_equal(fs.max_component, 255);
    assert_true(fs.total_bytes >= fs.free_bytes && fs.free_bytes >= fs.available_bytes);
    assert_int_not_equal(fs.total_bytes, 0);
}

static void test_an_idle_connection_is_probed_and_stays(void **state)
{
    struct client_options o = options();
    o.echo_interval_ns = 50 * 1000 * 1000;
    struct client *c = connect_or_fail(&o);
    struct observe_counts before, after;
    observe_read(observe, &before);
    usleep(400 * 1000);
    observe_read(observe, &after);
    uint64_t echoes = after.command[13].responses - before.command[13].responses;
    assert_in_range(echoes, 2, 8);
    assert_int_equal(client_echo(c, NULL), 0);
    client_free(c);
}

static void test_literals_and_names_of_both_families_connect(void **state)
{
    const char *hosts[] = {"::1", "127.0.0.1", "localhost"};
    for (unsigned i = 0; i < 3; i++) {
        struct client_options o = options();
        o.host = hosts[i];
        client_free(connect_or_fail(&o));
    }
}

static void test_signing_is_as_either_side_wants_it(void **state)
{
    struct client_options o = options();
    struct client_facts facts;
    o.port = bed.open_port;
    struct client *c = connect_or_fail(&o);
    client_facts(c, &facts);
    assert_false(facts.signing);
    assert_string_equal(facts.signing_algorithm, "none");
    assert_int_equal(client_echo(c, NULL), 0);
    client_free(c);

    o.require_signing = true;
    c = connect_or_fail(&o);
    client_facts(c, &facts);
    assert_true(facts.signing);
    assert_int_equal(facts.dialect, 0x0300);
    assert_string_equal(facts.signing_algorithm, "AES-CMAC");
    assert_int_equal(client_echo(c, NULL), 0);
    client_free(c);
}

static void test_a_guest_without_a_name_is_let_in(void **state)
{
    struct client_options o = options();
    struct client_list_result result = {0};
    struct client_facts facts;
    unsigned names = 0;
    o.port = bed.open_port;
    o.user = o.password = NULL;
    o.guest = true;
    struct client *c = connect_or_fail(&o);
    client_facts(c, &facts);
    assert_true(facts.guest);
    assert_false(facts.signing);
    WORKS(client_list(c, "a", "*", CLIENT_COMPOUND, false, count_name, &names, &result, &err));
    assert_int_equal(names, 1);
    client_free(c);
}

/* ---- what does not work says so ---- */

static void connect_fails(const struct client_options *o, int code, const char *first,
                          const char *second)
{
    struct client *c = NULL;
    int r = client_connect(o, &c, &err);
    assert_null(c);
    if (r != code || err.code != code || !strstr(err.text, first) || !strstr(err.text, second))
        fail_msg("expected %d \"%s\" \"%s\", got %d \"%s\"", code, first, second, r, err.text);
    if (o->password && *o->password)
        assert_null(strstr(err.text, o->password));
}

static void test_a_wrong_password_is_named(void **state)
{
    struct client_options o = options();
    o.password = "something else";
    connect_fails(&o, -EACCES, "cannot log on to 127.0.0.1 as \"", "STATUS_LOGON_FAILURE");
    o.password = "";
    connect_fails(&o, -EACCES, "cannot log on to 127.0.0.1 as \"", "STATUS_LOGON_FAILURE");
}

static void test_an_unknown_user_is_a_guest_only_where_asked_for(void **state)
{
    struct client_options o = options();
    o.user = "nobody-knows-me";
    connect_fails(&o, -EACCES, "only a guest session", "guest");
    o.guest = true;
    o.require_signing = true;
    connect_fails(&o, -EACCES, "only a guest session", "signing is required");
}

static void test_an_unknown_share_is_named(void **state)
{
    struct client_options o = options();
    o.share = "no-such-share";
    connect_fails(&o, -ENOENT, "//127.0.0.1/no-such-share", "STATUS_BAD_NETWORK_NAME");
}

static void test_a_share_of_no_files_is_refused(void **state)
{
    struct client_options o = options();
    o.share = "IPC$";
    connect_fails(&o, -ENOTDIR, "//127.0.0.1/IPC$", "pipe");
}

static void test_a_refused_connection_is_named(void **state)
{
    struct client_options o = options();
    o.port = 1;
    connect_fails(&o, -ECONNREFUSED, "127.0.0.1 port 1", "Connection refused");
}

static void test_an_unknown_host_is_named(void **state)
{
    struct client_options o = options();
    o.host = "no-such-host.invalid";
    o.connect_timeout_ns = 2 * NS_PER_SEC;
    struct client *c;
    assert_true(client_connect(&o, &c, &err) < 0);
    assert_non_null(strstr(err.text, "cannot resolve host \"no-such-host.invalid\": "));
}

static void test_a_dialect_that_the_server_lacks_is_named(void **state)
{
    struct client_options o = options();
    o.dialect_min = 0x0400;
    connect_fails(&o, -EINVAL, "no SMB dialect", "0x0400");
    o.port = bed.open_port;
    o.dialect_min = 0x0302;
    connect_fails(&o, -EOPNOTSUPP, "none of the SMB dialects", "STATUS_NOT_SUPPORTED");
}

static void test_operations_name_their_path_and_status(void **state)
{
    struct file_attr attr;
    struct client_list_result result;
    unsigned names;

    FAILS(-ENOENT, client_stat(client, "a/none", CLIENT_COMPOUND, &attr, NULL, &err));
    assert_string_equal(err.text, "stat //127.0.0.1/share/a/none: "
                                  "STATUS_OBJECT_NAME_NOT_FOUND (0xC0000034)");
    FAILS(-ENOENT, client_stat(client, "none/none", CLIENT_SINGLE, &attr, NULL, &err));
    assert_non_null(strstr(err.text, "STATUS_OBJECT_PATH_NOT_FOUND"));
    FAILS(-ENOTDIR, client_list(client, "empty", "*", CLIENT_COMPOUND, false, count_name, &names,
                                &result, &err));
    assert_non_null(strstr(err.text, "list //127.0.0.1/share/empty: STATUS_NOT_A_DIRECTORY"));
    WORKS(client_list(client, "many", "none", CLIENT_SINGLE, false, count_name, &names, &result,
                      &err));
}

static void test_a_name_that_is_too_long_is_never_sent(void **state)
{
    struct client_options o = options();
    o.map_names = false;
    struct client *c = connect_or_fail(&o);
    struct observe_counts before, after;
    struct file_attr attr;
    char name[300], *path = malloc(40000);

    memset(name, 'n', 256);
    name[256] = 0;
    memset(path, 'p', 39999);
    path[39999] = 0;
    for (int i = 100; i < 39999; i += 100)
        path[i] = '/';
    observe_read(observe, &before);
    FAILS(-ENAMETOOLONG, client_stat(c, name, CLIENT_COMPOUND, &attr, NULL, &err));
    assert_non_null(strstr(err.text, "longer than 255 UTF-16 units"));
    FAILS(-ENAMETOOLONG, client_stat(c, path, CLIENT_COMPOUND, &attr, NULL, &err));
    assert_non_null(strstr(err.text, "too long"));
    FAILS(-ENOENT, client_stat(c, "a\\b", CLIENT_COMPOUND, &attr, NULL, &err));
    FAILS(-EILSEQ, client_stat(c, "\xff", CLIENT_COMPOUND, &attr, NULL, &err));
    observe_read(observe, &after);
    assert_int_equal(observe_messages(&before), observe_messages(&after));

    name[255] = 0; /* the longest one that may be asked for */
    FAILS(-ENOENT, client_stat(c, name, CLIENT_COMPOUND, &attr, NULL, &err));
    assert_int_equal(err.status, 0xc0000034);
    free(path);
    client_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialect_202_lists_and_reads_whole),
        cmocka_unit_test(test_dialect_210_lists_and_reads_whole),
        cmocka_unit_test(test_dialect_300_lists_and_reads_whole),
        cmocka_unit_test(test_dialect_302_lists_and_reads_whole),
        cmocka_unit_test(test_dialect_311_lists_and_reads_whole),
        cmocka_unit_test(test_a_stat_is_one_round_trip_and_tells_the_servers_spelling),
        cmocka_unit_test(test_a_small_listing_is_one_round_trip),
        cmocka_unit_test(test_a_listing_ends_with_what_the_callback_returns),
        cmocka_unit_test(test_a_small_file_is_opened_and_read_in_one_round_trip),
        cmocka_unit_test(test_statfs_and_echo_work),
        cmocka_unit_test(test_an_idle_connection_is_probed_and_stays),
        cmocka_unit_test(test_literals_and_names_of_both_families_connect),
        cmocka_unit_test(test_signing_is_as_either_side_wants_it),
        cmocka_unit_test(test_a_guest_without_a_name_is_let_in),
        cmocka_unit_test(test_a_wrong_password_is_named),
        cmocka_unit_test(test_an_unknown_user_is_a_guest_only_where_asked_for),
        cmocka_unit_test(test_an_unknown_share_is_named),
        cmocka_unit_test(test_a_share_of_no_files_is_refused),
        cmocka_unit_test(test_a_refused_connection_is_named),
        cmocka_unit_test(test_an_unknown_host_is_named),
        cmocka_unit_test(test_a_dialect_that_the_server_lacks_is_named),
        cmocka_unit_test(test_operations_name_their_path_and_status),
        cmocka_unit_test(test_a_name_that_is_too_long_is_never_sent),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
