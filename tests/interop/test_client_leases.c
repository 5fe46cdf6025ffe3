/*
 * Leases and watches of a real Samba: what it grants, what another client's change breaks, what our
 * own changes do not, and what it tells of changes, made by SMB and on the share's own disk.
 * Directory leases came with Samba 4.22: an older one is known to have none.
 */
#include "client_bed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/create.h"

enum {
    OPLOCK_BREAK = 18,
    R = CLIENT_LEASE_READ,
    RH = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE,
    RWH = RH | CLIENT_LEASE_WRITE,
};

/* ---- who is told ---- */

struct owner {
    atomic_uint times, state;
};

static bool note_break(void *user, void *owner, unsigned state)
{
    struct owner *o = owner;
    o->state = state;
    o->times++;
    return true;
}

static struct client *other; /* which breaks what `client` was promised */

static int set_up(void **state)
{
    if (bed_set_up(state) < 0)
        return -1;
    other = client;
    struct client_options o = options();
    o.events.lease_broken = note_break;
    client = connect_or_fail(&o);
    return 0;
}

static int tear_down(void **state)
{
    client_free(other);
    return bed_tear_down(state);
}

/* Breaks may come after the reply to who caused them. */
static void told(struct owner *o, unsigned times, unsigned state)
{
    for (int i = 0; i < 300 && o->times < times; i++)
        usleep(10000);
    assert_int_equal(o->times, times);
    assert_int_equal(o->state, state);
}

static void not_told(struct owner *o, unsigned times)
{
    usleep(300 * 1000);
    assert_int_equal(o->times, times);
}

/* ---- files ---- */

static struct client_file *open_by(struct client *c, const char *path, uint32_t access,
                                   struct client_lease_ask *ask)
{
    const struct client_how how = {.access = access,
                                   .share = FILE_SHARE_ALL,
                                   .disposition = FILE_OPEN_IF,
                                   .options = FILE_NON_DIRECTORY_FILE,
                                   .lease = ask};
    struct client_file *f = NULL;
    struct file_attr attr;
    WORKS(client_create(c, path, &how, &f, &attr, NULL, &err));
    return f;
}

static void breaks_of_a_file(struct client *c)
{
    struct owner owner = {0};
    struct client_lease *l = client_lease_new(c, false, &owner);
    struct client_lease_ask ask = {.lease = l, .state = RWH};
    char buf[16];
    struct file_attr attr;
    struct client_file *f = NULL, *again, *theirs;
    size_t len;
    bool eof;
    put_text("leased", "before");
    WORKS(client_open_leased(c, "leased", &ask, buf, sizeof(buf), &f, &attr, &len, &eof, &err));
    assert_memory_equal(buf, "before", 6);
    assert_int_equal(ask.ret_state, RWH);
    assert_int_equal(client_lease_state(l), RWH);

    again = open_by(c, "leased", FILE_READ_DATA | FILE_WRITE_DATA, &ask); /* our own key */
    WORKS(client_write(again, "Before", 6, 0, &err));
    WORKS(client_close(again, CLIENT_SINGLE, NULL, &err));
    not_told(&owner, 0);
    assert_int_equal(client_lease_state(l), RWH);
    WORKS(client_stat(other, "leased", CLIENT_COMPOUND, &attr, NULL, &err)); /* asks for no data */
    not_told(&owner, 0);

    uint64_t acks = requests(OPLOCK_BREAK);
    theirs = open_by(other, "leased", FILE_READ_DATA | FILE_WRITE_DATA, NULL);
    told(&owner, 1, RH);
    assert_int_equal(client_lease_state(l), RH);
    assert_int_equal(requests(OPLOCK_BREAK), acks + 1);
    WORKS(client_write(theirs, "after!", 6, 0, &err));
    told(&owner, 2, 0);
    assert_int_equal(client_lease_state(l), 0);
    WORKS(client_close(theirs, CLIENT_SINGLE, NULL, &err));

    again = open_by(c, "leased", FILE_READ_DATA, &ask); /* the promise is given anew */
    assert_int_equal(ask.ret_state, RWH);
    WORKS(client_close(again, CLIENT_SINGLE, NULL, &err));
    assert_int_equal(client_lease_state(l), RWH);
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    assert_int_equal(client_lease_state(l), 0);
    WORKS(client_remove(other, "leased", false, NULL, CLIENT_COMPOUND, &err));
    not_told(&owner, 2);
    client_lease_free(l);
}

