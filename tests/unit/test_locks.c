/*
 * Byte-range locks on the server's side: by what requests the server comes to hold what all owners
 * here hold, against a fake that has SMB's rules. Random changes beside an array of bytes for each
 * owner; calm, with another client that takes what it can between two requests, and with each
 * request failing in each way. Argument: how many random changes (200,000), and a seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "fake_locks.h"
#include "share/locks.c" /* to look into its table */

enum { BYTES = 48, OWNERS = 4 };

static unsigned long changes = 200000;
static unsigned seed = 1;

static struct client_file ours = {1}, also_ours = {2}, theirs = {3};
static struct lock_desk desk;
static struct locks *l;

static int set_up(void **state)
{
    fake_reset();
    lock_desk_init(&desk);
    l = locks_new(&desk, true);
    return l ? 0 : -1;
}

static int tear_down(void **state)
{
    l = locks_free(l);
    lock_desk_done(&desk);
    return 0;
}

static int set_range(struct locks *of, struct client_file *file, uint64_t owner,
                     enum share_lock_type type, uint64_t start, uint64_t end)
{
    struct share_lock lock = {
        .owner = owner, .pid = (pid_t)(1000 + owner), .type = type, .start = start, .end = end};
    return locks_set(of, file, &lock, false, NULL, NULL, NULL);
}

static int set(uint64_t owner, enum share_lock_type type, uint64_t start, uint64_t end)
{
    return set_range(l, &ours, owner, type, start, end);
}

static unsigned spent(void)
{
    unsigned n = fake.requests;
    fake.requests = 0;
    return n;
}

/* ---- requests ---- */

static void a_lock_in_a_fresh_range_is_one_request_and_its_release_one(void **state)
{
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, 100, 199), 0);
    assert_int_equal(spent(), 1);
    assert_ptr_equal(locks_holder(l), &ours);
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, 100, 199), 0); /* the same again */
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, 120, 130), 0);
    assert_int_equal(spent(), 0);
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, 200, 299), 0); /* beside it */
    assert_int_equal(spent(), 1);
    assert_int_equal(set(1, SHARE_UNLOCK, 100, 199), 0);
    assert_int_equal(spent(), 1);
    assert_int_equal(fake_held(&ours, 199), CLIENT_UNLOCK);
    assert_int_equal(fake_held(&ours, 200), CLIENT_LOCK_EXCLUSIVE);
    locks_release(l, 1);
    locks_release(l, 1);
    assert_int_equal(spent(), 1);
    assert_int_equal(fake_count(&ours), 0);
    assert_null(locks_holder(l));
}

static void what_one_owner_holds_needs_no_request_for_another(void **state)
{
    assert_int_equal(set(1, SHARE_LOCK_SHARED, 0, 99), 0);
    assert_int_equal(spent(), 1);
    assert_int_equal(set(2, SHARE_LOCK_SHARED, 10, 19), 0);
    assert_int_equal(set(1, SHARE_UNLOCK, 10, 19), 0);
    assert_int_equal(spent(), 0);
    locks_release(l, 1); /* of one piece 10-19 stays: locked first, then the whole unlocked */
    assert_int_equal(spent(), 2);
    locks_release(l, 2);
    assert_int_equal(spent(), 1);
    assert_null(locks_holder(l));
}

static void an_upgrade_and_a_downgrade_are_two_requests(void **state)
{
    assert_int_equal(set(1, SHARE_LOCK_SHARED, 0, 99), 0);
    spent();
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, 0, 99), 0);
    assert_int_equal(spent(), 2);
    assert_int_equal(set(1, SHARE_LOCK_SHARED, 0, 99), 0);
    assert_int_equal(spent(), 2);
    assert_int_equal(fake_held(&ours, 50), CLIENT_LOCK_SHARED);
    assert_int_equal(fake_count(&ours), 1);
}

