/*
 * The public face of share/: the same calls with opaque types and no larder-internal header behind
 * them. Nothing is decided here.
 */
#include "larder/larder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "share/share.h"

#define PUBLIC __attribute__((visibility("default")))

struct larder_config {
    struct share_options options;
};

struct larder {
    struct share *share;
    char *top; /* the target's own path, which may be a file's; "" for none */
};

struct larder_file {
    struct larder *larder;
    struct share_file *file;
};

struct larder_dir {
    struct larder *larder;
    struct share_listing *listing;
    size_t count;
    char **names; /* made when asked for */
};

/* Carries an inner error over to the caller's struct. */
static int give_error(int code, const struct error *e, struct larder_error *err)
{
    if (err) {
        *err = (struct larder_error){.code = code, .status = e->status};
        memcpy(err->text, e->text, sizeof err->text);
        if (!err->text[0])
            strncpy(err->text, strerror(-code), sizeof err->text - 1);
    }
    return code;
}

PUBLIC const char *larder_version(void)
{
    return LARDER_VERSION;
}

/* The path in the share: the target's own, then the caller's. NULL: out of memory. To be freed. */
static char *whole_path(const struct larder *l, const char *path)
{
    char *whole;
    const char *slash = *l->top && *path ? "/" : "";
    return asprintf(&whole, "%s%s%s", l->top, slash, path) < 0 ? NULL : whole;
}

/* ---- configuration ---- */

PUBLIC int larder_config_new(const char *target, struct larder_config **ret,
                             struct larder_error *err)
{
    struct error e = {0};
    struct larder_config *c = calloc(1, sizeof *c);
    if (!c)
        return give_error(-ENOMEM, &e, err);
    share_options_init(&c->options);
    int r = share_options_target(&c->options, target, &e);
    if (r < 0) {
        larder_config_free(c);
        return give_error(r, &e, err);
    }
    *ret = c;
    return 0;
}

PUBLIC int larder_config_set(struct larder_config *c, const char *name, const char *value,
                             struct larder_error *err)
{
    struct error e = {0};
    int r = share_options_set(&c->options, name, value, &e);
    return r < 0 ? give_error(r, &e, err) : 0;
}

PUBLIC int larder_config_set_list(struct larder_config *c, const char *list,
                                  struct larder_error *err)
{
    struct error e = {0};
    int r = share_options_parse(&c->options, list, &e);
    return r < 0 ? give_error(r, &e, err) : 0;
}

PUBLIC const char *larder_config_host(const struct larder_config *c)
{
    return c->options.host;
}

PUBLIC const char *larder_config_user(const struct larder_config *c)
{
    return c->options.user;
}

PUBLIC bool larder_config_needs_password(const struct larder_config *c)
{
    return !c->options.guest && !c->options.password;
}

PUBLIC int larder_config_get(const struct larder_config *c, const char *name, char *out, size_t cap)
{
    const struct setting_info *info;
    for (size_t i = 0; (info = settings_info(i)); i++) {
        char value[32];
        if (strcasecmp(info->name, name) != 0)
            continue;
        settings_get(&c->options.settings, i, value);
        if (strlen(value) >= cap)
            return -ENAMETOOLONG;
        strcpy(out, value);
        return 0;
    }
    return -ENOENT;
}

PUBLIC struct larder_config *larder_config_free(struct larder_config *c)
{
    if (c)
        share_options_done(&c->options);
    free(c);
    return NULL;
}

/* ---- connection ---- */

PUBLIC int larder_connect(const struct larder_config *config, struct larder **ret,
                          struct larder_error *err)
{
    struct error e = {0};
    struct larder *l = calloc(1, sizeof *l);
    if (!l)
        return give_error(-ENOMEM, &e, err);
    struct share_options o;
    int r = share_options_copy(&config->options, &o);
    if (r == 0) {
        l->top = o.path;
        o.path = NULL;
        r = share_connect(&o, &l->share, &e);
        share_options_done(&o);
    }
    if (r < 0) {
        free(l->top);
        free(l);
        return give_error(r, &e, err);
    }
    *ret = l;
    return 0;
}

PUBLIC struct larder *larder_disconnect(struct larder *l)
{
    if (!l)
        return NULL;
    share_free(l->share, NULL);
    free(l->top);
    free(l);
    return NULL;
}

/* ---- files ---- */

