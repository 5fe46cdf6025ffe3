/*
 * What a server makes of names. What it says of itself decides nothing (Samba says that it tells
 * case apart and does not), so names are made and asked for in another spelling; where nothing can
 * be made, one that is there is.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/exam.h"

static const char cased[] = "Case-Sample";

/* Its ASCII letters in the other case. */
static void swap_case(char *name)
{
    for (; *name; name++)
        if (!(*name & 0x80) && isalpha((unsigned char)*name))
            *name = (char)(*name ^ 0x20);
}

static int stat_name(struct exam *x, const char *name, struct file_attr *ret, struct error *err)
{
    char *path = exam_path(x, name);
    if (!path)
        return error_set(err, -ENOMEM, 0, "out of memory");
    int r = client_stat(x->ours, path, CLIENT_COMPOUND, ret, NULL, err);
    free(path);
    return r;
}

void names_case(struct exam *x)
{
    struct error err = {0};
    struct file_attr as_is = {0}, swapped = {0};
    char name[CLIENT_NAME_MAX];
    snprintf(name, sizeof name, "%s", x->dir ? cased : x->sample.lettered);
    if (!*name) {
        report_add(x->report, "case", "case", DOCTOR_UNTRIED,
                   "there is no name with a letter here, and none was made: %s", x->why_not);
        return;
    }
    int r = x->dir ? exam_make(x, x->ours, cased, &err) : 0;
    if (r == 0)
        r = stat_name(x, name, &as_is, &err);
    if (r < 0) {
        report_add(x->report, "case", "case", DOCTOR_UNTRIED, "%s", err.text);
        return;
    }
    swap_case(name);
    r = stat_name(x, name, &swapped, &err);
    if (r < 0 && r != -ENOENT) {
        report_add(x->report, "case", "case", DOCTOR_UNTRIED, "%s", err.text);
        return;
    }
    bool sensitive = r == -ENOENT || as_is.id != swapped.id;
    struct finding *f =
        report_add(x->report, "case", "case", DOCTOR_GOOD, "%s",
                   sensitive ? "the server tells Name and NAME apart"
                             : "Name and NAME are the same file, as Windows has it");
    finding_fact(f, "sensitive", json_boolean(sensitive));
}

/* ---- rules ---- */

enum { LONGEST = 255 };

struct names_tried {
    const char *key, *name, *what;
    bool mapped; /* travels by name mapping alone */
    int r;
    bool listed;
};

static int note_listed(void *user, const char *name, size_t len, const struct file_attr *attr,
                       size_t wire_bytes)
{
    struct names_tried *t = user;
    for (; t->key; t++)
        if (t->r == 0 && strlen(t->name) == len && memcmp(t->name, name, len) == 0)
            t->listed = true;
    return 0;
}

/* Appends to a text that says what is kept, or what is not. */
static void append(char *text, size_t cap, const char *what)
{
    size_t len = strlen(text);
    snprintf(text + len, cap - len, "%s%s", len ? ", " : "", what);
}

static void judge_rules(struct exam *x, struct names_tried *t)
{
    char kept[160] = "", refused[160] = "";
    struct names_tried *all = t;
    bool usual = true; /* Windows refuses device names, and so do many others */
    for (; t->key; t++) {
        append(t->listed ? kept : refused, sizeof kept, t->what);
        usual &= t->listed || strcmp(t->key, "device") == 0;
    }
    struct finding *f = report_add(x->report, "names", "names", usual ? DOCTOR_GOOD : DOCTOR_NOTE,
                                   "kept as they are: %s%s%s", *kept ? kept : "none of those tried",
                                   *refused ? "; refused or changed: " : "", refused);
    if (!usual)
        finding_advise(f, "programs that use such names fail on this share%s",
                       x->share->map_names ? "" : ": leave out nomap, which maps reserved ones");
    for (t = all; t->key; t++)
        finding_fact(f, t->key, json_boolean(t->listed));
}

void names_rules(struct exam *x)
{
    char longest[LONGEST + 1];
    memset(longest, 'n', LONGEST);
    longest[LONGEST] = 0;
    struct names_tried tried[] = {
        {"reserved", "a:b*c?d<e>f|g\"h\\i", "reserved characters", true},
        {"trailing", "dot at the end.", "a dot at the end", true},
        {"device", "con", "device names"},
        {"composed", "caf\xc3\xa9", "composed accents"},
        {"decomposed", "cafe\xcc\x81", "decomposed ones"},
        {"beyond_16_bits", "\xf0\x9f\x90\x98", "emoji"},
        {"longest", longest, "255 characters"},
        {0},
    };
    struct error err = {0};
    struct client_list_result ignored;
    if (!x->dir) {
        report_add(x->report, "names", "names", DOCTOR_UNTRIED, "%s", x->why_not);
        return;
    }
    for (struct names_tried *t = tried; t->key && !exam_stopped(x); t++) {
        t->r = t->mapped && !x->share->map_names && strchr(t->name, ':')
                   ? -EINVAL /* it would name a stream */
                   : exam_make(x, x->ours, t->name, NULL);
    }
    int r = client_list(x->ours, x->dir, "*", CLIENT_COMPOUND, false, note_listed, tried, &ignored,
                        &err);
    if (r < 0)
        report_add(x->report, "names", "names", DOCTOR_UNTRIED, "%s", err.text);
    else
        judge_rules(x, tried);
}
