/* The analysis: counts, times, what is a repeat and what is not, the verdict, two captures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/page.h"
#include "exchanges.h"

/* ---- a capture by hand ---- */

struct made {
    struct hand hand;
    struct operations *operations;
    struct analysis *analysis;
    uint64_t frame;
};

/* Every exchange is two messages, each in a frame of its own. */
static void exchange(void *user, const struct exchange *x)
{
    struct made *m = user;
    struct message q = {
        .command = x->command, .bytes = 100, .frame = ++m->frame, .time_ns = x->asked_ns};
    struct message p = {.command = x->command,
                        .response = true,
                        .status = x->status,
                        .bytes = 50,
                        .frame = ++m->frame,
                        .time_ns = x->answered_ns};
    analysis_message(m->analysis, &q);
    analysis_message(m->analysis, &p);
    operations_exchange(m->operations, x);
    analysis_exchange(m->analysis, x);
}

static void closed(void *user, struct smb_open *o)
{
    struct made *m = user;
    operations_open_closed(m->operations, o);
}

static void operation(void *user, const struct operation *o)
{
    analysis_operation(((struct made *)user)->analysis, o);
}

static struct made *make(const char *file)
{
    struct made *m = calloc(1, sizeof(*m));
    m->analysis = analysis_new(file);
    m->operations = operations_new(operation, m);
    hand_init(&m->hand, exchange, closed, m);
    return m;
}

static void unmake(struct made *m)
{
    operations_free(m->operations);
    analysis_free(m->analysis);
    free(m);
}

static int begin(void **state)
{
    *state = make("test.pcap");
    return 0;
}

static int end(void **state)
{
    unmake(*state);
    return 0;
}

static void wait_seconds(struct made *m, double s)
{
    m->hand.now_ns += (uint64_t)(s * 1e9);
}

static const struct analysis_enumerations *enumerations(const struct made *m)
{
    return &m->analysis->enumerations;
}

static const struct finding *find(const struct analysis *a, const char *name)
{
    static struct finding f[FINDINGS_MAX];
    size_t n = verdict(a, f);
    for (size_t i = 0; i < n; i++)
        if (strcmp(f[i].name, name) == 0)
            return &f[i];
    return NULL;
}

/* ---- counts and times ---- */

static void messages_are_counted_by_command_and_frame(void **state)
{
    struct made *m = *state;
    struct message one = {.command = SMB2_READ, .bytes = 100, .frame = 7, .time_ns = 5};
    struct message two = {.command = SMB2_READ, .bytes = 100, .frame = 7, .time_ns = 5};
    struct message close = {.command = SMB2_CLOSE, .bytes = 88, .frame = 7, .time_ns = 5};
    struct message interim = {.command = SMB2_READ,
                              .response = true,
                              .interim = true,
                              .status = STATUS_PENDING,
                              .bytes = 73,
                              .frame = 8,
                              .time_ns = 6};
    struct message failed = {.command = SMB2_READ,
                             .response = true,
                             .bytes = 73,
                             .frame = 9,
                             .status = STATUS_END_OF_FILE,
                             .time_ns = 9};
    struct message broken = {.command = SMB2_OPLOCK_BREAK,
                             .response = true,
                             .unsolicited = true,
                             .frame = 9,
                             .time_ns = 9};
    const struct message *all[] = {&one, &two, &close, &interim, &failed, &broken};
    for (size_t i = 0; i < 6; i++)
        analysis_message(m->analysis, all[i]);
    const struct analysis_command *read = &m->analysis->command[SMB2_READ];
    assert_int_equal(read->requests, 2);
    assert_int_equal(read->responses, 1);
    assert_int_equal(read->interims, 1);
    assert_int_equal(read->frames, 3);
    assert_int_equal(read->errors.count, 1);
    assert_int_equal(read->errors.by_status[0].status, STATUS_END_OF_FILE);
    assert_int_equal(analysis_messages_of(read), 4);
    assert_int_equal(m->analysis->command[SMB2_CLOSE].frames, 1);
    assert_int_equal(m->analysis->command[SMB2_OPLOCK_BREAK].responses, 1);
    assert_int_equal(m->analysis->command[SMB2_OPLOCK_BREAK].unsolicited, 1);
    assert_int_equal(m->analysis->messages, 6);
    assert_int_equal(m->analysis->frames, 3);
    struct message opened = {.command = SMB2_READ, .frame = 10, .decrypted = true};
    analysis_envelope(m->analysis, 10); /* what is in it counts no second frame */
    analysis_message(m->analysis, &opened);
    analysis_envelope(m->analysis, 11); /* stays closed */
    assert_int_equal(m->analysis->frames, 5);
    assert_int_equal(m->analysis->messages, 7);
}

