/*
 * Tables. Cells are kept as text until all are there, since the width of a column is known only
 * then. In text the columns stand two spaces apart below a rule; in Markdown the pipes are padded
 * to the same widths, so that the source of a document can be read too. In HTML the browser aligns,
 * and a table stands in a box of its own, which a page can let scroll.
 */
#include "report/report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 16

struct report_table {
    size_t columns, rows, row_cap;
    enum report_align align[COLUMNS];
    char *title[COLUMNS];
    char *(*cells)[COLUMNS]; /* owned; NULL is an empty cell */
    size_t cell;             /* the next one of the last row */
    bool failed;             /* out of memory at some time */
};

struct report_table *report_table_new(void)
{
    return calloc(1, sizeof(struct report_table));
}

struct report_table *report_table_free(struct report_table *t)
{
    if (!t)
        return NULL;
    for (size_t i = 0; i < t->columns; i++)
        free(t->title[i]);
    for (size_t r = 0; r < t->rows; r++)
        for (size_t i = 0; i < t->columns; i++)
            free(t->cells[r][i]);
    free(t->cells);
    free(t);
    return NULL;
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

static char *without_controls(char *text)
{
    for (char *p = text; p && *p; p++)
        if (is_control(*p))
            *p = '?';
    return text;
}

void report_column(struct report_table *t, enum report_align align, const char *title)
{
    if (!t || t->columns == COLUMNS || t->rows)
        return;
    t->align[t->columns] = align;
    t->title[t->columns] = without_controls(strdup(title));
    t->failed |= !t->title[t->columns];
    t->columns++;
}

void report_row(struct report_table *t)
{
    if (!t || t->failed)
        return;
    if (t->rows == t->row_cap) {
        size_t cap = t->row_cap ? 2 * t->row_cap : 16;
        void *more = realloc(t->cells, cap * sizeof(t->cells[0]));
        if (!more) {
            t->failed = true;
            return;
        }
        t->cells = more;
        t->row_cap = cap;
    }
    memset(t->cells[t->rows++], 0, sizeof(t->cells[0]));
    t->cell = 0;
}

void report_cell(struct report_table *t, const char *format, ...)
{
    if (!t || t->failed || !t->rows || t->cell == t->columns)
        return;
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) {
        text = NULL;
        t->failed = true;
    }
    va_end(args);
    t->cells[t->rows - 1][t->cell++] = without_controls(text);
}

/* ---- widths ---- */

/* The character at *s, which moves on; what is no UTF-8 counts as one character a byte. */
static uint32_t next_char(const unsigned char **s)
{
    const unsigned char *p = *s;
    unsigned n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc0 ? 2 : 1;
    uint32_t c = n == 1 ? p[0] : p[0] & (0xffu >> (n + 1));
    for (unsigned i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            *s = p + 1;
            return p[0];
        }
        c = c << 6 | (p[i] & 0x3f);
    }
    *s = p + n;
    return c;
}

struct range {
    uint32_t first, last;
};

