/*
 * Byte-range locks under many threads: who waits gets them, nobody holds what another holds, who
 * would wait for ever is told so, and who is gone waits no longer. Two mounts (two desks) against
 * one fake server. Argument: how many rounds each thread makes (150).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_locks.h"
#include "share/locks.h"

enum { MOUNTS = 2, FILES = 2, OWNERS = 4, CELLS = 4, CELL = 10 };

static unsigned rounds = 150;

static struct lock_desk desks[MOUNTS];
static struct locks *locks[MOUNTS][FILES];
static struct client_file opens[MOUNTS];

static int set_up(void **state)
{
    fake_reset();
    for (unsigned m = 0; m < MOUNTS; m++) {
        lock_desk_init(&desks[m]);
        for (unsigned f = 0; f < FILES; f++)
            locks[m][f] = locks_new(&desks[m], f == 0);
    }
    return 0;
}

static int tear_down(void **state)
{
    for (unsigned m = 0; m < MOUNTS; m++) {
        for (unsigned f = 0; f < FILES; f++)
            locks[m][f] = locks_free(locks[m][f]);
        lock_desk_done(&desks[m]);
    }
    return 0;
}

static int set(struct locks *l, unsigned mount, uint64_t owner, enum share_lock_type type,
               uint64_t start, uint64_t end, bool wait)
{
    struct share_lock lock = {.owner = owner, .type = type, .start = start, .end = end};
    return locks_set(l, l == locks[mount][0] ? &opens[mount] : NULL, &lock, wait, NULL, NULL, NULL);
}

/* ---- many threads ---- */

static atomic_int readers[CELLS], writers[CELLS]; /* who believes to have a cell locked */
static atomic_int violations, waited_for, lost;

struct worker {
    unsigned mount;
    uint64_t owner;
    uint64_t random;
};

static unsigned draw(struct worker *w, unsigned below)
{
    w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(w->random >> 33) % below;
}

static void use_cells(struct worker *w, enum share_lock_type type, unsigned first, unsigned last)
{
    atomic_int *mine = type == SHARE_LOCK_EXCLUSIVE ? writers : readers;
    for (unsigned c = first; c <= last; c++) {
        int already = atomic_fetch_add(&mine[c], 1);
        if (writers[c] > 1 || (writers[c] && readers[c]) || (mine == writers && already))
            violations++;
    }
    if (draw(w, 4) == 0)
        usleep(draw(w, 300));
    for (unsigned c = first; c <= last; c++)
        atomic_fetch_sub(&mine[c], 1);
}

/* Locks some cells, one request for all of them, uses them, lets them go. */
static void *work(void *arg)
{
    struct worker *w = arg;
    struct locks *l = locks[w->mount][0];
    for (unsigned i = 0; i < rounds; i++) {
        unsigned first = draw(w, CELLS), last = first + draw(w, CELLS - first);
        enum share_lock_type type = draw(w, 2) ? SHARE_LOCK_SHARED : SHARE_LOCK_EXCLUSIVE;
        bool wait = draw(w, 4) != 0;
        uint64_t start = first * CELL, end = last * CELL + CELL - 1;
        int r = set(l, w->mount, w->owner, type, start, end, wait);
        if (r == 0) {
            use_cells(w, type, first, last);
            waited_for += wait;
            if (draw(w, 2))
                r = set(l, w->mount, w->owner, SHARE_UNLOCK, start, end, false);
            else
                locks_release(l, w->owner);
        } else if (wait || r != -EAGAIN)
            violations++;
        lost += r == -EIO;
        struct share_lock asked = {.owner = 99, .type = type, .start = start, .end = end};
        if (draw(w, 8) == 0 && locks_test(l, &opens[w->mount], &asked, NULL) != 0)
            violations++;
    }
    return NULL;
}

static void nobody_holds_what_another_thread_or_client_holds(void **state)
{
    pthread_t threads[MOUNTS][OWNERS];
    struct worker workers[MOUNTS][OWNERS];
    fake.delay_us = 20;
    for (unsigned m = 0; m < MOUNTS; m++)
        for (unsigned o = 0; o < OWNERS; o++) {
            workers[m][o] = (struct worker){.mount = m, .owner = o, .random = m * 100 + o};
            assert_int_equal(pthread_create(&threads[m][o], NULL, work, &workers[m][o]), 0);
        }
    for (unsigned m = 0; m < MOUNTS; m++)
        for (unsigned o = 0; o < OWNERS; o++)
            pthread_join(threads[m][o], NULL);
    assert_int_equal(violations, 0);
    assert_int_equal(lost, 0); /* nobody splits or upgrades here */
    assert_true(waited_for > 0);
    for (unsigned m = 0; m < MOUNTS; m++) {
        assert_int_equal(fake_count(&opens[m]), 0);
        assert_null(locks_holder(locks[m][0]));
    }
}