static void statuses_past_the_bound_are_summed(void **state)
{
    struct made *m = *state;
    for (uint32_t i = 0; i < 100; i++)
        for (uint32_t times = 0; times <= i % 2; times++) {
            struct message x = {.command = SMB2_IOCTL, .response = true, .status = 0xc1000000 + i};
            analysis_message(m->analysis, &x);
        }
    const struct analysis_errors *e = &m->analysis->command[SMB2_IOCTL].errors;
    uint64_t sum = 0;
    for (size_t i = 0; i < e->distinct; i++)
        sum += e->by_status[i].count;
    assert_int_equal(e->count, 150);
    assert_int_equal(sum, 150);
    assert_int_equal(e->distinct, ANALYSIS_STATUSES + 1);
    assert_int_equal(e->by_status[ANALYSIS_STATUSES].status, STATUS_OTHER);
    assert_int_equal(e->by_status[ANALYSIS_STATUSES].count, 150 - 48);
}

static void waiting_leaves_notifications_out(void **state)
{
    struct made *m = *state;
    struct smb_open *o = open_path(&m->hand, "d", LIST_IT, FILE_OPEN, true);
    on(&m->hand, o, SMB2_CHANGE_NOTIFY);
    close_open(&m->hand, o);
    assert_int_equal(analysis_waited_ns(m->analysis), 2 * ROUND_NS);
    assert_int_equal(m->analysis->round_trips, 3);
}

static void the_timeline_widens_and_loses_nothing(void **state)
{
    struct made *m = *state;
    for (int i = 0; i < 1000; i++) {
        look(&m->hand, "a");
        wait_seconds(m, 0.5);
    }
    const struct analysis_timeline *t = &m->analysis->timeline;
    uint64_t sum = 0, used = 0;
    for (size_t i = 0; i < TIMELINE_SLOTS; i++) {
        sum += t->requests[i][SMB2_CREATE];
        used += t->requests[i][SMB2_CREATE] > 0;
    }
    assert_int_equal(sum, 1000);
    assert_true(used >= TIMELINE_SLOTS / 2 - 1);
}

/* ---- what is a repeat ---- */

static void the_same_directory_within_its_lifetime_is_a_repeat(void **state)
{
    struct made *m = *state;
    enumerate(&m->hand, "Lib", "*", 3);
    enumerate(&m->hand, "lib", "*", 3); /* names are folded */
    enumerate(&m->hand, "lib", "os.py", 1);
    enumerate(&m->hand, "lib/json", "*", 3);
    assert_int_equal(enumerations(m)->count, 4);
    assert_int_equal(enumerations(m)->repeats, 2);
    assert_int_equal(enumerations(m)->repeats_same, 1);
    assert_int_equal(enumerations(m)->repeats_in_bound, 2);
    analysis_finish(m->analysis);
    assert_int_equal(enumerations(m)->distinct, 2);
    assert_string_equal(m->analysis->directories[0].path, "Lib");
    assert_int_equal(m->analysis->directories[0].listings, 2);
    assert_int_equal(m->analysis->directories[0].searches, 1);
    assert_int_equal(m->analysis->directories[0].repeats, 2);
    assert_int_equal(m->analysis->directories[0].repeats_waited_ns, 8 * ROUND_NS);
}

