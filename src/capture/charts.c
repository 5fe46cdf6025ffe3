/*
 * What each chart shows of an analysis. The numbers are those of the tables: a chart says at a
 * glance what a table says exactly, and nothing of its own.
 */
#include "capture/charts.h"

#include <string.h>

#include "capture/svg.h"
#include "capture/text.h"

#define DIRECTORIES 10
#define NUMBERS     char n[3][REPORT_NUMBER]

/* ---- commands ---- */

/* Most first, by both values. */
static void insert(struct svg_bar *bar, size_t *count, struct svg_bar new)
{
    uint64_t most = new.value[0] > new.value[1] ? new.value[0] : new.value[1];
    size_t at = (*count)++;
    for (; at > 0 && bar[at - 1].value[0] < most && bar[at - 1].value[1] < most; at--)
        bar[at] = bar[at - 1];
    bar[at] = new;
}

/* `second` NULL: one capture's. */
static size_t command_bars(const struct analysis *first, const struct analysis *second,
                           struct svg_bar bar[static SMB2_COMMANDS])
{
    size_t count = 0;
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++) {
        struct svg_bar b = {wire_command_name(c),
                            {analysis_messages_of(&first->command[c]),
                             second ? analysis_messages_of(&second->command[c]) : 0}};
        if (b.value[0] || b.value[1])
            insert(bar, &count, b);
    }
    return count;
}

void chart_commands(const struct analysis *a, FILE *out)
{
    struct svg_bar bar[SMB2_COMMANDS];
    size_t count = command_bars(a, NULL, bar);
    if (!count)
        return;
    text_heading(out, REPORT_HTML, "messages by command");
    svg_bars(out, &(struct svg_bars){0}, bar, count);
}

void chart_difference(const struct difference *d, FILE *out)
{
    struct svg_bar bar[SMB2_COMMANDS];
    char first[PAGE_NAME], second[PAGE_NAME];
    struct svg_bars is = {.first = page_name(first, d->base->file, PAGE_NAME),
                          .second = page_name(second, d->other->file, PAGE_NAME),
                          .logarithmic = true};
    size_t count = command_bars(d->base, d->other, bar);
    if (!count)
        return;
    text_heading(out, REPORT_HTML, "messages by command, side by side");
    svg_bars(out, &is, bar, count);
}

/* ---- requests over time ---- */

#define SERIES SVG_COLOURS /* the last is of all other commands */
static const char *const colour[SVG_COLOURS] = {"c0", "c1", "c2", "c3", "c4"};

static void top_commands(const struct analysis *a, uint16_t top[static SERIES - 1])
{
    bool taken[SMB2_COMMANDS] = {0};
    for (size_t i = 0; i < SERIES - 1; i++) {
        uint16_t best = 0;
        while (taken[best])
            best++;
        for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
            if (!taken[c] && a->command[c].requests > a->command[best].requests)
                best = c;
        taken[best] = true;
        top[i] = best;
    }
}

/* Each series lies on those before it; the last is the sum of all. Returns how many slots. */
static size_t stack(const struct analysis *a, const uint16_t top[static SERIES - 1],
                    uint64_t sum[static SERIES][TIMELINE_SLOTS])
{
    size_t used = 0;
    for (size_t i = 0; i < TIMELINE_SLOTS; i++) {
        const uint64_t *requests = a->timeline.requests[i];
        uint64_t all = 0, below = 0;
        for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
            all += requests[c];
        for (size_t s = 0; s < SERIES - 1; s++)
            sum[s][i] = below += requests[top[s]];
        sum[SERIES - 1][i] = all;
        used = all ? i + 1 : used;
    }
    return used;
}

static int places_for(double seconds)
{
    return seconds < 0.1 ? 3 : seconds < 4 ? 2 : seconds < 40 ? 1 : 0;
}

static size_t time_ticks(double seconds, struct svg_tick tick[static 5])
{
    NUMBERS;
    for (int i = 0; i < 5; i++) {
        tick[i].at = i / 4.0;
        report_decimal(n[0], seconds * tick[i].at, i ? places_for(seconds) : 0);
        snprintf(tick[i].text, sizeof(tick[i].text), "%s s", n[0]);
    }
    return 5;
}

void chart_timeline(const struct analysis *a, FILE *out)
{
    NUMBERS;
    uint64_t sum[SERIES][TIMELINE_SLOTS], most = 0;
    uint16_t top[SERIES - 1];
    struct svg_tick tick[5];
    char line[120];
    bool others = false;
    double slot = (double)a->timeline.slot_ns / 1e9;
    top_commands(a, top);
    size_t used = stack(a, top, sum);
    if (used < 2)
        return;
    text_heading(out, REPORT_HTML, "requests over time");
    for (size_t s = 0; s < SERIES - 1; s++)
        if (a->command[top[s]].requests)
            svg_legend(out, colour[s], wire_command_name(top[s]));
    for (size_t i = 0; i < used; i++) {
        others |= sum[SERIES - 1][i] > sum[SERIES - 2][i];
        most = sum[SERIES - 1][i] > most ? sum[SERIES - 1][i] : most;
    }
    if (others)
        svg_legend(out, colour[SERIES - 1], "others");
    snprintf(line, sizeof(line), "%s requests in %s s", report_count(n[0], most),
             text_seconds(n[1], a->timeline.slot_ns));
    svg_plot_begin(out, "Requests over time, stacked by command", line);
    for (size_t s = SERIES; s-- > 0;)
        svg_area(out, colour[s], sum[s], used, most);
    svg_plot_end(out, tick, time_ticks(slot * (double)used, tick));
}