/* ---- one who waits ---- */

struct waiter {
    pthread_t thread;
    struct locks *l;
    uint64_t owner;
    atomic_bool gone;
    atomic_int result; /* 1: not yet */
};

static bool is_gone(void *user)
{
    return ((struct waiter *)user)->gone;
}

static void *wait_for_a_range(void *arg)
{
    struct waiter *w = arg;
    struct share_lock lock = {.owner = w->owner, .type = SHARE_LOCK_EXCLUSIVE, .end = 5};
    w->result = locks_set(w->l, &opens[0], &lock, true, is_gone, w, NULL);
    return NULL;
}

static void begin_wait(struct waiter *w, struct locks *l, uint64_t owner)
{
    w->l = l;
    w->owner = owner;
    w->gone = false;
    w->result = 1;
    assert_int_equal(pthread_create(&w->thread, NULL, wait_for_a_range, w), 0);
    usleep(60000);
    assert_int_equal(w->result, 1);
}

/* How long it took. */
static uint64_t end_wait(struct waiter *w, int result)
{
    uint64_t since = clock_now();
    pthread_join(w->thread, NULL);
    assert_int_equal(w->result, result);
    return clock_now() - since;
}

static void who_waits_gets_the_lock_once_it_is_let_go_here_or_by_another_client(void **state)
{
    struct waiter w;
    assert_int_equal(set(locks[0][0], 0, 1, SHARE_LOCK_SHARED, 0, 99, false), 0);
    begin_wait(&w, locks[0][0], 2);
    assert_int_equal(fake.requests, 1); /* whose owner is here is not asked for */
    locks_release(locks[0][0], 1);
    end_wait(&w, 0);
    locks_release(locks[0][0], 2);

    assert_int_equal(set(locks[1][0], 1, 1, SHARE_LOCK_SHARED, 0, 99, false), 0);
    fake.requests = 0;
    begin_wait(&w, locks[0][0], 2);
    usleep(300000);
    assert_true(fake.requests >= 3 && fake.requests <= 8); /* 10, 20, 40 ... ms apart */
    locks_release(locks[1][0], 1);
    assert_true(end_wait(&w, 0) < NS_PER_SEC);
}

static void who_is_gone_waits_no_longer(void **state)
{
    struct waiter w;
    for (unsigned holder = 0; holder < MOUNTS; holder++) {
        assert_int_equal(set(locks[holder][0], holder, 1, SHARE_LOCK_SHARED, 0, 0, false), 0);
        begin_wait(&w, locks[0][0], 2);
        w.gone = true;
        assert_true(end_wait(&w, -EINTR) < NS_PER_SEC / 2);
        locks_release(locks[holder][0], 1);
        assert_int_equal(fake_count(&opens[0]), 0);
    }
}

static void who_would_wait_for_ever_is_told_so_over_several_files(void **state)
{
    struct locks *a = locks[0][0], *b = locks[0][1];
    struct waiter one, two;
    assert_int_equal(set(a, 0, 1, SHARE_LOCK_EXCLUSIVE, 0, 99, true), 0);
    assert_int_equal(set(b, 0, 2, SHARE_LOCK_SHARED, 0, 0, true), 0);
    assert_int_equal(set(b, 0, 3, SHARE_LOCK_SHARED, 0, 99, true), 0);
    begin_wait(&one, b, 1); /* for 2 and 3 */
    assert_int_equal(set(a, 0, 2, SHARE_LOCK_SHARED, 5, 5, true), -EDEADLK);
    assert_int_equal(set(a, 0, 3, SHARE_LOCK_SHARED, 5, 5, true), -EDEADLK);
    assert_int_equal(set(a, 0, 2, SHARE_LOCK_SHARED, 5, 5, false), -EAGAIN);
    begin_wait(&two, a, 4); /* for 1, who does not wait for 4 */
    assert_int_equal(set(b, 0, 5, SHARE_LOCK_SHARED, 7, 7, true), 0);
    locks_release(b, 2);
    locks_release(b, 3);
    end_wait(&one, 0);
    assert_int_equal(set(b, 0, 2, SHARE_LOCK_SHARED, 0, 0, false), -EAGAIN);
    locks_release(a, 1);
    end_wait(&two, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = (unsigned)strtoul(argv[1], NULL, 10);
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(nobody_holds_what_another_thread_or_client_holds),
        TEST(who_waits_gets_the_lock_once_it_is_let_go_here_or_by_another_client),
        TEST(who_is_gone_waits_no_longer),
        TEST(who_would_wait_for_ever_is_told_so_over_several_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
