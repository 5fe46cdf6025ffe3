/* Sweeps, and what bounds a replay: the window of operations, the names of the world. */
#include "film.h"

/* ---- order ---- */

struct heard {
    uint64_t last;
    unsigned begun, ended, gone;
};

static void hear_begin(void *user, void *tag, const struct operation *o, uint64_t now)
{
    struct heard *h = user;
    assert_true(now >= h->last);
    h->last = now;
    h->begun++;
    assert_string_equal(o->path, tag);
    assert_true(o->name_count == 0 || memcmp(o->names[0].name, "entry", 5) == 0);
}

static void hear_end(void *user, void *tag, const struct operation *o, uint64_t now)
{
    struct heard *h = user;
    assert_true(now >= h->last && now >= o->end_ns);
    h->last = now;
    h->ended++;
}

static void hear_gone(void *user, void *tag)
{
    ((struct heard *)user)->gone++;
}

static void operations_come_out_in_order_of_their_beginning(void **state)
{
    struct heard h = {0};
    struct window *w = window_new(&(struct window_events){
        .begins = hear_begin, .ends = hear_end, .gone = hear_gone, .user = &h});
    uint64_t x = 1;
    for (int i = 0; i < 20000; i++) {
        char path[] = "path", name[] = "entry";
        const struct operation_name names[] = {{.name = name, .len = 5}};
        x = x * 6364136223846793005u + 1442695040888963407u;
        struct operation o = {.path = path,
                              .names = names,
                              .name_count = i % 3 == 0,
                              .changes = i % 5 == 0,
                              .begin_ns = 1000 + (uint64_t)i * 10 - (x >> 60),
                              .end_ns = 1000 + (uint64_t)i * 10 + (x >> 55)};
        assert_int_equal(window_add(w, &o, "path"), 0);
        path[0] = name[0] = '!'; /* it has a copy */
    }
    assert_true(h.begun >= 20000 - WINDOW_OPERATIONS && h.begun < 20000);
    window_flush(w);
    assert_int_equal(h.begun, 20000);
    assert_int_equal(h.ended, 4000);
    assert_int_equal(h.gone, 20000);
    window_free(w);
}

static void listings_that_fill_the_window_go_through_it_at_once(void **state)
{
    struct heard h = {0};
    struct window *w = window_new(&(struct window_events){
        .begins = hear_begin, .ends = hear_end, .gone = hear_gone, .user = &h});
    size_t n = WINDOW_BYTES / sizeof(struct operation_name) + 1;
    struct operation_name *names = calloc(n, sizeof(*names));
    for (size_t i = 0; i < n; i++)
        names[i] = (struct operation_name){.name = "entry", .len = 5};
    struct operation o = {.path = "path", .names = names, .name_count = n};
    assert_int_equal(window_add(w, &o, "path"), 0);
    assert_int_equal(h.gone, 1);
    o.name_count = 0;
    assert_int_equal(window_add(w, &o, "path"), 0);
    assert_int_equal(h.gone, 1);
    window_free(w);
    assert_int_equal(h.gone, 2);
    free(names);
}

/* ---- the world ---- */

static void the_world_forgets_what_it_has_not_heard_of_for_the_longest_time(void **state)
{
    struct film f;
    begin(&f, "23h2:DirectoryCacheEntriesMax=1");
    char dir[16], name[16];
    search(&f, "first", "a", true);
    for (int i = 0; i < 40; i++) {
        snprintf(dir, sizeof(dir), "dir%d", i);
        for (int j = 0; j < 4000; j++) {
            snprintf(name, sizeof(name), "n%d", j);
            search(&f, dir, name, true);
        }
    }
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_SEARCH].seen, 160001);
    assert_true(r.predicted.requests[SMB2_CREATE] >= 41);
}

/* ---- sweeps ---- */

static struct sweep *sweep_of(struct film *f, const char *setting)
{
    struct sweep *s;
    struct settings base;
    assert_int_equal(settings_profile("23h2", &base, NULL), 0);
    assert_int_equal(sweep_new(f->replay, setting, &base, &s, NULL), 0);
    return s;
}

