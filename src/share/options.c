/*
 * Options by name. One table leads from the names that users know to a setter; what is not in it is
 * tried as a setting of settings.h. Of both the nearest name is told for a wrong one. Passwords are
 * wiped when replaced or freed and are never part of an error's text.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/nearest.h"
#include "share/options_internal.h"

void share_options_init(struct share_options *o)
{
    *o = (struct share_options){.map_names = true, .byte_range_locks = true, .cruid = -1};
    settings_profile("larder", &o->settings, NULL);
}

static void free_secret(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

void share_options_done(struct share_options *o)
{
    free(o->host);
    free(o->address);
    free(o->keytab);
    free(o->share);
    free(o->path);
    free(o->user);
    free(o->domain);
    free_secret(o->password);
    free(o->events_path);
    free(o->keylog_path);
    *o = (struct share_options){0};
}

int options_replace(char **at, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return -ENOMEM;
    free(*at);
    *at = copy;
    return 0;
}

int options_replace_secret(char **at, const char *value)
{
    char *copy = strdup(value);
    if (!copy)
        return -ENOMEM;
    free_secret(*at);
    *at = copy;
    return 0;
}

static int copy_string(char **to, const char *from)
{
    return from ? options_replace(to, from) : 0;
}

int share_options_copy(const struct share_options *from, struct share_options *ret)
{
    struct share_options o = {.port = from->port,
                              .logon = from->logon,
                              .logon_given = from->logon_given,
                              .cruid = from->cruid,
                              .guest = from->guest,
                              .sign_asked = from->sign_asked,
                              .map_names = from->map_names,
                              .mfsymlinks = from->mfsymlinks,
                              .byte_range_locks = from->byte_range_locks,
                              .hard = from->hard,
                              .timeo = from->timeo,
                              .echo_interval = from->echo_interval,
                              .event_line = from->event_line,
                              .event_user = from->event_user,
                              .settings = from->settings};
    if (copy_string(&o.host, from->host) < 0 || copy_string(&o.share, from->share) < 0 ||
        copy_string(&o.path, from->path) < 0 || copy_string(&o.user, from->user) < 0 ||
        copy_string(&o.domain, from->domain) < 0 || copy_string(&o.password, from->password) < 0 ||
        copy_string(&o.address, from->address) < 0 || copy_string(&o.keytab, from->keytab) < 0 ||
        copy_string(&o.events_path, from->events_path) < 0 ||
        copy_string(&o.keylog_path, from->keylog_path) < 0) {
        share_options_done(&o);
        return -ENOMEM;
    }
    *ret = o;
    return 0;
}

/* ---- setters ---- */

static int set_profile(struct share_options *o, const char *value, struct error *err)
{
    struct settings s;
    if (settings_profile(value, &s, err) < 0)
        return -EINVAL;
    settings_keep_connection(&o->settings, &s); /* `seal,profile=off` is still to be sealed */
    o->settings = s;
    return 0;
}

/* "DOMAIN\user" and "DOMAIN/user" as mount.cifs takes them; user@domain goes to the server as it
 * is. */
static int set_user(struct share_options *o, const char *value, struct error *err)
{
    size_t n = strcspn(value, "\\/");
    if (value[n] == 0)
        return options_replace(&o->user, value);
    char *domain = strndup(value, n);
    int r = domain ? options_replace(&o->user, value + n + 1) : -ENOMEM;
    if (r < 0) {
        free(domain);
        return r;
    }
    free(o->domain);
    o->domain = domain;
    return 0;
}

/* mount.cifs: a user%password is split. */
static int set_username(struct share_options *o, const char *value, struct error *err)
{
    const char *percent = strchr(value, '%');
    if (!percent)
        return set_user(o, value, err);
    char *user = strndup(value, (size_t)(percent - value));
    int r = user ? set_user(o, user, err) : -ENOMEM;
    free(user);
    return r < 0 ? r : options_replace_secret(&o->password, percent + 1);
}