static void test_another_client_breaks_a_lease_of_a_file(void **state)
{
    assert_true(client_leases_files(client));
    breaks_of_a_file(client);
}

static void test_a_lease_of_version_1_is_broken_like_one_of_version_2(void **state)
{
    struct client_options o = options();
    o.dialect_max = 0x0210;
    o.events.lease_broken = note_break;
    struct client *c = connect_or_fail(&o);
    assert_true(client_leases_files(c));
    assert_false(client_leases_dirs(c));
    breaks_of_a_file(c);
    client_free(c);
}

static void test_a_lease_grows_with_what_is_asked(void **state)
{
    static const unsigned asked[] = {R, RH, RWH};
    struct owner owner = {0};
    struct client_lease *l = client_lease_new(client, false, &owner);
    struct client_file *f[3];
    put_text("grown", "");
    for (unsigned i = 0; i < 3; i++) {
        struct client_lease_ask ask = {.lease = l, .state = asked[i]};
        f[i] = open_by(client, "grown", FILE_READ_DATA, &ask);
        assert_int_equal(ask.ret_state, asked[i]);
        assert_int_equal(client_lease_state(l), asked[i]);
    }
    for (unsigned i = 0; i < 3; i++)
        WORKS(client_close(f[i], CLIENT_COMPOUND, NULL, &err));
    not_told(&owner, 0);
    client_lease_free(l);
    WORKS(client_remove(client, "grown", false, NULL, CLIENT_COMPOUND, &err));
}

/* Who wants a file for himself breaks the lease of a handle, which might be an open that nobody
 * needs any more; it is in use here. */
static void test_an_open_that_shares_nothing_breaks_the_lease_of_a_handle(void **state)
{
    struct owner owner = {0};
    struct client_lease *l = client_lease_new(client, false, &owner);
    struct client_lease_ask ask = {.lease = l, .state = RH};
    const struct client_how alone = {.access = FILE_READ_DATA, .disposition = FILE_OPEN};
    struct client_file *theirs = NULL;
    struct file_attr attr;
    put_text("wanted", "x");
    struct client_file *f = open_by(client, "wanted", FILE_READ_DATA, &ask);
    assert_int_equal(ask.ret_state, RH);
    FAILS(-EBUSY, client_create(other, "wanted", &alone, &theirs, &attr, NULL, &err));
    told(&owner, 1, R);
    assert_int_equal(client_lease_state(l), R);
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    WORKS(client_create(other, "wanted", &alone, &theirs, &attr, NULL, &err));
    WORKS(client_close(theirs, CLIENT_SINGLE, NULL, &err));
    client_lease_free(l);
    WORKS(client_remove(client, "wanted", false, NULL, CLIENT_COMPOUND, &err));
}

/* ---- directories ---- */

struct listed {
    unsigned count;
    char text[1000];
};

static int note_entry(void *user, const char *name, size_t len, const struct file_attr *attr,
                      size_t wire_bytes)
{
    struct listed *l = user;
    l->count++;
    size_t at = strlen(l->text);
    snprintf(l->text + at, sizeof(l->text) - at, "%s|", name);
    return 0;
}