static bool in(const struct range *ranges, size_t n, uint32_t c)
{
    for (size_t i = 0; i < n; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return true;
    return false;
}

/* The blocks that matter in names, in place of wcwidth(), which follows the locale of the process.
 */
size_t report_width(const char *text)
{
    static const struct range none[] = {
        {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
        {0x200b, 0x200f}, {0x20d0, 0x20f0}, {0x3099, 0x309a}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
    };
    static const struct range wide[] = {
        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0x33ff}, {0x3400, 0x4dbf},
        {0x4e00, 0x9fff},   {0xa000, 0xa4cf},   {0xac00, 0xd7a3}, {0xf900, 0xfaff},
        {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6}, {0x1f300, 0x1f64f},
        {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
    };
    size_t width = 0;
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        uint32_t c = next_char(&s);
        if (in(none, sizeof(none) / sizeof(none[0]), c))
            continue;
        width += in(wide, sizeof(wide) / sizeof(wide[0]), c) ? 2 : 1;
    }
    return width;
}

/* ---- printing ---- */

/* Width of a cell as it is printed: in Markdown a pipe needs a backslash. */
static size_t cell_width(const char *text, enum report_format format)
{
    size_t width = text ? report_width(text) : 0;
    if (format == REPORT_MARKDOWN)
        for (const char *p = text; p && (p = strchr(p, '|')); p++)
            width++;
    return width;
}

static void pad(FILE *out, size_t n, char c)
{
    while (n-- > 0)
        fputc(c, out);
}

static void print_cell(FILE *out, const char *text, enum report_align align, size_t width,
                       enum report_format format, bool last)
{
    size_t room = width - cell_width(text, format);
    if (align == REPORT_RIGHT)
        pad(out, room, ' ');
    for (const char *p = text; p && *p; p++) {
        if (*p == '|' && format == REPORT_MARKDOWN)
            fputc('\\', out);
        fputc(*p, out);
    }
    if (align == REPORT_LEFT && !(last && format == REPORT_TEXT))
        pad(out, room, ' ');
}

static void print_line(const struct report_table *t, FILE *out, char *const *cells,
                       const size_t *width, enum report_format format)
{
    for (size_t i = 0; i < t->columns; i++) {
        fputs(format == REPORT_MARKDOWN ? "| " : i ? "  " : "", out);
        print_cell(out, cells[i], t->align[i], width[i], format, i + 1 == t->columns);
        if (format == REPORT_MARKDOWN)
            fputs(i + 1 == t->columns ? " |" : " ", out);
    }
    fputc('\n', out);
}

static void print_rule(const struct report_table *t, FILE *out, const size_t *width,
                       enum report_format format)
{
    for (size_t i = 0; i < t->columns; i++) {
        if (format == REPORT_MARKDOWN) {
            fputc('|', out);
            pad(out, width[i] + 1, '-');
            fputc(t->align[i] == REPORT_RIGHT ? ':' : '-', out);
        } else {
            fputs(i ? "  " : "", out);
            pad(out, width[i], '-');
        }
    }
    fputs(format == REPORT_MARKDOWN ? "|\n" : "\n", out);
}

void report_html(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, out);
        }
}

static void print_html_line(const struct report_table *t, FILE *out, char *const *cells,
                            const char *tag)
{
    fputs("<tr>", out);
    for (size_t i = 0; i < t->columns; i++) {
        fprintf(out, "<%s%s>", tag, t->align[i] == REPORT_RIGHT ? " class=\"n\"" : "");
        report_html(out, cells[i] ? cells[i] : "");
        fprintf(out, "</%s>", tag);
    }
    fputs("</tr>\n", out);
}

static int print_html(const struct report_table *t, FILE *out)
{
    fputs("<div class=\"table\"><table>\n<thead>", out);
    print_html_line(t, out, t->title, "th");
    fputs("</thead>\n<tbody>\n", out);
    for (size_t r = 0; r < t->rows; r++)
        print_html_line(t, out, t->cells[r], "td");
    fputs("</tbody>\n</table></div>\n", out);
    return ferror(out) ? -EIO : 0;
}

int report_print(const struct report_table *t, FILE *out, enum report_format format)
{
    size_t width[COLUMNS];
    if (!t || t->failed)
        return -ENOMEM;
    if (format == REPORT_HTML)
        return print_html(t, out);
    for (size_t i = 0; i < t->columns; i++) {
        width[i] = cell_width(t->title[i], format);
        for (size_t r = 0; r < t->rows; r++) {
            size_t w = cell_width(t->cells[r][i], format);
            width[i] = w > width[i] ? w : width[i];
        }
    }
    print_line(t, out, t->title, width, format);
    print_rule(t, out, width, format);
    for (size_t r = 0; r < t->rows; r++)
        print_line(t, out, t->cells[r], width, format);
    return ferror(out) ? -EIO : 0;
}

static void put_visible(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc(is_control(*text) ? '?' : *text, out);
}

void report_field(FILE *out, enum report_format format, const char *name, const char *text)
{
    if (format != REPORT_HTML) {
        fprintf(out, format == REPORT_TEXT ? "%-12s " : "- %s: ", name);
        put_visible(out, text);
        fputc('\n', out);
    } else {
        fputs("<p class=\"field\"><b>", out);
        report_html(out, name);
        fputs("</b> <span>", out);
        report_html(out, text);
        fputs("</span></p>\n", out);
    }
}
