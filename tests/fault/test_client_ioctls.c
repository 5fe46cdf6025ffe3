/*
 * Copies, holes and links against a server that answers with limits, nonsense, and offsets that
 * lead nowhere. Each must end in the right answer or in an error, and never in a loop or outside
 * the answer's own bytes.
 */
#include "bed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20 };

static const struct server_node nodes[] = {
    {SERVER_ROOT,
     SERVER_NAME(u"file"),
     {.id = 11, .attributes = FILE_ATTRIBUTE_ARCHIVE, .size = 1 << 30}},
    {SERVER_ROOT, SERVER_NAME(u"link"), {.id = 12, .attributes = FILE_ATTRIBUTE_REPARSE_POINT}},
};

static struct error err;
static struct server_script script;

/* ---- server and client ---- */

static void play_ioctls(struct bed *b, const struct server_ioctl *ioctls, size_t count)
{
    script.ioctls = ioctls;
    script.ioctl_count = count;
    server_play(b->server, &script);
}

static struct bed begin(const struct server_ioctl *ioctls, size_t count)
{
    script = (struct server_script){.nodes = nodes, .node_count = COUNT(nodes)};
    struct bed b = start_with(&script, NS_PER_SEC);
    err = (struct error){0};
    play_ioctls(&b, ioctls, count);
    return b;
}

static void finish(struct bed *b)
{
    no_open_is_left(b);
    stop(b);
}

