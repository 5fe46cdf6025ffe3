/*
 * Where to connect: `//host[:port]/share[/path]`, as mount and fstab write it, or an smb: URL. Both
 * forms end in the same four parts; only the URL may carry a user, and only there %XX is decoded.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/options_internal.h"

static const char target_form[] =
    "//HOST[:PORT]/SHARE[/PATH] or smb://[[DOMAIN;]USER[:PASSWORD]@]HOST[:PORT]/SHARE[/PATH]";

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decodes %XX in place; false for a broken escape or an encoded NUL. */
static bool percent_decode(char *s)
{
    char *out = s;
    while (*s) {
        if (*s == '%') {
            int high = hex_digit(s[1]), low = high < 0 ? -1 : hex_digit(s[2]);
            if (low < 0 || high * 16 + low == 0)
                return false;
            *out++ = (char)(high * 16 + low);
            s += 3;
        } else {
            *out++ = *s++;
        }
    }
    *out = 0;
    return true;
}

static int bad_target(struct error *err, const char *what)
{
    return error_set(err, -EINVAL, 0, "%s; a target is %s", what, target_form);
}

/* [[DOMAIN;]USER[:PASSWORD]@] in front of the host. */
static int parse_user(struct share_options *o, char *user, struct error *err)
{
    char *password = strchr(user, ':');
    if (password)
        *password++ = 0;
    char *domain = NULL, *semicolon = strchr(user, ';');
    if (semicolon) {
        *semicolon = 0;
        domain = user;
        user = semicolon + 1;
    }
    if (!percent_decode(user) || (domain && !percent_decode(domain)) ||
        (password && !percent_decode(password)))
        return bad_target(err, "broken %XX escape in the user part");
    if (*user == 0)
        return bad_target(err, "empty user name");
    if (options_replace(&o->user, user) < 0 ||
        (domain && options_replace(&o->domain, domain) < 0) ||
        (password && options_replace_secret(&o->password, password) < 0))
        return error_set(err, -ENOMEM, 0, "out of memory");
    return 0;
}

int options_parse_port(const char *text, uint16_t *ret, struct error *err)
{
    char *end;
    errno = 0;
    unsigned long port = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || port == 0 || port > 65535)
        return error_set(err, -EINVAL, 0, "port \"%s\": not a number from 1 to 65535", text);
    *ret = (uint16_t)port;
    return 0;
}

/* HOST[:PORT] with IPv6 literals in brackets. */
static int parse_host(struct share_options *o, char *host, struct error *err)
{
    char *port = NULL;
    if (*host == '[') {
        char *end = strchr(++host, ']');
        if (!end || (end[1] && end[1] != ':'))
            return bad_target(err, "unclosed [ of an IPv6 address");
        *end = 0;
        port = end[1] ? end + 2 : NULL;
    } else if ((port = strchr(host, ':'))) {
        if (strchr(port + 1, ':'))
            return bad_target(err, "an IPv6 address needs brackets");
        *port++ = 0;
    }
    if (*host == 0)
        return bad_target(err, "no host");
    if (port) {
        int r = options_parse_port(port, &o->port, err);
        if (r < 0)
            return r;
    }
    return options_replace(&o->host, host) < 0 ? error_set(err, -ENOMEM, 0, "out of memory") : 0;
}

static int parse_parts(struct share_options *o, char *text, bool url, struct error *err)
{
    char *share = strchr(text, '/');
    if (!share || share[1] == 0 || share[1] == '/')
        return bad_target(err, "no share");
    *share++ = 0;
    char *path = strchr(share, '/');
    if (path)
        *path++ = 0;
    else
        path = share + strlen(share);
    if (url && (!percent_decode(share) || !percent_decode(path)))
        return bad_target(err, "broken %XX escape");
    char *host = text, *at = url ? strrchr(text, '@') : NULL;
    if (at) {
        *at = 0;
        host = at + 1;
        int r = parse_user(o, text, err);
        if (r < 0)
            return r;
    }
    int r = parse_host(o, host, err);
    if (r < 0)
        return r;
    while (*path == '/')
        path++;
    size_t len = strlen(path);
    while (len && path[len - 1] == '/')
        path[--len] = 0;
    if (options_replace(&o->share, share) < 0 || options_replace(&o->path, path) < 0)
        return error_set(err, -ENOMEM, 0, "out of memory");
    return 0;
}

/* What lacks slashes, or lost backslashes to the shell, and NFS's HOST:/EXPORT: as it was meant. */
static int not_a_share(const char *target, struct error *err)
{
    const char *host = target + strspn(target, "/\\");
    size_t host_len = strcspn(host, "/\\");
    const char *share = host + host_len + strspn(host + host_len, "/\\");
    size_t share_len = strcspn(share, "/\\");
    if (host_len && host[host_len - 1] == ':')
        host_len--;
    if (host_len == 0 || share_len == 0 || strstr(target, "://"))
        return bad_target(err, "not a share");
    return error_set(err, -EINVAL, 0, "\"%.200s\" is not a share: did you mean //%.*s/%.*s?",
                     target, (int)host_len, host, (int)share_len, share);
}

int share_options_target(struct share_options *o, const char *target, struct error *err)
{
    bool url = strncasecmp(target, "smb://", 6) == 0;
    bool unc = !url && (strncmp(target, "//", 2) == 0 || strncmp(target, "\\\\", 2) == 0);
    if (!url && !unc)
        return not_a_share(target, err);
    char *text = strdup(target + (url ? 6 : 2));
    if (!text)
        return error_set(err, -ENOMEM, 0, "out of memory");
    for (char *p = text; target[0] == '\\' && *p; p++)
        if (*p == '\\')
            *p = '/';
    int r = parse_parts(o, text, url, err);
    explicit_bzero(text, strlen(target) - (url ? 6 : 2));
    free(text);
    return r;
}

const char *share_options_source(const struct share_options *o, char out[static SHARE_SOURCE_MAX])
{
    bool literal = strchr(o->host, ':');
    char port[8] = "";
    if (o->port)
        snprintf(port, sizeof port, ":%u", o->port);
    snprintf(out, SHARE_SOURCE_MAX, "//%s%s%s%s/%s%s%s", literal ? "[" : "", o->host,
             literal ? "]" : "", port, o->share, *o->path ? "/" : "", o->path);
    return out;
}