static int set_password(struct share_options *o, const char *value, struct error *err)
{
    return options_replace_secret(&o->password, value);
}

static int set_domain(struct share_options *o, const char *value, struct error *err)
{
    return options_replace(&o->domain, value);
}

static int set_guest(struct share_options *o, const char *value, struct error *err)
{
    o->guest = true;
    return 0;
}

static int set_port(struct share_options *o, const char *value, struct error *err)
{
    return options_parse_port(value, &o->port, err);
}

static int set_vers(struct share_options *o, const char *value, struct error *err)
{
    if (strcmp(value, "default") == 0 || strcmp(value, "3") == 0) {
        int r = settings_set(&o->settings, "Smb2DialectMin",
                             strcmp(value, "3") == 0 ? "3.0" : "2.0.2", err);
        return r < 0 ? r : settings_set(&o->settings, "Smb2DialectMax", "3.1.1", err);
    }
    struct settings tried = o->settings;
    if (settings_set(&tried, "Smb2DialectMin", value, NULL) < 0 ||
        settings_set(&tried, "Smb2DialectMax", value, NULL) < 0)
        return error_set(err, -EINVAL, 0,
                         "vers=%s: not one of 2.0.2, 2.1, 3.0, 3.0.2, 3.1.1, 3, default", value);
    o->settings = tried;
    return 0;
}

static int set_sign(struct share_options *o, const char *value, struct error *err)
{
    o->settings.require_security_signature = o->sign_asked = true;
    return 0;
}

static int set_seal(struct share_options *o, const char *value, struct error *err)
{
    o->settings.require_encryption = true;
    return 0;
}

static int set_mapposix(struct share_options *o, const char *value, struct error *err)
{
    o->map_names = true;
    return 0;
}

static int set_nomap(struct share_options *o, const char *value, struct error *err)
{
    o->map_names = false;
    return 0;
}

static int set_mfsymlinks(struct share_options *o, const char *value, struct error *err)
{
    o->mfsymlinks = true;
    return 0;
}

static int set_brl(struct share_options *o, const char *value, struct error *err)
{
    o->byte_range_locks = true;
    return 0;
}

static int set_nobrl(struct share_options *o, const char *value, struct error *err)
{
    o->byte_range_locks = false;
    return 0;
}

static int set_soft(struct share_options *o, const char *value, struct error *err)
{
    o->hard = false;
    return 0;
}

static int set_hard(struct share_options *o, const char *value, struct error *err)
{
    o->hard = true;
    return 0;
}

static int parse_between(const char *name, const char *value, const char *unit, unsigned long low,
                         unsigned long high, uint32_t *ret, struct error *err)
{
    unsigned long n = strtoul(value, NULL, 10);
    if (value[strspn(value, "0123456789")] || n < low || n > high)
        return error_set(err, -EINVAL, 0, "%s=%.40s: %s, %lu to %lu", name, value, unit, low, high);
    *ret = (uint32_t)n;
    return 0;
}

/* As nfs(5) has it. */
static int set_timeo(struct share_options *o, const char *value, struct error *err)
{
    return parse_between("timeo", value, "tenths of a second", 10, 36000, &o->timeo, err);
}

static int set_echo_interval(struct share_options *o, const char *value, struct error *err)
{
    return parse_between("echo_interval", value, "seconds", 1, 600, &o->echo_interval, err);
}

static int set_actimeo(struct share_options *o, const char *value, struct error *err)
{
    return settings_set(&o->settings, "actimeo", value, err);
}

static int set_events(struct share_options *o, const char *value, struct error *err)
{
    return options_replace(&o->events_path, value);
}

static int set_keylog(struct share_options *o, const char *value, struct error *err)
{
    return options_replace(&o->keylog_path, value);
}

enum takes { FLAG, VALUE };