/* ---- response times ---- */

#define SLOTS_LEAST 12 /* shown, so that a single column does not fill the page */

/* Powers of ten, every other one where there are too many for a narrow page. */
static size_t decade_ticks(const struct analysis *a, unsigned first, unsigned count,
                           struct svg_tick tick[static 16])
{
    size_t ticks = 0;
    uint64_t decade = 1000, from, to;
    uint64_t step = count > 36 ? 100 : 10;
    for (unsigned i = 0; i < count; i++) {
        analysis_histogram(a, first + i, &from);
        analysis_histogram(a, first + i + 1, &to);
        while (decade < from)
            decade *= step;
        if (decade >= to || ticks == 16)
            continue;
        NUMBERS;
        double part = (double)(decade - from) / (double)(to - from);
        const char *unit = decade < 1000000 ? "\xc2\xb5s" : decade < 1000000000 ? "ms" : "s";
        uint64_t in = decade < 1000000 ? 1000 : decade < 1000000000 ? 1000000 : 1000000000;
        tick[ticks].at = (i + part) / count;
        snprintf(tick[ticks].text, sizeof(tick[ticks].text), "%s %s",
                 report_count(n[0], decade / in), unit);
        ticks++;
    }
    return ticks;
}

void chart_response_times(const struct analysis *a, FILE *out)
{
    NUMBERS;
    uint64_t value[HISTOGRAM_SLOTS], from, most = 0;
    unsigned first = HISTOGRAM_SLOTS, last = 0;
    struct svg_tick tick[16];
    char line[120];
    for (unsigned i = 0; i < HISTOGRAM_SLOTS; i++) {
        value[i] = analysis_histogram(a, i, &from);
        most = value[i] > most ? value[i] : most;
        if (value[i]) {
            first = i < first ? i : first;
            last = i;
        }
    }
    if (!most)
        return;
    while (last - first + 1 < SLOTS_LEAST) {
        first -= first > 0;
        last += last < HISTOGRAM_SLOTS - 1;
    }
    unsigned count = last - first + 1;
    text_heading(out, REPORT_HTML, "response times");
    snprintf(line, sizeof(line), "%s responses in a column of half an octave",
             report_count(n[0], most));
    svg_plot_begin(out, "Responses by response time, on a logarithmic scale", line);
    svg_columns(out, "c0", value + first, count, most);
    svg_plot_end(out, tick, decade_ticks(a, first, count, tick));
}

/* ---- directories ---- */

void chart_directories(const struct analysis *a, FILE *out)
{
    static const struct svg_bars is = {.first = "enumerated",
                                       .second = "of these, again within the cache's lifetime",
                                       .long_names = true};
    char place[DIRECTORIES][PAGE_NAME];
    struct svg_bar bar[DIRECTORIES];
    size_t count = 0;
    for (; count < a->directory_count && count < DIRECTORIES; count++) {
        const struct analysis_directory *d = &a->directories[count];
        bar[count] =
            (struct svg_bar){text_place(place[count], d->share, d->path, PAGE_NAME, REPORT_HTML),
                             {d->listings + d->searches, d->repeats}};
    }
    if (!count)
        return;
    text_heading(out, REPORT_HTML, "top directories");
    svg_bars(out, &is, bar, count);
}

/* ---- questions ---- */

void chart_what_if(const struct whatif_result *r, FILE *out)
{
    static const struct svg_bars is = {.first = "requests seen", .second = "estimate"};
    struct svg_bar bar[SMB2_COMMANDS];
    size_t count = 0;
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
        if (r->seen.requests[c] || r->predicted.requests[c])
            insert(bar, &count,
                   (struct svg_bar){wire_command_name(c),
                                    {r->seen.requests[c], r->predicted.requests[c]}});
    if (count)
        svg_bars(out, &is, bar, count);
}

/* Where a value lies on an axis of the points, which stand equally far apart. */
static double point_of(const struct sweep_result *r, uint64_t value)
{
    size_t i = 0;
    while (i + 1 < r->count && r->point[i].value < value)
        i++;
    return (double)i / (double)(r->count - 1);
}

void chart_sweep(const struct sweep_result *r, FILE *out)
{
    NUMBERS;
    uint64_t value[SWEEP_POINTS_MAX];
    struct svg_tick tick[SWEEP_POINTS_MAX];
    char line[120];
    size_t ticks = 0, step = r->count / 6 + 1;
    if (r->count < 2 || !r->most)
        return;
    for (size_t i = 0; i < r->count; i++) {
        value[i] = r->point[i].hits;
        if (i % step)
            continue;
        tick[ticks].at = (double)i / (double)(r->count - 1);
        report_count(tick[ticks++].text, r->point[i].value);
    }
    snprintf(line, sizeof(line), "now: %s %s", report_count(n[0], r->present), r->unit);
    svg_legend(out, "m0", line);
    if (r->enough) {
        snprintf(line, sizeof(line), "99 %% of what can be had: %s %s",
                 report_count(n[0], r->enough), r->unit);
        svg_legend(out, "m1", line);
    }
    snprintf(line, sizeof(line), "%s operations answered", report_count(n[0], r->most));
    svg_plot_begin(out, "Operations answered by the cache, by the setting's value", line);
    svg_line(out, "c0", value, r->count, r->most);
    svg_mark(out, "m0", point_of(r, r->present));
    if (r->enough)
        svg_mark(out, "m1", point_of(r, r->enough));
    svg_plot_end(out, tick, ticks);
}
