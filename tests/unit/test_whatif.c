/*
 * What-if on operations made by hand: what is answered, what is asked and at what price, and what
 * is never claimed. Real captures are tests/interop's matter.
 */
#include "film.h"

/* ---- listings ---- */

static void a_listing_repeated_within_its_lifetime_is_avoidable(void **state)
{
    struct film f;
    begin(&f, "23h2");
    list(&f, "d");
    list(&f, "d");
    list(&f, "e");
    f.now += 10 * S;
    list(&f, "d");
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_LIST].seen, 4);
    assert_int_equal(r.operations[OPERATION_LIST].avoidable, 1);
    assert_int_equal(r.avoidable[OBSERVE_DIR].requests, 4);
    assert_int_equal(r.seen.messages, 32);
    assert_int_equal(r.predicted.messages, 24);
    assert_int_equal(r.predicted.round_trips, 12);
    assert_int_equal(r.predicted.waited_ns, 12 * MS);
    asks(&r, 3, 6, 0);
}

static struct operation slow(struct film *f)
{
    const struct operation_name none[] = {entry("a")};
    struct operation o = listing(f, "d", none, 0);
    o.waited_ns = 3 * S;
    return o;
}

static void a_client_that_waits_less_sees_fewer_lifetimes_run_out(void **state)
{
    struct film f;
    begin(&f, "23h2");
    for (int i = 0; i < 6; i++) { /* 3 s each, of which only the first is waited for */
        struct operation o = slow(&f);
        play(&f, &o);
        f.now = o.end_ns + 10 * MS;
    }
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_LIST].avoidable, 5);
    assert_int_equal(r.predicted.waited_ns, 3 * S);

    begin(&f, "23h2");
    for (int i = 0; i < 6; i++) { /* the same time, but the application was busy itself */
        list(&f, "d");
        f.now += 3 * S;
    }
    r = end(&f);
    assert_int_equal(r.operations[OPERATION_LIST].avoidable, 4);
}

static void waits_that_overlap_are_not_taken_off_twice(void **state)
{
    struct film f;
    begin(&f, "23h2");
    uint64_t from = f.now;
    list(&f, "d");
    for (int i = 0; i < 20; i++) { /* all within 9 s, each 3 s long */
        f.now = from + S + (uint64_t)i * 400 * MS;
        struct operation o = slow(&f);
        play(&f, &o);
    }
    f.now = from + 17 * S; /* at the least 8 s without any wait */
    list(&f, "d");
    f.now = from + 30 * S;
    list(&f, "d");
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_LIST].avoidable, 21);
}

static void a_profile_without_a_directory_cache_claims_nothing_for_listings(void **state)
{
    struct film f;
    begin(&f, "25h2");
    for (int i = 0; i < 10; i++)
        list(&f, "d");
    struct whatif_result r = end(&f);
    same_as_seen(&r);
}

static void searches_in_one_directory_become_one_listing(void **state)
{
    struct film f;
    begin(&f, "23h2");
    search(&f, "d", "a", true);
    search(&f, "d", "b", true);
    search(&f, "d", "x", false);
    search(&f, "d", "a", true);
    struct whatif_result r = end(&f);
    asks(&r, 1, 2, 0);
    assert_int_equal(r.predicted.messages, 8);
    assert_int_equal(r.operations[OPERATION_SEARCH].avoidable, 3);
    assert_int_equal(r.avoidable[OBSERVE_DIR].requests, 4 + 3 + 4);
    assert_int_equal(r.revealed, 1); /* b: a was known when it was listed */
    assert_int_equal(r.contradicted, 0);
}

static void a_component_that_turns_up_on_the_way_was_listed_too(void **state)
{
    struct film f;
    begin(&f, "23h2");
    search(&f, "", "d", true);
    search(&f, "e/f", "a", true); /* the root's listing must have had e */
    search(&f, "", "e", true);
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_SEARCH].avoidable, 1);
    assert_int_equal(r.predicted.requests[SMB2_CREATE], 2);
    assert_int_equal(r.contradicted, 0);
}

