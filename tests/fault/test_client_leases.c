/*
 * Leases against a server that breaks them when no real one can be made to: before the reply that
 * grants, in the middle of a compound, twice, by wrong and equal epochs, for keys that nobody has,
 * and when everything else waits for credits.
 */
#include "bed.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum {
    R = CLIENT_LEASE_READ,
    RH = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE,
    RWH = RH | CLIENT_LEASE_WRITE,
    BOTH = SMB2_GLOBAL_CAP_LEASING | SMB2_GLOBAL_CAP_DIRECTORY_LEASING,
};

/* ---- who is told ---- */

static struct heard {
    pthread_mutex_t lock;
    void *_Atomic owner;
    unsigned state, acks_before;
    atomic_uint times;
    atomic_bool puts_off, slow;
    struct server *server;
} heard = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool note_break(void *user, void *owner, unsigned state)
{
    int lease;
    unsigned ack;
    assert_ptr_equal(user, &heard);
    pthread_mutex_lock(&heard.lock);
    heard.owner = owner;
    heard.state = state;
    heard.acks_before = 0;
    while (server_ack(heard.server, heard.acks_before, &lease, &ack))
        heard.acks_before++;
    pthread_mutex_unlock(&heard.lock);
    if (heard.slow)
        usleep(200 * 1000);
    heard.times++;
    return !heard.puts_off;
}

/* ---- a server and a client ---- */

static struct server_script leasing_script(unsigned state, uint16_t epoch)
{
    struct server_script script = plain_script();
    script.dialect = SMB2_DIALECT_302;
    script.capabilities = BOTH;
    script.lease = (struct server_lease){.state = state, .epoch = epoch};
    return script;
}

static struct bed start_leasing(const struct server_script *script)
{
    struct bed b = {.server = server_new(script)};
    struct error err = {0};
    assert_non_null(b.server);
    struct client_options o = options(b.server);
    o.events = (struct conn_events){.lease_broken = note_break, .user = &heard};
    heard.server = b.server;
    heard.owner = NULL;
    heard.state = 99;
    heard.times = 0;
    heard.puts_off = heard.slow = false;
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static struct client_file *open_by(struct bed *b, struct client_lease *l, unsigned asked,
                                   unsigned expected)
{
    struct client_lease_ask ask = {.lease = l, .state = asked, .ret_state = 99};
    struct client_file *f;
    struct file_attr attr;
    struct error err = {0};
    char buf[64];
    size_t len;
    bool eof;
    if (client_open_leased(b->client, "lib/a.py", &ask, buf, sizeof(buf), &f, &attr, &len, &eof,
                           &err) < 0)
        fail_msg("%s", err.text);
    if (len) /* who has a single credit reads nothing with the CREATE */
        assert_memory_equal(buf, "print('a')\n", 11);
    assert_int_equal(ask.ret_state, expected);
    return f;
}

static void close_now(struct client_file *f)
{
    assert_int_equal(client_close(f, CLIENT_SINGLE, NULL, NULL), 0);
}

static void send_break(struct bed *b, struct server_break what)
{
    assert_true(server_send_break(b->server, &what));
    assert_int_equal(client_echo(b->client, NULL), 0); /* it has been heard when this is answered */
}

/* What nobody waits for may take a moment. */
static void expect_ack(struct bed *b, unsigned n, unsigned state)
{
    int lease = 99;
    unsigned is = 99;
    for (int i = 0; i < 200 && !server_ack(b->server, n, &lease, &is); i++)
        usleep(10000);
    assert_int_equal(lease, 0);
    assert_int_equal(is, state);
}

static void expect_acks(struct bed *b, unsigned n)
{
    assert_int_equal(client_echo(b->client, NULL), 0);
    assert_int_equal(server_count(b->server, SMB2_OPLOCK_BREAK), n);
}

static void end(struct bed *b, struct client_lease *l)
{
    no_open_is_left(b);
    client_lease_free(l);
    everything_works(b);
    stop(b);
}

/* ---- asking ---- */

static void test_a_lease_is_granted_in_the_version_of_the_dialect(void **state)
{
    static const struct {
        uint16_t dialect;
        unsigned version; /* 0: none is asked for */
        bool files, dirs;
    } cases[] = {{SMB2_DIALECT_202, 0, false, false},
                 {SMB2_DIALECT_210, 1, true, false},
                 {SMB2_DIALECT_300, 2, true, true},
                 {SMB2_DIALECT_311, 2, true, true}};
    for (unsigned i = 0; i < COUNT(cases); i++) {
        struct server_script script = leasing_script(RWH, 1);
        script.dialect = cases[i].dialect;
        struct bed b = start_leasing(&script);
        struct client_lease *l = client_lease_new(b.client, false, &b);
        struct wire_lease asked;
        assert_int_equal(client_leases_files(b.client), cases[i].files);
        assert_int_equal(client_leases_dirs(b.client), cases[i].dirs);
        assert_int_equal(client_lease_state(l), 0);

        struct client_file *f = open_by(&b, l, RWH, cases[i].files ? RWH : 0);
        assert_int_equal(client_lease_state(l), cases[i].files ? RWH : 0);
        assert_int_equal(server_last_lease(b.server, &asked), cases[i].version != 0);
        assert_int_equal(asked.version, cases[i].version);
        assert_int_equal(asked.state, cases[i].version ? RWH : 0);
        close_now(f);
        assert_int_equal(client_lease_state(l), 0); /* the promise ends with the last open */
        end(&b, l);
    }
}

static void test_without_the_capability_nothing_is_asked_for(void **state)
{
    struct server_script script = leasing_script(RWH, 1);
    script.capabilities = 0;
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, NULL);
    struct wire_lease asked;
    assert_false(client_leases_files(b.client));
    close_now(open_by(&b, l, RWH, 0));
    assert_false(server_last_lease(b.server, &asked));
    end(&b, l);
}