static void after_the_lifetime_it_is_none(void **state)
{
    struct made *m = *state;
    enumerate(&m->hand, "lib", "*", 3);
    wait_seconds(m, 9.9);
    enumerate(&m->hand, "lib", "*", 3);
    assert_int_equal(enumerations(m)->repeats, 1);
    wait_seconds(m, 10.0);
    enumerate(&m->hand, "lib", "*", 3);
    assert_int_equal(enumerations(m)->repeats, 1);
}

static void after_a_change_it_is_none(void **state)
{
    struct made *m = *state;
    enumerate(&m->hand, "lib", "*", 3);
    write_file(&m->hand, "lib/new.py");
    enumerate(&m->hand, "lib", "*", 3);
    assert_int_equal(enumerations(m)->repeats, 0);
    assert_int_equal(enumerations(m)->changed_between, 1);
    write_file(&m->hand, "other/new.py");
    enumerate(&m->hand, "lib", "*", 3);
    assert_int_equal(enumerations(m)->repeats, 1);
    /* by another client, of the same share */
    m->hand.share.client = "10.0.0.2";
    write_file(&m->hand, "LIB/x");
    m->hand.share.client = "10.0.0.1";
    enumerate(&m->hand, "lib", "*", 3);
    assert_int_equal(enumerations(m)->repeats, 1);
    assert_int_equal(enumerations(m)->changed_between, 2);
}

static void a_rename_changes_both_directories(void **state)
{
    struct made *m = *state;
    static const char *const targets[] = {"two/b", NULL}; /* NULL: not captured, may be any */
    for (size_t i = 0; i < 2; i++) {
        enumerate(&m->hand, "one", "*", 3);
        enumerate(&m->hand, "two", "*", 3);
        enumerate(&m->hand, "three", "*", 3);
        struct smb_open *o = open_path(&m->hand, "one/a", LOOK, FILE_OPEN, false);
        give(&m->hand, (struct exchange){.command = SMB2_SET_INFO,
                                         .open = o,
                                         .info_type = SMB2_0_INFO_FILE,
                                         .info_class = FILE_RENAME_INFORMATION,
                                         .pattern = targets[i]});
        close_open(&m->hand, o);
        uint64_t before = enumerations(m)->repeats;
        enumerate(&m->hand, "one", "*", 3);
        enumerate(&m->hand, "two", "*", 3);
        assert_int_equal(enumerations(m)->repeats, before);
        enumerate(&m->hand, "three", "*", 3);
        assert_int_equal(enumerations(m)->repeats, before + (i == 0));
        wait_seconds(m, 60);
    }
}

static void other_clients_have_their_own_caches(void **state)
{
    struct made *m = *state;
    enumerate(&m->hand, "lib", "*", 3);
    m->hand.share.client = "10.0.0.2";
    enumerate(&m->hand, "lib", "*", 3);
    m->hand.share.name = "\\\\srv\\other";
    enumerate(&m->hand, "lib", "*", 3);
    assert_int_equal(enumerations(m)->repeats, 0);
}

static void a_repeat_that_the_bound_excuses_is_not_the_caches_fault(void **state)
{
    struct made *m = *state;
    char path[17][16];
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 17; i++) {
            snprintf(path[i], sizeof(path[i]), "d%d", i);
            enumerate(&m->hand, path[i], "*", 1);
        }
    assert_int_equal(enumerations(m)->repeats, 17);
    assert_int_equal(enumerations(m)->repeats_in_bound, 0);
    enumerate(&m->hand, path[1], "*", 1); /* 15 others since */
    assert_int_equal(enumerations(m)->repeats_in_bound, 1);
}