static void the_whole_file_is_locked_up_to_the_last_offset_that_a_file_can_have(void **state)
{
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, 0, UINT64_MAX), 0);
    assert_int_equal(fake_held(&ours, INT64_MAX), CLIENT_LOCK_EXCLUSIVE);
    assert_true(fake_one_piece(&ours, 0, INT64_MAX));
    assert_int_equal(set(2, SHARE_LOCK_SHARED, UINT64_MAX, UINT64_MAX), -EAGAIN);
    assert_int_equal(set(1, SHARE_UNLOCK, 0, INT64_MAX), 0);
    assert_int_equal(fake_count(&ours), 0);
    assert_int_equal(set(2, SHARE_LOCK_SHARED, 5, 6), 0);
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, UINT64_MAX - 1, UINT64_MAX), 0);
    assert_int_equal(fake_count(&ours), 1);
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, 6, 5), -EINVAL);
}

static void without_locks_on_the_server_owners_here_are_kept_apart_all_the_same(void **state)
{
    struct locks *local = locks_new(&desk, false);
    assert_int_equal(set_range(local, NULL, 1, SHARE_LOCK_EXCLUSIVE, 0, 9), 0);
    assert_int_equal(set_range(local, NULL, 2, SHARE_LOCK_SHARED, 9, 12), -EAGAIN);
    struct share_lock asked = {.owner = 2, .type = SHARE_LOCK_SHARED, .start = 9, .end = 12};
    assert_int_equal(locks_test(local, NULL, &asked, NULL), 0);
    assert_true(asked.type == SHARE_LOCK_EXCLUSIVE && asked.pid == 1001 && asked.start == 0);
    assert_null(locks_holder(local));
    locks_release(local, 1);
    assert_int_equal(set_range(local, NULL, 2, SHARE_LOCK_SHARED, 9, 12), 0);
    asked = (struct share_lock){.owner = 3, .type = SHARE_LOCK_SHARED, .start = 9, .end = 12};
    assert_int_equal(locks_test(local, NULL, &asked, NULL), 0);
    assert_int_equal(asked.type, SHARE_UNLOCK);
    assert_int_equal(fake.requests, 0);
    locks_free(local);
}

