/* The page of HTML: it is well-formed, names in it are text, and it is in its file whole or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/html.h"
#include "capture/svg.h"
#include "exchanges.h"

#define SCRIPT "<script>alert(1)</script>"

/* ---- a page by hand ---- */

struct made {
    struct hand hand;
    struct operations *operations;
    struct analysis *analysis;
    struct questions *questions;
    uint64_t frame;
};

static void exchange(void *user, const struct exchange *x)
{
    struct made *m = user;
    struct message q = {.command = x->command, .frame = ++m->frame, .time_ns = x->asked_ns};
    struct message p = {.command = x->command,
                        .response = true,
                        .status = x->status,
                        .frame = ++m->frame,
                        .time_ns = x->answered_ns};
    analysis_message(m->analysis, &q);
    analysis_message(m->analysis, &p);
    operations_exchange(m->operations, x);
    analysis_exchange(m->analysis, x);
}

static void closed(void *user, struct smb_open *o)
{
    operations_open_closed(((struct made *)user)->operations, o);
}

static void operation(void *user, const struct operation *o)
{
    struct made *m = user;
    analysis_operation(m->analysis, o);
    questions_operation(m->questions, o);
}

static struct made *make(const char *file)
{
    struct questions_asked asked = {
        .what_if = {"23h2"}, .sweep = {"DirectoryCacheEntriesMax"}, .what_ifs = 1, .sweeps = 1};
    struct made *m = calloc(1, sizeof(*m));
    m->analysis = analysis_new(file);
    assert_int_equal(questions_new(&asked, &m->questions, NULL), 0);
    m->operations = operations_new(operation, m);
    hand_init(&m->hand, exchange, closed, m);
    return m;
}

static void finish(struct made *m)
{
    operations_free(m->operations);
    m->operations = NULL;
    assert_int_equal(analysis_finish(m->analysis), 0);
    questions_finish(m->questions);
}

static void unmake(struct made *m)
{
    operations_free(m->operations);
    analysis_free(m->analysis);
    questions_free(m->questions);
    free(m);
}

/* Enough repeats of a directory for every chart and a fault. */
static struct made *made_with(const char *file, const char *directory)
{
    struct made *m = make(file);
    for (int i = 0; i < 60; i++) {
        enumerate(&m->hand, directory, "*", 5);
        m->hand.now_ns += NS_PER_SEC / 10;
    }
    finish(m);
    return m;
}

static char *page_of(const struct made *m, const struct made *base)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    struct html_capture c = {m->analysis, m->questions};
    assert_int_equal(html_print(&c, 1, base ? base->analysis : NULL, out), 0);
    fclose(out);
    return text;
}

/* ---- reading it ---- */

#define DEPTH 32

/* A start tag from after its `<`: names, attributes in quotes, `>` or `/>`. Returns what follows.
 */
static const char *start_tag(const char *p, bool *ret_alone)
{
    p += strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789");
    while (*p == ' ' || *p == '\n') {
        p += strspn(p, " \n");
        p += strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-");
        assert_memory_equal(p, "=\"", 2);
        p += 2 + strcspn(p + 2, "\"<");
        assert_int_equal(*p, '"');
        p++;
    }
    *ret_alone = *p == '/';
    p += *ret_alone;
    assert_int_equal(*p, '>');
    return p + 1;
}

static const char *entity(const char *p)
{
    static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#10003;"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strncmp(p, known[i], strlen(known[i])) == 0)
            return p + strlen(known[i]);
    fail_msg("a bare & in %.40s", p);
    return NULL;
}

static void well_formed(const char *page)
{
    const char *open[DEPTH], *p = page + strlen("<!DOCTYPE html>");
    size_t depth = 0, elements = 0;
    assert_memory_equal(page, "<!DOCTYPE html>", 15);
    while (*p) {
        if (*p == '&') {
            p = entity(p);
        } else if (*p != '<') {
            assert_true(*p != '>' || (depth && strncmp(open[depth - 1], "style", 5) == 0));
            p++;
        } else if (p[1] == '/') {
            size_t len = strcspn(p + 2, ">");
            assert_true(depth > 0);
            assert_memory_equal(open[--depth], p + 2, len);
            p += len + 3;
        } else {
            bool alone;
            open[depth] = p + 1;
            p = start_tag(p + 1, &alone);
            depth += !alone;
            elements++;
            assert_true(depth < DEPTH);
        }
    }
    assert_int_equal(depth, 0);
    assert_true(elements > 100);
}

static bool has(const char *page, const char *text)
{
    return strstr(page, text) != NULL;
}

/* ---- what must hold ---- */