static void a_listing_over_the_bound_cannot_be_cached(void **state)
{
    struct made *m = *state;
    for (int i = 0; i < 7; i++)
        enumerate(&m->hand, "large", "*", 1000); /* of 120 bytes each */
    assert_int_equal(enumerations(m)->repeats, 6);
    assert_int_equal(enumerations(m)->repeats_oversize, 6);
    assert_int_equal(enumerations(m)->repeats_in_bound, 0);
    analysis_finish(m->analysis);
    const struct finding *f = find(m->analysis, "listing-too-large");
    assert_non_null(f);
    assert_non_null(strstr(f->text, "\\\\srv\\tools\\large"));
    assert_non_null(strstr(f->text, "117 KiB"));
    assert_non_null(strstr(f->text, "1,000 entries"));
    assert_null(find(m->analysis, "directory-cache-inactive"));
}

static void two_at_once_are_no_repeat(void **state)
{
    struct made *m = *state;
    struct smb_open *a = open_path(&m->hand, "lib", LIST_IT, FILE_OPEN, true);
    struct smb_open *b = open_path(&m->hand, "lib", LIST_IT, FILE_OPEN, true);
    query(&m->hand, a, "*", 3, 0);
    query(&m->hand, b, "*", 3, 0);
    close_open(&m->hand, a);
    close_open(&m->hand, b);
    assert_int_equal(enumerations(m)->count, 2);
    assert_int_equal(enumerations(m)->repeats, 0);
}

static void missing_names_and_attributes_are_asked_again(void **state)
{
    struct made *m = *state;
    const struct analysis_names *n = &m->analysis->names;
    fail_create(&m->hand, "x", STATUS_OBJECT_NAME_NOT_FOUND, FILE_OPEN);
    fail_create(&m->hand, "X", STATUS_OBJECT_NAME_NOT_FOUND, FILE_OPEN);
    enumerate(&m->hand, "", "x", 0); /* the same question, as a search */
    assert_int_equal(n->missing, 3);
    assert_int_equal(n->missing_repeats, 2);
    wait_seconds(m, 5);
    fail_create(&m->hand, "x", STATUS_OBJECT_NAME_NOT_FOUND, FILE_OPEN);
    assert_int_equal(n->missing_repeats, 2);
    look(&m->hand, "a/b");
    look(&m->hand, "a/b");
    assert_int_equal(n->stats, 2);
    assert_int_equal(n->stat_repeats, 1);
    write_file(&m->hand, "a/b");
    look(&m->hand, "a/b");
    assert_int_equal(n->stat_repeats, 1);
    analysis_finish(m->analysis);
    assert_string_equal(m->analysis->name_list[0].path, "x");
    assert_true(m->analysis->name_list[0].missing);
    assert_int_equal(m->analysis->name_list[0].asks, 4);
}

/* ---- the verdict ---- */

static void work(struct made *m, bool caching)
{
    static const char *const dirs[] = {"", "lib", "lib/json", "tools"};
    char path[64];
    for (int i = 0; i < 200; i++) {
        const char *dir = dirs[i % 4];
        snprintf(path, sizeof(path), "%s%smodule%d.py", dir, *dir ? "/" : "", i);
        if (!caching)
            enumerate(&m->hand, dir, path + (*dir ? strlen(dir) + 1 : 0), 1);
        else if (i < 4)
            enumerate(&m->hand, dir, "*", 60);
        struct smb_open *o = open_path(&m->hand, path, FILE_READ_DATA, FILE_OPEN, false);
        on(&m->hand, o, SMB2_READ);
        close_open(&m->hand, o);
    }
    m->analysis->packets = m->frame;
    m->analysis->first_packet_ns = m->analysis->first_ns;
    m->analysis->last_packet_ns = m->analysis->last_ns;
}

static void all_is_well_where_the_cache_works(void **state)
{
    struct made *m = *state;
    struct finding f[FINDINGS_MAX];
    work(m, true);
    analysis_finish(m->analysis);
    assert_int_equal(verdict(m->analysis, f), 0);
}

static void a_dead_directory_cache_is_named(void **state)
{
    struct made *m = *state;
    work(m, false);
    analysis_finish(m->analysis);
    const struct finding *f = find(m->analysis, "directory-cache-inactive");
    assert_non_null(f);
    assert_int_equal(f->severity, SEVERITY_FAULT);
    assert_int_equal(f->count, 196);
    assert_int_equal(f->of, 200);
    assert_non_null(strstr(f->text, "196 of 200 enumerations (98.0 %)"));
    assert_non_null(find(m->analysis, "names-searched-one-by-one"));
}

