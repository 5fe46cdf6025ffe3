/*
 * Data: in every dialect 100 MiB arrive bit for bit, in as few requests as can be; sizes, room,
 * holes, locks and copies are what the share's own disk says they are.
 */
#include "client_bed.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- every dialect ---- */

static void writes_big(struct client *c, const char *name)
{
    struct client_facts facts;
    client_facts(c, &facts);
    struct client_file *f = create_by(c, name);

    uint64_t before = requests(WRITE);
    COSTS(1, client_write(f, bed.big, bed.big_size, 0, &err));
    uint64_t sent = requests(WRITE) - before;
    assert_true(sent * 10 * facts.max_write <= bed.big_size * 11);
    WORKS(client_flush(f, &err));
    holds(name, bed.big, bed.big_size);

    /* and in pieces of an odd size, from the end to the beginning */
    enum { PIECE = 7000001 };
    WORKS(client_file_set_size(f, 0, &err));
    for (size_t end = bed.big_size; end;) {
        size_t start = end > PIECE ? end - PIECE : 0;
        assert_int_equal(client_write(f, bed.big + start, end - start, start, &err), end - start);
        end = start;
    }
    uint8_t *back = malloc(bed.big_size + 1);
    assert_int_equal(client_read(f, back, bed.big_size + 1, 0, &err), bed.big_size);
    assert_memory_equal(back, bed.big, bed.big_size);
    free(back);
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    holds(name, bed.big, bed.big_size);
    assert_int_equal(unlink(local(name)), 0);
}

