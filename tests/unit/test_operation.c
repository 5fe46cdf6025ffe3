/* Operations: what an open was for, what it showed and what it took. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exchanges.h"

/* ---- what came out ---- */

enum { MAX_SEEN = 8, MAX_NAMES = 40 };

struct seen {
    struct hand hand;
    struct operations *operations;
    size_t count;
    struct operation op[MAX_SEEN]; /* without what they borrow */
    char pattern[MAX_SEEN][32], path[MAX_SEEN][64], name[MAX_SEEN][MAX_NAMES][32];
};

static void keep(void *user, const struct operation *o)
{
    struct seen *s = user;
    assert_true(s->count < MAX_SEEN);
    size_t i = s->count++;
    s->op[i] = *o;
    snprintf(s->pattern[i], sizeof(s->pattern[i]), "%s", o->pattern ? o->pattern : "(none)");
    snprintf(s->path[i], sizeof(s->path[i]), "%s", o->path ? o->path : "(unknown)");
    for (size_t n = 0; n < o->name_count && n < MAX_NAMES; n++)
        snprintf(s->name[i][n], sizeof(s->name[i][n]), "%.*s", (int)o->names[n].len,
                 o->names[n].name);
}

static int begin(void **state)
{
    struct seen *s = calloc(1, sizeof(*s));
    s->operations = operations_new(keep, s);
    hand_init(&s->hand, operations_exchange, operations_open_closed, s->operations);
    *state = s;
    return s->operations ? 0 : -1;
}

static int end(void **state)
{
    struct seen *s = *state;
    operations_free(s->operations);
    free(s);
    return 0;
}

/* ---- kinds ---- */

static void a_listing_shows_its_names_and_where_it_ended(void **state)
{
    struct seen *s = *state;
    enumerate(&s->hand, "lib/json", "*", 30);
    assert_int_equal(s->count, 1);
    const struct operation *o = &s->op[0];
    assert_int_equal(o->kind, OPERATION_LIST);
    assert_string_equal(s->path[0], "lib/json");
    assert_int_equal(o->name_count, 30);
    assert_string_equal(s->name[0][29], "name29");
    assert_true(o->complete);
    assert_false(o->names_cut);
    assert_int_equal(o->requests[SMB2_CREATE], 1);
    assert_int_equal(o->requests[SMB2_QUERY_DIRECTORY], 2);
    assert_int_equal(o->requests[SMB2_CLOSE], 1);
    assert_int_equal(o->messages, 8);
    assert_int_equal(o->round_trips, 4);
    assert_int_equal(o->waited_ns, 4 * ROUND_NS);
    assert_int_equal(o->end_ns - o->begin_ns, 4 * ROUND_NS);
    /* 104 bytes and the name, to 8: name0..9 take 114, name10..29 116, both 120 */
    assert_int_equal(o->listing_bytes, 30 * 120);
}

