/* `larder mount`: a share on a directory, as one types it (mount_run.c serves it). */
#include <getopt.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/mount_options.h"

static const char help[] =
    "larder mount //server/share /mnt -o credentials=FILE\n\n"
    "Returns when the share is usable; `larder umount /mnt` ends it.\n\n"
    "  -f, --foreground   stay in the foreground, log to stderr; Ctrl-C unmounts\n"
    "  --keylog FILE      append the session's keys, for Wireshark and larder analyze\n"
    "  -o OPTION,...      repeatable:\n"
    "     username=, password=, domain=, credentials=FILE, guest\n"
    "     sec=krb5|krb5i|ntlmssp|ntlmsspi|none, keytab=FILE, cruid=USER, ip=ADDRESS\n"
    "     profile=larder|23h2|25h2|off, then settings: DirectoryCacheLifetime=60\n"
    "     port=, vers=, sign, seal, actimeo=SECONDS, events=FILE\n"
    "     uid=, gid=, file_mode=, dir_mode=, umask=   owner and octal mode of all\n"
    "     soft, hard    a call waits for a server that is away: timeo=300 tenths of a\n"
    "                   second, or without an end\n"
    "     ro, rw        ro: changes get EROFS (/proc/mounts shows rw all the same)\n"
    "     allow_other   let other users in, as the modes say\n"
    "     nobrl, nomap, mfsymlinks   as mount.cifs has them\n"
    "     max_threads=  calls served at a time (64)\n"
    "     noexec        and what mount(8) passes on: _netdev, nofail, users, ...\n\n"
    "The target may be smb://[[domain;]user@]server[:port]/share[/path] too. The\n"
    "password comes from -o, the credentials file, LARDER_PASSWORD, or a prompt;\n"
    "without any a Kerberos ticket (kinit) is used where there is one.\n";

/* EXIT_DONE, CLI_HELP_SHOWN, or an exit code after printing why. */
static int parse(struct mount_request *r, int argc, char **argv)
{
    static const struct option long_options[] = {{"foreground", no_argument, NULL, 'f'},
                                                 {"keylog", required_argument, NULL, 'k'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {0}};
    struct error err;
    const char *list[CLI_OPTIONS_MAX];
    unsigned lists = 0;
    optind = 1;
    opterr = 0;
    int c;
    while ((c = getopt_long(argc, argv, "fho:", long_options, NULL)) != -1) {
        switch (c) {
        case 'f':
            r->foreground = true;
            break;
        case 'k':
            optarg = cli_keylog("mount", optarg);
            if (!optarg)
                return EXIT_USAGE;
            /* fall through */
        case 'o':
            if (lists == CLI_OPTIONS_MAX)
                return cli_usage("mount", "more than %d times -o", CLI_OPTIONS_MAX);
            list[lists++] = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return CLI_HELP_SHOWN;
        default:
            return cli_usage("mount", "unknown option \"%s\", or one without its value",
                             argv[optind - 1]);
        }
    }
    if (argc - optind != 2)
        return cli_usage("mount", "give a target //HOST/SHARE and a directory");
    int rc = mount_request_take(r, argv[optind], argv[optind + 1], list, lists, &err);
    if (rc < 0)
        return mount_request_refused(rc, &err);
    cli_warn_of_keylog("mount", r->share.keylog_path);
    return EXIT_DONE;
}

int cmd_mount(int argc, char **argv)
{
    struct mount_request r;
    mount_request_init(&r);
    int code = parse(&r, argc, argv);
    if (code == CLI_HELP_SHOWN)
        code = EXIT_DONE;
    else if (code == EXIT_DONE)
        code = mount_request_run(&r);
    mount_request_done(&r);
    return code;
}
