/*
 * What stands after -o of `larder mount` and mount.larder: mount.cifs' names and what mount(8) and
 * fstab pass on, those of options.h, and every setting. docs/mount-options.md has the table of
 * mount.cifs' options; a test holds it against this.
 */
#ifndef LARDER_CLI_MOUNT_OPTIONS_H
#define LARDER_CLI_MOUNT_OPTIONS_H

#include <stdbool.h>

#include "mount/mount.h"
#include "share/options.h"

/* One mount that is asked for. */
struct mount_request {
    struct share_options share;
    struct mount_options mount;
    mode_t umask;                  /* taken away from both modes */
    bool sloppy;                   /* an option that nobody knows is passed over */
    bool foreground;               /* stay there, log to stderr */
    bool verbose;                  /* say what was mounted */
    char source[SHARE_SOURCE_MAX]; /* what mount.fsname may point to */
};

void mount_request_init(struct mount_request *r);
void mount_request_done(struct mount_request *r);

/* The names of those that are a mount's alone and change something: index 0 .. ; NULL past the
 * last.
 */
const char *mount_option_name(size_t index, bool *ret_takes_value);

/* The two operands, then every list in its order: what stands in a list may replace a part of the
 * target. The strings stay borrowed. -EINVAL: an option that nobody knows (err has a known one that
 * is near), a bad value, or an option that is refused, with the reason. */
int mount_request_take(struct mount_request *r, const char *target, const char *mountpoint,
                       const char *const *list, unsigned lists, struct error *err);

/* Prints what that gave; its exit code. */
int mount_request_refused(int rc, const struct error *err);

/* Checks the place, completes the credentials, connects and serves; an exit code of cli.h. From the
 * background unless asked otherwise: then it returns once the mount is usable. */
int mount_request_run(struct mount_request *r);

#endif