static void test_an_open_names_the_lease_of_its_directory(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *dir = client_lease_new(b.client, true, NULL),
                        *file = client_lease_new(b.client, false, NULL);
    struct client_lease_ask in_dir = {.lease = file, .parent = dir, .state = RH},
                            list = {.lease = dir, .state = RH};
    struct wire_lease first, second;
    struct client_list_result result;
    struct names names = {0};
    struct client_file *held, *f;
    struct file_attr attr;

    assert_int_equal(
        client_list_leased(b.client, "lib", &list, false, note_name, &names, &held, &result, NULL),
        0);
    assert_true(server_last_lease(b.server, &first));
    assert_int_equal(first.flags, 0);
    const struct client_how how = {.access = FILE_READ_DATA,
                                   .share = FILE_SHARE_ALL,
                                   .disposition = FILE_OPEN,
                                   .lease = &in_dir};
    assert_int_equal(client_create(b.client, "lib/a.py", &how, &f, &attr, NULL, NULL), 0);
    assert_int_equal(in_dir.ret_state, RH);
    assert_true(server_last_lease(b.server, &second));
    assert_int_equal(second.flags, SMB2_LEASE_FLAG_PARENT_LEASE_KEY_SET);
    assert_memory_equal(second.parent_key, first.key, sizeof(first.key));
    assert_memory_not_equal(second.key, first.key, sizeof(first.key));
    assert_int_equal(second.epoch, 0);
    close_now(f);

    in_dir.lease = NULL; /* the directory's own changes are told apart without a lease, too */
    in_dir.ret_state = 99;
    assert_int_equal(client_create(b.client, "lib/a.py", &how, &f, &attr, NULL, NULL), 0);
    assert_int_equal(in_dir.ret_state, 0);
    assert_true(server_last_lease(b.server, &second));
    assert_int_equal(second.state, 0);
    assert_memory_equal(second.parent_key, first.key, sizeof(first.key));
    close_now(f);
    close_now(held);
    client_lease_free(dir);
    end(&b, file);
}

static void test_all_opens_share_the_promise_until_the_last_is_closed(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, NULL);
    struct client_file *one = open_by(&b, l, RH, RH), *two = open_by(&b, l, RH, RH);
    assert_int_equal(server_leases(b.server), 1);
    assert_int_equal(client_close(one, CLIENT_COMPOUND, NULL, NULL), 0);
    assert_int_equal(client_lease_state(l), RH);
    struct client_closing *closing = client_close_begin(two);
    assert_int_equal(client_lease_state(l), 0);
    assert_int_equal(client_close_end(closing, NULL, NULL), 0);
    assert_int_equal(heard.times, 0);
    end(&b, l);
}

/* ---- breaks at odd moments ---- */

