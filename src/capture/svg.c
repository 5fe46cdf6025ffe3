/*
 * A plot's picture is 1000 units wide and high whatever its size on the page, which stretches it
 * (preserveAspectRatio="none") but not the strokes in it. Coordinates are whole numbers: they are
 * fine enough, and a locale's decimal comma cannot break them. A bar is a picture of its own whose
 * width is its share.
 */
#include "capture/svg.h"

#include <inttypes.h>
#include <math.h>

#include "report/report.h"

#define SIDE 1000

void svg_legend(FILE *out, const char *class, const char *text)
{
    fprintf(out, "<span class=\"legend\"><i class=\"%s\"></i>", class);
    report_html(out, text);
    fputs("</span>\n", out);
}

/* ---- bars ---- */

static double share(const struct svg_bars *is, uint64_t value, uint64_t most)
{
    if (!value)
        return 0;
    return is->logarithmic ? log1p((double)value) / log1p((double)most)
                           : (double)value / (double)most;
}

/* "37.2%" */
static void put_percent(FILE *out, double part)
{
    unsigned tenths = (unsigned)(part * 1000 + 0.5);
    fprintf(out, "%u.%u%%", tenths / 10, tenths % 10);
}

static void put_ticks(FILE *out, const struct svg_tick *tick, size_t count)
{
    fputs("<div class=\"x\">", out);
    for (size_t i = 0; i < count; i++) {
        const char *side = tick[i].at < 0.06 ? "l" : tick[i].at > 0.94 ? "r" : "m";
        fprintf(out, "<span class=\"%s\" style=\"left:", side);
        put_percent(out, tick[i].at);
        fputs("\">", out);
        report_html(out, tick[i].text);
        fputs("</span>", out);
    }
    fputs("</div>", out);
}

/* The powers of ten, of which a narrow page has room for seven. */
static void put_scale(FILE *out, const struct svg_bars *is, uint64_t most)
{
    struct svg_tick tick[20];
    size_t count = 0;
    uint64_t step = most >= 1000000 ? 100 : 10;
    for (uint64_t v = 1; v <= most && count < 20; v *= step) {
        tick[count].at = share(is, v, most);
        report_count(tick[count++].text, v);
        if (v > UINT64_MAX / step)
            break;
    }
    fputs("<div class=\"bar\"><span class=\"name\">logarithmic scale</span>", out);
    put_ticks(out, tick, count);
    fputs("<span class=\"n\"></span></div>\n", out);
}

static void put_bar(FILE *out, const struct svg_bars *is, const struct svg_bar *bar, uint64_t most)
{
    char n[REPORT_NUMBER];
    fputs("<div class=\"bar\"><span class=\"name\">", out);
    report_html(out, bar->name);
    fputs("</span>", out);
    for (int v = 0; v < (is->second ? 2 : 1); v++) {
        fprintf(out, "<svg aria-hidden=\"true\"><rect class=\"c%d\" height=\"100%%\" width=\"", v);
        put_percent(out, share(is, bar->value[v], most));
        fprintf(out, "\"/></svg><span class=\"n\">%s</span>", report_count(n, bar->value[v]));
    }
    fputs("</div>\n", out);
}

void svg_bars(FILE *out, const struct svg_bars *is, const struct svg_bar *bar, size_t count)
{
    uint64_t most = 1;
    for (size_t i = 0; i < count; i++)
        for (int v = 0; v < (is->second ? 2 : 1); v++)
            most = bar[i].value[v] > most ? bar[i].value[v] : most;
    if (is->second) {
        svg_legend(out, "c0", is->first);
        svg_legend(out, "c1", is->second);
    }
    fprintf(out, "<div class=\"bars%s%s\">\n", is->second ? " two" : "",
            is->long_names ? " long" : "");
    for (size_t i = 0; i < count; i++)
        put_bar(out, is, &bar[i], most);
    if (is->logarithmic)
        put_scale(out, is, most);
    fputs("</div>\n", out);
}

/* ---- plots ---- */

/* From the upper edge down. */
static unsigned height(uint64_t value, uint64_t max)
{
    double part = max ? (double)value / (double)max : 0;
    return SIDE - (unsigned)(part * SIDE + 0.5);
}

static unsigned along(size_t i, size_t count)
{
    return (unsigned)(i * SIDE / (count ? count : 1));
}

void svg_plot_begin(FILE *out, const char *label, const char *top)
{
    fputs("<div class=\"plot\"><p class=\"top\">", out);
    report_html(out, top);
    fprintf(out,
            "</p>\n<svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" "
            "aria-label=\"",
            SIDE, SIDE);
    report_html(out, label);
    fprintf(out, "\">\n<path class=\"grid\" d=\"M0 0H%d M0 %dH%d M0 %dH%d\"/>\n", SIDE, SIDE / 2,
            SIDE, SIDE, SIDE);
}

void svg_area(FILE *out, const char *class, const uint64_t *value, size_t count, uint64_t max)
{
    fprintf(out, "<path class=\"%s\" d=\"M0 %d", class, SIDE);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "V%uH%u", height(value[i], max), along(i + 1, count));
    fprintf(out, "V%dZ\"/>\n", SIDE);
}

void svg_columns(FILE *out, const char *class, const uint64_t *value, size_t count, uint64_t max)
{
    fprintf(out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < count; i++) {
        unsigned from = along(i, count), to = along(i + 1, count), gap = (to - from) / 8;
        fprintf(out, "M%u %dV%uH%uV%dZ", from + gap, SIDE, height(value[i], max), to - gap, SIDE);
    }
    fputs("\"/>\n", out);
}

void svg_line(FILE *out, const char *class, const uint64_t *value, size_t count, uint64_t max)
{
    fprintf(out, "<path class=\"line %s\" d=\"", class);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%c%u %u", i ? 'L' : 'M', along(i, count - 1), height(value[i], max));
    fputs("\"/>\n", out);
}

void svg_mark(FILE *out, const char *class, double at)
{
    fprintf(out, "<path class=\"mark %s\" d=\"M%u 0V%d\"/>\n", class, (unsigned)(at * SIDE + 0.5),
            SIDE);
}

void svg_plot_end(FILE *out, const struct svg_tick *tick, size_t count)
{
    fputs("</svg>\n", out);
    put_ticks(out, tick, count);
    fputs("</div>\n", out);
}