static void dialect_writes(uint16_t dialect)
{
    struct client_options o = options();
    o.dialect_min = o.dialect_max = dialect;
    struct client *c = connect_or_fail(&o);
    struct client_facts facts;
    client_facts(c, &facts);
    assert_int_equal(facts.dialect, dialect);
    assert_true(facts.signing);
    assert_int_equal(facts.max_write, dialect == 0x0202 ? 65536 : MIB);
    writes_big(c, "written");

    WORKS(client_mkdir(c, "in a dialect", NULL, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_rename(c, "in a dialect", "renamed", false, NULL, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_remove(c, "renamed", true, NULL, CLIENT_COMPOUND, &err));
    assert_false(exists("in a dialect") || exists("renamed"));
    client_free(c);
}

static void test_dialect_202_writes_100_mib_bit_for_bit(void **state)
{
    dialect_writes(0x0202);
}

static void test_dialect_210_writes_100_mib_bit_for_bit(void **state)
{
    dialect_writes(0x0210);
}

static void test_dialect_300_writes_100_mib_bit_for_bit(void **state)
{
    dialect_writes(0x0300);
}

static void test_dialect_311_writes_100_mib_bit_for_bit(void **state)
{
    dialect_writes(0x0311);
}

static void test_unsigned_writes_arrive_bit_for_bit(void **state)
{
    struct client_options o = options();
    o.port = bed.open_port;
    struct client *c = connect_or_fail(&o);
    struct client_facts facts;
    client_facts(c, &facts);
    assert_false(facts.signing);
    writes_big(c, "written");
    client_free(c);
}

/* ---- threads ---- */

enum { THREADS = 4, THREAD_ROUNDS = 40, THREAD_PIECE = 300001 };

struct writer {
    struct client_file *file;
    unsigned number;
    int result;
    struct error err;
};

static void *write_stripes(void *arg)
{
    struct writer *w = arg;
    for (unsigned i = 0; i < THREAD_ROUNDS && w->result == 0; i++) {
        uint64_t offset = (uint64_t)(i * THREADS + w->number) * THREAD_PIECE;
        int64_t n = client_write(w->file, bed.big + offset, THREAD_PIECE, offset, &w->err);
        w->result = n < 0 ? (int)n : n == THREAD_PIECE ? 0 : -EIO;
    }
    return NULL;
}

static void test_threads_write_one_file_together(void **state)
{
    struct client_file *f = create("together");
    struct writer w[THREADS] = {0};
    pthread_t thread[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        w[i] = (struct writer){.file = f, .number = i};
        assert_int_equal(pthread_create(&thread[i], NULL, write_stripes, &w[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        if (w[i].result < 0)
            fail_msg("%s", w[i].err.text);
    }
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    holds("together", bed.big, (size_t)THREADS * THREAD_ROUNDS * THREAD_PIECE);
}

/* ---- opens ---- */

static void test_dispositions_make_keep_and_refuse(void **state)
{
    struct client_file *f = NULL;
    struct file_attr attr = {0};
    struct client_how how = make;
    bool created = false;

    how.disposition = FILE_CREATE;
    COSTS(1, client_create(client, "disposed", &how, &f, &attr, &created, &err));
    assert_true(created);
    assert_int_not_equal(attr.id, 0);
    assert_int_equal(attr.size, 0);
    COSTS(1, client_write(f, "text", 4, 0, &err));
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    FAILS(-EEXIST, client_create(client, "disposed", &how, &f, &attr, &created, &err));

    how.disposition = FILE_OPEN_IF;
    WORKS(client_create(client, "disposed", &how, &f, &attr, &created, &err));
    assert_false(created);
    assert_int_equal(attr.size, 4);
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));

    how.disposition = FILE_OVERWRITE;
    WORKS(client_create(client, "disposed", &how, &f, &attr, &created, &err));
    assert_false(created);
    assert_int_equal(attr.size, 0);
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    FAILS(-ENOENT, client_create(client, "none", &how, &f, &attr, &created, &err));

    how.disposition = FILE_CREATE;
    how.attributes = FILE_ATTRIBUTE_READONLY;
    WORKS(client_create(client, "read only", &how, &f, &attr, &created, &err));
    WORKS(client_write(f, "still", 5, 0, &err)); /* by the open that made it */
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    assert_true(attr_of("read only").attributes & FILE_ATTRIBUTE_READONLY);
    how.disposition = FILE_OPEN;
    FAILS(-EACCES, client_create(client, "read only", &how, &f, &attr, &created, &err));
}

static void test_a_close_on_its_way_tells_the_last_attributes(void **state)
{
    struct client_file *f = create("closing");
    struct file_attr attr = {0};
    WORKS(client_write(f, bed.big, 12345, 0, &err));
    uint64_t before = round_trips();
    struct client_closing *closing = client_close_begin(f);
    assert_non_null(closing);
    for (int i = 0; i < 500 && !client_close_answered(closing); i++)
        usleep(10000);
    assert_true(client_close_answered(closing));
    WORKS(client_close_end(closing, &attr, &err));
    assert_int_equal(round_trips() - before, 0);
    assert_int_equal(attr.size, 12345);
    assert_int_equal(attr.written, attr_of("closing").written);

    closing = client_close_begin(create("closing")); /* and one that nobody asks for attributes */
    assert_non_null(closing);
    WORKS(client_close_end(closing, NULL, &err));
    assert_int_equal(attr_of("closing").size, 0);
}

/* ---- sizes and attributes ---- */

static void test_sizes_are_set_by_open_and_by_path(void **state)
{
    struct file_attr attr = {0};
    struct client_file *f = create("sized");
    WORKS(client_write(f, "0123456789", 10, 0, &err));
    COSTS(1, client_file_set_size(f, 4, &err));
    holds("sized", "0123", 4);
    WORKS(client_file_set_size(f, 6, &err));
    holds("sized", "0123\0\0", 6);
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));

    COSTS(1, client_set_size(client, "sized", 2, NULL, CLIENT_COMPOUND, &attr, &err));
    holds("sized", "01", 2);
    assert_int_equal(attr.size, 2);
    assert_int_equal(attr.id, attr_of("sized").id);
    COSTS(3, client_set_size(client, "sized", 1, NULL, CLIENT_SINGLE, &attr, &err));
    holds("sized", "0", 1);
    assert_int_equal(attr.size, 1);
    FAILS(-ENOENT, client_set_size(client, "none", 1, NULL, CLIENT_COMPOUND, NULL, &err));
    FAILS(-EISDIR, client_set_size(client, "many", 1, NULL, CLIENT_COMPOUND, NULL, &err));
    FAILS(-EFBIG, client_set_size(client, "sized", UINT64_MAX, NULL, CLIENT_COMPOUND, NULL, &err));
}

static void test_room_is_made_and_never_cuts_a_file(void **state)
{
    struct client_options o = options();
    o.port = bed.open_port; /* which really makes room */
    struct client *c = connect_or_fail(&o);
    struct client_file *f = create_by(c, "roomy");
    WORKS(client_write(f, bed.big, 100000, 0, &err));
    WORKS(client_file_allocate(f, 10 * MIB, &err));
    assert_int_equal(stat_local("roomy").st_size, 100000);
    assert_true(stat_local("roomy").st_blocks * 512 >= 10 * MIB);

    /* somebody else has made it longer meanwhile */
    assert_int_equal(truncate(local("roomy"), 200000), 0);
    FAILS(-EINVAL, client_file_allocate(f, 150000, &err));
    assert_int_equal(stat_local("roomy").st_size, 200000);
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    client_free(c);
}

/* ---- locks ---- */

static void test_locks_keep_two_clients_apart(void **state)
{
    struct client_options o = options();
    struct client *other = connect_or_fail(&o);
    struct client_file *f = create("locks"), *g = NULL;
    struct client_how how = make;
    struct file_attr attr;
    how.disposition = FILE_OPEN;
    WORKS(client_create(other, "locks", &how, &g, &attr, NULL, &err));

    COSTS(1, client_lock(f, CLIENT_LOCK_EXCLUSIVE, 10, 10, &err));
    FAILS(-EAGAIN, client_lock(g, CLIENT_LOCK_SHARED, 15, 1, &err));
    FAILS(-EAGAIN, client_write(g, "x", 1, 15, &err));
    WORKS(client_lock(g, CLIENT_LOCK_EXCLUSIVE, 20, 10, &err));
    FAILS(-EAGAIN, client_lock(f, CLIENT_LOCK_EXCLUSIVE, 0, 100, &err));
    FAILS(-EINVAL, client_lock(f, CLIENT_UNLOCK, 10, 5, &err));
    WORKS(client_lock(f, CLIENT_UNLOCK, 10, 10, &err));
    WORKS(client_lock(g, CLIENT_LOCK_SHARED, 0, 20, &err));
    WORKS(client_lock(f, CLIENT_LOCK_SHARED, 0, 20, &err));
    FAILS(-EAGAIN, client_lock(f, CLIENT_LOCK_EXCLUSIVE, UINT64_MAX - 1, 1, &err) < 0
                       ? -EAGAIN
                       : client_lock(g, CLIENT_LOCK_EXCLUSIVE, UINT64_MAX - 1, 1, &err));
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err)); /* a close gives all of them back */
    WORKS(client_lock(g, CLIENT_UNLOCK, 0, 20, &err));
    WORKS(client_lock(g, CLIENT_LOCK_EXCLUSIVE, 0, 20, &err));
    WORKS(client_close(g, CLIENT_SINGLE, NULL, &err));
    client_free(other);
}

