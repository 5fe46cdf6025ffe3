/*
 * The words of `larder complete` that are on servers. Shares that are mounted, or in fstab, are
 * known; beyond them `larder shares` and `larder ls` are asked, with the options that are in the
 * line, and say nothing where a password would be missing. What would write a file (events, keys of
 * sessions) is left out of these options, and what is a mount's alone.
 */
#include <jansson.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complete.h"
#include "cli/remotes.h"

/* ---- asking ---- */

struct question {
    char *argv[2 * CLI_OPTIONS_MAX + 8];
    int argc;
};

static void add_argument(struct question *q, char *argument)
{
    if (argument && q->argc + 1 < (int)(sizeof q->argv / sizeof q->argv[0]))
        q->argv[q->argc++] = argument;
}

/* Each item of a list as a list of its own, in quotes, since its value may hold commas. */
static int take_item(void *user, char *item, struct error *err)
{
    struct question *q = user;
    char name[64], *list;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(item, "="), item);
    if (!share_options_know(name) || strcasecmp(name, "events") == 0 ||
        strcasecmp(name, "keylog") == 0)
        return 0;
    if (q->argc + 2 < 2 * CLI_OPTIONS_MAX && asprintf(&list, "\"%s\"", item) >= 0) {
        add_argument(q, (char *)"-o");
        add_argument(q, list); /* this process ends soon */
    }
    return 0;
}

static void take_options(struct question *q, const struct typed *t)
{
    for (int i = 2; i < t->count - 1; i++) {
        const char *word = t->word[i];
        const char *list = strcmp(word, "-o") == 0       ? t->word[++i]
                           : strncmp(word, "-o", 2) == 0 ? word + 2
                                                         : NULL;
        if (list && i < t->count - 1)
            share_options_split(list, take_item, q, NULL);
    }
}

/* The array that `larder NAME --json -o ... TARGET` prints; NULL: none. */
static json_t *ask(const struct typed *t, const char *name, char *target)
{
    struct question q = {0};
    const struct subcommand *sub = NULL;
    for (size_t i = 0; (sub = cli_subcommand(i)) && strcmp(sub->name, name) != 0; i++)
        ;
    add_argument(&q, (char *)name);
    add_argument(&q, (char *)"--json");
    take_options(&q, t);
    add_argument(&q, (char *)"--");
    add_argument(&q, target);
    char *text = sub && target ? complete_output(sub, q.argv) : NULL;
    json_t *array = text ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return array;
}

/* ---- paths ---- */

/* A name as the tools take it, who know wildcards and backslashes. */
static void escape(char *out, size_t cap, const char *name)
{
    size_t n = 0;
    for (; *name && n + 3 < cap; name++) {
        if (strchr("*?[\\", *name))
            out[n++] = '\\';
        out[n++] = *name;
    }
    out[n] = 0;
}

/* What is in the directory `target`; offered behind the current word's first `kept` bytes. */
static void offer_listing(const struct typed *t, struct offers *o, char *target, size_t kept)
{
    json_t *listing = ask(t, "ls", target), *entry;
    size_t i;
    json_array_foreach(listing, i, entry)
    {
        char name[2 * CLI_NAME_MAX];
        const char *text = json_string_value(json_object_get(entry, "name"));
        bool hidden = text && text[0] == '.' && t->current[kept] != '.';
        if (!text || hidden || json_object_get(entry, "name_hex"))
            continue;
        escape(name, sizeof name, text);
        offer(o, NULL, "%.*s%s%s", (int)kept, t->current, name,
              json_is_true(json_object_get(entry, "dir")) ? "/" : "");
    }
    json_decref(listing);
}

static void offer_shares(const struct typed *t, struct offers *o, size_t kept)
{
    char *server;
    if (asprintf(&server, "%.*s", (int)kept - 1, t->current) < 0)
        return;
    json_t *shares = ask(t, "shares", server), *share;
    size_t i;
    json_array_foreach(shares, i, share)
    {
        const char *name = json_string_value(json_object_get(share, "name"));
        const char *about = json_string_value(json_object_get(share, "comment"));
        if (name && !json_object_get(share, "name_hex") &&
            strcmp(json_string_value(json_object_get(share, "kind")), "disk") == 0)
            offer(o, about && *about ? about : NULL, "%.*s%s/", (int)kept, t->current, name);
    }
    json_decref(shares);
    free(server);
}

/* ---- targets ---- */

/* Sources of mounts, of today and of the table for the boot. */
static void offer_known(const char *table, struct offers *o)
{
    FILE *mounts = setmntent(table, "re");
    const struct mntent *m;
    while (mounts && (m = getmntent(mounts)))
        if (strstr("fuse.larder larder cifs smb3 ", m->mnt_type) &&
            strncmp(m->mnt_fsname, "//", 2) == 0)
            offer(o, m->mnt_dir, "%s", m->mnt_fsname);
    if (mounts)
        endmntent(mounts);
}

void complete_target(const struct typed *t, struct offers *o)
{
    offer_known("/proc/self/mounts", o);
    offer_known("/etc/fstab", o);
    if (strncmp(t->current, "//", 2) != 0)
        return;
    const char *share = strchr(t->current + 2, '/'), *last = strrchr(t->current, '/');
    char *target;
    if (!share || share == t->current + 2)
        return;
    if (share == last)
        offer_shares(t, o, (size_t)(share + 1 - t->current));
    else if (asprintf(&target, "%.*s", (int)(last - t->current), t->current) >= 0)
        offer_listing(t, o, target, (size_t)(last + 1 - t->current));
}

/* The first operand, which is what the others are paths on. */
static const char *first_operand(const struct typed *t)
{
    for (int i = 2; i < t->count - 1; i++)
        if (remotes_is_target(t->word[i]))
            return t->word[i];
    return NULL;
}

void complete_remote(const struct typed *t, struct offers *o)
{
    const char *share = first_operand(t), *slash = strrchr(t->current, '/');
    size_t kept = slash ? (size_t)(slash + 1 - t->current) : 0;
    char *target;
    if (!share || remotes_is_target(t->current) || strncmp(share, "//", 2) != 0)
        return;
    size_t len = strlen(share);
    while (len > 2 && share[len - 1] == '/')
        len--;
    if (asprintf(&target, "%.*s/%.*s", (int)len, share, (int)kept, t->current) >= 0)
        offer_listing(t, o, target, kept);
}