static void a_few_repeats_are_no_fault(void **state)
{
    struct made *m = *state;
    struct finding f[FINDINGS_MAX];
    for (int i = 0; i < 20; i++) { /* 19 repeats, one too few */
        enumerate(&m->hand, "lib", "*", 2);
        fail_create(&m->hand, "x", STATUS_OBJECT_NAME_NOT_FOUND, FILE_OPEN);
        look(&m->hand, "a");
    }
    analysis_finish(m->analysis);
    assert_int_equal(verdict(m->analysis, f), 0);
    enumerate(&m->hand, "lib", "*", 2);
    assert_non_null(find(m->analysis, "directory-cache-inactive"));
    fail_create(&m->hand, "x", STATUS_OBJECT_NAME_NOT_FOUND, FILE_OPEN);
    assert_non_null(find(m->analysis, "missing-names-asked-again"));
    look(&m->hand, "a");
    assert_non_null(find(m->analysis, "attributes-asked-again"));
}

/* Half of the enumerations are repeats, but few requests in all that the client does. */
static void repeats_that_weigh_little_are_no_fault(void **state)
{
    struct made *m = *state;
    struct finding f[FINDINGS_MAX];
    char path[32];
    for (int i = 0; i < 40; i++) {
        enumerate(&m->hand, "lib", "*", 2);
        for (int k = 0; k < 10; k++) {
            snprintf(path, sizeof(path), "lib/%d", k);
            close_open(&m->hand, open_path(&m->hand, path, FILE_READ_DATA, FILE_OPEN, false));
        }
    }
    analysis_finish(m->analysis);
    assert_int_equal(enumerations(m)->repeats_in_bound, 39);
    assert_int_equal(verdict(m->analysis, f), 0);
    for (int i = 0; i < 80; i++)
        enumerate(&m->hand, "lib", "*", 2);
    assert_non_null(find(m->analysis, "directory-cache-inactive"));
}

static void leases_offered_and_churn_are_told(void **state)
{
    struct made *m = *state;
    struct flow_facts facts = {.dialect = SMB2_DIALECT_311,
                               .server_capabilities = SMB2_GLOBAL_CAP_DIRECTORY_LEASING};
    analysis_flow(m->analysis, &m->hand.flow, &facts);
    work(m, false);
    analysis_finish(m->analysis);
    assert_non_null(find(m->analysis, "directory-leases-unused"));
    m->analysis->leases.directory_asked = 1;
    assert_null(find(m->analysis, "directory-leases-unused"));
    struct break_notice b = {.lease = true};
    m->analysis->leases.granted = 40;
    for (int i = 0; i < 10; i++) {
        assert_null(find(m->analysis, "leases-broken-often"));
        analysis_broken(m->analysis, &b);
    }
    assert_non_null(find(m->analysis, "leases-broken-often"));
}