static void test_a_break_that_overtakes_the_reply_takes_what_the_reply_gives(void **state)
{
    static const struct server_break breaks[] = {{0, 2, R, true}};
    static const struct server_rule rule[] = {{SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_BREAK, 0}};
    struct server_script script = leasing_script(RH, 1);
    script.breaks = breaks;
    script.break_count = 1;
    script.rules = rule;
    script.rule_count = 1;
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, R);
    assert_int_equal(client_lease_state(l), R);
    assert_int_equal(heard.times, 1); /* who waits for the reply is not to believe it */
    assert_ptr_equal(heard.owner, &b);
    expect_ack(&b, 0, R); /* behind the reply, by the open that is known then */
    expect_acks(&b, 1);
    close_now(f);
    end(&b, l);
}

static void test_a_break_that_overtakes_a_refusal_is_not_acknowledged(void **state)
{
    static const struct server_break breaks[] = {{0, 2, R, true}};
    static const struct server_rule rules[] = {
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_BREAK, 0},
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_SHARING_VIOLATION}};
    struct server_script script = leasing_script(RH, 1);
    script.breaks = breaks;
    script.break_count = 1;
    script.rules = rules;
    script.rule_count = 2;
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_file *f;
    struct file_attr attr;
    size_t len;
    bool eof;
    assert_int_equal(
        client_open_leased(b.client, "lib/a.py", &ask, NULL, 0, &f, &attr, &len, &eof, NULL),
        -EBUSY);
    expect_acks(&b, 0);
    close_now(open_by(&b, l, RH, RH)); /* and is forgotten */
    expect_acks(&b, 0);
    end(&b, l);
}

static void test_a_break_in_the_middle_of_a_compound_takes_the_listing_with_it(void **state)
{
    static const struct server_break breaks[] = {{0, 2, 0, true}};
    static const struct server_rule rule[] = {
        {SMB2_QUERY_DIRECTORY, 1, SERVER_ANYWHERE, SERVER_BREAK, 0}};
    struct server_script script = leasing_script(RH, 1);
    script.breaks = breaks;
    script.break_count = 1;
    script.rules = rule;
    script.rule_count = 1;
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, true, &b);
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_list_result result;
    struct names names = {0};
    struct client_file *dir;
    assert_int_equal(
        client_list_leased(b.client, "lib", &ask, false, note_name, &names, &dir, &result, NULL),
        0);
    assert_string_equal(names.text, "a.py|");
    assert_int_equal(ask.ret_state, 0);
    assert_null(dir);
    assert_int_equal(client_lease_state(l), 0);
    assert_int_equal(heard.times, 1);
    assert_int_equal(heard.state, 0);
    expect_ack(&b, 0, 0);
    end(&b, l);
}

static void test_a_break_is_told_before_it_is_acknowledged(void **state)
{
    const struct server_script script = leasing_script(RWH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RWH, RWH);
    heard.slow = true; /* an acknowledgement before its end would be seen at its end */
    send_break(&b, (struct server_break){0, 2, R, true});
    assert_int_equal(heard.times, 1);
    assert_int_equal(heard.state, R);
    assert_int_equal(heard.acks_before, 0);
    expect_ack(&b, 0, R);
    assert_int_equal(client_lease_state(l), R);
    close_now(f);
    end(&b, l);
}

static void test_the_same_break_twice_is_told_once(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, RH);
    send_break(&b, (struct server_break){0, 2, R, true, .times = 2});
    assert_int_equal(heard.times, 1);
    expect_ack(&b, 0, R);
    assert_int_equal(client_lease_state(l), R);
    close_now(f);
    end(&b, l);
}

static void test_a_break_that_wants_no_acknowledgement_gets_none(void **state)
{
    const struct server_script script = leasing_script(R, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, R);
    send_break(&b, (struct server_break){0, 2, 0, false});
    assert_int_equal(heard.times, 1);
    assert_int_equal(client_lease_state(l), 0);
    expect_acks(&b, 0);
    close_now(f);
    end(&b, l);
}

static void test_a_break_for_an_unknown_key_is_counted_and_ignored(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, RH);
    uint64_t before = counts().command[SMB2_OPLOCK_BREAK].unsolicited;
    send_break(&b, (struct server_break){SERVER_UNKNOWN_KEY, 2, 0, true});
    assert_int_equal(counts().command[SMB2_OPLOCK_BREAK].unsolicited, before + 1);
    assert_int_equal(heard.times, 0);
    assert_int_equal(client_lease_state(l), RH);
    expect_acks(&b, 0);
    close_now(f);
    end(&b, l);
}

