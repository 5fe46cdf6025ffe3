/*
 * The client that writes, against a real Samba that requires signing (client.sh starts it): every
 * operation does what it says, looked at from the share's own disk, in as many round trips as it
 * should; in every dialect 100 MiB arrive bit for bit.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "client/client.h"
#include "observe/observe.h"

enum { WRITE = 9, IOCTL = 11, MIB = 1 << 20 };

static struct {
    uint16_t port, open_port; /* the second server requires no signing and speaks 3.0 at most */
    const char *share, *user, *password;
    const uint8_t *big; /* 100 MiB of noise */
    size_t big_size;
} bed;

static struct observe *observe;
static struct error err;      /* of the call under test */
static struct client *client; /* of most tests: the highest dialect, signed, names mapped */

/* ---- clients ---- */

static struct client_options options(void)
{
    return (struct client_options){
        .host = "127.0.0.1",
        .port = bed.port,
        .share = "share",
        .user = bed.user,
        .password = bed.password,
        .dialect_min = 0x0202,
        .dialect_max = 0x0311,
        .map_names = true,
        .observe = observe,
    };
}

static struct client *connect_or_fail(const struct client_options *o)
{
    struct client *c = NULL;
    if (client_connect(o, &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

static uint64_t round_trips(void)
{
    struct observe_counts counts;
    observe_read(observe, &counts);
    return counts.round_trips;
}

static uint64_t requests(unsigned command)
{
    struct observe_counts counts;
    observe_read(observe, &counts);
    return counts.command[command].requests;
}

static void works(const char *call, int64_t result)
{
    if (result < 0)
        fail_msg("%s: %s", call, err.text);
}

static void fails(const char *call, int code, int64_t result)
{
    if (result != code)
        fail_msg("%s: %d expected, got %d \"%s\"", call, code, (int)result, err.text);
    assert_int_equal(err.code, code);
    assert_true(strlen(err.text) > 10);
}

#define WORKS(call)       works(#call, call)
#define FAILS(code, call) fails(#call, code, call)

/* One call, and how many waits for the server it is. */
#define COSTS(trips, call)                                                                         \
    do {                                                                                           \
        uint64_t trips_before = round_trips();                                                     \
        WORKS(call);                                                                               \
        assert_int_equal(round_trips() - trips_before, trips);                                     \
    } while (0)

/* ---- the share's own disk ---- */

static const char *local(const char *name)
{
    static char path[4][1024];
    static unsigned turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof(path[0]), "%s/%s", bed.share, name);
    return p;
}

static bool exists(const char *name)
{
    struct stat st;
    return lstat(local(name), &st) == 0;
}

static struct stat stat_local(const char *name)
{
    struct stat st;
    if (stat(local(name), &st) < 0)
        fail_msg("%s is not there", name);
    return st;
}

static void holds(const char *name, const void *data, size_t len)
{
    int fd = open(local(name), O_RDONLY);
    struct stat st;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    assert_int_equal(st.st_size, len);
    if (len) {
        const void *map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
        assert_true(map != MAP_FAILED && memcmp(map, data, len) == 0);
        munmap((void *)map, len);
    }
    close(fd);
}

/* ---- files ---- */

static const struct client_how make = {
    .access = FILE_READ_DATA | FILE_WRITE_DATA | FILE_WRITE_ATTRIBUTES | ACCESS_DELETE,
    .share = FILE_SHARE_ALL,
    .disposition = FILE_OVERWRITE_IF,
    .options = FILE_NON_DIRECTORY_FILE,
};

static struct client_file *create_by(struct client *c, const char *name)
{
    struct client_file *f = NULL;
    struct file_attr attr;
    WORKS(client_create(c, name, &make, &f, &attr, NULL, &err));
    return f;
}

static struct client_file *create(const char *name)
{
    return create_by(client, name);
}

static void put(const char *name, const void *data, size_t len)
{
    struct client_file *f = create(name);
    WORKS(client_write(f, data, len, 0, &err));
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

static struct file_attr attr_of(const char *name)
{
    struct file_attr attr = {0};
    WORKS(client_stat(client, name, CLIENT_COMPOUND, &attr, NULL, &err));
    return attr;
}

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

    WORKS(client_mkdir(c, "in a dialect", CLIENT_COMPOUND, NULL, &err));
    WORKS(client_rename(c, "in a dialect", "renamed", false, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_remove(c, "renamed", true, CLIENT_COMPOUND, &err));
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

    COSTS(1, client_set_size(client, "sized", 2, CLIENT_COMPOUND, &attr, &err));
    holds("sized", "01", 2);
    assert_int_equal(attr.size, 2);
    assert_int_equal(attr.id, attr_of("sized").id);
    COSTS(3, client_set_size(client, "sized", 1, CLIENT_SINGLE, &attr, &err));
    holds("sized", "0", 1);
    assert_int_equal(attr.size, 1);
    FAILS(-ENOENT, client_set_size(client, "none", 1, CLIENT_COMPOUND, NULL, &err));
    FAILS(-EISDIR, client_set_size(client, "many", 1, CLIENT_COMPOUND, NULL, &err));
    FAILS(-EFBIG, client_set_size(client, "sized", UINT64_MAX, CLIENT_COMPOUND, NULL, &err));
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

static void test_times_are_kept_to_100_ns_and_attributes_replaced(void **state)
{
    const struct client_basic basic = {
        .accessed = 133000000012345671,
        .written = 132000000012345672,
        .attributes = FILE_ATTRIBUTE_HIDDEN | FILE_ATTRIBUTE_ARCHIVE,
    };
    struct file_attr attr = {0};
    put_text("timed", "x");
    uint64_t created = attr_of("timed").created;
    COSTS(1, client_set_basic(client, "timed", &basic, CLIENT_COMPOUND, &attr, &err));
    assert_int_equal(attr.written, basic.written);
    assert_int_equal(attr.accessed, basic.accessed);
    assert_int_equal(attr.created, created);
    assert_int_equal(attr.attributes, basic.attributes);
    assert_int_equal(stat_local("timed").st_mtim.tv_nsec, 234567200);

    struct client_file *f = NULL;
    struct client_how how = make;
    how.disposition = FILE_OPEN;
    WORKS(client_create(client, "timed", &how, &f, &attr, NULL, &err));
    COSTS(1, client_file_set_basic(f, &(struct client_basic){.attributes = FILE_ATTRIBUTE_NORMAL},
                                   &err));
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    attr = attr_of("timed");
    assert_int_equal(attr.attributes, FILE_ATTRIBUTE_NORMAL);
    assert_int_equal(attr.written, basic.written);
    WORKS(client_mkdir(client, "timed dir", CLIENT_COMPOUND, NULL, &err));
    COSTS(3, client_set_basic(client, "timed dir", &(struct client_basic){.written = basic.written},
                              CLIENT_SINGLE, &attr, &err));
    assert_int_equal(attr.written, basic.written);
    assert_true(file_attr_is_dir(&attr));
}

/* ---- names ---- */

static void test_directories_are_made_and_removed_in_one_round_trip(void **state)
{
    struct file_attr attr = {0};
    COSTS(1, client_mkdir(client, "new dir", CLIENT_COMPOUND, &attr, &err));
    assert_true(S_ISDIR(stat_local("new dir").st_mode));
    assert_true(file_attr_is_dir(&attr));
    assert_int_equal(attr.id, attr_of("new dir").id);
    FAILS(-EEXIST, client_mkdir(client, "new dir", CLIENT_COMPOUND, NULL, &err));
    FAILS(-ENOENT, client_mkdir(client, "none/new dir", CLIENT_COMPOUND, NULL, &err));

    put_text("new dir/file", "x");
    FAILS(-ENOTEMPTY, client_remove(client, "new dir", true, CLIENT_COMPOUND, &err));
    FAILS(-ENOTEMPTY, client_remove(client, "new dir", true, CLIENT_SINGLE, &err));
    FAILS(-ENOTDIR, client_remove(client, "new dir/file", true, CLIENT_COMPOUND, &err));
    FAILS(-EISDIR, client_remove(client, "new dir", false, CLIENT_COMPOUND, &err));
    COSTS(1, client_remove(client, "new dir/file", false, CLIENT_COMPOUND, &err));
    assert_false(exists("new dir/file"));
    COSTS(1, client_remove(client, "new dir", true, CLIENT_COMPOUND, &err));
    assert_false(exists("new dir"));
    FAILS(-ENOENT, client_remove(client, "new dir", true, CLIENT_COMPOUND, &err));

    COSTS(2, client_mkdir(client, "new dir", CLIENT_SINGLE, &attr, &err));
    COSTS(3, client_remove(client, "new dir", true, CLIENT_SINGLE, &err));
    assert_false(exists("new dir"));
}

static void set_read_only(const char *name)
{
    const struct client_basic basic = {.attributes =
                                           FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_HIDDEN};
    WORKS(client_set_basic(client, name, &basic, CLIENT_COMPOUND, NULL, &err));
    assert_int_equal(attr_of(name).attributes, basic.attributes);
}

static void test_a_read_only_file_is_removed_and_its_other_links_stay_so(void **state)
{
    for (enum client_style style = CLIENT_SINGLE; style <= CLIENT_COMPOUND; style++) {
        put_text("locked away", "x");
        WORKS(client_link(client, "locked away", "other name", false, style, NULL, &err));
        set_read_only("locked away");
        if (style == CLIENT_COMPOUND)
            COSTS(2, client_remove(client, "locked away", false, style, &err));
        else
            WORKS(client_remove(client, "locked away", false, style, &err));
        assert_false(exists("locked away"));
        assert_int_equal(attr_of("other name").attributes,
                         FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_HIDDEN);
        WORKS(client_remove(client, "other name", false, style, &err));
    }

    struct client_file *f = create("locked away");
    set_read_only("locked away");
    WORKS(client_file_remove(f, &err));
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    assert_false(exists("locked away"));
}

static void test_a_rename_replaces_only_where_asked(void **state)
{
    struct file_attr attr = {0};
    put_text("from", "new");
    put_text("to", "old");
    FAILS(-EEXIST, client_rename(client, "from", "to", false, CLIENT_COMPOUND, NULL, &err));
    holds("to", "old", 3);
    uint64_t id = attr_of("from").id;
    COSTS(1, client_rename(client, "from", "to", true, CLIENT_COMPOUND, &attr, &err));
    holds("to", "new", 3);
    assert_false(exists("from"));
    assert_int_equal(attr.id, id);
    assert_int_equal(attr.size, 3);
    COSTS(3, client_rename(client, "to", "t", false, CLIENT_SINGLE, &attr, &err));
    holds("t", "new", 3);

    WORKS(client_mkdir(client, "dir", CLIENT_COMPOUND, NULL, &err));
    WORKS(client_rename(client, "t", "dir/deep", false, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_rename(client, "dir", "moved dir", false, CLIENT_COMPOUND, NULL, &err));
    holds("moved dir/deep", "new", 3);
    FAILS(-ENOENT, client_rename(client, "none", "x", false, CLIENT_COMPOUND, NULL, &err));
    FAILS(-ENOENT,
          client_rename(client, "moved dir/deep", "none/x", false, CLIENT_COMPOUND, NULL, &err));
}

static void test_a_rename_changes_only_the_case(void **state)
{
    struct file_attr attr;
    char spelling[CLIENT_NAME_MAX];
    put_text("readme", "x");
    WORKS(client_rename(client, "readme", "ReadMe", false, CLIENT_COMPOUND, NULL, &err));
    assert_true(exists("ReadMe") && !exists("readme"));
    WORKS(client_stat(client, "README", CLIENT_COMPOUND, &attr, spelling, &err));
    assert_string_equal(spelling, "ReadMe");
    WORKS(client_mkdir(client, "folder", CLIENT_COMPOUND, NULL, &err));
    WORKS(client_rename(client, "folder", "Folder", false, CLIENT_COMPOUND, NULL, &err));
    assert_true(exists("Folder") && !exists("folder"));
}

static void test_a_hard_link_is_a_second_name(void **state)
{
    struct file_attr attr = {0};
    put_text("one", "same");
    put_text("taken", "other");
    COSTS(1, client_link(client, "one", "two", false, CLIENT_COMPOUND, &attr, &err));
    assert_int_equal(stat_local("one").st_ino, stat_local("two").st_ino);
    assert_int_equal(attr.id, attr_of("two").id);
    assert_int_equal(attr_of("two").links, 2);
    FAILS(-EEXIST, client_link(client, "one", "taken", false, CLIENT_COMPOUND, NULL, &err));
    holds("taken", "other", 5);
    FAILS(-ENOENT, client_link(client, "none", "three", false, CLIENT_COMPOUND, NULL, &err));
}

static void test_an_open_renames_and_removes_its_file(void **state)
{
    struct client_file *f = create("open file");
    WORKS(client_write(f, "text", 4, 0, &err));
    put_text("in its way", "x");
    FAILS(-EEXIST, client_file_rename(f, "in its way", false, &err));
    COSTS(1, client_file_rename(f, "in its way", true, &err));
    holds("in its way", "text", 4);
    COSTS(1, client_file_remove(f, &err));
    WORKS(client_write(f, "more", 4, 4, &err)); /* it lives until its last close */
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
    assert_false(exists("in its way"));
}

/* ---- reserved characters ---- */

static const struct {
    const char *here, *there;
} reserved[] = {
    {"a\"b*c:d<e>f?g\\h|i", "a\uf020b\uf021c\uf022d\uf023e\uf024f\uf025g\uf026h\uf027i"},
    {"ends in a space ", "ends in a space\uf028"},
    {"ends in a period.", "ends in a period\uf029"},
    {"two.. ", "two..\uf028"},
    {"line\nbreak\x1f", "line\uf00a"
                        "break\uf01f"},
    {"...", "..\uf029"},
    {"*", "\uf021"},
    /* what the mapping would not have made stays */
    {"mid\uf028"
     "dle\uf029.x",
     "mid\uf028"
     "dle\uf029.x"},
    {"\uf029", "\uf029"},
    {".\uf029", ".\uf029"},
    {"slash\uf02f", "slash\uf02f"},
};
enum { RESERVED = sizeof(reserved) / sizeof(reserved[0]) };

struct seen {
    unsigned count;
    bool name[RESERVED];
};

static int note_reserved(void *user, const char *name, size_t len, const struct file_attr *attr,
                         size_t wire_bytes)
{
    struct seen *seen = user;
    seen->count++;
    for (unsigned i = 0; i < RESERVED; i++)
        if (strcmp(name, reserved[i].here) == 0)
            seen->name[i] = attr->size == i;
    return 0;
}

static void test_reserved_characters_are_mapped_both_ways(void **state)
{
    struct seen seen = {0};
    struct client_list_result listed;
    WORKS(client_mkdir(client, "names", CLIENT_COMPOUND, NULL, &err));
    for (unsigned i = 0; i < RESERVED; i++) {
        char here[256], there[256], spelling[CLIENT_NAME_MAX];
        struct file_attr attr;
        snprintf(here, sizeof(here), "names/%s", reserved[i].here);
        snprintf(there, sizeof(there), "names/%s", reserved[i].there);
        put(here, bed.big, i);
        assert_true(exists(there));
        WORKS(client_stat(client, here, CLIENT_COMPOUND, &attr, spelling, &err));
        assert_string_equal(spelling, reserved[i].here);
        if (strcmp(reserved[i].here, "*") == 0)
            continue; /* as a pattern it means every name */
        struct seen one = {0};
        WORKS(client_list(client, "names", reserved[i].here, CLIENT_COMPOUND, false, note_reserved,
                          &one, &listed, &err));
        assert_true(one.count == 1 && one.name[i]);
    }
    WORKS(client_list(client, "names", "*", CLIENT_COMPOUND, false, note_reserved, &seen, &listed,
                      &err));
    assert_int_equal(seen.count, RESERVED);
    for (unsigned i = 0; i < RESERVED; i++) {
        char here[256];
        assert_true(seen.name[i]);
        snprintf(here, sizeof(here), "names/%s", reserved[i].here);
        WORKS(client_rename(client, here, "names/plain", false, CLIENT_COMPOUND, NULL, &err));
        WORKS(client_rename(client, "names/plain", here, false, CLIENT_COMPOUND, NULL, &err));
        WORKS(client_remove(client, here, false, CLIENT_COMPOUND, &err));
    }
    WORKS(client_remove(client, "names", true, CLIENT_COMPOUND, &err));
}

static void test_without_mapping_reserved_characters_are_refused(void **state)
{
    struct client_options o = options();
    struct file_attr attr;
    char spelling[CLIENT_NAME_MAX];
    o.map_names = false;
    struct client *c = connect_or_fail(&o);
    FAILS(-EINVAL, client_mkdir(c, "a\\b", CLIENT_COMPOUND, NULL, &err));
    FAILS(-ENOENT, client_stat(c, "a\\b", CLIENT_COMPOUND, &attr, NULL, &err));
    FAILS(-EINVAL, client_mkdir(c, "a*b", CLIENT_COMPOUND, NULL, &err));
    put_text("plain name", "x");
    FAILS(-EINVAL, client_rename(c, "plain name", "a<b", false, CLIENT_COMPOUND, NULL, &err));
    put_text("a<b", "x");
    WORKS(client_stat(c, "a\uf023b", CLIENT_COMPOUND, &attr, spelling, &err));
    assert_string_equal(spelling, "a\uf023b");
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

/* ---- links ---- */

static void test_a_server_without_links_says_so_and_keeps_nothing(void **state)
{
    char *target = NULL;
    put_text("no link", "x");
    FAILS(-EOPNOTSUPP, client_symlink(client, "a link", "to/nowhere", false, NULL, &err));
    assert_false(exists("a link"));
    FAILS(-EOPNOTSUPP, client_symlink(client, "a link", "to/nowhere", true, NULL, &err));
    assert_false(exists("a link"));
    FAILS(-EINVAL, client_read_link(client, "no link", &target, &err));
    FAILS(-ENOENT, client_read_link(client, "none", &target, &err));
    FAILS(-ENOENT, client_symlink(client, "a link", "", false, NULL, &err));
    assert_null(target);
}

/* ---- the bed ---- */

static int set_up(void **state)
{
    struct stat st;
    const char *port = getenv("LARDER_TEST_PORT"), *open_port = getenv("LARDER_TEST_OPEN_PORT");
    bed.share = getenv("LARDER_TEST_SHARE");
    bed.user = getenv("LARDER_TEST_USER");
    bed.password = getenv("LARDER_TEST_PASSWORD");
    if (!port || !open_port || !bed.share || !bed.user || !bed.password)
        return -1;
    bed.port = (uint16_t)atoi(port);
    bed.open_port = (uint16_t)atoi(open_port);

    int fd = open(local("big"), O_RDONLY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    bed.big_size = (size_t)st.st_size;
    bed.big = mmap(NULL, bed.big_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    const struct observe_options o = {0};
    if (bed.big == MAP_FAILED || observe_new(&o, &observe, NULL) < 0)
        return -1;
    const struct client_options c = options();
    return client_connect(&c, &client, NULL);
}

static int tear_down(void **state)
{
    client_free(client);
    observe_free(observe);
    return 0;
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
        cmocka_unit_test(test_times_are_kept_to_100_ns_and_attributes_replaced),
        cmocka_unit_test(test_directories_are_made_and_removed_in_one_round_trip),
        cmocka_unit_test(test_a_read_only_file_is_removed_and_its_other_links_stay_so),
        cmocka_unit_test(test_a_rename_replaces_only_where_asked),
        cmocka_unit_test(test_a_rename_changes_only_the_case),
        cmocka_unit_test(test_a_hard_link_is_a_second_name),
        cmocka_unit_test(test_an_open_renames_and_removes_its_file),
        cmocka_unit_test(test_reserved_characters_are_mapped_both_ways),
        cmocka_unit_test(test_without_mapping_reserved_characters_are_refused),
        cmocka_unit_test(test_locks_keep_two_clients_apart),
        cmocka_unit_test(test_holes_are_made_and_found),
        cmocka_unit_test(test_a_file_of_many_holes_is_looked_through),
        cmocka_unit_test(test_a_copy_stays_on_the_server),
        cmocka_unit_test(test_a_server_without_links_says_so_and_keeps_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
