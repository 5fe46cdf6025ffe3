/*
 * The options of a mount, as one table: a setter, or none where an option asks for what holds here
 * anyway or means nothing on a share, or the reason why it is refused. What is not in the table is
 * share/'s. A refusal names the option and says why in one line: an option that would be passed
 * over in silence is one that its user believes in.
 */
#include "cli/mount_options.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/cli.h"

void mount_request_init(struct mount_request *r)
{
    *r = (struct mount_request){0};
    share_options_init(&r->share);
    mount_options_init(&r->mount);
}

void mount_request_done(struct mount_request *r)
{
    share_options_done(&r->share);
}

/* ---- values ---- */

/* A number, or -EINVAL where it is none that an id can be. */
static int parse_id(const char *value, unsigned *ret)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno || n >= UINT32_MAX)
        return -EINVAL;
    *ret = (unsigned)n;
    return 0;
}

static int set_uid(struct mount_request *r, const char *value, struct error *err)
{
    const struct passwd *user;
    if (parse_id(value, &r->mount.uid) == 0)
        return 0;
    user = getpwnam(value);
    if (!user)
        return error_set(err, -EINVAL, 0, "uid=%s is neither a user's name nor 0 to %u", value,
                         UINT32_MAX - 1);
    r->mount.uid = user->pw_uid;
    return 0;
}

static int set_gid(struct mount_request *r, const char *value, struct error *err)
{
    const struct group *group;
    if (parse_id(value, &r->mount.gid) == 0)
        return 0;
    group = getgrnam(value);
    if (!group)
        return error_set(err, -EINVAL, 0, "gid=%s is neither a group's name nor 0 to %u", value,
                         UINT32_MAX - 1);
    r->mount.gid = group->gr_gid;
    return 0;
}

static int parse_mode(mode_t *mode, const char *name, const char *value, struct error *err)
{
    char *end;
    unsigned long n = strtoul(value, &end, 8);
    if (*value < '0' || *value > '7' || *end || n > 0777)
        return error_set(err, -EINVAL, 0, "%s=%s is not an octal mode, 0 to 0777", name, value);
    *mode = (mode_t)n;
    return 0;
}

static int set_umask(struct mount_request *r, const char *value, struct error *err)
{
    return parse_mode(&r->umask, "umask", value, err);
}

static int set_file_mode(struct mount_request *r, const char *value, struct error *err)
{
    return parse_mode(&r->mount.file_mode, "file_mode", value, err);
}

static int set_dir_mode(struct mount_request *r, const char *value, struct error *err)
{
    return parse_mode(&r->mount.dir_mode, "dir_mode", value, err);
}

static int set_threads(struct mount_request *r, const char *value, struct error *err)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || n < 1 || n > MOUNT_THREADS_MAX)
        return error_set(err, -EINVAL, 0, "max_threads=%s is not 1 to %d", value,
                         MOUNT_THREADS_MAX);
    r->mount.max_threads = (unsigned)n;
    return 0;
}

/* ---- flags ---- */

static int set_ro(struct mount_request *r, const char *value, struct error *err)
{
    r->mount.read_only = true;
    return 0;
}

static int set_rw(struct mount_request *r, const char *value, struct error *err)
{
    r->mount.read_only = false;
    return 0;
}

static int set_exec(struct mount_request *r, const char *value, struct error *err)
{
    r->mount.noexec = false;
    return 0;
}

static int set_noexec(struct mount_request *r, const char *value, struct error *err)
{
    r->mount.noexec = true;
    return 0;
}

static int set_allow_other(struct mount_request *r, const char *value, struct error *err)
{
    r->mount.allow_other = true;
    return 0;
}

static int set_noallow_other(struct mount_request *r, const char *value, struct error *err)
{
    r->mount.allow_other = false;
    return 0;
}

static int set_perm(struct mount_request *r, const char *value, struct error *err)
{
    r->mount.ignore_modes = false;
    return 0;
}

static int set_noperm(struct mount_request *r, const char *value, struct error *err)
{
    r->mount.ignore_modes = true;
    return 0;
}

static int set_nostrictsync(struct mount_request *r, const char *value, struct error *err)
{
    r->mount.lazy_fsync = true;
    return 0;
}

/* ---- those that other settings carry out ---- */

static int set_sync(struct mount_request *r, const char *value, struct error *err)
{
    return share_options_set(&r->share, "WriteDelay", "0", err);
}

static int set_nolease(struct mount_request *r, const char *value, struct error *err)
{
    return share_options_set(&r->share, "Leases", "false", err);
}

static int set_nohandlecache(struct mount_request *r, const char *value, struct error *err)
{
    return share_options_set(&r->share, "DormantFileLimit", "0", err);
}

static int set_cache(struct mount_request *r, const char *value, struct error *err)
{
    if (strcmp(value, "strict") == 0)
        return 0;
    if (strcmp(value, "none") == 0)
        return share_options_set(&r->share, "profile", "off", err);
    if (strcmp(value, "loose") == 0)
        return error_set(
            err, -EINVAL, 0,
            "cache=loose is refused: it would show data that the server no longer has; "
            "strict (the default) or none");
    return error_set(err, -EINVAL, 0, "cache=%.40s: not one of strict, none", value);
}