static void a_search_knows_whether_the_name_was_there(void **state)
{
    struct seen *s = *state;
    enumerate(&s->hand, "lib", "os.py", 1);
    enumerate(&s->hand, "lib", "no.py", 0);
    enumerate(&s->hand, "lib", "*.py", 3);
    assert_int_equal(s->count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(s->op[i].kind, OPERATION_SEARCH);
    assert_true(s->op[0].search_found);
    assert_string_equal(s->pattern[0], "os.py");
    assert_false(s->op[1].search_found);
    assert_true(s->op[1].complete);
    assert_int_equal(s->op[2].name_count, 3);
}

static void an_open_for_attributes_is_a_stat(void **state)
{
    struct seen *s = *state;
    struct smb_open *o = open_path(&s->hand, "a", LOOK, FILE_OPEN, false);
    give(&s->hand, (struct exchange){.command = SMB2_QUERY_INFO,
                                     .open = o,
                                     .info_type = SMB2_0_INFO_FILE,
                                     .info_class = FILE_ALL_INFORMATION,
                                     .attr = {.size = 77},
                                     .attr_known = true});
    close_open(&s->hand, o);
    assert_int_equal(s->op[0].kind, OPERATION_STAT);
    assert_true(s->op[0].attr_known);
    assert_int_equal(s->op[0].attr.size, 77);
}

static void what_only_the_server_can_do_is_data(void **state)
{
    static const uint16_t commands[] = {SMB2_READ, SMB2_LOCK, SMB2_IOCTL, SMB2_FLUSH};
    struct seen *s = *state;
    for (size_t i = 0; i < 4; i++) {
        struct smb_open *o = open_path(&s->hand, "a", LOOK, FILE_OPEN, false);
        on(&s->hand, o, commands[i]);
        close_open(&s->hand, o);
        assert_int_equal(s->op[i].kind, OPERATION_DATA);
        assert_true(s->op[i].served);
        assert_false(s->op[i].changes);
    }
    /* security is no attribute, and opening for data is not opening for attributes */
    struct smb_open *o = open_path(&s->hand, "a", LOOK, FILE_OPEN, false);
    give(&s->hand, (struct exchange){.command = SMB2_QUERY_INFO, .open = o, .info_type = 3});
    close_open(&s->hand, o);
    close_open(&s->hand, open_path(&s->hand, "a", FILE_READ_DATA, FILE_OPEN, false));
    assert_int_equal(s->op[4].kind, OPERATION_DATA);
    assert_int_equal(s->op[5].kind, OPERATION_DATA);
    assert_false(s->op[5].served);
}

static void a_failed_create_is_a_miss_only_where_it_looked_for_a_name(void **state)
{
    struct seen *s = *state;
    fail_create(&s->hand, "x", STATUS_OBJECT_NAME_NOT_FOUND, FILE_OPEN);
    fail_create(&s->hand, "y/x", STATUS_OBJECT_PATH_NOT_FOUND, FILE_OPEN);
    fail_create(&s->hand, "x", STATUS_ACCESS_DENIED, FILE_OPEN);
    fail_create(&s->hand, "y/x", STATUS_OBJECT_PATH_NOT_FOUND, FILE_CREATE);
    s->hand.share.name = "\\\\srv\\IPC$";
    fail_create(&s->hand, "spoolss", STATUS_OBJECT_NAME_NOT_FOUND, FILE_OPEN);
    static const enum operation_kind kinds[] = {OPERATION_MISS, OPERATION_MISS, OPERATION_OTHER,
                                                OPERATION_OTHER, OPERATION_OTHER};
    assert_int_equal(s->count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(s->op[i].kind, kinds[i]);
    assert_string_equal(s->path[1], "y/x");
    assert_int_equal(s->op[0].messages, 2);
    assert_int_equal(s->op[0].waited_ns, ROUND_NS);
}

static void an_open_from_before_the_capture_has_no_path(void **state)
{
    struct seen *s = *state;
    struct smb_open *o = calloc(1, sizeof(*o));
    *o = (struct smb_open){.share = &s->hand.share, .path = ""};
    close_open(&s->hand, o);
    assert_int_equal(s->op[0].kind, OPERATION_OTHER);
    assert_string_equal(s->path[0], "(unknown)");
    o = calloc(1, sizeof(*o));
    *o = (struct smb_open){.share = &s->hand.share, .path = ""};
    query(&s->hand, o, "*", 2, 0);
    close_open(&s->hand, o);
    assert_int_equal(s->op[1].kind, OPERATION_LIST);
    assert_string_equal(s->path[1], "(unknown)");
    assert_int_equal(s->op[1].name_count, 2);
}

/* ---- enumerated again, compounds, leases ---- */

static void a_directory_read_again_on_one_open_is_two_operations(void **state)
{
    struct seen *s = *state;
    struct smb_open *o = open_path(&s->hand, "d", LIST_IT, FILE_OPEN, true);
    query(&s->hand, o, "*", 3, SMB2_RESTART_SCANS); /* the first one: nothing to begin again */
    query(&s->hand, o, "*", 0, 0);
    query(&s->hand, o, "*", 5, SMB2_RESTART_SCANS);
    query(&s->hand, o, "*", 0, 0);
    close_open(&s->hand, o);
    assert_int_equal(s->count, 2);
    assert_int_equal(s->op[0].requests[SMB2_CREATE], 1);
    assert_int_equal(s->op[0].requests[SMB2_CLOSE], 0);
    assert_int_equal(s->op[0].name_count, 3);
    assert_int_equal(s->op[1].kind, OPERATION_LIST);
    assert_int_equal(s->op[1].requests[SMB2_CREATE], 0);
    assert_int_equal(s->op[1].requests[SMB2_CLOSE], 1);
    assert_int_equal(s->op[1].name_count, 5);
    assert_true(s->op[1].begin_ns >= s->op[0].end_ns);
}

static void a_compound_is_one_round_trip(void **state)
{
    struct seen *s = *state;
    struct hand *h = &s->hand;
    struct smb_open *o = calloc(1, sizeof(*o));
    *o = (struct smb_open){.share = &h->share, .path = "d", .path_known = true};
    uint64_t asked = h->now_ns;
    static const uint16_t commands[] = {SMB2_CREATE, SMB2_QUERY_INFO, SMB2_CLOSE};
    for (uint64_t i = 0; i < 3; i++) {
        struct exchange x = {.command = commands[i],
                             .open = o,
                             .share = &h->share,
                             .info_type = SMB2_0_INFO_FILE,
                             .request_seen = true,
                             .answered = true,
                             .disposition = FILE_OPEN,
                             .group = 9,
                             .asked_ns = asked,
                             .answered_ns = asked + (i + 1) * 100};
        h->exchange(h->user, &x);
    }
    h->closed(h->user, o);
    free(o);
    assert_int_equal(s->op[0].round_trips, 1);
    assert_int_equal(s->op[0].waited_ns, 300);
    assert_int_equal(s->op[0].messages, 6);
}

static void a_promise_is_told(void **state)
{
    struct seen *s = *state;
    struct smb_open *o = open_path(&s->hand, "a", LOOK, FILE_OPEN, false);
    o->lease_granted_known = true;
    o->lease_granted_state = SMB2_LEASE_READ_CACHING;
    o->oplock_granted = SMB2_OPLOCK_LEVEL_LEASE;
    close_open(&s->hand, o);
    o = open_path(&s->hand, "a", LOOK, FILE_OPEN, false);
    o->oplock_granted = SMB2_OPLOCK_LEVEL_II;
    close_open(&s->hand, o);
    look(&s->hand, "a");
    assert_true(s->op[0].lease_granted);
    assert_true(s->op[1].lease_granted);
    assert_false(s->op[2].lease_granted);
}

/* ---- changes ---- */

static void a_change_is_never_overlooked(void **state)
{
    (void)state;
    struct smb_share share = {.name = "\\\\srv\\tools"}, pipes = {.name = "\\\\srv\\ipc$"};
    struct smb_open reader = {.path_known = true, .desired_access = FILE_READ_DATA};
    struct smb_open writer = {.path_known = true, .desired_access = WRITE_DATA};
    struct smb_open unknown = {.path_known = false};
    struct {
        struct exchange x;
        enum exchange_change change;
    } cases[] = {
        {{.command = SMB2_CREATE, .disposition = FILE_OPEN}, CHANGE_NONE},
        {{.command = SMB2_CREATE, .disposition = FILE_OPEN_IF}, CHANGE_PATH},
        {{.command = SMB2_CREATE, .disposition = FILE_CREATE, .status = STATUS_ACCESS_DENIED},
         CHANGE_NONE},
        {{.command = SMB2_CREATE, .disposition = FILE_OPEN, .options = 0x1000}, CHANGE_PATH},
        {{.command = SMB2_WRITE, .open = &writer}, CHANGE_PATH},
        {{.command = SMB2_IOCTL, .open = &reader}, CHANGE_NONE},
        {{.command = SMB2_IOCTL, .open = &writer}, CHANGE_PATH},
        {{.command = SMB2_IOCTL, .open = &unknown}, CHANGE_PATH},
        {{.command = SMB2_SET_INFO, .info_type = 1, .info_class = 4}, CHANGE_PATH},
        {{.command = SMB2_SET_INFO, .info_type = 1, .info_class = 10}, CHANGE_ELSEWHERE_TOO},
        {{.command = SMB2_SET_INFO, .info_type = 1, .info_class = 65}, CHANGE_ELSEWHERE_TOO},
        {{.command = SMB2_READ, .open = &writer}, CHANGE_NONE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cases[i].x.answered = true;
        cases[i].x.share = &share;
        assert_int_equal(exchange_changes(&cases[i].x), cases[i].change);
        cases[i].x.share = &pipes;
        assert_int_equal(exchange_changes(&cases[i].x), CHANGE_NONE);
    }
    /* nobody knows what became of it */
    struct exchange lost = {.command = SMB2_WRITE, .share = &share};
    assert_int_equal(exchange_changes(&lost), CHANGE_PATH);
}

static void a_rename_to_a_name_that_could_not_be_read_may_be_to_anywhere(void **state)
{
    struct seen *s = *state;
    const char *const targets[] = {"lib/b", "", NULL};
    for (size_t i = 0; i < 3; i++) {
        struct smb_open *o = open_path(&s->hand, "lib/a", LOOK, FILE_OPEN, false);
        give(&s->hand, (struct exchange){.command = SMB2_SET_INFO,
                                         .open = o,
                                         .info_type = SMB2_0_INFO_FILE,
                                         .info_class = FILE_RENAME_INFORMATION,
                                         .pattern = targets[i]});
        close_open(&s->hand, o);
        assert_true(s->op[i].changes);
        assert_int_equal(s->op[i].moved_to != NULL, i == 0);
        assert_int_equal(s->op[i].changes_elsewhere, i != 0);
    }
}

/* ---- hostile listings ---- */

static void a_listing_cut_short_gives_what_was_there(void **state)
{
    struct seen *s = *state;
    uint8_t buffer[1024];
    struct wr w = wr_init(buffer, sizeof(buffer));
    size_t last = SIZE_MAX;
    for (int i = 0; i < 3; i++) {
        struct wire_dirent e = {.name = rd_init("a\0b\0", 4)};
        wire_dirent_encode(&w, &last, &e);
    }
    for (size_t len = 0; len <= w.pos; len++) {
        struct smb_open *o = open_path(&s->hand, "d", LIST_IT, FILE_OPEN, true);
        uint8_t *exact = malloc(len + 1);
        memcpy(exact, buffer, len);
        give(&s->hand, (struct exchange){.command = SMB2_QUERY_DIRECTORY,
                                         .open = o,
                                         .pattern = "*",
                                         .info_class = FILE_ID_BOTH_DIRECTORY_INFORMATION,
                                         .listing = rd_init(exact, len)});
        free(exact);
        close_open(&s->hand, o);
        assert_true(s->op[0].name_count <= 3);
        assert_true(len < w.pos || s->op[0].name_count == 3);
        assert_int_equal(s->op[0].kind, OPERATION_LIST);
        s->count = 0;
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_listing_shows_its_names_and_where_it_ended),
        TEST(a_search_knows_whether_the_name_was_there),
        TEST(an_open_for_attributes_is_a_stat),
        TEST(what_only_the_server_can_do_is_data),
        TEST(a_failed_create_is_a_miss_only_where_it_looked_for_a_name),
        TEST(an_open_from_before_the_capture_has_no_path),
        TEST(a_directory_read_again_on_one_open_is_two_operations),
        TEST(a_compound_is_one_round_trip),
        TEST(a_promise_is_told),
        TEST(a_change_is_never_overlooked),
        TEST(a_rename_to_a_name_that_could_not_be_read_may_be_to_anywhere),
        TEST(a_listing_cut_short_gives_what_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