static void a_whole_listing_is_taken_at_its_word(void **state)
{
    struct film f;
    begin(&f, "23h2");
    list(&f, "d"); /* a and b */
    search(&f, "d", "c", true);
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_SEARCH].avoidable, 0);
    assert_int_equal(r.contradicted, 1);
    assert_int_equal(r.predicted.requests[SMB2_CREATE], 2);
}

static void a_directory_that_a_whole_listing_lacks_is_there_from_then_on(void **state)
{
    struct film f;
    begin(&f, "23h2");
    list(&f, "");                     /* a and b */
    search(&f, "new/sub", "x", true); /* asked as it was */
    search(&f, "new/sub", "x", true); /* listed */
    search(&f, "new/sub", "y", false);
    struct whatif_result r = end(&f);
    assert_int_equal(r.contradicted, 1);
    assert_int_equal(r.operations[OPERATION_SEARCH].avoidable, 1);
}

static void a_name_that_was_missing_before_it_was_there_was_not_listed(void **state)
{
    struct film f;
    begin(&f, "23h2");
    search(&f, "d", "a", true);
    search(&f, "d", "x", false);
    search(&f, "d", "x", true); /* came about unseen: the client would have been wrong */
    search(&f, "d", "x", true); /* a new listing */
    search(&f, "d", "x", true);
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_SEARCH].avoidable, 2);
    assert_int_equal(r.contradicted, 1);
    assert_int_equal(r.revealed, 0);
}

static void a_name_that_vanished_unseen_is_asked_for(void **state)
{
    struct film f;
    begin(&f, "23h2");
    list(&f, "d");
    search(&f, "d", "a", false);
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_SEARCH].avoidable, 0);
    assert_int_equal(r.contradicted, 1);
}

static void after_a_rename_to_somewhere_no_older_listing_is_added_to(void **state)
{
    struct film f;
    begin(&f, "23h2");
    search(&f, "d", "a", true);
    struct operation o = writing(&f, "elsewhere/file");
    o.changes_elsewhere = true;
    play(&f, &o);
    search(&f, "d", "b", true);
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_SEARCH].avoidable, 0);
    assert_int_equal(r.contradicted, 1);
    assert_int_equal(r.revealed, 0);
}

static void a_rename_changes_both_of_its_directories(void **state)
{
    struct film f;
    begin(&f, "23h2");
    list(&f, "d");
    list(&f, "e");
    list(&f, "f");
    struct operation o = writing(&f, "d/a");
    o.disposition = FILE_OPEN;
    o.moved_to = "e/c";
    play(&f, &o);
    list(&f, "d"); /* asked */
    list(&f, "e"); /* asked */
    list(&f, "f"); /* answered */
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_LIST].avoidable, 1);
}

static void a_listing_that_grows_too_large_was_so_from_the_first(void **state)
{
    struct film f;
    char name[16];
    begin(&f, "23h2:DirectoryCacheEntrySizeMax=1200"); /* ten entries of 120 bytes */
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "name%04d", i);
        search(&f, "d", name, true);
    }
    struct whatif_result r = end(&f);
    /* one listing, nine answers, then each by its path */
    assert_int_equal(r.operations[OPERATION_SEARCH].avoidable, 9);
    asks(&r, 1 + 10, 2, 10);
}

static void a_large_directory_costs_as_much_a_name_as_a_small_one(void **state)
{
    struct film f;
    char name[16];
    begin(&f, "23h2:DirectoryCacheEntrySizeMax=4294967295,DirectoryCacheLifetime=10000,"
              "FileInfoCacheLifetime=10000");
    clock_t from = clock();
    for (int i = 0; i < 60000; i++) {
        snprintf(name, sizeof(name), "name%06d", i);
        search(&f, "d", name, true);
    }
    struct whatif_result r = end(&f);
    assert_int_equal(r.revealed, 59999);
    assert_int_equal(r.predicted.requests[SMB2_CREATE], 1);
    assert_true((clock() - from) / CLOCKS_PER_SEC < 20); /* a copy each would take minutes */
}

static void a_directory_seen_listed_costs_the_queries_that_it_took(void **state)
{
    struct film f;
    const struct operation_name names[] = {entry("a"), entry("b")};
    begin(&f, "23h2");
    struct operation o = listing(&f, "d", names, 2);
    request(&o, SMB2_QUERY_DIRECTORY, 5); /* seven in all */
    play(&f, &o);
    f.now += 20 * S;
    search(&f, "d", "a", true);
    struct whatif_result r = end(&f);
    asks(&r, 2, 14, 0);
}

