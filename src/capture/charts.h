/* The pictures of the HTML page: one function each, a heading and a chart, nothing where there is
 * nothing to show. */
#ifndef LARDER_CAPTURE_CHARTS_H
#define LARDER_CAPTURE_CHARTS_H

#include <stdio.h>

#include "capture/difference.h"
#include "capture/sweep.h"
#include "capture/whatif.h"

void chart_commands(const struct analysis *a, FILE *out);
void chart_timeline(const struct analysis *a, FILE *out);
void chart_response_times(const struct analysis *a, FILE *out);
void chart_directories(const struct analysis *a, FILE *out);

/* Messages of each command in both captures, on a logarithmic scale. */
void chart_difference(const struct difference *d, FILE *out);

/* Without a heading: they stand with the tables of the same. */
void chart_what_if(const struct whatif_result *r, FILE *out);
void chart_sweep(const struct sweep_result *r, FILE *out);

#endif
