/*
 * A program that writes by the library to a share that is full, over quota, read-only or broken,
 * from the n-th request on. It hears which, with the errno of that and one line that says so; what
 * it is told was written is written, in one piece from the beginning; and another file on the same
 * connection is written as if nothing had been.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "larder/larder.h"
#include "server/server.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum { PIECE = 65536, PIECES = 12, SIZE = PIECES * PIECE - 100 };

static const struct server_node nodes[] = {
    {SERVER_ROOT, SERVER_NAME(u"file"), {.id = 2, .size = SIZE}},
    {SERVER_ROOT, SERVER_NAME(u"other"), {.id = 3, .size = SIZE}},
    {SERVER_ROOT, SERVER_NAME(u"dir"), {.id = 4, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
};

/* What servers say, and what a program is to hear. */
static const struct {
    uint32_t status;
    int code;
    const char *name;
} refusals[] = {
    {0xc000007f, -ENOSPC, "STATUS_DISK_FULL"},
    {0xc0000044, -EDQUOT, "STATUS_QUOTA_EXCEEDED"},
    {0xc0000802, -EDQUOT, "STATUS_DISK_QUOTA_EXCEEDED"},
    {0xc0000022, -EACCES, "STATUS_ACCESS_DENIED"},
    {0xc00000a2, -EROFS, "STATUS_MEDIA_WRITE_PROTECTED"},
    {0xc0000904, -EFBIG, "STATUS_FILE_TOO_LARGE"},
    {0xc0000185, -EIO, "STATUS_IO_DEVICE_ERROR"},
};

static uint8_t data[SIZE], sink[SIZE + PIECE];

/* ---- a server and its client ---- */

struct bed {
    struct server *server;
    struct larder *larder;
    struct larder_file *file, *other;
};

static void play(struct bed *b, const struct server_rule *rules, size_t count)
{
    const struct server_script script = {
        .max_transact = PIECE,
        .nodes = nodes,
        .node_count = COUNT(nodes),
        .rules = rules,
        .rule_count = count,
        .sink = {sink, sizeof(sink)},
    };
    memset(sink, 0, sizeof(sink));
    if (b->server)
        server_play(b->server, &script);
    else
        b->server = server_new(&script);
    assert_non_null(b->server);
}

