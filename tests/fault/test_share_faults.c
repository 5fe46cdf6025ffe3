/*
 * A share on the scripted server: what a server can do to a tree of names that is half believed.
 * Files are given to the server as a table; changing the table by server_play is somebody changing
 * the share behind our back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/server.h"
#include "share/share.h"
#include "share_bed.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- a share and its server ---- */

struct bed {
    struct server *server;
    struct share *share;
};

static void play(struct bed *b, const struct server_node *nodes, size_t count)
{
    server_play(b->server, &(struct server_script){.nodes = nodes, .node_count = count});
}

/* `settings`: "profile=23h2,actimeo=60", as after -o. */
static struct bed start(const char *settings, const struct server_node *nodes, size_t count)
{
    struct bed b = {.server =
                        server_new(&(struct server_script){.nodes = nodes, .node_count = count})};
    b.share = share_bed_connect(b.server, settings, AS_GUEST);
    return b;
}

static void stop(struct bed *b)
{
    share_free(b->share, NULL);
    server_free(b->server);
}

/* ---- names ---- */

/* 341 characters of three bytes and one of one: 1,024 bytes of UTF-8, too long for a component. */
static void a_name_longer_than_any_name_is_refused(void **state)
{
    static uint16_t name[342];
    for (size_t i = 0; i < 341; i++)
        name[i] = 0x4e00;
    name[341] = 'x';
    const struct server_node nodes[] = {
        {SERVER_ROOT, {.base = (const uint8_t *)name, .len = sizeof name}, {.id = 2}},
        {SERVER_ROOT, {.base = (const uint8_t *)name, .len = 2 * 255}, {.id = 3}},
        {SERVER_ROOT, SERVER_NAME(u"good"), {.id = 4}},
    };
    struct bed b = start("profile=larder", nodes, COUNT(nodes));
    struct share_listing *l;
    char got[SHARE_NAME_MAX];
    assert_int_equal(share_list(b.share, share_root(b.share), &l, NULL), 0);
    assert_int_equal(share_listing_count(l), 2);
    assert_int_equal(share_listing_entry(l, 0, got)->id, 3);
    assert_int_equal(strlen(got), 255 * 3);
    assert_int_equal(share_listing_entry(l, 1, got)->id, 4);
    assert_string_equal(got, "good");
    share_listing_free(b.share, l);
    stop(&b);
}

static void a_path_with_a_name_that_cannot_be_is_refused_as_such(void **state)
{
    const struct server_node nodes[] = {{SERVER_ROOT, SERVER_NAME(u"file"), {.id = 2}}};
    struct bed b = start("profile=larder", nodes, COUNT(nodes));
    char path[70000 + 8];
    struct share_entry e;
    struct share_file *f;
    struct share_listing *l;
    struct error err = {0};
    memset(path, 'x', 70000);
    strcpy(path + 70000, "/file");
    assert_int_equal(share_stat_path(b.share, path, &e, &err), -ENAMETOOLONG);
    assert_non_null(strstr(err.text, "longer"));
    assert_int_equal(share_list_path(b.share, path, &l, NULL), -ENAMETOOLONG);
    assert_int_equal(share_open_path(b.share, path, &f, NULL, NULL), -ENAMETOOLONG);
    assert_int_equal(share_stat_path(b.share, "file/file", &e, NULL), -ENOENT);
    assert_int_equal(share_open_path(b.share, "", &f, NULL, NULL), -EISDIR);
    stop(&b);
}

/* ---- files of several names ---- */

static struct share_node *found(struct bed *b, const char *name)
{
    struct share_entry e;
    struct error err = {0};
    if (share_lookup(b->share, share_root(b->share), name, &e, &err) < 0)
        fail_msg("%s", err.text);
    return e.node;
}

/* Opens the node and checks what it holds; or the error. */
static void opens(struct bed *b, struct share_node *n, int code, const char *content)
{
    struct share_file *f;
    struct error err = {0};
    char buf[64];
    int r = share_open(b->share, n, SHARE_READ | SHARE_WANT_DATA, &f, NULL, &err);
    if (r != code)
        fail_msg("%d, not %d: %s", r, code, err.text);
    if (r < 0)
        return;
    assert_int_equal(share_read(b->share, f, buf, sizeof buf, 0, NULL), strlen(content));
    assert_memory_equal(buf, content, strlen(content));
    share_close(b->share, f);
}

static void gets_attributes(struct bed *b, struct share_node *n, int code)
{
    struct share_entry e;
    assert_int_equal(share_getattr(b->share, n, &e, NULL), code);
}