static void what_stands_against_a_lock_is_told(void **state)
{
    assert_int_equal(set(1, SHARE_LOCK_SHARED, 10, 19), 0);
    assert_int_equal(fake_rival(&theirs, CLIENT_LOCK_SHARED, 30, 10), 0);
    assert_int_equal(fake_rival(&theirs, CLIENT_LOCK_EXCLUSIVE, 50, 10), 0);
    const struct {
        struct share_lock asked, told; /* owner 2's; pid, type, start, end */
    } cases[] = {
        {{2, 0, SHARE_LOCK_EXCLUSIVE, 0, 99}, {2, 1001, SHARE_LOCK_SHARED, 10, 19}},
        {{2, 7, SHARE_LOCK_SHARED, 0, 49}, {2, 0, SHARE_UNLOCK, 0, 49}},
        {{2, 7, SHARE_LOCK_SHARED, 0, 99}, {2, 0, SHARE_LOCK_EXCLUSIVE, 0, 99}},
        {{2, 7, SHARE_LOCK_EXCLUSIVE, 20, 49}, {2, 0, SHARE_LOCK_SHARED, 20, 49}},
        {{2, 7, SHARE_LOCK_EXCLUSIVE, 50, UINT64_MAX},
         {2, 0, SHARE_LOCK_EXCLUSIVE, 50, UINT64_MAX}},
        {{1, 7, SHARE_LOCK_EXCLUSIVE, 0, 29}, {1, 0, SHARE_UNLOCK, 0, 29}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct share_lock lock = cases[i].asked;
        assert_int_equal(locks_test(l, &ours, &lock, NULL), 0);
        assert_memory_equal(&lock, &cases[i].told, sizeof lock);
        assert_int_equal(fake_count(&ours), 1); /* nothing of the question stays */
    }
    struct share_lock none = {.owner = 2, .type = SHARE_UNLOCK, .start = 0, .end = 1};
    assert_int_equal(locks_test(l, &ours, &none, NULL), -EINVAL);
}

static void a_second_open_does_not_become_the_holder_while_there_is_one(void **state)
{
    assert_int_equal(set(1, SHARE_LOCK_SHARED, 0, 9), 0);
    assert_int_equal(set_range(l, &also_ours, 2, SHARE_LOCK_SHARED, 5, 19), 0);
    assert_ptr_equal(locks_holder(l), &ours);
    assert_int_equal(fake_count(&also_ours), 0);
    locks_release(l, 1);
    locks_release(l, 2);
    assert_int_equal(set_range(l, &also_ours, 2, SHARE_LOCK_SHARED, 5, 19), 0);
    assert_ptr_equal(locks_holder(l), &also_ours);
}

/* ---- SQLite ---- */

enum {
    PENDING = 0x40000000,
    RESERVED = PENDING + 1,
    SHARED_FIRST = PENDING + 2,
    SHARED_LAST = SHARED_FIRST + 509
};

/* One program with its database open: which mount, by which open, which lock owner. */
struct program {
    struct locks *l;
    struct client_file *file;
    uint64_t owner;
};

static int fcntl_lock(const struct program *p, enum share_lock_type type, uint64_t start,
                      uint64_t end)
{
    return set_range(p->l, p->file, p->owner, type, start, end);
}

/* As os_unix.c's unixLock and unixUnlock. */
static int to_shared(const struct program *p)
{
    int r = fcntl_lock(p, SHARE_LOCK_SHARED, PENDING, PENDING);
    if (r < 0)
        return r;
    r = fcntl_lock(p, SHARE_LOCK_SHARED, SHARED_FIRST, SHARED_LAST);
    int back = fcntl_lock(p, SHARE_UNLOCK, PENDING, PENDING);
    return r < 0 ? r : back;
}

static int to_reserved(const struct program *p)
{
    return fcntl_lock(p, SHARE_LOCK_EXCLUSIVE, RESERVED, RESERVED);
}

static int to_exclusive(const struct program *p)
{
    int r = fcntl_lock(p, SHARE_LOCK_EXCLUSIVE, PENDING, PENDING);
    return r < 0 ? r : fcntl_lock(p, SHARE_LOCK_EXCLUSIVE, SHARED_FIRST, SHARED_LAST);
}

static int back_to_shared(const struct program *p)
{
    int r = fcntl_lock(p, SHARE_LOCK_SHARED, SHARED_FIRST, SHARED_LAST);
    return r < 0 ? r : fcntl_lock(p, SHARE_UNLOCK, PENDING, RESERVED);
}

static int to_none(const struct program *p)
{
    return fcntl_lock(p, SHARE_UNLOCK, 0, UINT64_MAX);
}

static void play_sqlite(const struct program *a, const struct program *b, const struct program *c)
{
    assert_int_equal(to_shared(a), 0);
    assert_int_equal(to_shared(b), 0);
    assert_int_equal(to_reserved(a), 0);
    assert_int_equal(to_reserved(b), -EAGAIN);
    assert_int_equal(to_exclusive(a), -EAGAIN); /* b reads; no new reader comes in any more */
    assert_int_equal(to_shared(c), -EAGAIN);
    assert_int_equal(to_none(b), 0);
    assert_int_equal(to_exclusive(a), 0);
    assert_int_equal(to_shared(b), -EAGAIN);
    assert_int_equal(back_to_shared(a), 0);
    assert_int_equal(to_shared(b), 0);
    assert_int_equal(to_shared(c), 0);
    assert_int_equal(to_none(a), 0);
    assert_int_equal(to_reserved(c), 0);
    assert_int_equal(to_none(b), 0);
    assert_int_equal(to_exclusive(c), 0);
    assert_int_equal(to_none(c), 0);
}

static void sqlite_programs_keep_out_of_each_others_way_on_one_client_and_on_two(void **state)
{
    struct lock_desk far_desk;
    lock_desk_init(&far_desk);
    struct locks *far = locks_new(&far_desk, true);
    const struct program here[3] = {{l, &ours, 1}, {l, &ours, 2}, {l, &ours, 3}};
    const struct program there[3] = {{far, &theirs, 1}, {far, &theirs, 2}, {far, &theirs, 3}};
    for (unsigned who = 0; who < 8; who++) {
        play_sqlite(who & 1 ? &there[0] : &here[0], who & 2 ? &there[1] : &here[1],
                    who & 4 ? &there[2] : &here[2]);
        assert_int_equal(fake_count(&ours) + fake_count(&theirs), 0);
        assert_true(!locks_holder(l) && !locks_holder(far));
    }
    locks_free(far);
    lock_desk_done(&far_desk);
}

static void a_transaction_of_sqlite_costs_the_requests_that_it_must(void **state)
{
    const struct program a = {l, &ours, 1};
    assert_int_equal(to_shared(&a), 0);
    assert_int_equal(spent(), 3);
    assert_int_equal(to_reserved(&a), 0);
    assert_int_equal(spent(), 1);
    assert_int_equal(to_exclusive(&a), 0);
    assert_int_equal(spent(), 3);
    assert_int_equal(back_to_shared(&a), 0);
    assert_int_equal(spent(), 4);
    assert_int_equal(to_none(&a), 0);
    assert_int_equal(spent(), 1);
}

/* ---- losing ---- */

static void take_when_free(void *user)
{
    fake_rival(&theirs, CLIENT_LOCK_EXCLUSIVE, *(uint64_t *)user, 1);
}

static void an_upgrade_that_another_client_cuts_into_says_what_is_lost(void **state)
{
    uint64_t wanted = 5;
    struct error err = {0};
    assert_int_equal(set(1, SHARE_LOCK_SHARED, 0, 9), 0);
    fake.before = take_when_free;
    fake.user = &wanted;
    struct share_lock up = {.owner = 1, .type = SHARE_LOCK_EXCLUSIVE, .start = 0, .end = 9};
    assert_int_equal(locks_set(l, &ours, &up, false, NULL, NULL, &err), -EIO);
    assert_non_null(strstr(err.text, "lost"));
    fake.before = NULL;
    assert_int_equal(l->table.count, 0);
    assert_int_equal(fake_count(&ours), 0);
    assert_null(locks_holder(l));
}

static void of_an_exclusive_range_that_is_split_only_what_another_took_is_lost(void **state)
{
    uint64_t wanted = 5;
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, 0, 99), 0);
    fake.before = take_when_free;
    fake.user = &wanted;
    assert_int_equal(set(1, SHARE_UNLOCK, 50, 59), -EIO);
    fake.before = NULL;
    assert_int_equal(l->table.count, 1);
    assert_true(l->table.items[0].start == 60 && l->table.items[0].end == 99);
    assert_int_equal(fake_held(&ours, 60), CLIENT_LOCK_EXCLUSIVE);
    assert_int_equal(fake_held(&ours, 49), CLIENT_UNLOCK);
}

