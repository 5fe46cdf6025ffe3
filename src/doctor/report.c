/* What was found, for people and for programs. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/exam.h"
#include "report/report.h"

enum { FINDINGS_MAX = 32, LINE = 79 };

struct doctor_report {
    char source[SHARE_SOURCE_MAX];
    char user[320];
    size_t count;
    struct finding finding[FINDINGS_MAX];
    json_t *promises;
};

struct doctor_report *report_new(const struct share_options *o)
{
    struct doctor_report *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    share_options_source(o, r->source);
    r->promises = json_object();
    return r;
}

struct doctor_report *doctor_report_free(struct doctor_report *r)
{
    if (!r)
        return NULL;
    for (size_t i = 0; i < r->count; i++)
        json_decref(r->finding[i].facts);
    json_decref(r->promises);
    free(r);
    return NULL;
}

struct finding *report_add(struct doctor_report *r, const char *key, const char *title,
                           enum doctor_state state, const char *format, ...)
{
    va_list args;
    struct finding *f = &r->finding[r->count < FINDINGS_MAX ? r->count++ : FINDINGS_MAX - 1];
    json_decref(f->facts);
    *f = (struct finding){.key = key, .title = title, .state = state, .facts = json_object()};
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
    return f;
}

void finding_advise(struct finding *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(f->advice, sizeof f->advice, format, args);
    va_end(args);
}

void finding_fact(struct finding *f, const char *name, json_t *value)
{
    json_object_set_new(f->facts, name, value);
}

void report_user(struct doctor_report *r, const char *user)
{
    snprintf(r->user, sizeof r->user, "%s", user);
}

void report_promise(struct doctor_report *r, const char *of, const char *trust)
{
    json_object_set_new(r->promises, of, json_string(trust));
}

bool doctor_well(const struct doctor_report *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->finding[i].state == DOCTOR_WRONG)
            return false;
    return true;
}

/* ---- for programs ---- */

/* What a server says may be no UTF-8 any more where it was cut. */
static json_t *text_json(const char *text)
{
    json_t *s = json_string(text);
    if (s)
        return s;
    char plain[sizeof((struct finding *)0)->advice];
    snprintf(plain, sizeof plain, "%s", text);
    for (char *p = plain; *p; p++)
        if (*p & 0x80)
            *p = '?';
    return json_string(plain);
}

static json_t *finding_json(const struct finding *f)
{
    static const char *const states[] = {[DOCTOR_GOOD] = "good",
                                         [DOCTOR_NOTE] = "note",
                                         [DOCTOR_WRONG] = "wrong",
                                         [DOCTOR_UNTRIED] = "untried"};
    json_t *o = json_pack("{s:s, s:o}", "state", states[f->state], "text", text_json(f->text));
    if (*f->advice)
        json_object_set_new(o, "advice", text_json(f->advice));
    json_object_update(o, f->facts);
    return o;
}

json_t *doctor_json(const struct doctor_report *r)
{
    json_t *findings = json_object();
    for (size_t i = 0; i < r->count; i++)
        json_object_set_new(findings, r->finding[i].key, finding_json(&r->finding[i]));
    return json_pack("{s:o, s:o, s:b, s:o, s:O}", "target", text_json(r->source), "user",
                     text_json(r->user), "well", doctor_well(r), "findings", findings, "promises",
                     r->promises);
}

/* ---- for people ---- */

/* One line's worth: as many words as fit; what follows. */
static const char *take_line(const char *text, int room, int *ret_len)
{
    int len = (int)strlen(text), end = len;
    if (len > room) {
        end = room;
        while (end > 0 && text[end] != ' ')
            end--;
        if (end == 0)
            end = len;
    }
    *ret_len = end;
    text += end;
    return text + strspn(text, " ");
}

/* In lines as wide as a screen, the first of which begins with `mark`, the others as far in. */
static void print_wrapped(FILE *out, const char *mark, const char *text)
{
    int indent = (int)strlen(mark), len;
    do {
        const char *rest = take_line(text, LINE - indent, &len);
        fprintf(out, "%*s", indent, mark);
        for (int i = 0; i < len; i++)
            putc((unsigned char)text[i] < 0x20 ? '?' : text[i], out);
        putc('\n', out);
        text = rest;
        mark = "";
    } while (*text);
}

static void print_advice(const struct doctor_report *r, FILE *out)
{
    bool any = false;
    for (size_t i = 0; i < r->count; i++) {
        const struct finding *f = &r->finding[i];
        char line[sizeof f->advice + 80];
        if (!*f->advice)
            continue;
        if (!any)
            fprintf(out, "\nWhat to change\n");
        any = true;
        snprintf(line, sizeof line, "%s: %s", f->title, f->advice);
        print_wrapped(out, "  - ", line);
    }
}

int doctor_print(const struct doctor_report *r, FILE *out)
{
    static const char *const marks[] = {[DOCTOR_GOOD] = "ok",
                                        [DOCTOR_NOTE] = "note",
                                        [DOCTOR_WRONG] = "WRONG",
                                        [DOCTOR_UNTRIED] = "?"};
    report_field(out, REPORT_TEXT, "share", r->source);
    if (*r->user)
        report_field(out, REPORT_TEXT, "user", r->user);
    putc('\n', out);
    for (size_t i = 0; i < r->count; i++) {
        char mark[40];
        snprintf(mark, sizeof mark, "%-6s%-20s", marks[r->finding[i].state], r->finding[i].title);
        print_wrapped(out, mark, r->finding[i].text);
    }
    print_advice(r, out);
    return ferror(out) ? -EIO : 0;
}