static void a_sweep_finds_the_least_value_that_is_enough(void **state)
{
    struct film f;
    struct sweep_result r;
    char dir[16];
    begin(&f, "23h2");
    struct sweep *entries = sweep_of(&f, "directorycacheentriesmax");
    struct sweep *lifetime = sweep_of(&f, "DirectoryCacheLifetime");
    for (int turn = 0; turn < 50; turn++) {
        for (int i = 0; i < 20; i++) { /* twenty directories in rotation, 3 s a turn */
            snprintf(dir, sizeof(dir), "d%d", i);
            list(&f, dir);
        }
        f.now += 3 * S - 200 * MS;
    }
    replay_finish(f.replay);
    sweep_result(entries, &r);
    assert_string_equal(r.setting, "DirectoryCacheEntriesMax");
    assert_int_equal(r.present, 16);
    assert_int_equal(r.enough, 32);
    assert_int_equal(r.point[0].value, 0);
    assert_int_equal(r.point[0].hits, 0);
    assert_int_equal(r.point[1].value, 1);
    assert_int_equal(r.point[r.count - 1].value, 65536);
    assert_true(r.most > 0 && r.point[r.count - 1].hits == r.most);
    assert_true(r.point[4].evicted > 0 && r.point[r.count - 1].evicted == 0);
    for (size_t i = 1; i < r.count; i++)
        assert_true(r.point[i - 1].predicted.messages >= r.point[i].predicted.messages);
    json_t *j = sweep_json(entries);
    assert_int_equal(json_integer_value(json_object_get(j, "enough")), 32);
    assert_int_equal(json_array_size(json_object_get(j, "points")), r.count);
    json_decref(j);
    sweep_result(lifetime, &r); /* at 16 entries the rotation leaves little to be had */
    assert_string_equal(r.unit, "s");
    sweep_free(entries);
    sweep_free(lifetime);
    end(&f);
}

static void a_cache_that_helps_another_to_answer_is_worth_something(void **state)
{
    struct film f;
    struct sweep_result r;
    begin(&f, "23h2");
    struct sweep *s = sweep_of(&f, "FileInfoCacheEntriesMax");
    list(&f, "d");
    for (int i = 0; i < 50; i++) {
        struct operation o = operation(&f, OPERATION_DATA, i % 2 ? "d/a" : "d/b");
        o.served = o.attr_known = true;
        o.attr.size = 2; /* newer than what the listing says */
        request(&o, SMB2_READ, 1);
        play(&f, &o);
        search(&f, "d", i % 2 ? "b" : "a", true); /* the other one */
    }
    replay_finish(f.replay);
    sweep_result(s, &r);
    assert_true(r.point[1].hits < r.most);
    assert_int_equal(r.enough, 2);
    sweep_free(s);
    end(&f);
}

static void every_setting_can_be_swept_and_has_its_present_value_in_the_series(void **state)
{
    static const char *const names[] = {"DirectoryCacheEntriesMax",    "DirectoryCacheLifetime",
                                        "FileInfoCacheEntriesMax",     "FileInfoCacheLifetime",
                                        "FileNotFoundCacheEntriesMax", "FileNotFoundCacheLifetime"};
    for (size_t n = 0; n < 6; n++) {
        struct film f;
        struct sweep *s;
        struct sweep_result r;
        struct settings base;
        begin(&f, "larder");
        assert_int_equal(settings_profile("larder", &base, NULL), 0);
        assert_int_equal(settings_set(&base, names[n], "7", NULL), 0);
        assert_int_equal(sweep_new(f.replay, names[n], &base, &s, NULL), 0);
        for (int i = 0; i < 100; i++) {
            stat_path(&f, "d/a");
            miss(&f, "x/x", FILE_READ_ATTRIBUTES);
            f.now += S;
        }
        replay_finish(f.replay);
        sweep_result(s, &r);
        bool there = false;
        for (size_t i = 0; i < r.count; i++) {
            there |= r.point[i].value == 7;
            assert_true(i == 0 || r.point[i].value > r.point[i - 1].value);
        }
        assert_true(there);
        assert_int_equal(r.present, 7);
        sweep_free(s);
        end(&f);
    }
}

static void a_sweep_of_anything_else_is_refused(void **state)
{
    struct film f;
    struct sweep *s;
    struct settings base;
    struct error err;
    begin(&f, "23h2");
    assert_int_equal(settings_profile("23h2", &base, NULL), 0);
    assert_int_equal(sweep_new(f.replay, "CacheMemoryMax", &base, &s, &err), -ENOENT);
    assert_non_null(strstr(err.text, "DirectoryCacheEntriesMax"));
    end(&f);
}

static void nothing_to_be_had_is_said_so(void **state)
{
    struct film f;
    struct sweep_result r;
    begin(&f, "23h2");
    struct sweep *s = sweep_of(&f, "DirectoryCacheLifetime");
    list(&f, "d");
    replay_finish(f.replay);
    sweep_result(s, &r);
    assert_int_equal(r.most, 0);
    assert_int_equal(r.enough, 0);
    json_t *j = sweep_json(s);
    assert_true(json_is_null(json_object_get(j, "enough")));
    json_decref(j);
    sweep_free(s);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_come_out_in_order_of_their_beginning),
        cmocka_unit_test(listings_that_fill_the_window_go_through_it_at_once),
        cmocka_unit_test(the_world_forgets_what_it_has_not_heard_of_for_the_longest_time),
        cmocka_unit_test(a_sweep_finds_the_least_value_that_is_enough),
        cmocka_unit_test(a_cache_that_helps_another_to_answer_is_worth_something),
        cmocka_unit_test(every_setting_can_be_swept_and_has_its_present_value_in_the_series),
        cmocka_unit_test(a_sweep_of_anything_else_is_refused),
        cmocka_unit_test(nothing_to_be_had_is_said_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