/* ---- names that are missing ---- */

static void missing_names_are_answered_by_the_listing_and_by_the_not_found_cache(void **state)
{
    struct film f;
    begin(&f, "23h2");
    list(&f, "d");
    miss(&f, "d/x", FILE_READ_DATA);
    struct whatif_result r = end(&f);
    assert_int_equal(r.avoidable[OBSERVE_DIR].requests, 1 + 0);

    begin(&f, "25h2");
    miss(&f, "d/x", FILE_READ_DATA);
    miss(&f, "d/x", FILE_READ_DATA);
    f.now += 5 * S;
    miss(&f, "d/x", FILE_READ_DATA);
    r = end(&f);
    assert_int_equal(r.avoidable[OBSERVE_NOTFOUND].requests, 1);
    asks(&r, 2, 0, 0);
}

static void an_open_of_a_missing_name_lists_nothing(void **state)
{
    struct film f;
    begin(&f, "23h2");
    miss(&f, "d/x", FILE_READ_DATA);
    struct whatif_result r = end(&f);
    same_as_seen(&r);
    begin(&f, "23h2");
    miss(&f, "d/x", FILE_READ_ATTRIBUTES); /* a look-up does */
    r = end(&f);
    asks(&r, 1, 2, 0);
}

static void a_missing_directory_on_the_way_costs_one_create(void **state)
{
    struct film f;
    begin(&f, "23h2");
    struct operation o = operation(&f, OPERATION_MISS, "no/such/thing");
    o.status = STATUS_OBJECT_PATH_NOT_FOUND;
    request(&o, SMB2_CREATE, 1);
    play(&f, &o);
    struct whatif_result r = end(&f);
    same_as_seen(&r);
    begin(&f, "23h2");
    list(&f, ""); /* has no `no` */
    play(&f, &(struct operation){.kind = OPERATION_MISS,
                                 .share = &f.share,
                                 .path = "no/such/thing",
                                 .disposition = FILE_OPEN,
                                 .status = STATUS_OBJECT_PATH_NOT_FOUND,
                                 .requests[SMB2_CREATE] = 1,
                                 .messages = 2,
                                 .round_trips = 1});
    r = end(&f);
    assert_int_equal(r.avoidable[OBSERVE_DIR].operations, 1);
}

/* ---- attributes ---- */

static void attributes_are_answered_by_the_file_info_cache_where_that_answers_look_ups(void **state)
{
    struct film f;
    begin(&f, "larder:DirectoryCache=off");
    stat_path(&f, "d/a");
    stat_path(&f, "d/a");
    f.now += 10 * S;
    stat_path(&f, "d/a");
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_STAT].avoidable, 1);
    assert_int_equal(r.avoidable[OBSERVE_INFO].requests, 3);
    asks(&r, 2, 0, 2);
}

static void attributes_are_a_look_up_in_the_profiles_own_way(void **state)
{
    struct film f;
    begin(&f, "25h2"); /* whose file info cache answers no look-up */
    stat_path(&f, "d/a");
    stat_path(&f, "d/a");
    struct whatif_result r = end(&f);
    assert_int_equal(avoidable(&r), 0);
    asks(&r, 2, 4, 0);
    begin(&f, "off");
    stat_path(&f, "d/a");
    stat_path(&f, "d/a");
    r = end(&f);
    same_as_seen(&r);
}

/* More files are read than the file info cache holds, with a look-up of `d` before each. Now and
 * then `d` itself is opened: of its attributes the cache then holds newer ones than the root's
 * listing. */
