/*
 * Every reply of a normal session, altered in every field, too late, repeated, left out, and cut at
 * every byte: each must end in an error that says what was wrong, or in the right answer.
 *
 *     alterations [--all] [--seconds N] [--jobs N] [--seed N] [--kind signed|sealed|guest]
 *                 [--list] [--only TEXT]
 *
 * The session (session.c) runs once as it should; what the server then remembers of its replies,
 * and the table of fields (fields.c), give the trials. An alteration is made by the server, whose
 * signature is right for it, and again on the way. On the way nothing may ever lead to a wrong
 * answer, but for a guest; from the server only a field may that is the answer itself.
 *
 * Trials run in processes of their own, a few hundred each, --jobs at the same time (batch.c).
 * Without --all a sample runs, another one each day, for so many seconds. The last line counts.
 * --only repeats the trials whose description begins so, as they stand in complaints and in --list.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "tests/fault/batch.h"
#include "tests/fault/fields.h"
#include "tests/fault/session.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- trials ---- */

struct trial {
    struct server_rule rule;
    struct server_alteration alteration; /* where the rule is SERVER_ALTER */
    const char *what;                    /* the field, or the kind of harm */
    bool is_answer;                      /* a wrong answer is no wonder */
    bool is_harmless;                    /* must end in the right answer */
};

static struct {
    struct trial *all;
    size_t count, cap;
} trials;

static enum session_kind kind = SESSION_SIGNED;

static void add(const struct trial *t)
{
    if (trials.count == trials.cap) {
        trials.cap = trials.cap ? 2 * trials.cap : 1024;
        trials.all = realloc(trials.all, trials.cap * sizeof(*trials.all));
        if (!trials.all)
            abort();
    }
    trials.all[trials.count++] = *t;
}

static uint64_t random64(unsigned *seed)
{
    uint64_t v = 0;
    for (int i = 0; i < 5; i++)
        v = v << 15 ^ (uint64_t)rand_r(seed);
    return v;
}

static uint64_t stands(const struct server_reply *r, const struct field *f)
{
    uint64_t v = 0;
    for (unsigned i = f->width; i-- > 0;)
        v = v << 8 | r->head[f->offset + i];
    return v;
}

static void add_values(const struct server_reply *r, const struct field *f, unsigned *seed)
{
    uint64_t mask = f->width == 8 ? UINT64_MAX : (1ull << 8 * f->width) - 1;
    uint64_t old = stands(r, f);
    const uint64_t values[] = {0,
                               1,
                               mask,
                               (old + 1) & mask,
                               (old - 1) & mask,
                               mask / 2 + 1,
                               random64(seed) & mask,
                               random64(seed) & mask};
    for (unsigned i = 0; i < 2 * COUNT(values); i++) {
        struct trial t = {
            .rule = {r->command, r->nth, SERVER_ANYWHERE, SERVER_ALTER, 0},
            .alteration = {f->offset, f->width, SERVER_SET, values[i / 2], i % 2},
            .what = f->name,
            .is_answer = f->is_answer,
        };
        bool seen = (values[i / 2] == old); /* what changes nothing is no alteration */
        for (unsigned j = 0; j < i / 2; j++)
            seen = seen || values[j] == values[i / 2];
        if (!seen)
            add(&t);
    }
}

static void add_harm(const struct server_reply *r, enum server_action action, uint64_t value,
                     const char *what, bool is_harmless)
{
    const struct trial t = {.rule = {r->command, r->nth, SERVER_ANYWHERE, action, value},
                            .what = what,
                            .is_harmless = is_harmless};
    add(&t);
}

/* Where a reply is cut: at every byte, of a long one where its fields are, at its end and here and
 * there between. */
static void add_cuts(const struct server_reply *r)
{
    for (size_t at = 0; at < r->len + WIRE_FRAME_HEADER; at++)
        if (at < 320 || at + 16 > r->len || at % 509 == 0)
            add_harm(r, SERVER_HANG_UP, at, "cut", false);
}