static void test_a_break_never_gives(void **state)
{
    const struct server_script script = leasing_script(R, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, R, R);
    send_break(&b, (struct server_break){0, 2, RWH, false});
    assert_int_equal(client_lease_state(l), R);
    close_now(f);
    end(&b, l);
}

/* ---- epochs ---- */

static void test_an_epoch_tells_late_breaks_and_missing_ones_apart(void **state)
{
    const struct server_script script = leasing_script(RWH, 10);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RWH, RWH);
    send_break(&b, (struct server_break){0, 10, RH, true}); /* equal, but lower */
    assert_int_equal(heard.times, 1);
    assert_int_equal(client_lease_state(l), RH);
    expect_ack(&b, 0, RH);
    send_break(&b, (struct server_break){0, 10, RH, false}); /* nothing new */
    send_break(&b, (struct server_break){0, 9, RH, false});
    send_break(&b, (struct server_break){0, 11, RH, false});
    assert_int_equal(heard.times, 1);
    send_break(&b, (struct server_break){0, 13, RH, false}); /* there was one between */
    assert_int_equal(heard.times, 2);
    assert_int_equal(heard.state, RH);
    send_break(&b, (struct server_break){0, 5, R, true}); /* what is taken is gone, early or late */
    assert_int_equal(heard.times, 3);
    assert_int_equal(client_lease_state(l), R);
    expect_ack(&b, 1, R);
    close_now(f);
    end(&b, l);
}

static void test_epochs_go_round(void **state)
{
    struct server_script script = leasing_script(RWH, 65535);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *one = open_by(&b, l, RWH, RWH), *two, *three;
    send_break(&b, (struct server_break){0, 0, RH, true}); /* 65535 + 1 */
    assert_int_equal(client_lease_state(l), RH);
    assert_int_equal(heard.times, 1);
    expect_ack(&b, 0, RH);
    send_break(&b, (struct server_break){0, 65535, RH, false}); /* behind, not 65535 ahead */
    assert_int_equal(heard.times, 1);

    two = open_by(&b, l, RWH, RH); /* a reply of 65535, which was overtaken */
    assert_int_equal(client_lease_state(l), RH);
    script = leasing_script(RWH, 1);
    server_play(b.server, &script);
    three = open_by(&b, l, RWH, RWH); /* and one that is new */
    assert_int_equal(client_lease_state(l), RWH);
    assert_int_equal(heard.times, 1);
    close_now(one);
    close_now(two);
    close_now(three);
    end(&b, l);
}

static void test_a_reply_whose_epoch_jumped_tells_that_something_was_lost(void **state)
{
    static const struct {
        uint16_t epoch;
        unsigned state;
        bool tells;
    } replies[] = {
        {5, R, false}, {6, RH, false}, {6, RH, false}, {7, RH, true}, {9, RWH, true}, {9, RH, true},
    };
    struct server_script script = leasing_script(R, 5);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f[COUNT(replies)];
    unsigned told = 0;
    for (unsigned i = 0; i < COUNT(replies); i++) {
        script = leasing_script(replies[i].state, replies[i].epoch);
        server_play(b.server, &script);
        f[i] = open_by(&b, l, RWH, replies[i].state);
        told += replies[i].tells;
        assert_int_equal(heard.times, told);
    }
    for (unsigned i = 0; i < COUNT(replies); i++)
        close_now(f[i]);

    script = leasing_script(RH, 1); /* with the last open the epochs end, too */
    server_play(b.server, &script);
    close_now(open_by(&b, l, RH, RH));
    assert_int_equal(heard.times, told);
    end(&b, l);
}

static void test_a_lease_that_is_being_broken_is_not_given_again(void **state)
{
    struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *one = open_by(&b, l, RH, RH), *two, *three;
    heard.puts_off = true;
    send_break(&b, (struct server_break){0, 2, R, true});
    two = open_by(&b, l, RH, R); /* not acknowledged yet */
    client_lease_acknowledge(l);
    expect_ack(&b, 0, R);
    script.lease.flags = SMB2_LEASE_FLAG_BREAK_IN_PROGRESS; /* or the server says so */
    server_play(b.server, &script);
    three = open_by(&b, l, RH, R);
    close_now(one);
    close_now(two);
    close_now(three);
    end(&b, l);
}