static struct whatif_result many_reads(const char *files)
{
    struct film f;
    char path[16];
    static char names[300][16];
    struct operation_name in_root[301] = {entry("d")};
    in_root[0].attr.attributes = FILE_ATTRIBUTE_DIRECTORY;
    for (int i = 0; i < 300; i++) {
        snprintf(names[i], sizeof(names[i]), "f%d", i);
        in_root[i + 1] = entry(names[i]);
    }
    begin(&f, "23h2");
    struct operation o = listing(&f, "", in_root, 301);
    play(&f, &o);
    for (int i = 0; i < 300; i++) {
        if (i % 100 == 0) {
            o = operation(&f, OPERATION_DATA, "d");
            o.served = o.is_directory = o.attr_known = true;
            request(&o, SMB2_CREATE, 1);
            play(&f, &o);
        }
        o = operation(&f, OPERATION_STAT, "d");
        o.attr_known = o.is_directory = true;
        request(&o, SMB2_CREATE, 1);
        play(&f, &o);
        snprintf(path, sizeof(path), files, i);
        o = operation(&f, OPERATION_DATA, path);
        o.served = o.attr_known = true;
        request(&o, SMB2_READ, 1);
        play(&f, &o);
    }
    struct whatif_result r = end(&f);
    assert_true(r.cache[OBSERVE_INFO].evictions > 200);
    return r;
}

static void what_was_looked_up_for_itself_was_used_and_stays(void **state)
{
    struct whatif_result itself = many_reads("f%d"), on_the_way = many_reads("d/f%d");
    uint64_t lost = itself.cache[OBSERVE_DIR].misses[MISS_EVICTED];
    assert_true(lost <= 1); /* a second chance can come to nothing where all have one */
    assert_int_equal(itself.operations[OPERATION_STAT].avoidable, 300 - lost);
    assert_int_equal(on_the_way.cache[OBSERVE_DIR].misses[MISS_EVICTED], 3);
}

static void the_roots_own_attributes_are_asked_by_its_path(void **state)
{
    struct film f;
    begin(&f, "23h2");
    stat_path(&f, "");
    stat_path(&f, "");
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_STAT].avoidable, 1);
    asks(&r, 1, 0, 1);
}

/* ---- never avoidable ---- */

static void what_served_data_a_lease_or_a_lock_is_kept(void **state)
{
    struct film f;
    const struct operation_name names[] = {entry("a"), entry("b")};
    begin(&f, "23h2");
    for (int i = 0; i < 3; i++) {
        struct operation leased = listing(&f, "d", names, 2), notified = leased;
        leased.lease_granted = true;
        play(&f, &leased);
        notified.served = true;
        request(&notified, SMB2_CHANGE_NOTIFY, 1);
        play(&f, &notified);
        struct operation data = operation(&f, OPERATION_DATA, "d/a");
        data.served = data.attr_known = true;
        request(&data, SMB2_CREATE, 1);
        request(&data, SMB2_READ, 1);
        request(&data, SMB2_CLOSE, 1);
        play(&f, &data);
    }
    struct whatif_result r = end(&f);
    same_as_seen(&r);
}

static void what_they_brought_is_believed_all_the_same(void **state)
{
    struct film f;
    const struct operation_name names[] = {entry("a"), entry("b")};
    begin(&f, "23h2");
    struct operation leased = listing(&f, "d", names, 2);
    leased.lease_granted = true;
    play(&f, &leased);
    list(&f, "d");
    search(&f, "d", "x", false);
    struct whatif_result r = end(&f);
    assert_int_equal(r.avoidable[OBSERVE_DIR].operations, 2);
    assert_int_equal(r.contradicted, 0);
}

static void streams_patterns_and_pipes_are_kept(void **state)
{
    struct film f;
    begin(&f, "23h2");
    list(&f, "d");
    for (int i = 0; i < 2; i++) {
        search(&f, "d", "*.py", true);
        miss(&f, "d/a:Zone.Identifier", FILE_READ_ATTRIBUTES);
        miss(&f, "d/../d/x", FILE_READ_ATTRIBUTES);
        struct operation unknown = operation(&f, OPERATION_LIST, NULL);
        request(&unknown, SMB2_QUERY_DIRECTORY, 2);
        play(&f, &unknown);
    }
    f.share.name = "\\\\srv\\IPC$";
    miss(&f, "srvsvc", FILE_READ_ATTRIBUTES);
    miss(&f, "srvsvc", FILE_READ_ATTRIBUTES);
    struct whatif_result r = end(&f);
    same_as_seen(&r);
}

/* ---- changes ---- */

