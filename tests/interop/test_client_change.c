/*
 * Changes of names and attributes: each does what it says, looked at from the share's own disk, in
 * one round trip, also where the name has characters that SMB reserves.
 */
#include "client_bed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- attributes ---- */

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
    COSTS(1, client_set_basic(client, "timed", &basic, NULL, CLIENT_COMPOUND, &attr, &err));
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
    WORKS(client_mkdir(client, "timed dir", NULL, CLIENT_COMPOUND, NULL, &err));
    COSTS(3, client_set_basic(client, "timed dir", &(struct client_basic){.written = basic.written},
                              NULL, CLIENT_SINGLE, &attr, &err));
    assert_int_equal(attr.written, basic.written);
    assert_true(file_attr_is_dir(&attr));
}

/* ---- names ---- */

static void test_directories_are_made_and_removed_in_one_round_trip(void **state)
{
    struct file_attr attr = {0};
    COSTS(1, client_mkdir(client, "new dir", NULL, CLIENT_COMPOUND, &attr, &err));
    assert_true(S_ISDIR(stat_local("new dir").st_mode));
    assert_true(file_attr_is_dir(&attr));
    assert_int_equal(attr.id, attr_of("new dir").id);
    FAILS(-EEXIST, client_mkdir(client, "new dir", NULL, CLIENT_COMPOUND, NULL, &err));
    FAILS(-ENOENT, client_mkdir(client, "none/new dir", NULL, CLIENT_COMPOUND, NULL, &err));

    put_text("new dir/file", "x");
    FAILS(-ENOTEMPTY, client_remove(client, "new dir", true, NULL, CLIENT_COMPOUND, &err));
    FAILS(-ENOTEMPTY, client_remove(client, "new dir", true, NULL, CLIENT_SINGLE, &err));
    FAILS(-ENOTDIR, client_remove(client, "new dir/file", true, NULL, CLIENT_COMPOUND, &err));
    FAILS(-EISDIR, client_remove(client, "new dir", false, NULL, CLIENT_COMPOUND, &err));
    COSTS(1, client_remove(client, "new dir/file", false, NULL, CLIENT_COMPOUND, &err));
    assert_false(exists("new dir/file"));
    COSTS(1, client_remove(client, "new dir", true, NULL, CLIENT_COMPOUND, &err));
    assert_false(exists("new dir"));
    FAILS(-ENOENT, client_remove(client, "new dir", true, NULL, CLIENT_COMPOUND, &err));

    COSTS(2, client_mkdir(client, "new dir", NULL, CLIENT_SINGLE, &attr, &err));
    COSTS(3, client_remove(client, "new dir", true, NULL, CLIENT_SINGLE, &err));
    assert_false(exists("new dir"));
}

static void set_read_only(const char *name)
{
    const struct client_basic basic = {.attributes =
                                           FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_HIDDEN};
    WORKS(client_set_basic(client, name, &basic, NULL, CLIENT_COMPOUND, NULL, &err));
    assert_int_equal(attr_of(name).attributes, basic.attributes);
}