/* ---- acknowledgements ---- */

static void test_an_acknowledgement_waits_for_the_owner(void **state)
{
    const struct server_script script = leasing_script(RWH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RWH, RWH);
    heard.puts_off = true;
    send_break(&b, (struct server_break){0, 2, R, true});
    assert_int_equal(client_lease_state(l), R);
    expect_acks(&b, 0);
    client_lease_acknowledge(l);
    expect_ack(&b, 0, R);
    client_lease_acknowledge(l); /* nothing is owed any more */
    expect_acks(&b, 1);
    close_now(f);
    end(&b, l);
}

static void test_the_last_close_is_the_acknowledgement(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    heard.puts_off = true;
    for (unsigned i = 0; i < 3; i++) {
        struct client_file *f = open_by(&b, l, RH, RH);
        send_break(&b, (struct server_break){0, 2, R, true});
        if (i == 0)
            close_now(f);
        else if (i == 1)
            assert_int_equal(client_close(f, CLIENT_COMPOUND, NULL, NULL), 0);
        else
            assert_int_equal(client_close_end(client_close_begin(f), NULL, NULL), 0);
        no_open_is_left(&b);
        client_lease_acknowledge(l);
        expect_acks(&b, 0);
    }
    end(&b, l);
}

static void test_a_refused_acknowledgement_ends_the_promise_and_nothing_else(void **state)
{
    static const uint32_t statuses[] = {STATUS_UNSUCCESSFUL, STATUS_OBJECT_NAME_NOT_FOUND,
                                        STATUS_INVALID_PARAMETER, STATUS_REQUEST_NOT_ACCEPTED};
    for (unsigned i = 0; i < COUNT(statuses); i++) {
        const struct server_rule refuse[] = {
            {SMB2_OPLOCK_BREAK, 0, SERVER_ANYWHERE, SERVER_FAIL, statuses[i]}};
        struct server_script script = leasing_script(RH, 1);
        script.rules = refuse;
        script.rule_count = 1;
        struct bed b = start_leasing(&script);
        struct client_lease *l = client_lease_new(b.client, false, &b);
        struct client_file *f = open_by(&b, l, RH, RH);
        send_break(&b, (struct server_break){0, 2, R, true});
        expect_acks(&b, 1);
        assert_int_equal(client_lease_state(l), 0);
        assert_int_equal(heard.times, 2);
        close_now(f);
        end(&b, l);
    }
}

/* ---- credits ---- */

struct reading {
    struct client_file *file;
    pthread_t thread;
};

static void *read_in_vain(void *arg)
{
    struct reading *r = arg;
    char buf[8];
    (void)client_read(r->file, buf, sizeof(buf), 0, NULL);
    return NULL;
}

static void test_an_acknowledgement_leaves_when_all_credits_are_used(void **state)
{
    static const struct server_rule few[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1},
        {SMB2_NEGOTIATE, 0, SERVER_ANYWHERE, SERVER_GRANT, 4},
        {SMB2_READ, 0, SERVER_ANYWHERE, SERVER_SILENT, 0},
    };
    struct server_script script = leasing_script(RH, 1);
    script.rules = few;
    script.rule_count = 2;
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, RH);
    script.rule_count = 3;
    server_play(b.server, &script);
    struct reading reading[8];
    for (unsigned i = 0; i < COUNT(reading); i++) {
        reading[i].file = f;
        pthread_create(&reading[i].thread, NULL, read_in_vain, &reading[i]);
    }
    for (unsigned i = 0; i < 200 && server_count(b.server, SMB2_READ) < 3; i++)
        usleep(10000);
    usleep(50 * 1000);
    assert_int_equal(server_count(b.server, SMB2_READ), 3); /* one credit is kept back */
    assert_true(server_send_break(b.server, &(struct server_break){0, 2, R, true}));
    expect_ack(&b, 0, R);
    assert_int_equal(server_count(b.server, SMB2_READ), 3);

    server_disconnect(b.server);
    for (unsigned i = 0; i < COUNT(reading); i++)
        pthread_join(reading[i].thread, NULL);
    assert_int_equal(client_close(f, CLIENT_COMPOUND, NULL, NULL), 0);
    client_lease_free(l);
    stop(&b);
}