static void
an_unlock_that_would_take_the_exclusive_lock_of_two_in_one_range_is_not_sent(void **state)
{
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, 0, 9), 0);
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, 20, 29), 0);
    fake.fail_at = fake.requests + 3; /* 10-19, then 0-9 under the exclusive one, then 20-29 */
    fake.failure = FAKE_LOST_REQUEST;
    assert_int_equal(set(1, SHARE_LOCK_SHARED, 0, 29), -ETIMEDOUT);
    assert_int_equal(fake_count(&ours), 4);
    struct share_lock back = {.owner = 1, .type = SHARE_LOCK_EXCLUSIVE, .start = 0, .end = 9};
    const struct ranges table = {.items = &back, .count = 1};
    assert_int_equal(held_settle(&l->held, &ours, &table, false, NULL), 0);
    assert_int_equal(fake_held(&ours, 5), CLIENT_LOCK_EXCLUSIVE);
    assert_int_equal(fake_count(&ours), 1);
}

/* ---- beside arrays of bytes ---- */

enum mode { CALM, GRABBING, FAILING };

static unsigned char oracle[OWNERS][BYTES]; /* before the change */
static unsigned char after[OWNERS][BYTES];  /* once it is made */
static unsigned char old_union[BYTES], new_union[BYTES];
static bool may_gap[BYTES]; /* an exclusive piece is split here, or an upgrade is made */