static const struct option {
    const char *name;
    enum takes takes;
    int (*set)(struct share_options *o, const char *value, struct error *err);
} options[] = {
    {"profile", VALUE, set_profile},
    {"credentials", VALUE, share_options_credentials},
    {"cred", VALUE, share_options_credentials},
    {"username", VALUE, set_username},
    {"user", VALUE, set_username},
    {"password", VALUE, set_password},
    {"pass", VALUE, set_password},
    {"domain", VALUE, set_domain},
    {"dom", VALUE, set_domain},
    {"workgroup", VALUE, set_domain},
    {"guest", FLAG, set_guest},
    {"sec", VALUE, options_set_sec},
    {"keytab", VALUE, options_set_keytab},
    {"cruid", VALUE, options_set_cruid},
    {"ip", VALUE, options_set_address},
    {"addr", VALUE, options_set_address},
    {"port", VALUE, set_port},
    {"vers", VALUE, set_vers},
    {"sign", FLAG, set_sign},
    {"seal", FLAG, set_seal},
    {"mapposix", FLAG, set_mapposix},
    {"nomapposix", FLAG, set_nomap},
    {"nomap", FLAG, set_nomap},
    {"mfsymlinks", FLAG, set_mfsymlinks},
    {"brl", FLAG, set_brl},
    {"nobrl", FLAG, set_nobrl},
    {"soft", FLAG, set_soft},
    {"hard", FLAG, set_hard},
    {"timeo", VALUE, set_timeo},
    {"echo_interval", VALUE, set_echo_interval},
    {"actimeo", VALUE, set_actimeo},
    {"events", VALUE, set_events},
    {"keylog", VALUE, set_keylog},
};

#define OPTIONS (sizeof options / sizeof options[0])

const char *share_options_name(size_t index)
{
    if (index < OPTIONS)
        return options[index].name;
    const struct setting_info *setting = settings_info(index - OPTIONS);
    return setting ? setting->name : NULL;
}

bool share_options_takes_value(size_t index)
{
    return index >= OPTIONS || options[index].takes == VALUE;
}

bool share_options_know(const char *name)
{
    const char *known;
    for (size_t i = 0; (known = share_options_name(i)); i++)
        if (strcasecmp(known, name) == 0)
            return true;
    return false;
}

static int unknown(const char *name, struct error *err)
{
    struct nearest n = nearest_to(name);
    const char *known;
    for (size_t i = 0; (known = share_options_name(i)); i++)
        nearest_offer(&n, known);
    const char *meant = nearest_meant(&n);
    return error_set(err, -ENOENT, 0, "unknown option '%.60s'%s%s%s", name,
                     meant ? ": did you mean " : "", meant ? meant : "", meant ? "?" : "");
}

int share_options_set(struct share_options *o, const char *name, const char *value,
                      struct error *err)
{
    if (!share_options_know(name))
        return unknown(name, err);
    for (size_t i = 0; i < OPTIONS; i++) {
        const struct option *option = &options[i];
        if (strcasecmp(option->name, name) != 0)
            continue;
        if (option->takes == VALUE && (!value || *value == 0) && option->set != set_password)
            return error_set(err, -EINVAL, 0, "option %s needs a value: %s=...", name, name);
        if (option->takes == FLAG && value)
            return error_set(err, -EINVAL, 0, "option %s takes no value", name);
        int r = option->set(o, value ? value : "", err);
        return r == -ENOMEM ? error_set(err, r, 0, "out of memory") : r;
    }
    if (!value)
        value = "true"; /* a setting given as a flag switches it on */
    int r = settings_set(&o->settings, name, value, err);
    if (r == 0 && strcasecmp(name, "RequireSecuritySignature") == 0)
        o->sign_asked = o->settings.require_security_signature;
    return r;
}

/* ---- lists and files ---- */

/* Takes `name[=value]` off *inout; quotes around (a part of) the value hold commas. Writes into
 * `out`, which has room for the rest of the list. */