static void what_the_capture_does_not_show_is_told(void **state)
{
    struct made *m = *state;
    struct analysis *a = m->analysis;
    struct finding f[FINDINGS_MAX];
    work(m, true);
    analysis_finish(a);
    a->streams.gaps = 1;
    a->streams.truncated_frames = 2;
    a->dissected.encrypted_messages = 3;
    a->dissected.compressed_messages = 5;
    a->dissected.not_inflated = 4;
    a->cut_off = true;
    assert_int_equal(verdict(a, f), 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(f[i].severity, SEVERITY_UNSURE);
    assert_non_null(strstr(find(a, "compressed")->text, "4 messages could not be inflated"));
    a->dissected.not_inflated = 0;
    assert_null(find(a, "compressed"));
}

static void a_clock_that_goes_back_or_stands_is_told(void **state)
{
    struct analysis *a = ((struct made *)*state)->analysis;
    work(*state, true);
    analysis_finish(a);
    assert_null(find(a, "clock"));
    a->clock_back = 2, a->clock_back_ns = 3600 * NS_PER_SEC;
    assert_non_null(strstr(find(a, "clock")->text, "went back 2 times, by 3,600.0 s at most"));
    a->clock_back = 0;
    a->last_packet_ns = a->first_packet_ns;
    assert_non_null(strstr(find(a, "clock")->text, "all packets have the same time"));
}

static void no_smb_names_the_ports(void **state)
{
    struct made *m = *state;
    m->analysis->other_ports[0] = 4455;
    m->analysis->other_ports[1] = 443;
    m->analysis->other_port_count = 2;
    assert_string_equal(find(m->analysis, "no-smb")->text,
                        "no packets in it; data on TCP ports 4455, 443");
    m->analysis->packets = 9;
    const struct finding *f = find(m->analysis, "no-smb");
    assert_non_null(strstr(f->text, "no SMB 2 or 3 in it; data on TCP ports 4455, 443"));
    assert_non_null(strstr(f->remedy, "--port 4455"));
}

/* ---- two captures ---- */

static const struct difference_row *row(const struct difference *d, const char *name)
{
    for (size_t i = 0; i < d->row_count; i++)
        if (strcmp(d->row[i].name, name) == 0)
            return &d->row[i];
    fail_msg("no row %s", name);
    return NULL;
}

static bool says(const struct difference *d, const char *what)
{
    for (size_t i = 0; i < d->finding_count; i++)
        if (strstr(d->finding[i].text, what))
            return true;
    return false;
}

static void two_captures_have_ratios_and_a_verdict(void **state)
{
    struct made *slow = *state, *good = make("good.pcap");
    work(good, true);
    slow->hand.share.name =
        "\\\\10.0.0.9\\TOOLS"; /* the same share, by another name of the server */
    slow->hand.share.client = "10.0.0.77";
    work(slow, false);
    analysis_finish(good->analysis);
    analysis_finish(slow->analysis);
    struct difference *d = difference_new(good->analysis, slow->analysis);
    assert_true(row(d, "QUERY_DIRECTORY")->base == 4 * 2 * 2);
    assert_true(row(d, "QUERY_DIRECTORY")->other == 200 * 2 * 2);
    assert_true(row(d, "READ")->base == 400 && row(d, "READ")->other == 400);
    assert_true(difference_other_per_read(d, row(d, "QUERY_DIRECTORY")) == 4);
    assert_int_equal(d->grown_all, 4);
    assert_int_equal(d->grown[0].base, 1);
    assert_int_equal(d->grown[0].other, 50);
    assert_int_equal(d->only_base + d->only_other, 0);
    assert_true(says(d, "QUERY_DIRECTORY has grown most: 800 messages, 16 before (50.0x)"));
    assert_true(says(d, "new: directory cache inactive"));
    assert_false(says(d, "do not read the same amount"));
    difference_free(d);

    d = difference_new(slow->analysis, good->analysis);
    assert_true(says(d, "gone: directory cache inactive"));
    assert_false(says(d, "has grown most"));
    difference_free(d);
    d = difference_new(good->analysis, good->analysis);
    assert_int_equal(d->finding_count, 0);
    difference_free(d);
    unmake(good);
}

static void more_work_is_no_fault(void **state)
{
    struct made *two = *state, *one = make("one.pcap");
    work(one, true);
    work(two, true);
    wait_seconds(two, 60);
    work(two, true);
    analysis_finish(one->analysis);
    analysis_finish(two->analysis);
    struct difference *d = difference_new(one->analysis, two->analysis);
    assert_int_equal(d->finding_count, 1);
    assert_true(says(d, "do not read the same amount: 200 and 400 READ requests (2.0x)"));
    difference_free(d);
    two->analysis->command[SMB2_CREATE].requests *= 9;
    d = difference_new(one->analysis, two->analysis);
    assert_true(says(d, "(5.0x for each READ)"));
    difference_free(d);
    unmake(one);
}

static void ask(struct made *m, uint16_t command, uint64_t times)
{
    m->analysis->command[command].requests = times;
    m->analysis->command[command].responses = times;
}

static void work_without_reads_is_compared_as_it_is(void **state)
{
    struct made *slow = *state, *good = make("good.pcap");
    ask(good, SMB2_CREATE, 10), ask(slow, SMB2_CREATE, 100);
    ask(good, SMB2_QUERY_DIRECTORY, 100), ask(slow, SMB2_QUERY_DIRECTORY, 900);
    struct difference *d = difference_new(good->analysis, slow->analysis);
    assert_false(says(d, "do not read the same amount"));
    assert_true(says(d, "QUERY_DIRECTORY has grown most: 1,800 messages, 200 before (9.0x)"));
    difference_free(d);
    ask(good, SMB2_QUERY_DIRECTORY, 0);
    d = difference_new(good->analysis, slow->analysis);
    assert_true(says(d, "QUERY_DIRECTORY has grown most: 1,800 messages, none before"));
    difference_free(d);
    unmake(good);
}

/* ---- pages ---- */

static char *printed(int (*print)(FILE *out, const void *what), const void *what)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_int_equal(print(out, what), 0);
    fclose(out);
    return text;
}