struct echoing {
    struct client *client;
    atomic_bool stop;
    atomic_uint count;
};

static void *echo_on(void *arg)
{
    struct echoing *e = arg;
    while (!e->stop && client_echo(e->client, NULL) == 0)
        e->count++;
    return NULL;
}

static void test_a_server_with_one_credit_gets_its_acknowledgement_next(void **state)
{
    static const struct server_rule one[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1},
        {SMB2_ECHO, 0, SERVER_ANYWHERE, SERVER_DELAY, 20},
    };
    struct server_script script = leasing_script(RH, 1);
    script.rules = one;
    script.rule_count = 2;
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, RH);
    struct echoing e = {.client = b.client};
    pthread_t threads[4];
    for (unsigned i = 0; i < COUNT(threads); i++)
        pthread_create(&threads[i], NULL, echo_on, &e);
    while (e.count < 3)
        usleep(1000);
    assert_true(server_send_break(b.server, &(struct server_break){0, 2, R, true}));
    unsigned before = server_count(b.server, SMB2_ECHO);
    expect_ack(&b, 0, R);
    assert_in_range(server_count(b.server, SMB2_ECHO), before, before + 3);
    e.stop = true;
    for (unsigned i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(heard.times, 1);
    close_now(f);
    end(&b, l);
}

static void test_a_silent_server_is_found_out_though_a_credit_is_kept_back(void **state)
{
    static const struct server_rule few[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1},
        {SMB2_NEGOTIATE, 0, SERVER_ANYWHERE, SERVER_GRANT, 2},
    };
    static const struct server_rule silent[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    struct server_script script = leasing_script(RH, 1);
    script.rules = few;
    script.rule_count = 2;
    struct server *s = server_new(&script);
    struct client_options o = options(s);
    struct client *c;
    o.request_timeout_ns = o.echo_interval_ns = NS_PER_SEC / 10;
    assert_int_equal(client_connect(&o, &c, NULL), 0);
    struct client_lease *l = client_lease_new(c, false, NULL);
    play(&(struct bed){s, c}, silent, 1);
    assert_int_equal(client_echo(c, NULL), -ETIMEDOUT);
    usleep(500 * 1000);
    struct error err = {0};
    assert_true(client_echo(c, &err) < 0);
    assert_non_null(strstr(err.text, "did not answer an ECHO"));
    client_lease_free(l);
    client_free(c);
    server_free(s);
}

/* ---- the end ---- */

static void test_with_the_connection_all_promises_are_gone(void **state)
{
    const struct server_script script = leasing_script(RWH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RWH, RWH);
    server_disconnect(b.server);
    for (int i = 0; i < 200 && client_lease_state(l); i++)
        usleep(10000);
    assert_int_equal(client_lease_state(l), 0);
    client_lease_acknowledge(l);
    assert_int_equal(client_close(f, CLIENT_COMPOUND, NULL, NULL), 0);
    client_lease_free(l);
    stop(&b);
}

static void test_who_has_freed_a_lease_hears_no_more_of_it(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, RH);
    heard.slow = true;
    assert_true(server_send_break(b.server, &(struct server_break){0, 2, R, true}));
    while (!heard.owner) /* it is being told */
        usleep(1000);
    assert_int_equal(client_close(f, CLIENT_COMPOUND, NULL, NULL), 0);
    client_lease_free(l); /* waits until it has been */
    assert_int_equal(heard.times, 1);
    send_break(&b, (struct server_break){0, 3, 0, true});
    assert_int_equal(heard.times, 1);
    end(&b, NULL);
}

static void test_a_lease_outlives_its_owner_until_its_late_open_is_closed(void **state)
{
    static const struct server_break breaks[] = {{0, 2, R, true}};
    static const struct server_rule late[] = {{SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_DELAY, 400},
                                              {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_BREAK, 0}};
    struct server_script script = leasing_script(RH, 1);
    script.breaks = breaks;
    script.break_count = 1;
    struct bed b = start_leasing(&script);
    client_free(b.client);
    struct client_options o = options(b.server);
    o.request_timeout_ns = NS_PER_SEC / 10;
    o.events = (struct conn_events){.lease_broken = note_break, .user = &heard};
    assert_int_equal(client_connect(&o, &b.client, NULL), 0);
    script.rules = late;
    script.rule_count = 2;
    server_play(b.server, &script);

    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_file *f;
    struct file_attr attr;
    size_t len;
    bool eof;
    assert_int_equal(
        client_open_leased(b.client, "lib/a.py", &ask, NULL, 0, &f, &attr, &len, &eof, NULL),
        -ETIMEDOUT);
    client_lease_free(l);
    usleep(600 * 1000);
    assert_int_equal(server_count(b.server, SMB2_CREATE), 1);
    assert_int_equal(heard.times, 0);
    end(&b, NULL);
}