static void a_page_is_well_formed_and_has_its_charts(void **state)
{
    (void)state;
    struct made *m = made_with("slow.pcap", "dir/sub"), *base = made_with("good.pcap", "dir");
    char *page = page_of(m, base);
    static const char *const parts[] = {"directory cache inactive", "messages by command</h3>",
                                        "requests over time</h3>",  "response times</h3>",
                                        "top directories</h3>",     "what if 23h2 (estimate)",
                                        "99 % of what can be had",  "side by side</h3>",
                                        "logarithmic scale",        "slow.pcap against good.pcap"};
    well_formed(page);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (!has(page, parts[i]))
            fail_msg("no \"%s\"", parts[i]);
    free(page);
    unmake(base);
    unmake(m);
}

static void a_page_asks_for_nothing_outside(void **state)
{
    (void)state;
    struct made *m = made_with("slow.pcap", "dir");
    char *page = page_of(m, NULL), *policy = strstr(page, "http-equiv");
    assert_non_null(policy);
    assert_true(has(policy, "default-src 'none'; style-src 'unsafe-inline'"));
    assert_false(has(policy + 4, "http"));
    static const char *const never[] = {
        "<script", "url(", "@import", " src=", " href=", "<a ", "<link", "<img", "<iframe"};
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
        if (has(page, never[i]))
            fail_msg("there is \"%s\"", never[i]);
    free(page);
    unmake(m);
}

static void names_are_text(void **state)
{
    (void)state;
    struct made *m = make("\"><b onclick='x'>&lt;.pcap");
    m->hand.share.name = "\\\\srv\\" SCRIPT;
    for (int i = 0; i < 60; i++) {
        enumerate(&m->hand, SCRIPT, "*", 3);
        look(&m->hand, "x\"onload='y'&amp;\x1b\x80");
    }
    finish(m);
    char *page = page_of(m, m);
    well_formed(page);
    assert_false(has(page, "<script"));
    assert_false(has(page, "<b onclick"));
    assert_false(has(page, "\x1b"));
    assert_true(has(page, "\\\\srv\\&lt;script&gt;alert(1)&lt;/script&gt;\\"));
    assert_true(has(page, "&quot;&gt;&lt;b onclick=&#39;x&#39;&gt;&amp;lt;.pcap"));
    assert_true(has(page, "x&quot;onload=&#39;y&#39;&amp;amp;??"));
    free(page);
    unmake(m);
}

static void a_chart_of_huge_numbers_stays_in_its_frame(void **state)
{
    (void)state;
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    struct svg_bar bar[] = {{"a", {UINT64_MAX, 1}}, {"<b>", {0, UINT64_MAX}}};
    uint64_t value[] = {UINT64_MAX, 0, 1};
    svg_bars(out, &(struct svg_bars){.first = "x", .second = "&", .logarithmic = true}, bar, 2);
    svg_plot_begin(out, "\"", "<");
    svg_area(out, "c0", value, 3, UINT64_MAX);
    svg_plot_end(out, NULL, 0);
    fclose(out);
    assert_true(has(text, "width=\"100.0%\""));
    assert_true(has(text, "width=\"0.0%\""));
    assert_true(has(text, "<span class=\"name\">&lt;b&gt;</span>"));
    assert_true(has(text, "aria-label=\"&quot;\""));
    assert_true(has(text, "d=\"M0 1000V0H333V1000H666V1000H1000V1000Z\""));
    free(text);
}

/* ---- the file ---- */

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void holds(const char *path, const char *begin)
{
    char text[64] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, strlen(begin), f) == strlen(begin));
    fclose(f);
    assert_string_equal(text, begin);
}

static void a_page_takes_its_place_whole_or_not_at_all(void **state)
{
    (void)state;
    char dir[] = "/tmp/larder-html-XXXXXX", path[64], link[64];
    struct made *m = made_with("slow.pcap", "dir");
    struct html_capture c = {m->analysis, m->questions};
    struct error err = {0};
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/page", dir);
    snprintf(link, sizeof(link), "%s/link", dir);
    put(path, "as it was");
    assert_int_equal(symlink("page", link), 0);

    struct rlimit was, small = {4096, RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &was);
    small.rlim_max = was.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    int code = html_write(&c, 1, NULL, path, &err);
    setrlimit(RLIMIT_FSIZE, &was);
    assert_int_equal(code, -EFBIG);
    assert_true(has(err.text, path));
    holds(path, "as it was");

    assert_int_equal(html_write(&c, 1, NULL, link, &err), 0);
    holds(path, "<!DOCTYPE html>");
    struct stat st;
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));

    assert_int_equal(html_write(&c, 1, NULL, dir, &err), -EISDIR);
    assert_int_equal(html_write(&c, 1, NULL, "/dev/null", &err), -EEXIST);
    unlink(link);
    unlink(path);
    assert_int_equal(rmdir(dir), 0); /* nothing else was left in it */
    unmake(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_well_formed_and_has_its_charts),
        cmocka_unit_test(a_page_asks_for_nothing_outside),
        cmocka_unit_test(names_are_text),
        cmocka_unit_test(a_chart_of_huge_numbers_stays_in_its_frame),
        cmocka_unit_test(a_page_takes_its_place_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
