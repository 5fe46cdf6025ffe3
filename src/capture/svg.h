/*
 * Charts for a page without a script: shapes as inline SVG, words as HTML around them. Every shape
 * stretches with the page, no word does, so that both can be read on a telephone and on a desk.
 * Colours are classes (c0 .. c4, m0, m1), which the page's style fills in.
 */
#ifndef LARDER_CAPTURE_SVG_H
#define LARDER_CAPTURE_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SVG_COLOURS 5

/* What a colour stands for; texts may be hostile, here as everywhere below. */
void svg_legend(FILE *out, const char *class, const char *text);

/* ---- bars: a name, then one value or two below each other ---- */

struct svg_bars {
    const char *first, *second; /* what the values are; `second` NULL: there is one, unnamed */
    bool logarithmic;           /* from 1; with a scale below */
    bool long_names;            /* each on a line of its own */
};
struct svg_bar {
    const char *name;
    uint64_t value[2];
};
void svg_bars(FILE *out, const struct svg_bars *is, const struct svg_bar *bar, size_t count);

/* ---- plots: begin, shapes, end ---- */

/* A word below the plot, where along it. */
struct svg_tick {
    double at; /* 0 .. 1 */
    char text[48];
};

/* `label`: what it shows, for who cannot see it; `top`: the value of its upper edge. */
void svg_plot_begin(FILE *out, const char *label, const char *top);
/* Steps, filled down to the ground; `max` is the upper edge. */
void svg_area(FILE *out, const char *class, const uint64_t *value, size_t count, uint64_t max);
/* Columns with a gap between them. */
void svg_columns(FILE *out, const char *class, const uint64_t *value, size_t count, uint64_t max);
/* A line from point to point, the first at the left edge, the last at the right one. */
void svg_line(FILE *out, const char *class, const uint64_t *value, size_t count, uint64_t max);
/* A line from top to ground. */
void svg_mark(FILE *out, const char *class, double at);
void svg_plot_end(FILE *out, const struct svg_tick *tick, size_t count);

#endif