#define LINK(name, file_id, text)                                                                  \
    {                                                                                              \
        SERVER_ROOT, SERVER_NAME(name), {.id = file_id}, SERVER_CONTENT(text)                      \
    }

/* The name by which a file was found first goes: the others still lead to it, in any profile. */
static void a_file_is_found_by_the_names_that_it_still_has(void **state)
{
    const struct server_node before[] = {LINK(u"first", 2, "text"), LINK(u"second", 2, "text"),
                                         LINK(u"third", 2, "text")},
                             removed[] = {LINK(u"other", 9, "?"), LINK(u"second", 2, "text"),
                                          LINK(u"third", 2, "text")},
                             replaced[] = {LINK(u"first", 3, "new"), LINK(u"second", 4, "newer"),
                                           LINK(u"third", 2, "text")},
                             gone[] = {LINK(u"other", 9, "?"), LINK(u"others", 10, "?"),
                                       LINK(u"another", 11, "?")};
    const char *profiles[] = {"profile=larder,actimeo=60", "profile=off", "profile=23h2",
                              "profile=25h2"};
    for (size_t i = 0; i < COUNT(profiles); i++) {
        struct bed b = start(profiles[i], before, COUNT(before));
        struct share_node *n = found(&b, "first");
        assert_ptr_equal(found(&b, "second"), n);
        assert_ptr_equal(found(&b, "third"), n);
        opens(&b, n, 0, "text");
        play(&b, removed, COUNT(removed));
        opens(&b, n, 0, "text");
        gets_attributes(&b, n, 0);
        play(&b, replaced, COUNT(replaced));
        opens(&b, n, 0, "text");
        gets_attributes(&b, n, 0);
        play(&b, gone, COUNT(gone));
        opens(&b, n, -ENOENT, "");
        gets_attributes(&b, n, -ENOENT);
        for (int k = 0; k < 3; k++)
            share_node_unref(b.share, n);
        stop(&b);
    }
}

/* Somebody renames a file, and back: its node is the same, and is found by the name that it has. */
static void a_renamed_file_opens_by_its_new_name(void **state)
{
    const struct server_node before[] = {LINK(u"old", 2, "text")},
                             after[] = {LINK(u"new", 2, "text")},
                             again[] = {LINK(u"old", 2, "text")};
    struct bed b = start("profile=off", before, COUNT(before));
    struct share_node *n = found(&b, "old");
    play(&b, after, COUNT(after));
    assert_ptr_equal(found(&b, "new"), n);
    opens(&b, n, 0, "text");
    play(&b, again, COUNT(again));
    opens(&b, n, 0, "text");
    assert_ptr_equal(found(&b, "old"), n);
    gets_attributes(&b, n, 0);
    for (int k = 0; k < 3; k++)
        share_node_unref(b.share, n);
    stop(&b);
}