/* ---- holes ---- */

static void test_holes_are_made_and_found(void **state)
{
    struct client_file *f = create("holes");
    uint64_t offset = 0, len = 0;
    uint8_t *expected = malloc(8 * MIB);
    memcpy(expected, bed.big, 8 * MIB);
    WORKS(client_write(f, bed.big, 8 * MIB, 0, &err));
    WORKS(client_allocated_range(f, 100, 8 * MIB, &offset, &len, &err));
    assert_int_equal(offset, 100);
    assert_int_equal(len, 8 * MIB - 100);

    COSTS(2, client_punch_hole(f, MIB, 2 * MIB, &err));
    COSTS(1, client_punch_hole(f, 5 * MIB, 3 * MIB, &err)); /* it is known to be sparse */
    memset(expected + MIB, 0, 2 * MIB);
    memset(expected + 5 * MIB, 0, 3 * MIB);
    holds("holes", expected, 8 * MIB);
    assert_true(stat_local("holes").st_blocks * 512 <= 4 * MIB);

    COSTS(1, client_allocated_range(f, 0, 8 * MIB, &offset, &len, &err));
    assert_true(offset == 0 && len == MIB);
    WORKS(client_allocated_range(f, MIB, 8 * MIB, &offset, &len, &err));
    assert_true(offset == 3 * MIB && len == 2 * MIB);
    WORKS(client_allocated_range(f, 5 * MIB, UINT64_MAX, &offset, &len, &err));
    assert_int_equal(len, 0);
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    free(expected);
}

