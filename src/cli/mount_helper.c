/*
 * mount.larder: what mount(8) runs for `mount -t larder` and for a line of fstab, and itself a
 * command of that form. It is this program under that name.
 *
 * mount(8) says what its helpers are given, and what their exit codes mean (`larder mount` has its
 * own). As with mount.cifs, what root mounts all users may use as the modes allow; what a user
 * mounts is that user's alone, since fusermount3 wants user_allow_other in /etc/fuse.conf for more.
 */
#include <getopt.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/mount_options.h"

/* Of mount(8). */
enum { MOUNT_DONE = 0, MOUNT_USAGE = 1, MOUNT_FAILED = 32 };

static const char help[] =
    "mount -t larder //server/share /mnt -o credentials=FILE\n\n"
    "mount.larder TARGET DIRECTORY [-fnrsvw] [-o OPTION,...]\n\n"
    "  -f   check the options, mount nothing\n"
    "  -n   nothing: there is no mtab to write\n"
    "  -r   the same as -o ro; -w: -o rw\n"
    "  -s   pass over options that nobody knows\n"
    "  -v   say what was mounted\n\n"
    "The options are those of `larder mount`; what root mounts is for all users, as the\n"
    "modes say (-o noallow_other: for root alone).\n";

struct line {
    const char *list[CLI_OPTIONS_MAX];
    unsigned lists;
    bool fake;
};

/* EXIT_DONE, CLI_HELP_SHOWN, or EXIT_USAGE after printing why. */
static int read_flags(struct line *l, struct mount_request *r, int argc, char **argv)
{
    static const struct option long_options[] = {{"verbose", no_argument, NULL, 'v'},
                                                 {"version", no_argument, NULL, 'V'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {0}};
    int c;
    optind = 1;
    opterr = 0;
    while ((c = getopt_long(argc, argv, "fhno:rst:vVw", long_options, NULL)) != -1) {
        const char *list = c == 'r' ? "ro" : c == 'w' ? "rw" : c == 'o' ? optarg : NULL;
        if (list && l->lists == CLI_OPTIONS_MAX)
            return cli_usage("mount", "more than %d times -o", CLI_OPTIONS_MAX);
        if (list)
            l->list[l->lists++] = list;
        if (c == 'f')
            l->fake = true;
        if (c == 's')
            r->sloppy = true;
        if (c == 'v')
            r->verbose = true;
        if (c == 'h')
            fputs(help, stdout);
        if (c == 'V')
            printf("mount.larder %s\n", LARDER_VERSION);
        if (c == 'h' || c == 'V')
            return CLI_HELP_SHOWN;
        if (c == '?')
            return cli_usage("mount", "mount.larder has no flag \"%s\", or it lacks its value",
                             argv[optind - 1]);
    }
    return EXIT_DONE;
}

static int mount_it(struct mount_request *r, int argc, char **argv)
{
    struct line l = {0};
    struct error err;
    int code = read_flags(&l, r, argc, argv);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    if (argc - optind != 2)
        return cli_usage("mount", "give a target //HOST/SHARE and a directory");
    int rc = mount_request_take(r, argv[optind], argv[optind + 1], l.list, l.lists, &err);
    if (rc < 0)
        return mount_request_refused(rc, &err);
    cli_warn_of_keylog("mount", r->share.keylog_path);
    return l.fake ? EXIT_DONE : mount_request_run(r);
}

int cmd_mount_helper(int argc, char **argv)
{
    struct mount_request r;
    mount_request_init(&r);
    r.mount.allow_other = geteuid() == 0;
    int code = mount_it(&r, argc, argv);
    mount_request_done(&r);
    return code == EXIT_DONE ? MOUNT_DONE : code == EXIT_USAGE ? MOUNT_USAGE : MOUNT_FAILED;
}