static void a_change_by_another_client_counts_for_all(void **state)
{
    struct film f;
    begin(&f, "23h2");
    list(&f, "d");
    miss(&f, "d/x", FILE_READ_ATTRIBUTES); /* answered */
    f.share.client = "192.0.2.10";
    f.share.session_id = 0x22;
    write_path(&f, "d/y");
    f.share.client = "192.0.2.9";
    f.share.session_id = 0x11;
    list(&f, "d"); /* asked */
    list(&f, "d"); /* answered */
    struct whatif_result r = end(&f);
    assert_int_equal(r.avoidable[OBSERVE_DIR].operations, 2);
    assert_int_equal(r.operations[OPERATION_LIST].avoidable, 1);
    assert_int_equal(r.predicted.requests[SMB2_WRITE], 1);
}

static void a_change_counts_when_it_begins_and_when_it_ends(void **state)
{
    struct film f;
    begin(&f, "23h2");
    uint64_t from = f.now;
    list(&f, "d");
    struct operation o = writing(&f, "d/y");
    o.begin_ns = from + 100 * MS;
    o.end_ns = from + 300 * MS;
    f.now = from + 200 * MS;
    list(&f, "d"); /* asked: changed since */
    f.now = from + 250 * MS;
    list(&f, "d"); /* answered */
    play(&f, &o);  /* ends here, and so comes here */
    f.now = from + 400 * MS;
    list(&f, "d"); /* asked */
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_LIST].avoidable, 1);
}

static void writing_data_leaves_the_names_alone(void **state)
{
    struct film f;
    begin(&f, "23h2:FileInfoCacheLifetime=10");
    list(&f, "d");
    search(&f, "d", "a", true); /* d/a is known from here */
    struct operation o = writing(&f, "d/a");
    o.disposition = FILE_OPEN;
    play(&f, &o);
    search(&f, "d", "x", false); /* by the listing */
    stat_path(&f, "d/a");        /* asked: its size may be another */
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_SEARCH].avoidable, 2);
    assert_int_equal(r.operations[OPERATION_STAT].avoidable, 0);
}

/* ---- who shares what ---- */

static void sessions_share_no_belief_and_connections_of_one_do(void **state)
{
    struct film f;
    begin(&f, "23h2");
    list(&f, "d");
    f.share.session_id = 0x22;
    list(&f, "d"); /* asked */
    f.share.session_id = 0x11;
    f.share.tree_id = 5; /* connected anew, the same session */
    list(&f, "d");       /* answered */
    f.share.name = "\\\\srv\\other";
    list(&f, "d"); /* asked */
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_LIST].avoidable, 1);
}

static void a_session_that_was_logged_off_takes_its_caches_along(void **state)
{
    struct film f;
    begin(&f, "23h2");
    for (int i = 0; i < REPLAY_SEATS_MAX + 10; i++) {
        list(&f, "d");
        list(&f, "d"); /* answered */
        replay_share_left(f.replay, &f.share);
        f.now += 20 * S; /* the window may have it still */
    }
    replay_finish(f.replay);
    assert_int_equal(replay_seen(f.replay)->seats, REPLAY_SEATS_MAX + 10);
    assert_int_equal(replay_seen(f.replay)->seats_dropped, 0);
    struct whatif_result r = end(&f);
    assert_int_equal(r.operations[OPERATION_LIST].avoidable, REPLAY_SEATS_MAX + 10);
}

static void more_sessions_than_are_kept_begin_anew(void **state)
{
    struct film f;
    begin(&f, "23h2");
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < REPLAY_SEATS_MAX + 10; i++) {
            f.share.session_id = 0x100 + (uint64_t)i;
            list(&f, "d");
        }
    }
    replay_finish(f.replay);
    assert_true(replay_seen(f.replay)->seats_dropped >= 10);
    struct whatif_result r = end(&f);
    assert_int_equal(r.seen.requests[SMB2_CREATE], 2 * (REPLAY_SEATS_MAX + 10));
    assert_int_equal(effort_requests(&r.predicted) + avoidable(&r), effort_requests(&r.seen));
}

/* ---- the price ---- */