static uint64_t draw(uint64_t below)
{
    static uint64_t x;
    if (!x)
        x = seed * 0x9e3779b97f4a7c15ull;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x % below;
}

static void unite(unsigned char table[OWNERS][BYTES], unsigned char ret[BYTES])
{
    memset(ret, 0, BYTES);
    for (unsigned o = 0; o < OWNERS; o++)
        for (size_t b = 0; b < BYTES; b++)
            ret[b] = table[o][b] > ret[b] ? table[o][b] : ret[b];
}

static struct share_lock draw_change(void)
{
    uint64_t start = draw(BYTES), len = draw(3) ? draw(8) : draw(BYTES);
    uint64_t end = start + len < BYTES ? start + len : BYTES - 1;
    return (struct share_lock){
        .owner = draw(OWNERS), .type = (enum share_lock_type)draw(3), .start = start, .end = end};
}

/* Whether an owner here stands against the change. */
static bool conflict_here(const struct share_lock *c)
{
    for (size_t b = c->start; c->type != SHARE_UNLOCK && b <= c->end; b++)
        for (unsigned o = 0; o < OWNERS; o++)
            if (o != c->owner && oracle[o][b] &&
                (oracle[o][b] == SHARE_LOCK_EXCLUSIVE || c->type == SHARE_LOCK_EXCLUSIVE))
                return true;
    return false;
}

/* Whether another client stands against what is not held yet. */
static bool conflict_there(void)
{
    for (size_t b = 0; b < BYTES; b++)
        if (new_union[b] > old_union[b] &&
            fake_conflict(&ours, (enum client_lock_type)new_union[b], b))
            return true;
    return false;
}

static void foresee(const struct share_lock *c)
{
    memcpy(after, oracle, sizeof after);
    memset(&after[c->owner][c->start], (int)c->type, c->end - c->start + 1);
    unite(oracle, old_union);
    unite(after, new_union);
    for (size_t b = 0; b < BYTES; b++) {
        may_gap[b] = old_union[b] == SHARE_LOCK_SHARED && new_union[b] == SHARE_LOCK_EXCLUSIVE;
        for (size_t a = 0; !may_gap[b] && a < BYTES; a++)
            may_gap[b] = old_union[b] == SHARE_LOCK_EXCLUSIVE && new_union[b] == old_union[b] &&
                         new_union[a] != SHARE_LOCK_EXCLUSIVE && fake_one_piece(&ours, a, b);
    }
}

/* After each request: what is held before and after stays held. */
static void check_held(void *user)
{
    for (size_t b = 0; b < BYTES; b++) {
        unsigned char least = old_union[b] < new_union[b] ? old_union[b] : new_union[b];
        if (!may_gap[b])
            assert_true((unsigned)fake_held(&ours, b) >= least);
    }
}

static void read_table(unsigned char ret[OWNERS][BYTES])
{
    memset(ret, 0, sizeof oracle);
    for (size_t i = 0; i < l->table.count; i++) {
        const struct share_lock *r = &l->table.items[i];
        assert_true(r->owner < OWNERS);
        for (size_t b = r->start; b < BYTES && b <= r->end; b++)
            ret[r->owner][b] = (unsigned char)r->type;
    }
}