static int print_text(FILE *out, const void *a)
{
    return page_print(a, out, REPORT_TEXT);
}

static int print_markdown(FILE *out, const void *a)
{
    return page_print(a, out, REPORT_MARKDOWN);
}

static int print_difference(FILE *out, const void *d)
{
    return page_print_difference(d, out, REPORT_TEXT);
}

static void assert_fits(const char *text)
{
    char *copy = strdup(text), *rest = copy, *line;
    while ((line = strsep(&rest, "\n")))
        if (report_width(line) > 80)
            fail_msg("%zu columns: %s", report_width(line), line);
    free(copy);
}

static void nothing_is_said_where_nothing_was_asked(void **state)
{
    struct analysis *a = ((struct made *)*state)->analysis;
    analysis_message(a, &(struct message){.command = SMB2_NEGOTIATE, .bytes = 100, .time_ns = 5});
    analysis_finish(a);
    assert_non_null(find(a, "nothing-asked"));
    char *text = printed(print_text, a);
    assert_null(strstr(text, "all is well"));
    free(text);
}

/* Hostile names: escapes, the direction of writing, markup, broken bytes, length. */
static void hostile_names_move_nothing(void **state)
{
    static const char *const names[] = {
        "\033[2J\033]0;owned\007",
        "a\nb\rc",
        "x\xe2\x80\xaegnp.exe",
        "lone \xed\xa0\x80 one",
        "<script>alert(1)</script>",
        "a`b|c*d",
        "\xc2\x9b"
        "31m red",
        "\xff\xfe broken",
    };
    struct made *m = *state;
    char longest[600];
    memset(longest, 'w', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    for (size_t i = 0; i <= sizeof(names) / sizeof(names[0]); i++)
        for (int k = 0; k < 40; k++) {
            const char *name = i < sizeof(names) / sizeof(names[0]) ? names[i] : longest;
            enumerate(&m->hand, name, "*", 800);
            fail_create(&m->hand, name, STATUS_OBJECT_NAME_NOT_FOUND, FILE_OPEN);
        }
    analysis_finish(m->analysis);
    char *text = printed(print_text, m->analysis);
    assert_fits(text);
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        assert_true(*p == '\n' || *p >= 0x20);
    assert_null(strstr(text, "\xe2\x80\xae"));
    assert_null(strstr(text, "\xc2\x9b"));
    assert_null(strstr(text, "\xed\xa0\x80"));
    assert_null(strstr(text, "\xff"));
    free(text);
    text = printed(print_markdown, m->analysis);
    assert_null(strstr(text, " <script>"));
    free(text);
    json_t *all = page_json(m->analysis), *verdicts = page_json_verdict(m->analysis);
    char *dumped = json_dumps(all, 0);
    assert_non_null(dumped);
    free(dumped);
    json_decref(all);
    json_decref(verdicts);
}

static void the_json_has_its_outline(void **state)
{
    struct made *m = *state;
    work(m, false);
    m->analysis->first_packet_ns = m->analysis->first_ns;
    m->analysis->last_packet_ns = m->analysis->last_ns;
    analysis_finish(m->analysis);
    json_t *all = page_json(m->analysis);
    const char *file;
    double seconds;
    json_int_t frames, messages, requests, responses, interims, of_frames, encrypted, compressed;
    json_int_t gaps, bytes, count, distinct, repeats;
    json_t *errors;
    json_error_t err;
    assert_int_equal(
        json_unpack_ex(all, &err, 0,
                       "{s:s, s:F, s:I, s:I, s:{s:{s:I, s:I, s:I, s:o, s:I}}, s:I, s:I,"
                       " s:{s:I, s:I}, s:{s:I, s:I, s:I}}",
                       "file", &file, "seconds", &seconds, "frames", &frames, "messages", &messages,
                       "commands", "CREATE", "requests", &requests, "responses", &responses,
                       "interims", &interims, "errors", &errors, "frames", &of_frames,
                       "encrypted_messages", &encrypted, "compressed_messages", &compressed, "gaps",
                       "count", &gaps, "bytes", &bytes, "enumerations", "count", &count, "distinct",
                       &distinct, "repeats", &repeats),
        0);
    assert_string_equal(file, "test.pcap");
    assert_int_equal(requests, 400);
    assert_int_equal(of_frames, 800);
    assert_int_equal(messages, 400 * 7);
    assert_int_equal(frames, messages);
    assert_int_equal(count, 200);
    assert_int_equal(distinct, 4);
    assert_int_equal(repeats, 196);
    assert_true(json_is_object(errors));
    json_decref(all);
}

static void pages_of_two_fit_too(void **state)
{
    struct made *m = *state, *good = make("/some/where/a-rather-long-name-of-a-capture.pcapng");
    work(m, false);
    work(good, true);
    analysis_finish(m->analysis);
    analysis_finish(good->analysis);
    struct difference *d = difference_new(good->analysis, m->analysis);
    char *text = printed(print_difference, d);
    assert_fits(text);
    assert_non_null(strstr(text, "50.0x"));
    free(text);
    difference_free(d);
    text = printed(print_text, good->analysis);
    assert_non_null(strstr(text, "all is well"));
    free(text);
    unmake(good);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(messages_are_counted_by_command_and_frame),
        TEST(statuses_past_the_bound_are_summed),
        TEST(waiting_leaves_notifications_out),
        TEST(the_timeline_widens_and_loses_nothing),
        TEST(the_same_directory_within_its_lifetime_is_a_repeat),
        TEST(after_the_lifetime_it_is_none),
        TEST(after_a_change_it_is_none),
        TEST(a_rename_changes_both_directories),
        TEST(other_clients_have_their_own_caches),
        TEST(a_repeat_that_the_bound_excuses_is_not_the_caches_fault),
        TEST(a_listing_over_the_bound_cannot_be_cached),
        TEST(two_at_once_are_no_repeat),
        TEST(missing_names_and_attributes_are_asked_again),
        TEST(all_is_well_where_the_cache_works),
        TEST(a_dead_directory_cache_is_named),
        TEST(a_few_repeats_are_no_fault),
        TEST(repeats_that_weigh_little_are_no_fault),
        TEST(leases_offered_and_churn_are_told),
        TEST(what_the_capture_does_not_show_is_told),
        TEST(a_clock_that_goes_back_or_stands_is_told),
        TEST(nothing_is_said_where_nothing_was_asked),
        TEST(no_smb_names_the_ports),
        TEST(two_captures_have_ratios_and_a_verdict),
        TEST(more_work_is_no_fault),
        TEST(work_without_reads_is_compared_as_it_is),
        TEST(hostile_names_move_nothing),
        TEST(the_json_has_its_outline),
        TEST(pages_of_two_fit_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