static void compounds_cost_a_round_trip_and_their_requests(void **state)
{
    struct film f;
    begin(&f, "larder:DirectoryCache=off");
    search(&f, "d", "x", false); /* CREATE + QUERY_INFO + CLOSE, all sent */
    list(&f, "d");               /* as it was asked, in one round trip */
    struct whatif_result r = end(&f);
    asks(&r, 2, 2, 1);
    assert_int_equal(r.predicted.round_trips, 2);
    assert_int_equal(r.predicted.waited_ns, 2 * MS);
}

static void a_file_that_is_read_costs_a_compound_its_reads(void **state)
{
    struct film f;
    struct operation o;
    begin(&f, "larder");
    o = operation(&f, OPERATION_DATA, "d/a");
    o.served = true;
    request(&o, SMB2_CREATE, 1);
    request(&o, SMB2_READ, 2);
    request(&o, SMB2_CLOSE, 1);
    play(&f, &o);
    o = writing(&f, "d/b"); /* three, as seen */
    play(&f, &o);
    struct whatif_result r = end(&f);
    assert_int_equal(r.predicted.round_trips, 2 + 3);
    assert_int_equal(r.predicted.messages, r.seen.messages);
}

static void probes_lead_to_a_guess_and_a_large_directory_is_given_up(void **state)
{
    struct film f;
    struct operation_name names[200];
    for (int i = 0; i < 200; i++)
        names[i] = (struct operation_name){.name = "n", .len = 1, .wire_bytes = 1000};
    begin(&f, "larder");
    struct operation o = listing(&f, "d", names, 200);
    play(&f, &o);
    f.share.session_id = 0x22;   /* somebody else, who has not seen that */
    search(&f, "d", "x", false); /* by its path */
    search(&f, "d", "y", false); /* a guess, which is not enough, and by its path */
    search(&f, "d", "z", false); /* by its path */
    struct whatif_result r = end(&f);
    asks(&r, 1 + 1 + 2 + 1, 2 + 2, 3);
    assert_int_equal(r.cache[OBSERVE_DIR].hits, 0);
}

static void charged_round_trips_cost_the_mean_of_what_was_seen(void **state)
{
    struct film f;
    begin(&f, "23h2");
    search(&f, "d", "a", true); /* 4 round trips of 1 ms */
    struct operation o = operation(&f, OPERATION_DATA, "d/a");
    o.served = o.attr_known = true;
    request(&o, SMB2_READ, 1);
    o.waited_ns = 500 * MS; /* data does not count for the mean */
    play(&f, &o);
    struct whatif_result r = end(&f);
    assert_int_equal(r.predicted.round_trips, 5);
    assert_int_equal(r.predicted.waited_ns, 504 * MS);
}

/* ---- specs and output ---- */

static void a_spec_is_a_profile_with_settings(void **state)
{
    struct settings s;
    struct error err;
    assert_int_equal(whatif_settings("25H2:directorycache=on,DirectoryCacheLifetime=30", &s, NULL),
                     0);
    assert_true(s.directory_cache);
    assert_int_equal(s.directory_cache_lifetime, 30);
    assert_int_equal(whatif_settings("24h1", &s, &err), -ENOENT);
    assert_int_equal(whatif_settings("23h2:NoSuchThing=1", &s, &err), -ENOENT);
    assert_int_equal(whatif_settings("23h2:DirectoryCacheLifetime=-1", &s, &err), -EINVAL);
    assert_int_equal(whatif_settings("23h2:DirectoryCacheLifetime", &s, &err), -EINVAL);
    assert_int_equal(whatif_settings("23h2:=1", &s, &err), -EINVAL);
    assert_int_equal(whatif_settings("23h2:", &s, &err), -EINVAL);
    assert_int_equal(whatif_settings("", &s, &err), -ENOENT);
    assert_int_equal(whatif_settings("23h2-and-so-on-for-longer-than-any-profile-is", &s, &err),
                     -ENOENT);
}