static int set_iocharset(struct mount_request *r, const char *value, struct error *err)
{
    if (strcasecmp(value, "utf8") == 0 || strcasecmp(value, "utf-8") == 0)
        return 0;
    return error_set(err, -EINVAL, 0, "iocharset=%.40s is refused: names are UTF-8 here", value);
}

/* ---- the table ---- */

enum takes { FLAG, VALUE, NUMBER, ANYTHING };

static const char no_netbios[] = "SMB goes over TCP directly here (port 445), never over NetBIOS";
static const char no_unix[] = "the POSIX extensions of SMB are not spoken";
static const char no_backup[] = "files are opened with the rights of the user who logs on";
static const char no_acls[] =
    "owners and modes are uid=, gid=, file_mode=, dir_mode= for all files";

static const struct mount_option {
    const char *name;
    enum takes takes;
    int (*set)(struct mount_request *r, const char *value, struct error *err); /* NULL: no effect */
    const char *refused; /* why; NULL: taken */
} table[] = {
    {"ro", FLAG, set_ro},
    {"rw", FLAG, set_rw},
    {"exec", FLAG, set_exec},
    {"noexec", FLAG, set_noexec},
    {"uid", VALUE, set_uid},
    {"gid", VALUE, set_gid},
    {"umask", VALUE, set_umask},
    {"file_mode", VALUE, set_file_mode},
    {"dir_mode", VALUE, set_dir_mode},
    {"allow_other", FLAG, set_allow_other},
    {"noallow_other", FLAG, set_noallow_other},
    {"max_threads", VALUE, set_threads},
    {"perm", FLAG, set_perm},
    {"noperm", FLAG, set_noperm},
    {"nostrictsync", FLAG, set_nostrictsync},
    {"sync", FLAG, set_sync},
    {"nolease", FLAG, set_nolease},
    {"nohandlecache", FLAG, set_nohandlecache},
    {"cache", VALUE, set_cache},
    {"iocharset", VALUE, set_iocharset},

    /* What mount(8), fstab and systemd pass on: it is theirs. Set-user-ID programs and devices are
     * off whatever is said. */
    {"_netdev", FLAG},
    {"nofail", FLAG},
    {"user", FLAG},
    {"users", FLAG},
    {"nouser", FLAG},
    {"owner", FLAG},
    {"group", FLAG},
    {"auto", FLAG},
    {"noauto", FLAG},
    {"defaults", FLAG},
    {"comment", ANYTHING},
    {"suid", FLAG},
    {"nosuid", FLAG},
    {"dev", FLAG},
    {"nodev", FLAG},
    {"async", FLAG},
    {"dirsync", FLAG},
    {"silent", FLAG},
    {"loud", FLAG},
    {"mand", FLAG},
    {"nomand", FLAG},
    {"iversion", FLAG},
    {"noiversion", FLAG},
    {"remount", FLAG, .refused = "a mount does not change; unmount it and mount it anew"},
    {"nosymfollow", FLAG, .refused = "FUSE does not hand it to the kernel"},

    /* The server keeps the times of access, as it likes. */
    {"atime", FLAG},
    {"noatime", FLAG},
    {"relatime", FLAG},
    {"norelatime", FLAG},
    {"strictatime", FLAG},
    {"nostrictatime", FLAG},
    {"diratime", FLAG},
    {"nodiratime", FLAG},
    {"lazytime", FLAG},
    {"nolazytime", FLAG},

    /* mount.cifs': what is so here, or means nothing. */
    {"forceuid", FLAG},
    {"forcegid", FLAG},
    {"nosetuids", FLAG},
    {"handlecache", FLAG},
    {"rwpidforward", FLAG},
    {"nomapchars", FLAG},
    {"intr", FLAG},
    {"nointr", FLAG},
    {"noacl", FLAG},
    {"nocase", FLAG},
    {"ignorecase", FLAG},
    {"noresilienthandles", FLAG},
    {"nopersistenthandles", FLAG},
    {"forcemandatorylock", FLAG},
    {"serverino", FLAG},
    {"noposix", FLAG},
    {"nounix", FLAG},
    {"nolinux", FLAG},
    {"nouser_xattr", FLAG},
    {"nodfs", FLAG},
    {"noautotune", FLAG},
    {"nosharesock", FLAG},
    {"noblocksend", FLAG},
    {"rsize", NUMBER},
    {"wsize", NUMBER},
    {"bsize", NUMBER},
    {"max_credits", NUMBER},
    {"noposixpaths", FLAG},

    /* mount.cifs': what would be a promise that nobody keeps. */
    {"idsfromsid", .refused = no_acls},
    {"cifsacl", .refused = no_acls},
    {"setuids", .refused = no_unix},
    {"dynperm", .refused = "modes are never made up; file_mode= and dir_mode= are for all files"},
    {"netbiosname", .refused = no_netbios},
    {"servern", .refused = no_netbios},
    {"domainauto", .refused = "no domain is guessed; give domain=NAME"},
    {"handletimeout", .refused = "the server says how long it keeps handles of a lost connection"},
    {"mapchars", .refused = "reserved characters are mapped as mapposix does, or not (nomap)"},
    {"backupuid", .refused = no_backup},
    {"backupgid", .refused = no_backup},
    {"rdma", .refused = "SMB Direct is not spoken, only TCP"},
    {"resilienthandles", .refused = "durable handles are asked for without being told to"},
    {"persistenthandles", .refused = "durable handles are asked for, and no persistent ones"},
    {"snapshot", .refused = "snapshots cannot be mounted; the share is shown as it is now"},
    {"locallease",
     .refused = "a local lease knows nothing of other clients; leases are the server's"},
    {"sfu", .refused = "there are no devices and FIFOs on a share; mfsymlinks has links"},
    {"noserverino", .refused = "inode numbers are the server's, so that hard links are known"},
    {"posix", .refused = no_unix},
    {"unix", .refused = no_unix},
    {"linux", .refused = no_unix},
    {"posixpaths", .refused = no_unix},
    {"fsc", .refused = "nothing is kept on disk; caches are in memory (CacheMemoryMax)"},
    {"multiuser", .refused = "a mount is one user's session; make one for each user"},
};
#define OPTIONS (sizeof table / sizeof table[0])