static void fill_stat(const struct file_attr *a, uint64_t ino, struct larder_stat *ret)
{
    *ret = (struct larder_stat){.ino = ino,
                                .size = a->size,
                                .allocated = a->allocated,
                                .attributes = a->attributes,
                                .links = a->links,
                                .is_dir = file_attr_is_dir(a),
                                .created = filetime_to_timespec(a->created),
                                .accessed = filetime_to_timespec(a->accessed),
                                .written = filetime_to_timespec(a->written),
                                .changed = filetime_to_timespec(a->changed)};
}

PUBLIC int larder_stat(struct larder *l, const char *path, struct larder_stat *ret,
                       struct larder_error *err)
{
    struct error e = {0};
    struct share_entry entry;
    char *whole = whole_path(l, path);
    int r = whole ? share_stat_path(l->share, whole, &entry, &e) : -ENOMEM;
    free(whole);
    if (r < 0)
        return give_error(r, &e, err);
    fill_stat(&entry.attr, entry.ino, ret);
    share_node_unref(l->share, entry.node);
    return 0;
}

PUBLIC int larder_list(struct larder *l, const char *path, struct larder_dir **ret,
                       struct larder_error *err)
{
    struct error e = {0};
    struct larder_dir *d = calloc(1, sizeof *d);
    char *whole = whole_path(l, path);
    int r = d && whole ? share_list_path(l->share, whole, &d->listing, &e) : -ENOMEM;
    free(whole);
    if (r < 0) {
        free(d);
        return give_error(r, &e, err);
    }
    d->larder = l;
    d->count = share_listing_count(d->listing);
    d->names = calloc(d->count ? d->count : 1, sizeof *d->names);
    char name[SHARE_NAME_MAX];
    for (size_t i = 0; d->names && i < d->count; i++) {
        share_listing_entry(d->listing, i, name);
        d->names[i] = strdup(name);
        if (!d->names[i])
            r = -ENOMEM;
    }
    if (r < 0 || !d->names) {
        larder_dir_close(d);
        return give_error(-ENOMEM, &e, err);
    }
    *ret = d;
    return 0;
}

PUBLIC size_t larder_dir_count(const struct larder_dir *d)
{
    return d->count;
}

PUBLIC const char *larder_dir_entry(struct larder_dir *d, size_t i, struct larder_stat *ret)
{
    char name[SHARE_NAME_MAX];
    const struct file_attr *attr = share_listing_entry(d->listing, i, name);
    if (ret)
        fill_stat(attr, attr->id, ret);
    return d->names[i];
}

PUBLIC struct larder_dir *larder_dir_close(struct larder_dir *d)
{
    if (!d)
        return NULL;
    for (size_t i = 0; d->names && i < d->count; i++)
        free(d->names[i]);
    free(d->names);
    share_listing_free(d->larder->share, d->listing);
    free(d);
    return NULL;
}

PUBLIC int larder_open(struct larder *l, const char *path, struct larder_file **ret,
                       struct larder_stat *ret_stat, struct larder_error *err)
{
    struct error e = {0};
    struct share_entry entry;
    struct larder_file *f = calloc(1, sizeof *f);
    char *whole = whole_path(l, path);
    int r = f && whole ? share_open_path(l->share, whole, &f->file, &entry, &e) : -ENOMEM;
    free(whole);
    if (r < 0) {
        free(f);
        return give_error(r, &e, err);
    }
    if (ret_stat)
        fill_stat(&entry.attr, entry.ino, ret_stat);
    share_node_unref(l->share, entry.node);
    f->larder = l;
    *ret = f;
    return 0;
}

PUBLIC int64_t larder_read(struct larder_file *f, void *buf, size_t len, uint64_t offset,
                           struct larder_error *err)
{
    struct error e = {0};
    int64_t n = share_read(f->larder->share, f->file, buf, len, offset, &e);
    return n < 0 ? give_error((int)n, &e, err) : n;
}

PUBLIC struct larder_file *larder_close(struct larder_file *f)
{
    if (f)
        share_close(f->larder->share, f->file);
    free(f);
    return NULL;
}

/* ---- counters ---- */

PUBLIC char *larder_counters(struct larder *l)
{
    json_t *all = share_stats(l->share);
    char *text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return text;
}

PUBLIC int64_t larder_counter(struct larder *l, const char *name)
{
    json_t *all = share_stats(l->share), *at = all;
    char part[64];
    while (at && *name) {
        size_t len = strcspn(name, ".");
        if (len >= sizeof part)
            break;
        memcpy(part, name, len);
        part[len] = 0;
        at = json_object_get(at, part);
        name += len + (name[len] == '.');
    }
    int64_t value = at && *name == 0 && json_is_integer(at) ? (int64_t)json_integer_value(at) : -1;
    json_decref(all);
    return value;
}