static struct client_file *list_dir(struct client_lease *l, const char *expected)
{
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_list_result result;
    struct client_file *dir = NULL;
    struct listed names = {0};
    COSTS(1,
          client_list_leased(client, "dir", &ask, false, note_entry, &names, &dir, &result, &err));
    assert_string_equal(names.text, expected);
    assert_true(result.complete);
    assert_int_equal(ask.ret_state, RH);
    assert_int_equal(client_lease_state(l), RH);
    assert_non_null(dir);
    return dir;
}

/* `expected` NULL: only how many, since a directory has no order. */
static void list_again(struct client_file *dir, unsigned count, const char *expected)
{
    struct client_list_result result;
    struct listed names = {0};
    COSTS(1, client_relist(dir, note_entry, &names, &result, &err));
    assert_int_equal(names.count, count);
    if (expected)
        assert_string_equal(names.text, expected);
    assert_true(result.complete);
}

static void make_by(struct client *c, const char *path, struct client_lease_ask *ask)
{
    WORKS(client_close(open_by(c, path, FILE_WRITE_DATA, ask), CLIENT_SINGLE, NULL, &err));
}

static void needs_directory_leases(void)
{
    if (getenv("LARDER_TEST_NEWER"))
        assert_true(client_leases_dirs(client));
    if (!client_leases_dirs(client)) {
        print_message("this Samba has no directory leases\n");
        skip();
    }
}

static void test_another_clients_create_breaks_a_lease_of_a_directory(void **state)
{
    needs_directory_leases();
    struct owner owner = {0};
    struct client_lease *l = client_lease_new(client, true, &owner);
    WORKS(client_mkdir(client, "dir", NULL, CLIENT_COMPOUND, NULL, &err));
    struct client_file *dir = list_dir(l, "");
    make_by(other, "dir/a", NULL);
    told(&owner, 1, 0);
    assert_int_equal(client_lease_state(l), 0);
    list_again(dir, 1, "a|"); /* by the same open; the promise is not renewed */
    assert_int_equal(client_lease_state(l), 0);

    struct client_file *anew = list_dir(l, "a|");
    WORKS(client_close(dir, CLIENT_COMPOUND, NULL, &err));
    assert_int_equal(client_lease_state(l), RH);
    WORKS(client_remove(other, "dir/a", false, NULL, CLIENT_COMPOUND, &err));
    told(&owner, 2, 0);
    list_again(anew, 0, "");
    WORKS(client_close(anew, CLIENT_SINGLE, NULL, &err));
    client_lease_free(l);
    WORKS(client_remove(client, "dir", true, NULL, CLIENT_COMPOUND, &err));
}

static void test_our_own_changes_under_its_key_break_no_lease_of_a_directory(void **state)
{
    needs_directory_leases();
    struct owner owner = {0}, file_owner = {0};
    struct client_lease *l = client_lease_new(client, true, &owner),
                        *file = client_lease_new(client, false, &file_owner);
    struct client_lease_ask leased = {.lease = file, .parent = l, .state = RWH},
                            bare = {.parent = l};
    WORKS(client_mkdir(client, "dir", NULL, CLIENT_COMPOUND, NULL, &err));
    struct client_file *dir = list_dir(l, "");
    make_by(client, "dir/a", &leased);
    assert_int_equal(leased.ret_state, RWH);
    not_told(&owner, 0);
    make_by(client, "dir/b", &bare); /* without a lease of its own */
    assert_int_equal(bare.ret_state, 0);
    not_told(&owner, 0);
    list_again(dir, 2, NULL);
    assert_int_equal(client_lease_state(l), RH);

    make_by(client, "dir/c", NULL); /* who says nothing breaks it */
    told(&owner, 1, 0);
    assert_int_equal(file_owner.times, 0);
    WORKS(client_close(dir, CLIENT_SINGLE, NULL, &err));
    WORKS(client_remove(client, "dir/a", false, NULL, CLIENT_COMPOUND, &err));
    WORKS(client_remove(client, "dir/b", false, NULL, CLIENT_COMPOUND, &err));
    WORKS(client_remove(client, "dir/c", false, NULL, CLIENT_COMPOUND, &err));
    WORKS(client_remove(client, "dir", true, NULL, CLIENT_COMPOUND, &err));
    client_lease_free(file);
    client_lease_free(l);
}

