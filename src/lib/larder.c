/*
 * The public face of share/: the same calls with opaque types and no larder-internal header behind
 * them. Nothing is decided here. In this file: configuration, connection, counters.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

struct larder_config {
    struct share_options options;
};

int lib_error(int code, const struct error *e, struct larder_error *err)
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

char *lib_path(const struct larder *l, const char *path)
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
        return lib_error(-ENOMEM, &e, err);
    share_options_init(&c->options);
    int r = share_options_target(&c->options, target, &e);
    if (r < 0) {
        larder_config_free(c);
        return lib_error(r, &e, err);
    }
    *ret = c;
    return 0;
}

PUBLIC int larder_config_set(struct larder_config *c, const char *name, const char *value,
                             struct larder_error *err)
{
    struct error e = {0};
    int r = share_options_set(&c->options, name, value, &e);
    return r < 0 ? lib_error(r, &e, err) : 0;
}

PUBLIC int larder_config_set_list(struct larder_config *c, const char *list,
                                  struct larder_error *err)
{
    struct error e = {0};
    int r = share_options_parse(&c->options, list, &e);
    return r < 0 ? lib_error(r, &e, err) : 0;
}

PUBLIC const char *larder_config_host(const struct larder_config *c)
{
    return c->options.host;
}

PUBLIC const char *larder_config_user(const struct larder_config *c)
{
    return c->options.user;
}

PUBLIC const char *larder_config_keylog(const struct larder_config *c)
{
    return c->options.keylog_path;
}

PUBLIC const char *larder_config_path(const struct larder_config *c)
{
    return c->options.path ? c->options.path : "";
}

PUBLIC bool larder_config_needs_password(const struct larder_config *c)
{
    return share_options_lack_password(&c->options);
}

PUBLIC bool larder_config_takes_password(const struct larder_config *c)
{
    return share_options_take_password(&c->options);
}

PUBLIC int larder_config_get(const struct larder_config *c, const char *name, char *out, size_t cap)
{
    const struct setting_info *info;
    for (size_t i = 0; (info = settings_info(i)); i++) {
        char value[SETTINGS_TEXT_MAX];
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

PUBLIC void larder_config_on_event(struct larder_config *c,
                                   void (*event)(void *user, const char *line), void *user)
{
    c->options.event_line = event;
    c->options.event_user = user;
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
        return lib_error(-ENOMEM, &e, err);
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
        return lib_error(r, &e, err);
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

PUBLIC bool larder_lost(struct larder *l, struct larder_error *ret_why)
{
    struct error why = {0};
    bool lost = share_lost(l->share, &why);
    if (lost)
        lib_error(why.code, &why, ret_why);
    return lost;
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