static void add_harms(const struct server_reply *r, uint64_t timeout_ms)
{
    static const uint64_t lengths[] = {1, 63, 64, 72, 5000, 0x110000, 0xffffff, 0x80000000};
    static const int64_t sizes[] = {-1, -2, -4, -8, -64, 1, 8, 64, 1000};
    add_harm(r, SERVER_SILENT, 0, "unheard", false);
    add_harm(r, SERVER_LOSE, 0, "left out", false);
    add_harm(r, SERVER_PENDING, 0, "pending for ever", false);
    add_harm(r, SERVER_LATE, timeout_ms * 3 / 2, "late", false);
    add_harm(r, SERVER_DELAY, timeout_ms * 3 / 2, "delayed with all others", false);
    add_harm(r, SERVER_LATE, 5, "a little late", true);
    add_harm(r, SERVER_HOLD, 1, "overtaken by one", false);
    add_harm(r, SERVER_HOLD, 2, "overtaken by two", false);
    add_harm(r, SERVER_REPEAT, 1, "repeated", true);
    add_harm(r, SERVER_REPEAT, 5, "repeated five times", true);
    add_harm(r, SERVER_OWN_FRAME, 0, "in a frame of its own", true);
    add_harm(r, SERVER_JOIN, 0, "in one segment with the next", true);
    add_harm(r, SERVER_PIECES, SERVER_PIECES_OF(r->len > 2000 ? 4099 : 1, 0), "in pieces", true);
    add_harm(r, SERVER_PIECES, SERVER_PIECES_OF(r->len > 2000 ? 20011 : 29, 500), "in pieces",
             true);
    if (r->command != SMB2_NEGOTIATE && r->command != SMB2_SESSION_SETUP)
        add_harm(r, SERVER_INTERIM, 0, "after an interim response", true);
    add_harm(r, SERVER_GRANT, 0, "without a credit", false);
    add_harm(r, SERVER_GRANT, 65535, "with all credits", true);
    add_harm(r, SERVER_FAIL, 0xdeadbeef, "with an unknown status", false);
    add_harm(r, SERVER_BAD_PROTOCOL, 0, "of SMB1", false);
    add_harm(r, SERVER_BAD_SIGNATURE, 0, "with a wrong signature", false);
    add_harm(r, SERVER_RANDOM, 300, "noise", false);
    for (size_t i = 0; i < COUNT(lengths); i++)
        add_harm(r, SERVER_BAD_LENGTH, lengths[i], "frame length", false);
    for (unsigned i = 0; i < 2 * COUNT(sizes); i++) {
        const struct trial t = {
            .rule = {r->command, r->nth, SERVER_ANYWHERE, SERVER_ALTER, 0},
            .alteration = {0, 0, SERVER_RESIZE, (uint64_t)sizes[i / 2], i % 2},
            .what = "frame size",
            .is_answer = true,
        };
        add(&t);
    }
    add_cuts(r);
}

/* ---- one trial ---- */

/* What the parent sees of its children. */
struct shared {
    atomic_uint done, right, errors, answers, bad;
};
static struct shared *shared;
static uint64_t timeout_ns;

static void describe(size_t i, char *out, size_t cap)
{
    const struct trial *t = &trials.all[i];
    const struct server_alteration *a = &t->alteration;
    int len = snprintf(out, cap, "%s %u: %s", wire_command_name((uint16_t)t->rule.command),
                       t->rule.nth, t->what);
    if (t->rule.action == SERVER_ALTER)
        snprintf(out + len, cap - (size_t)len, " at %u set to 0x%llx %s", a->offset,
                 (unsigned long long)a->value, a->on_the_way ? "on the way" : "by the server");
    else
        snprintf(out + len, cap - (size_t)len, " (%llu)", (unsigned long long)t->rule.value);
}

static void complain(const struct trial *t, const char *what, const struct session_result *r)
{
    char text[200];
    describe((size_t)(t - trials.all), text, sizeof(text));
    printf("%s: %s (%s: %d %s)\n", text, *r->wrong ? r->wrong : what, r->step, r->code,
           r->err.text);
    fflush(stdout);
    shared->bad++;
}

/* Somebody on the way, or a server that does what nobody asks it for, cannot change an answer. */
static bool may_be_wrong(const struct trial *t)
{
    bool altered = t->rule.action == SERVER_ALTER;
    if (kind == SESSION_GUEST && (altered || t->rule.action == SERVER_RANDOM))
        return true;
    return altered && t->is_answer && !t->alteration.on_the_way;
}

/* Whether an error says what was wrong, or what the server said. */
static bool names_a_cause(const struct session_result *r)
{
    static const char *const causes[] = {"the server",     "not SMB2",       "cannot agree",
                                         "STATUS_",        "unknown status", "is a directory",
                                         "not a directory"};
    for (size_t i = 0; i < COUNT(causes); i++)
        if (strstr(r->err.text, causes[i]))
            return true;
    return false;
}

static void judge(const struct trial *t, const struct session_result *r)
{
    shared->done++;
    if (*r->wrong && !may_be_wrong(t))
        complain(t, "", r);
    else if (r->code < 0 && t->is_harmless)
        complain(t, "it should have done no harm", r);
    else if (*r->wrong)
        shared->answers++;
    else if (r->code < 0 && (r->err.code != r->code || !names_a_cause(r)))
        complain(t, "the error does not say what happened", r);
    else if (r->code < 0)
        shared->errors++;
    else
        shared->right++;
}

