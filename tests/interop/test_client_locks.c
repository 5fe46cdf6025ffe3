/*
 * Byte-range locks on a real server: that it has the rules which src/share/held.c builds on, and
 * that two mounts with three owners each come to what POSIX says, change by change, on it alone.
 * Argument: how many random changes (1,000), and a seed.
 */
#include "client_bed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/locks.h"

enum { MOUNTS = 2, OWNERS = 3, BYTES = 32 };

static unsigned long changes = 1000;
static unsigned seed = 1;

static struct client *other;
static struct client_file *opens[MOUNTS];

static const struct client_how both = {
    .access = 0x3, /* FILE_READ_DATA | FILE_WRITE_DATA */
    .share = 0x7,
    .disposition = 1, /* FILE_OPEN */
};

static int set_up(void **state)
{
    if (bed_set_up(state) < 0)
        return -1;
    struct client_options o = options();
    struct file_attr attr;
    other = connect_or_fail(&o);
    put_text("locked", "some bytes");
    WORKS(client_create(client, "locked", &both, &opens[0], &attr, NULL, &err));
    WORKS(client_create(other, "locked", &both, &opens[1], &attr, NULL, &err));
    return 0;
}

static int tear_down(void **state)
{
    for (unsigned m = 0; m < MOUNTS; m++)
        client_close(opens[m], CLIENT_SINGLE, NULL, NULL);
    other = client_free(other);
    return bed_tear_down(state);
}

static int lock(unsigned mount, enum client_lock_type type, uint64_t start, uint64_t len)
{
    return client_lock(opens[mount], type, start, len, &err);
}

static void a_shared_lock_lies_on_its_own_opens_and_an_unlock_takes_the_exclusive_one(void **state)
{
    WORKS(lock(0, CLIENT_LOCK_EXCLUSIVE, 10, 10));
    WORKS(lock(0, CLIENT_LOCK_SHARED, 10, 10));
    FAILS(-EAGAIN, lock(1, CLIENT_LOCK_SHARED, 10, 1));
    WORKS(lock(0, CLIENT_UNLOCK, 10, 10));
    WORKS(lock(1, CLIENT_LOCK_SHARED, 10, 1));
    FAILS(-EAGAIN, lock(1, CLIENT_LOCK_EXCLUSIVE, 12, 1));
    WORKS(lock(0, CLIENT_LOCK_SHARED, 15, 3)); /* what is to stay of it */
    WORKS(lock(0, CLIENT_UNLOCK, 10, 10));
    WORKS(lock(1, CLIENT_LOCK_EXCLUSIVE, 12, 1));
    FAILS(-EAGAIN, lock(1, CLIENT_LOCK_EXCLUSIVE, 16, 1));
    FAILS(-EINVAL, lock(0, CLIENT_UNLOCK, 10, 10));
    assert_int_equal(err.status, 0xc000007e); /* RANGE_NOT_LOCKED */
    WORKS(lock(0, CLIENT_UNLOCK, 15, 3));
    WORKS(lock(1, CLIENT_UNLOCK, 12, 1));
    WORKS(lock(1, CLIENT_UNLOCK, 10, 1));
}

static void the_whole_file_is_one_lock_up_to_the_last_offset(void **state)
{
    WORKS(lock(0, CLIENT_LOCK_EXCLUSIVE, 0, (uint64_t)INT64_MAX + 1));
    FAILS(-EAGAIN, lock(1, CLIENT_LOCK_SHARED, INT64_MAX, 1));
    FAILS(-EAGAIN, lock(1, CLIENT_LOCK_SHARED, 0, 1));
    WORKS(lock(0, CLIENT_UNLOCK, 0, (uint64_t)INT64_MAX + 1));
    WORKS(lock(1, CLIENT_LOCK_SHARED, INT64_MAX, 1));
    WORKS(lock(1, CLIENT_UNLOCK, INT64_MAX, 1));
}

/* ---- beside arrays of bytes ---- */

static unsigned char oracle[MOUNTS][OWNERS][BYTES];

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

static bool conflict(unsigned mount, const struct share_lock *c)
{
    for (unsigned m = 0; m < MOUNTS; m++)
        for (unsigned o = 0; o < OWNERS; o++)
            for (size_t b = c->start; (m != mount || o != c->owner) && b <= c->end; b++)
                if (oracle[m][o][b] && c->type != SHARE_UNLOCK &&
                    (oracle[m][o][b] == SHARE_LOCK_EXCLUSIVE || c->type == SHARE_LOCK_EXCLUSIVE))
                    return true;
    return false;
}

/* Byte 31 stands for all from there on. */
static void change(struct locks *l, unsigned mount)
{
    uint64_t start = draw(BYTES), end = start + draw(draw(4) ? 4 : BYTES);
    struct share_lock c = {.owner = draw(OWNERS),
                           .type = (enum share_lock_type)draw(3),
                           .start = start,
                           .end = end < BYTES ? end : BYTES - 1};
    int expected = conflict(mount, &c) ? -EAGAIN : 0;
    if (expected == 0)
        memset(&oracle[mount][c.owner][start], (int)c.type, c.end - start + 1);
    c.end = c.end == BYTES - 1 ? UINT64_MAX : c.end;
    assert_int_equal(locks_set(l, opens[mount], &c, false, NULL, NULL, &err), expected);
}

static void ask(struct locks *l, unsigned mount)
{
    struct share_lock c = {.owner = OWNERS, .type = SHARE_LOCK_SHARED, .start = draw(BYTES - 1)};
    c.end = c.start;
    bool against = conflict(mount, &c);
    WORKS(locks_test(l, opens[mount], &c, &err));
    assert_int_equal(c.type, against ? SHARE_LOCK_EXCLUSIVE : SHARE_UNLOCK);
}

static void two_mounts_come_to_what_posix_says(void **state)
{
    struct lock_desk desks[MOUNTS];
    struct locks *locks[MOUNTS];
    for (unsigned m = 0; m < MOUNTS; m++) {
        lock_desk_init(&desks[m]);
        locks[m] = locks_new(&desks[m], true);
    }
    for (unsigned long i = 0; i < changes; i++) {
        unsigned m = (unsigned)draw(MOUNTS);
        change(locks[m], m);
        if (draw(4) == 0)
            ask(locks[m], m);
        if (draw(16) == 0) {
            uint64_t owner = draw(OWNERS);
            locks_release(locks[m], owner);
            memset(oracle[m][owner], 0, BYTES);
        }
    }
    for (unsigned m = 0; m < MOUNTS; m++) {
        for (unsigned o = 0; o < OWNERS; o++)
            locks_release(locks[m], o);
        assert_null(locks_holder(locks[m]));
        locks_free(locks[m]);
        lock_desk_done(&desks[m]);
    }
    WORKS(lock(0, CLIENT_LOCK_EXCLUSIVE, 0, (uint64_t)INT64_MAX + 1)); /* nothing is left */
}

int main(int argc, char **argv)
{
    if (argc > 1)
        changes = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seed = (unsigned)strtoul(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shared_lock_lies_on_its_own_opens_and_an_unlock_takes_the_exclusive_one),
        cmocka_unit_test(the_whole_file_is_one_lock_up_to_the_last_offset),
        cmocka_unit_test(two_mounts_come_to_what_posix_says),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
