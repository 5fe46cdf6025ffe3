/* Numbers for people: thousands apart by commas, a point for decimals, whatever the locale. */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Copies `digits`, of which the first `whole` stand before the point. */
static const char *with_commas(char *out, size_t cap, const char *digits, size_t whole)
{
    size_t n = 0;
    for (size_t i = 0; digits[i] && n + 2 < cap; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0)
            out[n++] = ',';
        out[n++] = digits[i];
    }
    out[n] = 0;
    return out;
}

const char *report_count(char buf[static REPORT_NUMBER], uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
    return with_commas(buf, REPORT_NUMBER, digits, (size_t)len);
}

const char *report_decimal(char buf[static REPORT_NUMBER], double v, int places)
{
    char digits[REPORT_NUMBER];
    if (!isfinite(v) || fabs(v) >= 1e18 || places < 0 || places > 9)
        return memcpy(buf, "-", 2);
    snprintf(digits, sizeof(digits), "%.*f", places, fabs(v));
    for (char *p = digits; *p; p++)
        if (*p == ',') /* a locale's decimal comma */
            *p = '.';
    if (v < 0 && strspn(digits, "0.") != strlen(digits)) {
        buf[0] = '-';
        with_commas(buf + 1, REPORT_NUMBER - 1, digits, strcspn(digits, "."));
        return buf;
    }
    return with_commas(buf, REPORT_NUMBER, digits, strcspn(digits, "."));
}

const char *report_ratio(char buf[static REPORT_NUMBER], double v, double base)
{
    double ratio = v / base;
    if (base == 0 || !isfinite(ratio))
        return memcpy(buf, "-", 2);
    /* What would be rounded up to 1.00 is written as 1.0. */
    report_decimal(buf, ratio, ratio < 0.995 ? 2 : 1);
    if (strcmp(buf, "-") != 0)
        strcat(buf, "x");
    return buf;
}