/* A name that leads to a directory by now is no name of the file. */
static void a_file_whose_name_went_to_a_directory_is_stale(void **state)
{
    const struct server_node before[] = {LINK(u"first", 2, "text"), LINK(u"second", 2, "text")};
    const struct server_node after[] = {
        {SERVER_ROOT, SERVER_NAME(u"first"), {.id = 3, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
        LINK(u"second", 2, "text")};
    const struct server_node last[] = {
        {SERVER_ROOT, SERVER_NAME(u"first"), {.id = 3, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
        {SERVER_ROOT, SERVER_NAME(u"second"), {.id = 4, .attributes = FILE_ATTRIBUTE_DIRECTORY}}};
    struct bed b = start("profile=larder,actimeo=60", before, COUNT(before));
    struct share_node *n = found(&b, "first");
    assert_ptr_equal(found(&b, "second"), n);
    play(&b, after, COUNT(after));
    opens(&b, n, 0, "text");
    play(&b, last, COUNT(last));
    opens(&b, n, -ESTALE, "");
    share_node_unref(b.share, n);
    share_node_unref(b.share, n);
    stop(&b);
}

/* A file moves out of a directory that is then replaced: its first name hangs on a directory that
 * no path leads to, and must not be the one that it goes by. */
static void a_file_survives_the_directory_that_it_was_found_in(void **state)
{
    const struct server_node before[] = {
        {SERVER_ROOT, SERVER_NAME(u"dir"), {.id = 10, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
        {0, SERVER_NAME(u"file"), {.id = 2}, SERVER_CONTENT("text")},
    };
    const struct server_node after[] = {
        {SERVER_ROOT, SERVER_NAME(u"dir"), {.id = 11, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
        LINK(u"moved", 2, "text"),
    };
    struct bed b = start("profile=off", before, COUNT(before));
    struct share_node *dir = found(&b, "dir");
    struct share_entry e;
    assert_int_equal(share_lookup(b.share, dir, "file", &e, NULL), 0);
    play(&b, after, COUNT(after));
    struct share_node *other = found(&b, "dir");
    assert_ptr_not_equal(other, dir);
    assert_ptr_equal(found(&b, "moved"), e.node);
    opens(&b, e.node, 0, "text");
    gets_attributes(&b, e.node, 0);
    share_node_unref(b.share, e.node);
    share_node_unref(b.share, e.node);
    share_node_unref(b.share, dir);
    share_node_unref(b.share, other);
    stop(&b);
}

/* No id, and the id that says that there is none: what looks alike is not the same. */
static void files_without_an_id_are_files_of_their_own(void **state)
{
    const uint64_t none[] = {0, UINT64_MAX};
    for (size_t i = 0; i < COUNT(none); i++) {
        const struct server_node nodes[] = {LINK(u"one", none[i], "1111"),
                                            LINK(u"two", none[i], "2222")};
        const char *profiles[] = {"profile=larder", "profile=23h2", "profile=25h2"};
        for (size_t k = 0; k < COUNT(profiles); k++) {
            struct bed b = start(profiles[k], nodes, COUNT(nodes));
            struct share_node *one = found(&b, "one"), *two = found(&b, "two");
            assert_ptr_not_equal(one, two);
            opens(&b, one, 0, "1111");
            opens(&b, two, 0, "2222");
            gets_attributes(&b, two, 0);
            share_node_unref(b.share, one);
            share_node_unref(b.share, two);
            stop(&b);
        }
    }
}

/* ---- locks ---- */

/* Of an open: content that came along with it, and the size that is believed. */
static void shows(struct bed *b, struct share_file *f, struct share_node *n, const char *content)
{
    struct share_entry e;
    char buf[64];
    assert_int_equal(share_read(b->share, f, buf, sizeof buf, 0, NULL), strlen(content));
    assert_memory_equal(buf, content, strlen(content));
    assert_int_equal(share_getattr(b->share, n, &e, NULL), 0);
    assert_int_equal(e.attr.size, strlen(content));
}

/* Another client writes while it has the lock, and lets go: whoever has it next sees that. */
static void who_gets_a_lock_sees_what_was_written_before(void **state)
{
    const struct server_node before[] = {LINK(u"file", 2, "text")},
                             after[] = {LINK(u"file", 2, "and more text")};
    const enum share_lock_type types[] = {SHARE_LOCK_SHARED, SHARE_LOCK_EXCLUSIVE};
    for (size_t i = 0; i < COUNT(types) * 2; i++) {
        bool kept_here = i / COUNT(types); /* such locks are nobody else's business */
        struct bed b =
            start(kept_here ? "profile=larder,actimeo=60,nobrl" : "profile=larder,actimeo=60",
                  before, COUNT(before));
        struct share_node *n = found(&b, "file");
        struct share_file *f;
        assert_int_equal(share_open(b.share, n, SHARE_READ | SHARE_WANT_DATA, &f, NULL, NULL), 0);
        shows(&b, f, n, "text");
        play(&b, after, COUNT(after));
        shows(&b, f, n, "text");
        const struct share_lock lock = {.owner = 1, .type = types[i % COUNT(types)], .end = 9},
                                unlock = {.owner = 1, .type = SHARE_UNLOCK, .end = 9};
        assert_int_equal(share_lock(b.share, f, &lock, false, NULL, NULL, NULL), 0);
        shows(&b, f, n, kept_here ? "text" : "and more text");
        unsigned asked = server_count(b.server, SERVER_ANY);
        share_lock(b.share, f, &unlock, false, NULL, NULL, NULL);
        shows(&b, f, n, kept_here ? "text" : "and more text");
        if (kept_here)
            assert_int_equal(server_count(b.server, SERVER_ANY), asked);
        share_close(b.share, f);
        share_node_unref(b.share, n);
        stop(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_longer_than_any_name_is_refused),
        cmocka_unit_test(a_path_with_a_name_that_cannot_be_is_refused_as_such),
        cmocka_unit_test(a_file_is_found_by_the_names_that_it_still_has),
        cmocka_unit_test(a_renamed_file_opens_by_its_new_name),
        cmocka_unit_test(a_file_whose_name_went_to_a_directory_is_stale),
        cmocka_unit_test(files_without_an_id_are_files_of_their_own),
        cmocka_unit_test(a_file_survives_the_directory_that_it_was_found_in),
        cmocka_unit_test(who_gets_a_lock_sees_what_was_written_before),
    };
    return cmocka_run_group_tests_name("share faults", tests, NULL, NULL);
}