static void test_without_directory_leases_none_is_asked_for(void **state)
{
    struct client_options o = options();
    o.dialect_max = 0x0210;
    struct client *c = connect_or_fail(&o);
    struct client_lease *l = client_lease_new(c, true, NULL);
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_list_result result;
    struct client_file *dir = NULL;
    struct listed names = {0};
    WORKS(client_mkdir(client, "plain", NULL, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_list_leased(c, "plain", &ask, false, note_entry, &names, &dir, &result, &err));
    assert_int_equal(ask.ret_state, 0);
    assert_null(dir);
    client_lease_free(l);
    client_free(c);
    WORKS(client_remove(client, "plain", true, NULL, CLIENT_COMPOUND, &err));
}

/* ---- watches ---- */

struct changes {
    char text[4000];
};

static void note_change(void *user, enum client_action action, const char *path)
{
    static const char letters[] = "?+-~<>";
    struct changes *c = user;
    size_t at = strlen(c->text);
    snprintf(c->text + at, sizeof(c->text) - at, "%c%s|", letters[action], path);
}

/* Takes what is told until all of it has been; modifications may be told more than once. */
static void tells(struct client_watch *w, const char *const *expected)
{
    struct changes c = {0};
    for (; *expected; expected++) {
        while (!strstr(c.text, *expected)) {
            bool overflow;
            WORKS(client_watch_next(w, note_change, &c, &overflow, &err));
            assert_false(overflow);
        }
    }
}
#define TELLS(...) tells(w, (const char *const[]){__VA_ARGS__, NULL})

static void test_a_watch_tells_what_other_clients_change_in_the_whole_tree(void **state)
{
    struct client_watch *w = NULL;
    WORKS(client_mkdir(client, "watched", NULL, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_mkdir(client, "watched/deep", NULL, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_watch_new(client, "watched", true, &w, &err));
    make_by(other, "watched/new", NULL);
    TELLS("+new|");
    make_by(other, "watched/deep/what?", NULL); /* as it is here, not as it travels */
    TELLS("+deep/what?|");
    WORKS(client_rename(other, "watched/new", "watched/n\u00e9w", false, NULL, CLIENT_COMPOUND,
                        NULL, &err));
    TELLS("<new|>n\u00e9w|");
    WORKS(client_set_size(other, "watched/n\u00e9w", 100, NULL, CLIENT_COMPOUND, NULL, &err));
    TELLS("~n\u00e9w|");
    WORKS(client_remove(other, "watched/n\u00e9w", false, NULL, CLIENT_COMPOUND, &err));
    TELLS("-n\u00e9w|");
    WORKS(client_remove(other, "watched/deep/what?", false, NULL, CLIENT_COMPOUND, &err));
    WORKS(client_remove(other, "watched/deep", true, NULL, CLIENT_COMPOUND, &err));
    TELLS("-deep/what?|", "-deep|");
    client_watch_free(w);
    WORKS(client_remove(other, "watched", true, NULL, CLIENT_COMPOUND, &err));
}

/* The server looks at its disk a moment after it took the request: files are made until one is told
 * of. */
static void wait_for_the_disk(struct client_watch *w)
{
    pid_t maker = fork();
    if (maker == 0) {
        for (unsigned i = 0; i < 100; i++) {
            char name[64];
            snprintf(name, sizeof(name), "local/probe%u", i);
            close(open(local(name), O_CREAT | O_WRONLY, 0666));
            unlink(local(name));
            usleep(100000);
        }
        _exit(0);
    }
    assert_true(maker > 0);
    TELLS("+probe");
    kill(maker, SIGKILL);
    waitpid(maker, NULL, 0);
    for (unsigned i = 0; i < 100; i++) {
        char name[64];
        snprintf(name, sizeof(name), "local/probe%u", i);
        unlink(local(name)); /* one may be left */
    }
}

static void test_a_watch_tells_what_changes_on_the_servers_disk(void **state)
{
    struct client_watch *w = NULL;
    WORKS(client_mkdir(client, "local", NULL, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_watch_new(client, "local", false, &w, &err));
    wait_for_the_disk(w);
    int fd = open(local("local/new"), O_CREAT | O_WRONLY, 0666);
    assert_true(fd >= 0);
    TELLS("+new|");
    assert_int_equal(rename(local("local/new"), local("local/old")), 0);
    TELLS("old|");
    assert_int_equal(unlink(local("local/old")), 0);
    TELLS("-old|");
    close(fd);
    client_watch_free(w);
    WORKS(client_remove(other, "local", true, NULL, CLIENT_COMPOUND, &err));
}

static void test_more_changes_than_a_server_keeps_are_an_overflow(void **state)
{
    enum { FILES = 3000 };
    struct client_watch *w = NULL;
    struct changes c = {0};
    bool overflow = false;
    char name[64];
    WORKS(client_mkdir(client, "crowd", NULL, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_watch_new(client, "crowd", true, &w, &err));
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "crowd/a rather long name with the number %u", i);
        WORKS(client_close(create_by(other, name), CLIENT_COMPOUND, NULL, &err));
    }
    while (!overflow)
        WORKS(client_watch_next(w, note_change, &c, &overflow, &err));
    make_by(other, "crowd/after", NULL);
    do { /* it goes on */
        c.text[0] = 0;
        WORKS(client_watch_next(w, note_change, &c, &overflow, &err));
    } while (!strstr(c.text, "after|"));
    client_watch_free(w);
}

static void *stop_soon(void *watch)
{
    usleep(200 * 1000);
    client_watch_stop(watch);
    return NULL;
}

static void test_a_watch_can_be_stopped(void **state)
{
    struct client_watch *w = NULL;
    struct changes c = {0};
    pthread_t thread;
    bool overflow;
    WORKS(client_watch_new(client, "", true, &w, &err));
    pthread_create(&thread, NULL, stop_soon, w);
    FAILS(-ECANCELED, client_watch_next(w, note_change, &c, &overflow, &err));
    pthread_join(thread, NULL);
    client_watch_free(w);
    WORKS(client_echo(client, &err));
}

static void test_what_cannot_be_watched(void **state)
{
    struct client_watch *w = NULL;
    FAILS(-ENOENT, client_watch_new(client, "nowhere", true, &w, &err));
    FAILS(-ENOTDIR, client_watch_new(client, "empty", true, &w, &err));
}

int main(void)
{
    alarm(300); /* what a watch does not tell is waited for without a deadline */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_another_client_breaks_a_lease_of_a_file),
        cmocka_unit_test(test_a_lease_of_version_1_is_broken_like_one_of_version_2),
        cmocka_unit_test(test_a_lease_grows_with_what_is_asked),
        cmocka_unit_test(test_an_open_that_shares_nothing_breaks_the_lease_of_a_handle),
        cmocka_unit_test(test_another_clients_create_breaks_a_lease_of_a_directory),
        cmocka_unit_test(test_our_own_changes_under_its_key_break_no_lease_of_a_directory),
        cmocka_unit_test(test_without_directory_leases_none_is_asked_for),
        cmocka_unit_test(test_a_watch_tells_what_other_clients_change_in_the_whole_tree),
        cmocka_unit_test(test_a_watch_tells_what_changes_on_the_servers_disk),
        cmocka_unit_test(test_more_changes_than_a_server_keeps_are_an_overflow),
        cmocka_unit_test(test_a_watch_can_be_stopped),
        cmocka_unit_test(test_what_cannot_be_watched),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