/* The server holds just what the table comes to; with `at_least`, or more. */
static void check_server(bool at_least)
{
    unsigned char table[OWNERS][BYTES], all[BYTES];
    read_table(table);
    unite(table, all);
    bool any = false;
    for (size_t b = 0; b < BYTES; b++) {
        unsigned held = (unsigned)fake_held(&ours, b);
        assert_true(at_least ? held >= all[b] : held == all[b]);
        any |= all[b] != 0;
    }
    unsigned last = (unsigned)fake_held(&ours, INT64_MAX);
    assert_true(at_least ? last >= all[BYTES - 1] : last == all[BYTES - 1]);
    if (!at_least)
        assert_ptr_equal(locks_holder(l), any ? &ours : NULL);
}

/* The table is as `wanted`. */
static void check_table(unsigned char wanted[OWNERS][BYTES])
{
    unsigned char table[OWNERS][BYTES];
    read_table(table);
    assert_memory_equal(table, wanted, sizeof table);
}

/* Something is lost, and all else is as it was or as it should be now. */
static void check_loss(bool must)
{
    unsigned char table[OWNERS][BYTES];
    bool lost = false;
    read_table(table);
    for (unsigned o = 0; o < OWNERS; o++)
        for (size_t b = 0; b < BYTES; b++) {
            assert_true(table[o][b] == oracle[o][b] || table[o][b] == after[o][b] ||
                        table[o][b] == 0);
            lost |= table[o][b] == 0 && oracle[o][b] && after[o][b];
        }
    assert_true(lost || !must);
}

/* The other client lets go what it has and takes something else, within [low, high] to begin with.
 */
static void shuffle_rival(uint64_t low, uint64_t high)
{
    static struct {
        uint64_t start, len;
    } held[3];
    for (size_t i = 0; i < 3; i++) {
        if (held[i].len)
            fake_rival(&theirs, CLIENT_UNLOCK, held[i].start, held[i].len);
        held[i].start = low + draw(high - low + 1);
        held[i].len = 1 + draw(held[i].start < BYTES - 4 ? 4 : BYTES - held[i].start);
        if (draw(2) || fake_rival(&theirs, draw(2) ? CLIENT_LOCK_SHARED : CLIENT_LOCK_EXCLUSIVE,
                                  held[i].start, held[i].len) < 0)
            held[i].len = 0;
    }
}

static void grab(void *user)
{
    const struct share_lock *c = user;
    if (draw(2))
        shuffle_rival(c->start < 3 ? 0 : c->start - 3, c->end);
}

static int carry_out(struct share_lock c)
{
    c.end = c.end == BYTES - 1 ? UINT64_MAX : c.end;
    int r = locks_set(l, &ours, &c, false, NULL, NULL, NULL);
    fake.before = fake.after = NULL;
    fake.fail_at = 0;
    return r;
}

static void step_calm(struct share_lock c, bool can_stack)
{
    int expected = conflict_there() ? -EAGAIN : 0;
    if (can_stack)
        fake.after = check_held;
    assert_int_equal(carry_out(c), expected);
    check_table(expected ? oracle : after);
    check_server(false);
}

static unsigned losses, failures;

static void step_grabbing(struct share_lock c)
{
    fake.before = grab;
    fake.user = &c;
    int r = carry_out(c);
    assert_true(r == 0 || r == -EAGAIN || r == -EIO);
    if (r == -EIO)
        check_loss(true);
    else
        check_table(r == 0 ? after : oracle);
    check_server(false);
    losses += r == -EIO;
}

/* Nothing is believed that is not held; and with the next change the server holds what it should.
 */
static void step_failing(struct share_lock c)
{
    fake.failed = false;
    fake.failure = (enum fake_failure)draw(FAKE_DISCONNECTED);
    fake.fail_at = fake.requests + 1 + (unsigned)draw(5);
    int r = carry_out(c);
    if (r == 0)
        check_table(after);
    else if (!fake.failed) {
        assert_int_equal(r, -EAGAIN);
        check_table(oracle);
    } else
        check_loss(false);
    check_server(true);
    failures += fake.failed;
    c = (struct share_lock){.owner = c.owner, .type = SHARE_UNLOCK, .start = c.end, .end = c.end};
    assert_int_equal(carry_out(c), 0);
    check_server(false);
}