static void test_a_file_of_many_holes_is_looked_through(void **state)
{
    enum { BLOCK = 8192, BLOCKS = 6000 };
    struct client_file *f = create("sieve");
    int fd = open(local("sieve"), O_WRONLY);
    uint64_t offset = 0, len = 0, at = 0;
    unsigned ranges = 0;
    assert_true(fd >= 0);
    WORKS(client_punch_hole(f, 0, 1, &err)); /* it is sparse from now on */
    for (unsigned i = 0; i < BLOCKS; i++)
        assert_int_equal(pwrite(fd, "x", 1, (off_t)(2 * i + 1) * BLOCK), 1);
    close(fd);
    uint64_t end = (uint64_t)2 * BLOCKS * BLOCK;
    for (; ranges < 3; ranges++) {
        WORKS(client_allocated_range(f, at, end, &offset, &len, &err));
        assert_int_equal(offset, (uint64_t)(2 * ranges + 1) * BLOCK);
        at = offset + len;
    }
    WORKS(client_allocated_range(f, end - 3 * BLOCK, end, &offset, &len, &err));
    assert_int_equal(offset, end - 3 * BLOCK);
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
}

/* ---- copies on the server ---- */

static void test_a_copy_stays_on_the_server(void **state)
{
    enum { ODD = 40 * MIB + 12345 };
    put("source", bed.big, ODD);
    struct client_how how = make;
    struct client_file *from = NULL, *to = create("target");
    struct file_attr attr;
    how.disposition = FILE_OPEN;
    how.access = FILE_READ_DATA;
    WORKS(client_create(client, "source", &how, &from, &attr, NULL, &err));

    uint64_t writes = requests(WRITE), ioctls = requests(IOCTL);
    assert_int_equal(client_copy(from, 0, to, 0, 1ull << 40, &err), ODD);
    assert_int_equal(requests(IOCTL) - ioctls, 4); /* the key, and 16 MiB at a time */
    holds("target", bed.big, ODD);
    assert_int_equal(client_copy(from, MIB + 1, to, 3, 5 * MIB, &err), 5 * MIB);
    assert_int_equal(requests(IOCTL) - ioctls, 5);
    assert_int_equal(client_copy(from, ODD, to, 0, 100, &err), 0);
    assert_int_equal(client_copy(from, ODD - 1, to, ODD, 100, &err), 1);
    assert_int_equal(requests(WRITE) - writes, 0);

    uint8_t *expected = malloc(ODD + 1);
    memcpy(expected, bed.big, ODD);
    memcpy(expected + 3, bed.big + MIB + 1, 5 * MIB);
    expected[ODD] = bed.big[ODD - 1];
    holds("target", expected, ODD + 1);
    free(expected);
    WORKS(client_close(from, CLIENT_SINGLE, NULL, &err));
    WORKS(client_close(to, CLIENT_SINGLE, NULL, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dialect_202_writes_100_mib_bit_for_bit),
        cmocka_unit_test(test_dialect_210_writes_100_mib_bit_for_bit),
        cmocka_unit_test(test_dialect_300_writes_100_mib_bit_for_bit),
        cmocka_unit_test(test_dialect_311_writes_100_mib_bit_for_bit),
        cmocka_unit_test(test_unsigned_writes_arrive_bit_for_bit),
        cmocka_unit_test(test_threads_write_one_file_together),
        cmocka_unit_test(test_dispositions_make_keep_and_refuse),
        cmocka_unit_test(test_a_close_on_its_way_tells_the_last_attributes),
        cmocka_unit_test(test_sizes_are_set_by_open_and_by_path),
        cmocka_unit_test(test_room_is_made_and_never_cuts_a_file),
        cmocka_unit_test(test_locks_keep_two_clients_apart),
        cmocka_unit_test(test_holes_are_made_and_found),
        cmocka_unit_test(test_a_file_of_many_holes_is_looked_through),
        cmocka_unit_test(test_a_copy_stays_on_the_server),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