/* ---- an open that is kept ---- */

static struct client_file *list_kept(struct bed *b, struct client_lease *l, const char *path,
                                     struct names *n)
{
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_list_result result;
    struct client_file *dir;
    struct error err = {0};
    memset(n, 0, sizeof(*n));
    if (client_list_leased(b->client, path, &ask, false, note_name, n, &dir, &result, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(result.complete);
    assert_int_equal(ask.ret_state, RH);
    assert_non_null(dir);
    return dir;
}

static unsigned list_again(struct client_file *dir, struct names *n)
{
    struct client_list_result result;
    struct error err = {0};
    memset(n, 0, sizeof(*n));
    if (client_relist(dir, note_name, n, &result, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(result.complete);
    return n->count;
}

static void test_a_kept_open_lists_again_in_one_round_trip(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, true, &b);
    struct names *n = malloc(sizeof(*n));
    struct client_file *dir = list_kept(&b, l, "lib", n);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t trips = counts().round_trips;
        assert_int_equal(list_again(dir, n), 1);
        assert_string_equal(n->text, "a.py|");
        assert_int_equal(counts().round_trips - trips, 1);
    }
    assert_int_equal(server_count(b.server, SMB2_CREATE), 1);
    close_now(dir);

    dir = list_kept(&b, l, "many", n);
    assert_int_equal(list_again(dir, n), MANY);
    assert_int_equal(list_again(dir, n), MANY);
    close_now(dir);
    free(n);
    end(&b, l);
}

static void test_a_refused_restart_is_no_empty_listing(void **state)
{
    static const struct server_rule refusals[] = {
        {SMB2_QUERY_DIRECTORY, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_INVALID_PARAMETER},
        {SMB2_QUERY_DIRECTORY, 0, SERVER_IN_COMPOUND, SERVER_FAIL, STATUS_INVALID_PARAMETER},
        {SMB2_QUERY_DIRECTORY, 0, SERVER_BEHIND, SERVER_FAIL, STATUS_NOT_SUPPORTED},
    };
    for (unsigned i = 0; i < COUNT(refusals); i++) {
        struct server_script script = leasing_script(RH, 1);
        struct bed b = start_leasing(&script);
        struct client_lease *l = client_lease_new(b.client, true, &b);
        struct names *n = malloc(sizeof(*n));
        struct client_file *dir = list_kept(&b, l, "many", n);
        script.rules = &refusals[i];
        script.rule_count = 1;
        server_play(b.server, &script);
        assert_int_equal(list_again(dir, n), MANY);
        close_now(dir);
        free(n);
        end(&b, l);
    }
}

static void test_without_a_lease_of_its_handle_no_open_is_kept(void **state)
{
    const struct server_script script = leasing_script(R, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, true, &b);
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_list_result result;
    struct names n = {0};
    struct client_file *dir;
    assert_int_equal(
        client_list_leased(b.client, "lib", &ask, false, note_name, &n, &dir, &result, NULL), 0);
    assert_null(dir);
    assert_int_equal(ask.ret_state, 0);
    assert_int_equal(client_lease_state(l), 0);
    end(&b, l);
}

/* ---- threads ---- */

enum { OPENERS = 4, ROUNDS = 150, KEYS = 3 };

struct opener {
    struct bed *bed;
    struct client_lease **leases;
    unsigned seed;
    pthread_t thread;
};

static void *open_and_close(void *arg)
{
    struct opener *o = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct client_lease_ask ask = {.lease = o->leases[(i + o->seed) % KEYS], .state = RWH};
        struct client_file *f;
        struct file_attr attr;
        size_t len;
        bool eof;
        char buf[16];
        if (client_open_leased(o->bed->client, "lib/a.py", &ask, buf, sizeof(buf), &f, &attr, &len,
                               &eof, NULL) < 0)
            continue;
        (void)client_lease_state(ask.lease);
        if ((i + o->seed) % 3 == 0)
            client_close(f, CLIENT_COMPOUND, NULL, NULL);
        else if ((i + o->seed) % 3 == 1)
            client_close(f, CLIENT_SINGLE, NULL, NULL);
        else
            client_close_end(client_close_begin(f), NULL, NULL);
    }
    return NULL;
}

static void test_breaks_while_other_threads_open_and_close(void **state)
{
    struct server_script script = leasing_script(RWH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *leases[KEYS];
    struct opener openers[OPENERS];
    for (unsigned i = 0; i < KEYS; i++) {
        leases[i] = client_lease_new(b.client, false, &b);
        close_now(open_by(&b, leases[i], RWH, RWH));
    }
    for (unsigned i = 0; i < OPENERS; i++) {
        openers[i] = (struct opener){.bed = &b, .leases = leases, .seed = i};
        pthread_create(&openers[i].thread, NULL, open_and_close, &openers[i]);
    }
    for (unsigned i = 0; i < 3 * ROUNDS; i++) {
        heard.puts_off = i % 5 == 0;
        const struct server_break broken = {(int)(i % KEYS), (uint16_t)(i + 2), i % 8, i % 3 != 0};
        assert_true(server_send_break(b.server, &broken));
        if (i % 5 == 1)
            client_lease_acknowledge(leases[(i - 1) % KEYS]);
    }
    for (unsigned i = 0; i < OPENERS; i++)
        pthread_join(openers[i].thread, NULL);
    for (unsigned i = 0; i < KEYS; i++) {
        assert_int_equal(client_lease_state(leases[i]), 0);
        client_lease_free(leases[i]);
    }
    end(&b, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lease_is_granted_in_the_version_of_the_dialect),
        cmocka_unit_test(test_without_the_capability_nothing_is_asked_for),
        cmocka_unit_test(test_an_open_names_the_lease_of_its_directory),
        cmocka_unit_test(test_all_opens_share_the_promise_until_the_last_is_closed),
        cmocka_unit_test(test_a_break_that_overtakes_the_reply_takes_what_the_reply_gives),
        cmocka_unit_test(test_a_break_that_overtakes_a_refusal_is_not_acknowledged),
        cmocka_unit_test(test_a_break_in_the_middle_of_a_compound_takes_the_listing_with_it),
        cmocka_unit_test(test_a_break_is_told_before_it_is_acknowledged),
        cmocka_unit_test(test_the_same_break_twice_is_told_once),
        cmocka_unit_test(test_a_break_that_wants_no_acknowledgement_gets_none),
        cmocka_unit_test(test_a_break_for_an_unknown_key_is_counted_and_ignored),
        cmocka_unit_test(test_a_break_never_gives),
        cmocka_unit_test(test_an_epoch_tells_late_breaks_and_missing_ones_apart),
        cmocka_unit_test(test_epochs_go_round),
        cmocka_unit_test(test_a_reply_whose_epoch_jumped_tells_that_something_was_lost),
        cmocka_unit_test(test_a_lease_that_is_being_broken_is_not_given_again),
        cmocka_unit_test(test_an_acknowledgement_waits_for_the_owner),
        cmocka_unit_test(test_the_last_close_is_the_acknowledgement),
        cmocka_unit_test(test_a_refused_acknowledgement_ends_the_promise_and_nothing_else),
        cmocka_unit_test(test_an_acknowledgement_leaves_when_all_credits_are_used),
        cmocka_unit_test(test_a_server_with_one_credit_gets_its_acknowledgement_next),
        cmocka_unit_test(test_a_silent_server_is_found_out_though_a_credit_is_kept_back),
        cmocka_unit_test(test_with_the_connection_all_promises_are_gone),
        cmocka_unit_test(test_who_has_freed_a_lease_hears_no_more_of_it),
        cmocka_unit_test(test_a_lease_outlives_its_owner_until_its_late_open_is_closed),
        cmocka_unit_test(test_a_kept_open_lists_again_in_one_round_trip),
        cmocka_unit_test(test_a_refused_restart_is_no_empty_listing),
        cmocka_unit_test(test_without_a_lease_of_its_handle_no_open_is_kept),
        cmocka_unit_test(test_breaks_while_other_threads_open_and_close),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