static struct larder_file *opened(struct larder *l, const char *path)
{
    struct larder_file *f = NULL;
    struct larder_error err;
    if (larder_open_with(l, path, LARDER_READ | LARDER_WRITE, &f, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return f;
}

static struct bed begin(void)
{
    struct bed b = {0};
    struct larder_config *config = NULL;
    struct larder_error err;
    char target[64];
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    play(&b, NULL, 0);
    snprintf(target, sizeof(target), "//127.0.0.1:%u/share", server_port(b.server));
    if (larder_config_new(target, &config, &err) < 0 ||
        larder_config_set_list(config, "guest", &err) < 0 ||
        larder_connect(config, &b.larder, &err) < 0)
        fail_msg("%s", err.text);
    larder_config_free(config);
    b.file = opened(b.larder, "file");
    b.other = opened(b.larder, "other");
    return b;
}

static void end(struct bed *b)
{
    larder_close(b->file);
    larder_close(b->other);
    larder_disconnect(b->larder);
    server_free(b->server);
}

/* The rest of the share is as it was: another open takes all of it, by the server's own counting.
 */
static void goes_on(struct bed *b)
{
    struct larder_error err;
    play(b, NULL, 0);
    if (larder_write(b->other, data, SIZE, 0, &err) != SIZE)
        fail_msg("%s", err.text);
    assert_int_equal(larder_sync(b->other, &err), 0);
    assert_memory_equal(sink, data, SIZE);
    assert_false(larder_lost(b->larder, NULL));
}

static void heard(int64_t result, const struct larder_error *err, size_t i)
{
    if (result != refusals[i].code)
        fail_msg("%s gave %lld: %s", refusals[i].name, (long long)result, err->text);
    assert_int_equal(err->code, refusals[i].code);
    assert_int_equal(err->status, refusals[i].status);
    assert_non_null(strstr(err->text, refusals[i].name));
    assert_null(strchr(err->text, '\n'));
}

/* ---- writing ---- */

/* Every WRITE from the n-th on fails. */
static void a_write_that_ends_early_counts_and_the_next_one_says_why(void **state)
{
    for (size_t i = 0; i < COUNT(refusals); i++)
        for (unsigned good = 0; good < PIECES; good++) {
            struct bed b = begin();
            struct larder_error err = {0};
            struct server_rule rules[PIECES * 2];
            for (unsigned k = 0; k < COUNT(rules); k++)
                rules[k] = (struct server_rule){SMB2_WRITE, good + 1 + k, SERVER_ANYWHERE,
                                                SERVER_FAIL, refusals[i].status};
            play(&b, rules, COUNT(rules));
            int64_t n = larder_write(b.file, data, SIZE, 0, &err);
            if (good == 0) {
                heard(n, &err, i);
            } else {
                assert_int_equal(n, good * PIECE);
                assert_memory_equal(sink, data, good * PIECE);
                heard(larder_write(b.file, data + n, (size_t)(SIZE - n), (uint64_t)n, &err), &err,
                      i);
            }
            goes_on(&b);
            end(&b);
        }
}

/* A server that was full for one request is written to by the next. */
static void a_write_goes_on_where_there_is_room_again(void **state)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct bed b = begin();
        struct larder_error err = {0};
        const struct server_rule once[] = {
            {SMB2_WRITE, 3, SERVER_ANYWHERE, SERVER_FAIL, refusals[i].status}};
        play(&b, once, COUNT(once));
        assert_int_equal(larder_write(b.file, data, SIZE, 0, &err), 2 * PIECE);
        assert_int_equal(larder_write(b.file, data + 2 * PIECE, SIZE - 2 * PIECE, 2 * PIECE, &err),
                         SIZE - 2 * PIECE);
        assert_memory_equal(sink, data, SIZE);
        goes_on(&b);
        end(&b);
    }
}

/* ---- what else needs room ---- */

static int sync_it(struct bed *b, struct larder_error *err)
{
    assert_int_equal(larder_write(b->file, data, 10, 0, err), 10);
    return larder_sync(b->file, err);
}

static int grow(struct bed *b, struct larder_error *err)
{
    const struct larder_setattr longer = {.set = LARDER_SET_SIZE, .size = 1 << 30};
    return larder_file_setattr(b->file, &longer, NULL, err);
}

static int make_file(struct bed *b, struct larder_error *err)
{
    struct larder_file *f = NULL;
    return larder_open_with(b->larder, "new", LARDER_WRITE | LARDER_CREATE, &f, NULL, err);
}

static int make_dir(struct bed *b, struct larder_error *err)
{
    return larder_mkdir(b->larder, "newdir", NULL, err);
}

static int rename_it(struct bed *b, struct larder_error *err)
{
    return larder_rename(b->larder, "other", "dir/other", false, err);
}

static void whatever_needs_room_says_what_the_server_said(void **state)
{
    static const struct {
        int command;
        int (*call)(struct bed *b, struct larder_error *err);
    } calls[] = {
        {SMB2_FLUSH, sync_it},   {SMB2_SET_INFO, grow},      {SMB2_CREATE, make_file},
        {SMB2_CREATE, make_dir}, {SMB2_SET_INFO, rename_it},
    };
    for (size_t i = 0; i < COUNT(refusals); i++)
        for (size_t k = 0; k < COUNT(calls); k++) {
            struct bed b = begin();
            struct larder_error err = {0};
            const struct server_rule always[] = {
                {calls[k].command, 0, SERVER_ANYWHERE, SERVER_FAIL, refusals[i].status}};
            play(&b, always, COUNT(always));
            heard(calls[k].call(&b, &err), &err, i);
            goes_on(&b);
            end(&b);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_that_ends_early_counts_and_the_next_one_says_why),
        cmocka_unit_test(a_write_goes_on_where_there_is_room_again),
        cmocka_unit_test(whatever_needs_room_says_what_the_server_said),
    };
    return cmocka_run_group_tests_name("a share that is full", tests, NULL, NULL);
}