static void play(unsigned long count, bool can_stack)
{
    for (unsigned long i = 0; i < count; i++) {
        if (draw(8) == 0)
            shuffle_rival(0, BYTES - 1);
        read_table(oracle);
        struct share_lock c = draw_change();
        if (conflict_here(&c)) {
            unsigned before = fake.requests;
            assert_int_equal(carry_out(c), -EAGAIN);
            assert_int_equal(fake.requests, before);
            check_table(oracle);
            continue;
        }
        foresee(&c);
        switch (can_stack ? (enum mode)draw(3) : CALM) {
        case CALM:
            step_calm(c, can_stack);
            break;
        case GRABBING:
            step_grabbing(c);
            break;
        case FAILING:
            step_failing(c);
            break;
        }
        if (draw(32) == 0) {
            locks_release(l, draw(OWNERS));
            check_server(false);
        }
    }
}

static void the_server_holds_what_all_owners_hold_whatever_goes_wrong(void **state)
{
    play(changes, true);
    assert_true(losses >= changes / 5000 && failures >= changes / 100);
    for (unsigned o = 0; o < OWNERS; o++)
        locks_release(l, o);
    assert_int_equal(fake_count(&ours), 0);
}

static void a_server_without_stacked_locks_comes_to_hold_the_same(void **state)
{
    fake.fail_at = 1;
    fake.failure = FAKE_NO_STACKING;
    assert_int_equal(set(0, SHARE_LOCK_SHARED, 0, 1), 0);
    play(changes / 20, false);
}

static void without_a_connection_nothing_is_promised_and_all_can_be_let_go(void **state)
{
    assert_int_equal(set(1, SHARE_LOCK_SHARED, 0, 9), 0);
    assert_int_equal(set(2, SHARE_LOCK_EXCLUSIVE, 20, 29), 0);
    fake.failure = FAKE_DISCONNECTED;
    fake.fail_at = fake.requests + 1;
    assert_int_equal(set(1, SHARE_LOCK_EXCLUSIVE, 0, 9), -EIO); /* and the shared one is lost */
    assert_int_equal(set(1, SHARE_LOCK_SHARED, 0, 9), -ENOTCONN);
    assert_int_equal(set(2, SHARE_UNLOCK, 20, 29), -ENOTCONN);
    assert_int_equal(l->table.count, 0);
    assert_ptr_equal(locks_holder(l), &ours); /* whose close lets go what is left */
}

int main(int argc, char **argv)
{
    if (argc > 1)
        changes = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seed = (unsigned)strtoul(argv[2], NULL, 10);
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_lock_in_a_fresh_range_is_one_request_and_its_release_one),
        TEST(what_one_owner_holds_needs_no_request_for_another),
        TEST(an_upgrade_and_a_downgrade_are_two_requests),
        TEST(the_whole_file_is_locked_up_to_the_last_offset_that_a_file_can_have),
        TEST(without_locks_on_the_server_owners_here_are_kept_apart_all_the_same),
        TEST(what_stands_against_a_lock_is_told),
        TEST(a_second_open_does_not_become_the_holder_while_there_is_one),
        TEST(sqlite_programs_keep_out_of_each_others_way_on_one_client_and_on_two),
        TEST(a_transaction_of_sqlite_costs_the_requests_that_it_must),
        TEST(an_upgrade_that_another_client_cuts_into_says_what_is_lost),
        TEST(of_an_exclusive_range_that_is_split_only_what_another_took_is_lost),
        TEST(an_unlock_that_would_take_the_exclusive_lock_of_two_in_one_range_is_not_sent),
        TEST(the_server_holds_what_all_owners_hold_whatever_goes_wrong),
        TEST(a_server_without_stacked_locks_comes_to_hold_the_same),
        TEST(without_a_connection_nothing_is_promised_and_all_can_be_let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