static void the_json_has_the_figures_and_the_assumptions(void **state)
{
    struct film f;
    begin(&f, "23h2:DirectoryCacheLifetime=20");
    list(&f, "d");
    list(&f, "d");
    replay_finish(f.replay);
    json_t *j = whatif_json(f.whatif);
    assert_string_equal(json_string_value(json_object_get(j, "profile")), "23h2");
    assert_string_equal(json_string_value(json_object_get(json_object_get(j, "overrides"),
                                                          "DirectoryCacheLifetime")),
                        "20");
    assert_int_equal(json_object_size(json_object_get(j, "overrides")), 1);
    json_t *saved = json_object_get(j, "saved"), *predicted = json_object_get(j, "predicted");
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(saved, "requests"), "QUERY_DIRECTORY")),
        2);
    assert_int_equal(json_integer_value(json_object_get(saved, "messages")), 8);
    assert_int_equal(json_integer_value(json_object_get(predicted, "round_trips")), 4);
    json_t *dir = json_object_get(json_object_get(j, "cache"), "dir");
    assert_int_equal(json_integer_value(json_object_get(dir, "hit")), 1);
    assert_true(json_array_size(json_object_get(j, "assumptions")) >= 8);
    json_decref(j);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_listing_repeated_within_its_lifetime_is_avoidable),
        cmocka_unit_test(a_client_that_waits_less_sees_fewer_lifetimes_run_out),
        cmocka_unit_test(waits_that_overlap_are_not_taken_off_twice),
        cmocka_unit_test(a_profile_without_a_directory_cache_claims_nothing_for_listings),
        cmocka_unit_test(searches_in_one_directory_become_one_listing),
        cmocka_unit_test(a_component_that_turns_up_on_the_way_was_listed_too),
        cmocka_unit_test(a_whole_listing_is_taken_at_its_word),
        cmocka_unit_test(a_directory_that_a_whole_listing_lacks_is_there_from_then_on),
        cmocka_unit_test(a_name_that_was_missing_before_it_was_there_was_not_listed),
        cmocka_unit_test(a_name_that_vanished_unseen_is_asked_for),
        cmocka_unit_test(after_a_rename_to_somewhere_no_older_listing_is_added_to),
        cmocka_unit_test(a_rename_changes_both_of_its_directories),
        cmocka_unit_test(a_listing_that_grows_too_large_was_so_from_the_first),
        cmocka_unit_test(a_large_directory_costs_as_much_a_name_as_a_small_one),
        cmocka_unit_test(a_directory_seen_listed_costs_the_queries_that_it_took),
        cmocka_unit_test(missing_names_are_answered_by_the_listing_and_by_the_not_found_cache),
        cmocka_unit_test(an_open_of_a_missing_name_lists_nothing),
        cmocka_unit_test(a_missing_directory_on_the_way_costs_one_create),
        cmocka_unit_test(
            attributes_are_answered_by_the_file_info_cache_where_that_answers_look_ups),
        cmocka_unit_test(attributes_are_a_look_up_in_the_profiles_own_way),
        cmocka_unit_test(what_was_looked_up_for_itself_was_used_and_stays),
        cmocka_unit_test(the_roots_own_attributes_are_asked_by_its_path),
        cmocka_unit_test(what_served_data_a_lease_or_a_lock_is_kept),
        cmocka_unit_test(what_they_brought_is_believed_all_the_same),
        cmocka_unit_test(streams_patterns_and_pipes_are_kept),
        cmocka_unit_test(a_change_by_another_client_counts_for_all),
        cmocka_unit_test(a_change_counts_when_it_begins_and_when_it_ends),
        cmocka_unit_test(writing_data_leaves_the_names_alone),
        cmocka_unit_test(sessions_share_no_belief_and_connections_of_one_do),
        cmocka_unit_test(a_session_that_was_logged_off_takes_its_caches_along),
        cmocka_unit_test(more_sessions_than_are_kept_begin_anew),
        cmocka_unit_test(compounds_cost_a_round_trip_and_their_requests),
        cmocka_unit_test(a_file_that_is_read_costs_a_compound_its_reads),
        cmocka_unit_test(probes_lead_to_a_guess_and_a_large_directory_is_given_up),
        cmocka_unit_test(charged_round_trips_cost_the_mean_of_what_was_seen),
        cmocka_unit_test(a_spec_is_a_profile_with_settings),
        cmocka_unit_test(the_json_has_the_figures_and_the_assumptions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