static struct client_file *open_file(struct bed *b)
{
    static const struct client_how how = {
        .access = FILE_READ_DATA | FILE_WRITE_DATA,
        .share = FILE_SHARE_ALL,
        .disposition = FILE_OPEN,
    };
    struct client_file *f = NULL;
    struct file_attr attr;
    if (client_create(b->client, "file", &how, &f, &attr, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return f;
}

static void close_file(struct client_file *f)
{
    assert_int_equal(client_close(f, CLIENT_SINGLE, NULL, &err), 0);
}

/* ---- copies ---- */

#define LIMITS(chunks, chunk_bytes, total_bytes)                                                   \
    {                                                                                              \
        .base = (const uint8_t *)(const uint32_t[]){chunks, chunk_bytes, total_bytes}, .len = 12   \
    }
#define COPY(nth, status, ...)                                                                     \
    {                                                                                              \
        FSCTL_SRV_COPYCHUNK, nth, status, LIMITS(__VA_ARGS__)                                      \
    }

static int64_t copy_under(const struct server_ioctl *ioctls, size_t count, uint64_t len,
                          unsigned *ret_ioctls)
{
    struct bed b = begin(ioctls, count);
    struct client_file *from = open_file(&b), *to = open_file(&b);
    int64_t n = client_copy(from, 0, to, 0, len, &err);
    *ret_ioctls = server_count(b.server, SMB2_IOCTL);
    close_file(from);
    close_file(to);
    finish(&b);
    return n;
}

static void test_the_limits_of_a_copy_are_learnt_from_its_refusal(void **state)
{
    const struct server_ioctl limits[] = {COPY(1, STATUS_INVALID_PARAMETER, 4, MIB / 2, MIB)};
    struct bed b = begin(limits, 1);
    struct client_file *from = open_file(&b), *to = open_file(&b);
    assert_int_equal(client_copy(from, 0, to, 0, 10 * MIB, &err), 10 * MIB);
    assert_int_equal(server_count(b.server, SMB2_IOCTL), 1 + 1 + 10); /* key, refusal, copies */
    play_ioctls(&b, NULL, 0);
    assert_int_equal(client_copy(from, 0, to, 0, 10 * MIB, &err), 10 * MIB);
    assert_int_equal(server_count(b.server, SMB2_IOCTL), 10); /* remembered, as the key is */
    close_file(from);
    close_file(to);
    finish(&b);
}

static void test_limits_that_allow_nothing_new_end_the_copy(void **state)
{
    const struct server_ioctl cases[][1] = {
        {COPY(0, STATUS_INVALID_PARAMETER, 0, MIB, MIB)},
        {COPY(0, STATUS_INVALID_PARAMETER, 1, 0, MIB)},
        {COPY(0, STATUS_INVALID_PARAMETER, 1, MIB, 0)},
        {COPY(0, STATUS_INVALID_PARAMETER, UINT32_MAX, UINT32_MAX, UINT32_MAX)},
        {{FSCTL_SRV_COPYCHUNK, 0, STATUS_INVALID_PARAMETER, SERVER_CONTENT("short")}},
        {{FSCTL_SRV_COPYCHUNK, 0, STATUS_INVALID_PARAMETER, {0}}},
    };
    unsigned ioctls;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(copy_under(cases[i], 1, 10 * MIB, &ioctls), -EINVAL);
        assert_int_equal(ioctls, 2);
    }
    /* limits that are refused again */
    const struct server_ioctl always[] = {COPY(0, STATUS_INVALID_PARAMETER, 1, 1000, 1000)};
    assert_int_equal(copy_under(always, 1, 10 * MIB, &ioctls), -EINVAL);
    assert_int_equal(ioctls, 3);
}

static void test_a_copy_goes_on_behind_what_was_copied(void **state)
{
    const struct server_ioctl some[] = {COPY(1, STATUS_SUCCESS, 1, 0, 1000)};
    unsigned ioctls;
    assert_int_equal(copy_under(some, 1, 16 * MIB, &ioctls), 16 * MIB);
    assert_int_equal(ioctls, 3); /* the key, 1,000 bytes, the rest */
}

static void test_impossible_results_of_a_copy_are_errors(void **state)
{
    const struct server_ioctl too_much[] = {COPY(0, STATUS_SUCCESS, 1, 0, 2 * MIB)};
    const struct server_ioctl nothing[] = {COPY(0, STATUS_SUCCESS, 0, 0, 0)};
    const struct server_ioctl empty[] = {{FSCTL_SRV_COPYCHUNK, 0, STATUS_SUCCESS, {0}}};
    const struct server_ioctl key[] = {
        {FSCTL_SRV_REQUEST_RESUME_KEY, 0, STATUS_SUCCESS, SERVER_CONTENT("too short a key")}};
    const struct server_ioctl none[] = {
        {FSCTL_SRV_REQUEST_RESUME_KEY, 0, STATUS_NOT_SUPPORTED, {0}}};
    const struct server_ioctl shrunk[] = {{FSCTL_SRV_COPYCHUNK, 0, STATUS_INVALID_VIEW_SIZE, {0}}};
    const struct server_ioctl full[] = {{FSCTL_SRV_COPYCHUNK, 2, STATUS_DISK_FULL, {0}}};
    unsigned ioctls;
    assert_int_equal(copy_under(too_much, 1, MIB, &ioctls), -EBADMSG);
    assert_int_equal(copy_under(nothing, 1, MIB, &ioctls), -EIO);
    assert_int_equal(copy_under(empty, 1, MIB, &ioctls), -EBADMSG);
    assert_int_equal(copy_under(key, 1, MIB, &ioctls), -EBADMSG);
    assert_int_equal(copy_under(none, 1, MIB, &ioctls), -EOPNOTSUPP);
    assert_int_equal(copy_under(shrunk, 1, MIB, &ioctls), -EIO);
    assert_int_equal(ioctls, 2);
    assert_int_equal(copy_under(full, 1, 40 * MIB, &ioctls), -ENOSPC);
}

/* ---- holes ---- */

#define RANGES(...)                                                                                \
    {                                                                                              \
        .base = (const uint8_t *)(const uint64_t[]){__VA_ARGS__},                                  \
        .len = sizeof((const uint64_t[]){__VA_ARGS__})                                             \
    }

static int range_under(const struct rd *output, uint32_t status, uint64_t *ret_offset,
                       uint64_t *ret_len)
{
    const struct server_ioctl answer[] = {{FSCTL_QUERY_ALLOCATED_RANGES, 0, status, *output}};
    struct bed b = begin(answer, 1);
    struct client_file *f = open_file(&b);
    int r = client_allocated_range(f, 1000, 9000, ret_offset, ret_len, &err);
    assert_true(server_count(b.server, SMB2_IOCTL) < 100);
    close_file(f);
    finish(&b);
    return r;
}

static void test_ranges_are_cut_to_what_was_asked_for(void **state)
{
    const struct {
        struct rd output;
        uint64_t offset, len;
    } cases[] = {
        {RANGES(0, 2000, 3000, 100), 1000, 1000}, {RANGES(0, 1000, 3000, 100), 3000, 100},
        {RANGES(0, 0, 8999, 5000), 8999, 1},      {RANGES(9000, 1), 0, 0},
        {RANGES(0, INT64_MAX), 1000, 8000},       {{0}, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t offset = 77, len = 77;
        assert_int_equal(range_under(&cases[i].output, STATUS_SUCCESS, &offset, &len), 0);
        assert_int_equal(offset, cases[i].offset);
        assert_int_equal(len, cases[i].len);
    }
}

static void test_impossible_ranges_are_errors(void **state)
{
    const struct {
        struct rd output;
        uint32_t status;
        int code;
    } cases[] = {
        {RANGES(UINT64_MAX, 2), STATUS_SUCCESS, -EBADMSG},
        {RANGES(1, UINT64_MAX), STATUS_SUCCESS, -EBADMSG},
        {RANGES(INT64_MAX, INT64_MAX), STATUS_SUCCESS, -EBADMSG},
        {RANGES(1000), STATUS_SUCCESS, -EBADMSG},
        {{0}, STATUS_BUFFER_TOO_SMALL, -EIO},
        {{0}, STATUS_INVALID_DEVICE_REQUEST, -EOPNOTSUPP},
        {{0}, STATUS_FS_DRIVER_REQUIRED, -EOPNOTSUPP},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t offset = 77, len = 77;
        assert_int_equal(range_under(&cases[i].output, cases[i].status, &offset, &len),
                         cases[i].code);
        assert_int_equal(offset, 77);
    }
}

static void test_a_hole_is_only_made_where_files_are_sparse(void **state)
{
    const struct server_ioctl cannot[] = {
        {FSCTL_SET_SPARSE, 0, STATUS_INVALID_DEVICE_REQUEST, {0}}};
    struct bed b = begin(cannot, 1);
    struct client_file *f = open_file(&b);
    assert_int_equal(client_punch_hole(f, 0, 1000, &err), -EOPNOTSUPP);
    assert_int_equal(client_punch_hole(f, UINT64_MAX, 2, &err), -EINVAL);
    assert_int_equal(server_count(b.server, SMB2_IOCTL), 1);
    close_file(f);
    finish(&b);
}

/* ---- links ---- */

/* The head of a reparse point, and of the two that have names. */
#define U16(n)         (uint8_t)(n), (uint8_t)((n) >> 8)
#define HEAD(tag, len) U16((tag)&0xffff), U16((tag) >> 16), U16(len), 0, 0
#define SYMLINK(len, so, sl, po, pl, flags)                                                        \
    HEAD(IO_REPARSE_TAG_SYMLINK, len), U16(so), U16(sl), U16(po), U16(pl), flags, 0, 0, 0
#define JUNCTION(len, so, sl, po, pl)                                                              \
    HEAD(IO_REPARSE_TAG_MOUNT_POINT, len), U16(so), U16(sl), U16(po), U16(pl)
#define BYTES(...)                                                                                 \
    {                                                                                              \
        .base = (const uint8_t[]){__VA_ARGS__}, .len = sizeof((const uint8_t[]){__VA_ARGS__})      \
    }

static int read_link_under(const struct rd *output, uint32_t status, char **ret)
{
    const struct server_ioctl answer[] = {{FSCTL_GET_REPARSE_POINT, 0, status, *output}};
    struct bed b = begin(answer, 1);
    int r = client_read_link(b.client, "link", ret, &err);
    finish(&b);
    return r;
}

static void test_targets_of_three_kinds_are_read(void **state)
{
    const struct {
        struct rd output;
        const char *target;
    } cases[] = {
        {BYTES(SYMLINK(12 + 6, 0, 6, 0, 0, 1), 'a', 0, '\\', 0, 'b', 0), "a/b"},
        {BYTES(SYMLINK(12 + 6, 2, 4, 0, 2, 1), 'p', 0, '.', 0, '.', 0), ".."},
        {BYTES(SYMLINK(12 + 2, 0, 0, 0, 2, 0), 'p', 0), "p"}, /* the name to print only */
        {BYTES(JUNCTION(8 + 12, 0, 12, 12, 0), '\\', 0, '?', 0, '?', 0, '\\', 0, 'C', 0, ':', 0),
         "/?\?/C:"},
        {BYTES(HEAD(IO_REPARSE_TAG_LX_SYMLINK, 7), 2, 0, 0, 0, 'a', '/', 'b'), "a/b"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *target = NULL;
        if (read_link_under(&cases[i].output, STATUS_SUCCESS, &target) < 0)
            fail_msg("%zu: %s", i, err.text);
        assert_string_equal(target, cases[i].target);
        free(target);
    }
}

static void test_targets_that_lead_outside_their_buffer_are_refused(void **state)
{
    const struct {
        struct rd output;
        int code;
    } cases[] = {
        {BYTES(SYMLINK(12 + 2, 0, 4, 0, 0, 1), 'a', 0), -EBADMSG},
        {BYTES(SYMLINK(12 + 2, 0xffff, 2, 0, 0, 1), 'a', 0), -EBADMSG},
        {BYTES(SYMLINK(12 + 2, 2, 0xffff, 0, 0, 1), 'a', 0), -EBADMSG},
        {BYTES(SYMLINK(12 + 2, 0, 1, 0, 0, 1), 'a', 0), -EBADMSG},
        {BYTES(SYMLINK(12 + 2, 0, 2, 4, 2, 1), 'a', 0), -EBADMSG},
        {BYTES(SYMLINK(0xffff, 0, 2, 0, 0, 1), 'a', 0), -EBADMSG},
        {BYTES(SYMLINK(4, 0, 2, 0, 0, 1), 'a', 0), -EBADMSG},
        {BYTES(SYMLINK(12, 0, 0, 0, 0, 1)), -EBADMSG},           /* no target */
        {BYTES(SYMLINK(12 + 2, 0, 2, 0, 0, 1), 0, 0), -EBADMSG}, /* NUL */
        {BYTES(JUNCTION(8 + 2, 0, 4, 0, 0), 'a', 0), -EBADMSG},
        {BYTES(HEAD(IO_REPARSE_TAG_SYMLINK, 0)), -EBADMSG},
        {BYTES(HEAD(IO_REPARSE_TAG_LX_SYMLINK, 3), 2, 0, 0), -EBADMSG},
        {BYTES(HEAD(IO_REPARSE_TAG_LX_SYMLINK, 4), 2, 0, 0, 0), -EBADMSG},
        {BYTES(HEAD(IO_REPARSE_TAG_LX_SYMLINK, 6), 2, 0, 0, 0, 'a', 0), -EBADMSG},
        {BYTES(HEAD(IO_REPARSE_TAG_LX_SYMLINK, 5), 3, 0, 0, 0, 'a'), -EBADMSG},
        {BYTES(HEAD(0x80000013u, 1), 'd'), -EINVAL}, /* deduplication: no link */
        {BYTES(1, 2, 3), -EBADMSG},
        {{0}, -EBADMSG},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *target = NULL;
        int r = read_link_under(&cases[i].output, STATUS_SUCCESS, &target);
        if (r != cases[i].code)
            fail_msg("case %zu: %d, \"%s\"", i, r, r < 0 ? err.text : target);
        assert_null(target);
    }
    char *target = NULL;
    assert_int_equal(read_link_under(&(struct rd){0}, STATUS_NOT_A_REPARSE_POINT, &target),
                     -EINVAL);
    assert_int_equal(read_link_under(&(struct rd){0}, STATUS_FS_DRIVER_REQUIRED, &target),
                     -EOPNOTSUPP);
    assert_null(target);
}

static void test_an_ioctl_refused_in_compounds_is_sent_alone_from_then_on(void **state)
{
    static const struct server_rule refuse[] = {
        {SMB2_IOCTL, 0, SERVER_IN_COMPOUND, SERVER_FAIL, STATUS_NOT_SUPPORTED}};
    const struct server_ioctl answer[] = {
        {FSCTL_GET_REPARSE_POINT, 0, STATUS_SUCCESS,
         BYTES(HEAD(IO_REPARSE_TAG_LX_SYMLINK, 5), 2, 0, 0, 0, 'a')}};
    struct bed b = begin(answer, 1);
    set_rule(&script, refuse, NULL);
    for (unsigned first = 1; first != UINT32_MAX; first--) {
        char *target = NULL;
        server_play(b.server, &script);
        assert_int_equal(client_read_link(b.client, "link", &target, &err), 0);
        assert_string_equal(target, "a");
        free(target);
        no_open_is_left(&b);
        assert_int_equal(server_count(b.server, SMB2_IOCTL), 1 + first);
        assert_int_equal(server_count(b.server, SMB2_CREATE), 1);
    }
    finish(&b);
}

static void test_a_link_that_could_not_be_made_leaves_no_file(void **state)
{
    static const struct {
        uint32_t status;
        int code;
    } cases[] = {
        {STATUS_NOT_A_REPARSE_POINT, -EOPNOTSUPP},
        {STATUS_INVALID_DEVICE_REQUEST, -EOPNOTSUPP},
        {STATUS_ACCESS_DENIED, -EACCES},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct server_ioctl refuse[] = {{FSCTL_SET_REPARSE_POINT, 0, cases[i].status, {0}}};
        struct bed b = begin(refuse, 1);
        assert_int_equal(client_symlink(b.client, "new", "to", false, NULL, NULL, &err),
                         cases[i].code);
        assert_int_equal(server_count(b.server, SMB2_SET_INFO), 1); /* it is removed */
        finish(&b);
    }
    struct bed b = begin(NULL, 0);
    struct file_attr attr = {0};
    assert_int_equal(client_symlink(b.client, "new", "to", false, NULL, &attr, &err), 0);
    assert_int_equal(attr.id, 2);
    assert_int_equal(server_count(b.server, SMB2_SET_INFO), 0);
    assert_int_equal(client_symlink(b.client, "link", "to", false, NULL, NULL, &err), -EEXIST);
    assert_int_equal(client_symlink(b.client, "new", "a\\b", false, NULL, NULL, &err), -EINVAL);
    assert_int_equal(client_symlink(b.client, "new", "\xff", false, NULL, NULL, &err), -EILSEQ);
    char *long_target = calloc(1, 10000);
    memset(long_target, 'x', 9999);
    assert_int_equal(client_symlink(b.client, "new", long_target, false, NULL, NULL, &err),
                     -ENAMETOOLONG);
    free(long_target);
    finish(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_limits_of_a_copy_are_learnt_from_its_refusal),
        cmocka_unit_test(test_limits_that_allow_nothing_new_end_the_copy),
        cmocka_unit_test(test_a_copy_goes_on_behind_what_was_copied),
        cmocka_unit_test(test_impossible_results_of_a_copy_are_errors),
        cmocka_unit_test(test_ranges_are_cut_to_what_was_asked_for),
        cmocka_unit_test(test_impossible_ranges_are_errors),
        cmocka_unit_test(test_a_hole_is_only_made_where_files_are_sparse),
        cmocka_unit_test(test_targets_of_three_kinds_are_read),
        cmocka_unit_test(test_targets_that_lead_outside_their_buffer_are_refused),
        cmocka_unit_test(test_an_ioctl_refused_in_compounds_is_sent_alone_from_then_on),
        cmocka_unit_test(test_a_link_that_could_not_be_made_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