static void take_item(const char **inout, char *out)
{
    const char *p = *inout;
    bool quoted = false;
    for (; *p && (quoted || *p != ','); p++) {
        if (*p == '"')
            quoted = !quoted;
        else
            *out++ = *p;
    }
    *out = 0;
    *inout = *p ? p + 1 : p;
}

int share_options_item(struct share_options *o, char *item, struct error *err)
{
    char *value = strchr(item, '=');
    if (value)
        *value++ = 0;
    return share_options_set(o, item, value, err);
}

int share_options_split(const char *list, int (*each)(void *user, char *item, struct error *err),
                        void *user, struct error *err)
{
    size_t size = strlen(list) + 1;
    char *item = malloc(size);
    if (!item)
        return error_set(err, -ENOMEM, 0, "out of memory");
    int r = 0;
    while (r == 0 && *list) {
        take_item(&list, item);
        if (*item)
            r = each(user, item, err);
    }
    explicit_bzero(item, size);
    free(item);
    return r;
}

static int set_item(void *user, char *item, struct error *err)
{
    return share_options_item(user, item, err);
}

int share_options_parse(struct share_options *o, const char *list, struct error *err)
{
    return share_options_split(list, set_item, o, err);
}

/* One line of a credentials file. Unknown keys are passed over, as mount.cifs does. */
static int credentials_line(struct share_options *o, char *line, const char *file, unsigned number,
                            struct error *err)
{
    line += strspn(line, " \t");
    line[strcspn(line, "\r\n")] = 0;
    if (*line == 0 || *line == '#')
        return 0;
    char *value = strchr(line, '=');
    if (!value)
        return error_set(err, -EINVAL, 0,
                         "%s:%u: no `=`; lines are username=, password=, domain=", file, number);
    char *end = value;
    *value++ = 0;
    while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = 0;
    if (strcasecmp(line, "username") == 0 || strcasecmp(line, "user") == 0)
        return set_username(o, value, err);
    if (strcasecmp(line, "password") == 0 || strcasecmp(line, "pass") == 0)
        return set_password(o, value, err);
    if (strcasecmp(line, "domain") == 0 || strcasecmp(line, "dom") == 0 ||
        strcasecmp(line, "workgroup") == 0)
        return set_domain(o, value, err);
    return 0;
}

/* A group may read it, since that is how some hand it to several users; what is no file but a pipe
 * of the caller's has no mode to speak of. */
static int check_private(FILE *f, const char *file, struct error *err)
{
    const mode_t too_open = S_IWGRP | S_IROTH | S_IWOTH;
    struct stat st;
    if (fstat(fileno(f), &st) < 0)
        return error_set(err, -errno, 0, "credentials file %s: %s", file, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return error_set(err, -EISDIR, 0, "credentials file %s: it is a directory", file);
    if (S_ISREG(st.st_mode) && st.st_mode & too_open)
        return error_set(err, -EPERM, 0,
                         "credentials file %s: its mode %04o lets others at the password: "
                         "chmod 600 %s",
                         file, (unsigned)st.st_mode & 07777, file);
    return 0;
}

int share_options_credentials(struct share_options *o, const char *file, struct error *err)
{
    FILE *f = fopen(file, "re");
    if (!f)
        return error_set(err, -errno, 0, "credentials file %s: %s%s", file, strerror(errno),
                         errno == ENOENT ? "; make it with lines username= and password=, mode 0600"
                                         : "");
    char line[1024];
    int r = check_private(f, file, err);
    for (unsigned number = 1; r == 0 && fgets(line, sizeof line, f); number++) {
        if (!strchr(line, '\n') && !feof(f))
            r = error_set(err, -EINVAL, 0, "%s:%u: line longer than %zu bytes", file, number,
                          sizeof line - 2);
        else
            r = credentials_line(o, line, file, number, err);
    }
    if (r == 0 && ferror(f))
        r = error_set(err, -EIO, 0, "credentials file %s: cannot be read", file);
    explicit_bzero(line, sizeof line);
    fclose(f);
    return r;
}