static void run_session(const struct trial *t, struct session_result *ret)
{
    struct server_script script = session_script(kind);
    script.rules = &t->rule;
    script.rule_count = 1;
    script.alterations = &t->alteration;
    script.alteration_count = 1;
    struct server *s = server_new(&script);
    if (!s)
        abort();
    session_run(s, kind, t->is_harmless ? 20 * NS_PER_SEC : timeout_ns, ret);
    server_free(s);
}

/* A machine may be so busy that the deadline passes before there is a connection, on which nothing
 * was altered then. */
static bool never_began(const struct session_result *r)
{
    return r->code == -ETIMEDOUT && strstr(r->err.text, "cannot connect to 127.0.0.1 port");
}

static void try(size_t i)
{
    const struct trial *t = &trials.all[i];
    struct session_result result;
    do
        run_session(t, &result);
    while (never_began(&result)); /* the watchdog's, if for ever */
    judge(t, &result);
}

/* ---- all of them ---- */

/* Runs as it should, a few times: the least time it takes, which is without what is made once. */
static uint64_t rehearse(struct server *s, const struct server_script *script)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        struct session_result result;
        server_play(s, script);
        uint64_t before = clock_now();
        session_run(s, kind, 20 * NS_PER_SEC, &result);
        uint64_t took = clock_now() - before;
        if (result.code < 0 || *result.wrong) {
            printf("the session itself fails: %s: %s%s\n", result.step, result.err.text,
                   result.wrong);
            exit(1);
        }
        least = took < least ? took : least;
    }
    return least;
}

/* The trials that the replies of a good session give. */
static void learn(unsigned *seed)
{
    static struct server_reply r;
    const struct server_script script = session_script(kind);
    struct field fields[FIELDS_MAX];
    struct server *s = server_new(&script);
    if (!s)
        abort();
    timeout_ns = 100 * NS_PER_MS + rehearse(s, &script);
    unsigned replies = 0;
    for (; server_reply(s, replies, &r); replies++) {
        unsigned n = fields_of(&r, fields);
        for (unsigned i = 0; i < n; i++)
            add_values(&r, &fields[i], seed);
        add_harms(&r, timeout_ns / NS_PER_MS);
    }
    server_free(s);
    printf("%u replies, %zu trials, no request waits longer than %llu ms\n", replies, trials.count,
           (unsigned long long)(timeout_ns / NS_PER_MS));
}

/* Only the trials whose descriptions begin so stay; shows them. */
static void keep(const char *only, bool list)
{
    char text[200];
    size_t n = 0;
    for (size_t i = 0; i < trials.count; i++) {
        describe(i, text, sizeof(text));
        if (strncmp(text, only, strlen(only)) != 0)
            continue;
        trials.all[n++] = trials.all[i];
        if (list)
            puts(text);
    }
    trials.count = n;
}

static int usage(void)
{
    fprintf(stderr, "usage: alterations [--all] [--seconds N] [--jobs N] [--seed N] [--list] "
                    "[--only TEXT] [--kind signed|sealed|guest]\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct batch batch = {
        .per_process = 250, .seconds = 8, .only = "", .run = try, .describe = describe};
    bool list = false;
    batch.seed = (unsigned)(time(NULL) / 86400);
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (batch_option(&batch, argv, &i))
            continue;
        if (!strcmp(argv[i], "--list"))
            list = true;
        else if (!strcmp(argv[i], "--kind") && has_value && !strcmp(argv[i + 1], "guest"))
            kind = (i++, SESSION_GUEST);
        else if (!strcmp(argv[i], "--kind") && has_value && !strcmp(argv[i + 1], "sealed"))
            kind = (i++, SESSION_SEALED);
        else if (!strcmp(argv[i], "--kind") && has_value && !strcmp(argv[i + 1], "signed"))
            kind = (i++, SESSION_SIGNED);
        else
            return usage();
    }
    shared = batch_shared(sizeof(*shared));
    printf("seed %u\n", batch.seed);
    learn(&batch.seed);
    keep(batch.only, list);
    batch.count = list ? 0 : trials.count;
    shared->bad += batch_run(&batch);
    printf("%u alterations of %zu: %u ended in an error, %u in the right answer, %u in another "
           "answer of the server's; %u badly\n",
           shared->done, trials.count, shared->errors, shared->right, shared->answers, shared->bad);
    printf("%u passed, %u failed\n", shared->bad == 0, shared->bad != 0);
    free(trials.all);
    return shared->bad != 0;
}