const char *mount_option_name(size_t index, bool *ret_takes_value)
{
    for (size_t i = 0; i < OPTIONS; i++) {
        if (!table[i].set || index-- > 0)
            continue;
        *ret_takes_value = table[i].takes == VALUE;
        return table[i].name;
    }
    return NULL;
}

/* `user` is fstab's, `user=NAME` the share's. */
static const struct mount_option *find(const char *name, const char *value)
{
    for (size_t i = 0; i < OPTIONS; i++)
        if (strcasecmp(table[i].name, name) == 0)
            return table[i].takes == FLAG && value && share_options_know(name) ? NULL : &table[i];
    return NULL;
}

static int unknown(const struct mount_request *r, const char *name, struct error *err)
{
    struct nearest n = nearest_to(name);
    const char *known;
    if (r->sloppy || strncasecmp(name, "x-", 2) == 0) /* x-systemd..., X-mount... */
        return 0;
    for (size_t i = 0; (known = share_options_name(i)); i++)
        nearest_offer(&n, known);
    for (size_t i = 0; i < OPTIONS; i++)
        if (!table[i].refused)
            nearest_offer(&n, table[i].name);
    known = nearest_meant(&n);
    return error_set(err, -EINVAL, 0, "unknown option '%.60s'%s%s%s", name,
                     known ? ": did you mean " : "", known ? known : "", known ? "?" : "");
}

static int take(struct mount_request *r, const struct mount_option *option, const char *value,
                struct error *err)
{
    const char *name = option->name;
    bool needs = option->takes == VALUE || option->takes == NUMBER;
    if (option->refused)
        return error_set(err, -EINVAL, 0, "option %s is refused: %s", name, option->refused);
    if (option->takes == FLAG && value)
        return error_set(err, -EINVAL, 0, "option %s takes no value", name);
    if (needs && (!value || !*value))
        return error_set(err, -EINVAL, 0, "option %s needs a value: %s=...", name, name);
    if (option->takes == NUMBER && value[strspn(value, "0123456789")])
        return error_set(err, -EINVAL, 0, "%s=%.40s: takes a number", name, value);
    return option->set ? option->set(r, value, err) : 0;
}

static int set_item(void *user, char *item, struct error *err)
{
    struct mount_request *r = user;
    char *value = strchr(item, '=');
    if (value)
        *value++ = 0;
    const struct mount_option *option = find(item, value);
    if (option)
        return take(r, option, value, err);
    return share_options_know(item) ? share_options_set(&r->share, item, value, err)
                                    : unknown(r, item, err);
}

int mount_request_take(struct mount_request *r, const char *target, const char *mountpoint,
                       const char *const *list, unsigned lists, struct error *err)
{
    int rc = share_options_target(&r->share, target, err);
    for (unsigned i = 0; rc == 0 && i < lists; i++)
        rc = share_options_split(list[i], set_item, r, err);
    if (rc < 0)
        return rc;
    r->mount.file_mode &= ~r->umask;
    r->mount.dir_mode &= ~r->umask;
    /* as typed, since mount -a compares it with fstab; an URL may hold a password */
    if (strncmp(target, "//", 2) != 0)
        r->mount.fsname = share_options_source(&r->share, r->source);
    else
        r->mount.fsname = target;
    r->mount.mountpoint = mountpoint;
    return 0;
}

int mount_request_refused(int rc, const struct error *err)
{
    return rc == -EINVAL ? cli_usage("mount", "%s", err->text) : cli_fail("mount", "%s", err->text);
}
