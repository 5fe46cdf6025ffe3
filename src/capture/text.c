/*
 * Every name that comes from a capture passes through page_name before it is printed. It lets
 * through what is UTF-8 and moves nothing: control characters (C0, C1), the marks that turn the
 * direction of writing, and broken bytes become `?`.
 */
#include "capture/text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/ntstatus.h"

#define PAGE_WIDTH 80
#define FIELD_AT   13 /* where the text of a field begins */

/* ---- names ---- */

/* One character; returns its bytes, 0 where they are none that can be shown. */
static size_t shown(const unsigned char *s)
{
    uint32_t c;
    size_t len;
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7f ? 1 : 0;
    if (s[0] >= 0xc2 && s[0] < 0xe0)
        len = 2, c = s[0] & 0x1f;
    else if (s[0] >= 0xe0 && s[0] < 0xf0)
        len = 3, c = s[0] & 0x0f;
    else if (s[0] >= 0xf0 && s[0] < 0xf5)
        len = 4, c = s[0] & 0x07;
    else
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    bool overlong = (len == 3 && c < 0x800) || (len == 4 && c < 0x10000);
    bool surrogate = c >= 0xd800 && c < 0xe000;
    bool moves = c < 0xa0 || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
                 (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
    return overlong || surrogate || moves || c > 0x10ffff ? 0 : len;
}

/* Bytes that begin a character in clean text. */
static bool begins(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

const char *page_name(char out[static PAGE_NAME], const char *text, size_t width)
{
    size_t n = 0, len;
    for (const unsigned char *s = (const unsigned char *)text; *s && n + 8 < PAGE_NAME; s += len) {
        len = shown(s);
        if (len) {
            memcpy(out + n, s, len);
            n += len;
        } else {
            out[n++] = '?';
            len = 1;
            while (s[0] >= 0x80 && (s[len] & 0xc0) == 0x80)
                len++;
        }
    }
    out[n] = 0;
    if (report_width(out) <= width)
        return out;
    char *from = out;
    while (*from && report_width(from) + 3 > width)
        do
            from++;
        while (!begins(*from));
    memmove(out + 3, from, strlen(from) + 1);
    return memcpy(out, "...", 3), out;
}

const char *text_name(char out[static PAGE_NAME], const char *name, size_t width,
                      enum report_format format)
{
    if (format != REPORT_MARKDOWN)
        return page_name(out, name, format == REPORT_HTML ? PAGE_NAME : width);
    char plain[PAGE_NAME];
    page_name(plain, name, PAGE_NAME - 8);
    for (char *p = plain; (p = strchr(p, '`'));)
        *p = '\'';
    snprintf(out, PAGE_NAME, "`%.*s`", PAGE_NAME - 4, plain);
    return out;
}

const char *text_place(char out[static PAGE_NAME], const char *share, const char *path,
                       size_t width, enum report_format format)
{
    char place[PLACE_TEXT];
    return text_name(out, place_text(place, share, path), width, format);
}

/* ---- numbers ---- */

const char *text_ms(char buf[static REPORT_NUMBER], uint64_t ns)
{
    double ms = (double)ns / 1e6;
    return ns ? report_decimal(buf, ms,
                               ms < 1     ? 3
                               : ms < 10  ? 2
                               : ms < 100 ? 1
                                          : 0)
              : memcpy(buf, "-", 2);
}

const char *text_seconds(char buf[static REPORT_NUMBER], uint64_t ns)
{
    double s = (double)ns / 1e9;
    return report_decimal(buf, s, s < 1 ? 3 : s < 100 ? 2 : 1);
}

const char *text_share(char buf[static REPORT_NUMBER], double part, double of)
{
    if (!(of > 0))
        return memcpy(buf, "-", 2);
    report_decimal(buf, 100 * part / of, 1);
    return strcat(buf, " %");
}

const char *text_kib(char buf[static REPORT_NUMBER], uint64_t bytes)
{
    return report_count(buf, bytes / 1024 + (bytes % 1024 != 0));
}

const char *text_status(char buf[static REPORT_NUMBER], uint32_t status)
{
    const char *name = status == STATUS_OTHER ? "others" : ntstatus_name(status);
    if (name)
        snprintf(buf, REPORT_NUMBER, "%s", name);
    else
        snprintf(buf, REPORT_NUMBER, "0x%08" PRIX32, status);
    return buf;
}

/* ---- lines ---- */

void text_heading(FILE *out, enum report_format format, const char *title)
{
    static const char *const around[][2] = {[REPORT_TEXT] = {"\n", "\n"},
                                            [REPORT_MARKDOWN] = {"\n**", "**\n"},
                                            [REPORT_HTML] = {"<h3>", "</h3>\n"}};
    fputs(around[format][0], out);
    if (format == REPORT_HTML)
        report_html(out, title);
    else
        fputs(title, out);
    fputs(around[format][1], out);
}

/* Markdown: what would be markup gets a backslash. */
static void put_markdown(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*<[", *text))
            fputc('\\', out);
        fputc(*text, out);
    }
}

/* A word, with the `%` that belongs to it. */
static size_t word_length(const char *text)
{
    size_t len = strcspn(text, " ");
    return text[len] && text[len + 1] == '%' ? len + 1 + strcspn(text + len + 1, " ") : len;
}

static void put_broken(FILE *out, const char *text, size_t indent)
{
    size_t at = indent;
    while (*text) {
        char word[PAGE_NAME];
        size_t len = word_length(text);
        snprintf(word, sizeof(word), "%.*s", (int)len, text);
        size_t width = report_width(word);
        if (at > indent && at + 1 + width > PAGE_WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', out);
            at++;
        }
        fputs(word, out);
        at += width;
        text += len + strspn(text + len, " ");
    }
    fputc('\n', out);
}

static void finding_markdown(FILE *out, const struct finding *f, const char *clean)
{
    fprintf(out, "- **%s** ", severity_name(f->severity));
    put_markdown(out, clean);
    fputs(f->remedy[0] ? ". *" : ".\n", out);
    if (f->remedy[0]) {
        put_markdown(out, f->remedy);
        fputs(".*\n", out);
    }
}

static void finding_html(FILE *out, const struct finding *f, const char *clean)
{
    const char *severity = severity_name(f->severity);
    fprintf(out, "<p class=\"finding %s\"><b>%s</b> <span>", severity, severity);
    report_html(out, clean);
    if (f->remedy[0]) {
        fputs(" <i>", out);
        report_html(out, f->remedy);
        fputs("</i>", out);
    }
    fputs("</span></p>\n", out);
}

void text_finding(FILE *out, enum report_format format, const struct finding *f)
{
    char clean[PAGE_NAME];
    page_name(clean, f->text, PAGE_NAME);
    if (format == REPORT_MARKDOWN) {
        finding_markdown(out, f, clean);
        return;
    }
    if (format == REPORT_HTML) {
        finding_html(out, f, clean);
        return;
    }
    fprintf(out, "%-8s", severity_name(f->severity));
    put_broken(out, clean, 8);
    if (f->remedy[0]) {
        fputs("        > ", out);
        put_broken(out, f->remedy, 10);
    }
}

void text_well(FILE *out, enum report_format format, const char *text)
{
    if (format == REPORT_HTML)
        fprintf(out, "<p class=\"finding well\"><b>&#10003;</b> <span>%s</span></p>\n", text);
    else if (format == REPORT_MARKDOWN)
        fprintf(out, "- %s\n", text);
    else
        put_broken(out, text, 0);
}

void text_field(FILE *out, enum report_format format, const char *name, const char *text)
{
    if (format != REPORT_TEXT) {
        report_field(out, format, name, text);
        return;
    }
    fprintf(out, "%-*s", FIELD_AT, name);
    put_broken(out, text, FIELD_AT);
}

void text_item(FILE *out, enum report_format format, const char *text)
{
    if (format == REPORT_HTML) {
        fputs("<p class=\"item\">", out);
        report_html(out, text);
        fputs("</p>\n", out);
        return;
    }
    fputs("- ", out);
    if (format == REPORT_MARKDOWN) {
        put_markdown(out, text);
        fputc('\n', out);
    } else {
        put_broken(out, text, 2);
    }
}

int text_table(struct report_table *t, FILE *out, enum report_format format)
{
    fputc('\n', out);
    int code = t ? report_print(t, out, format) : -ENOMEM;
    report_table_free(t);
    return code;
}
