/*
 * Levenshtein's distance between what was given and a known name, with one row of the matrix: only
 * the known name's length has to be bounded, which is ours, and not the stranger's.
 */
#include "base/nearest.h"

#include <string.h>

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static size_t distance(const char *given, const char *known)
{
    size_t row[NEAREST_NAME_MAX + 1], n = strnlen(known, NEAREST_NAME_MAX);
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (; *given; given++) {
        size_t diagonal = row[0]++;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (lower(*given) != lower(known[j - 1]));
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[n];
}

void nearest_offer(struct nearest *n, const char *known)
{
    size_t changes = distance(n->given, known);
    if (n->best && changes >= n->changes)
        return;
    n->best = known;
    n->changes = changes;
}

const char *nearest_meant(const struct nearest *n)
{
    return n->best && n->changes * 2 < strlen(n->best) ? n->best : NULL;
}