static void test_a_read_only_file_is_removed_and_its_other_links_stay_so(void **state)
{
    for (enum client_style style = CLIENT_SINGLE; style <= CLIENT_COMPOUND; style++) {
        put_text("locked away", "x");
        WORKS(client_link(client, "locked away", "other name", false, NULL, style, NULL, &err));
        set_read_only("locked away");
        if (style == CLIENT_COMPOUND)
            COSTS(2, client_remove(client, "locked away", false, NULL, style, &err));
        else
            WORKS(client_remove(client, "locked away", false, NULL, style, &err));
        assert_false(exists("locked away"));
        assert_int_equal(attr_of("other name").attributes,
                         FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_HIDDEN);
        WORKS(client_remove(client, "other name", false, NULL, style, &err));
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
    FAILS(-EEXIST, client_rename(client, "from", "to", false, NULL, CLIENT_COMPOUND, NULL, &err));
    holds("to", "old", 3);
    uint64_t id = attr_of("from").id;
    COSTS(1, client_rename(client, "from", "to", true, NULL, CLIENT_COMPOUND, &attr, &err));
    holds("to", "new", 3);
    assert_false(exists("from"));
    assert_int_equal(attr.id, id);
    assert_int_equal(attr.size, 3);
    COSTS(3, client_rename(client, "to", "t", false, NULL, CLIENT_SINGLE, &attr, &err));
    holds("t", "new", 3);

    WORKS(client_mkdir(client, "dir", NULL, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_rename(client, "t", "dir/deep", false, NULL, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_rename(client, "dir", "moved dir", false, NULL, CLIENT_COMPOUND, NULL, &err));
    holds("moved dir/deep", "new", 3);
    FAILS(-ENOENT, client_rename(client, "none", "x", false, NULL, CLIENT_COMPOUND, NULL, &err));
    FAILS(-ENOENT, client_rename(client, "moved dir/deep", "none/x", false, NULL, CLIENT_COMPOUND,
                                 NULL, &err));
}

static void test_a_rename_changes_only_the_case(void **state)
{
    struct file_attr attr;
    char spelling[CLIENT_NAME_MAX];
    put_text("readme", "x");
    WORKS(client_rename(client, "readme", "ReadMe", false, NULL, CLIENT_COMPOUND, NULL, &err));
    assert_true(exists("ReadMe") && !exists("readme"));
    WORKS(client_stat(client, "README", CLIENT_COMPOUND, &attr, spelling, &err));
    assert_string_equal(spelling, "ReadMe");
    WORKS(client_mkdir(client, "folder", NULL, CLIENT_COMPOUND, NULL, &err));
    WORKS(client_rename(client, "folder", "Folder", false, NULL, CLIENT_COMPOUND, NULL, &err));
    assert_true(exists("Folder") && !exists("folder"));
}

static void test_a_hard_link_is_a_second_name(void **state)
{
    struct file_attr attr = {0};
    put_text("one", "same");
    put_text("taken", "other");
    COSTS(1, client_link(client, "one", "two", false, NULL, CLIENT_COMPOUND, &attr, &err));
    assert_int_equal(stat_local("one").st_ino, stat_local("two").st_ino);
    assert_int_equal(attr.id, attr_of("two").id);
    assert_int_equal(attr_of("two").links, 2);
    FAILS(-EEXIST, client_link(client, "one", "taken", false, NULL, CLIENT_COMPOUND, NULL, &err));
    holds("taken", "other", 5);
    FAILS(-ENOENT, client_link(client, "none", "three", false, NULL, CLIENT_COMPOUND, NULL, &err));
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
    WORKS(client_mkdir(client, "names", NULL, CLIENT_COMPOUND, NULL, &err));
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
        WORKS(client_rename(client, here, "names/plain", false, NULL, CLIENT_COMPOUND, NULL, &err));
        WORKS(client_rename(client, "names/plain", here, false, NULL, CLIENT_COMPOUND, NULL, &err));
        WORKS(client_remove(client, here, false, NULL, CLIENT_COMPOUND, &err));
    }
    WORKS(client_remove(client, "names", true, NULL, CLIENT_COMPOUND, &err));
}

static void test_without_mapping_reserved_characters_are_refused(void **state)
{
    struct client_options o = options();
    struct file_attr attr;
    char spelling[CLIENT_NAME_MAX];
    o.map_names = false;
    struct client *c = connect_or_fail(&o);
    FAILS(-EINVAL, client_mkdir(c, "a\\b", NULL, CLIENT_COMPOUND, NULL, &err));
    FAILS(-ENOENT, client_stat(c, "a\\b", CLIENT_COMPOUND, &attr, NULL, &err));
    FAILS(-EINVAL, client_mkdir(c, "a*b", NULL, CLIENT_COMPOUND, NULL, &err));
    put_text("plain name", "x");
    FAILS(-EINVAL, client_rename(c, "plain name", "a<b", false, NULL, CLIENT_COMPOUND, NULL, &err));
    put_text("a<b", "x");
    WORKS(client_stat(c, "a\uf023b", CLIENT_COMPOUND, &attr, spelling, &err));
    assert_string_equal(spelling, "a\uf023b");
    client_free(c);
}

/* ---- links ---- */

static void refused_links_leave_nothing(void)
{
    char *target = NULL;
    FAILS(-EOPNOTSUPP, client_symlink(client, "a link", "to/nowhere", false, NULL, NULL, &err));
    assert_false(exists("a link"));
    FAILS(-EOPNOTSUPP, client_symlink(client, "a link", "to/nowhere", true, NULL, NULL, &err));
    assert_false(exists("a link"));
    FAILS(-ENOENT, client_read_link(client, "none", &target, &err));
    assert_null(target);
}

static void link_leads_to(const char *to)
{
    struct file_attr attr = {0};
    char *target = NULL;
    COSTS(2, client_symlink(client, "a link", to, false, NULL, &attr, &err));
    assert_true(attr.attributes & FILE_ATTRIBUTE_REPARSE_POINT);
    assert_int_equal(attr.id, attr_of("a link").id);
    COSTS(1, client_read_link(client, "a link", &target, &err));
    assert_string_equal(target, to);
    free(target);
    FAILS(-EEXIST, client_symlink(client, "a link", to, false, NULL, NULL, &err));
    WORKS(client_remove(client, "a link", false, NULL, CLIENT_COMPOUND, &err));
    FAILS(-ENOENT, client_stat(client, "a link", CLIENT_COMPOUND, &attr, NULL, &err));
}

/* Samba has links from 4.20 or so on. */
static void test_links_lead_where_they_were_made_to_or_leave_nothing(void **state)
{
    static const char *const targets[] = {"a/deep/way/down.TXT", "../out", "/usr/bin/env",   ".",
                                          "what?/a*b/c\\d. ",    "\u20ac", "/?\?/C:/Windows"};
    char *target = NULL;
    put_text("no link", "x");
    FAILS(-EINVAL, client_read_link(client, "no link", &target, &err));
    FAILS(-ENOENT, client_symlink(client, "a link", "", false, NULL, NULL, &err));
    if (client_symlink(client, "a link", "x", false, NULL, NULL, &err) == -EOPNOTSUPP) {
        refused_links_leave_nothing();
        return;
    }
    WORKS(client_remove(client, "a link", false, NULL, CLIENT_COMPOUND, &err));
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
        link_leads_to(targets[i]);
    /* Samba takes no directory for a link, and the one that was made for it goes again */
    FAILS(-EACCES, client_symlink(client, "a link", "a/deep", true, NULL, NULL, &err));
    assert_false(exists("a link"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_are_kept_to_100_ns_and_attributes_replaced),
        cmocka_unit_test(test_directories_are_made_and_removed_in_one_round_trip),
        cmocka_unit_test(test_a_read_only_file_is_removed_and_its_other_links_stay_so),
        cmocka_unit_test(test_a_rename_replaces_only_where_asked),
        cmocka_unit_test(test_a_rename_changes_only_the_case),
        cmocka_unit_test(test_a_hard_link_is_a_second_name),
        cmocka_unit_test(test_an_open_renames_and_removes_its_file),
        cmocka_unit_test(test_reserved_characters_are_mapped_both_ways),
        cmocka_unit_test(test_without_mapping_reserved_characters_are_refused),
        cmocka_unit_test(test_links_lead_where_they_were_made_to_or_leave_nothing),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
