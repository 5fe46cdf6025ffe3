/*
 * `larder`: one binary, a table of subcommands. They work on a copy of what was typed; the
 * original, which everybody can see, has had its passwords blotted out by then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} subcommands[] = {
    {"mount", cmd_mount, "mount a share on a directory"},
    {"umount", cmd_umount, "unmount it, also when its larder has died"},
    {"ls", cmd_ls, "list a directory of a share"},
    {"cat", cmd_cat, "print a file of a share"},
    {"tree", cmd_tree, "show a directory of a share with all below it"},
    {"stat", cmd_stat, "show what the server says about a path"},
    {"get", cmd_get, "copy files and trees of a share to this machine"},
    {"put", cmd_put, "copy files and trees of this machine to a share"},
    {"cp", cmd_cp, "copy on a share, or from share to share"},
    {"mv", cmd_mv, "rename or move within a share"},
    {"mkdir", cmd_mkdir, "make directories on a share"},
    {"rm", cmd_rm, "remove files and trees from a share"},
    {"shares", cmd_shares, "list what a server shares"},
    {"df", cmd_df, "show how much room a share has"},
    {"stats", cmd_stats, "show counters and caches of a live mount"},
    {"explain", cmd_explain, "show what a live mount believes of a path, and why"},
    {"drop", cmd_drop, "have a live mount forget what it believes of a path"},
    {"compare", cmd_compare, "run one command under several client behaviours and compare"},
    {"analyze", cmd_analyze, "say what a packet capture shows of a client's caches"},
};

static void print_help(FILE *out)
{
    fprintf(out,
            "larder %s - an SMB 2/3 client whose metadata caches work, visibly\n\n"
            "  larder mount //server/share /mnt -o credentials=FILE\n\n",
            LARDER_VERSION);
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++)
        fprintf(out, "  %-9s %s\n", subcommands[i].name, subcommands[i].help);
    fprintf(out, "\nlarder SUBCOMMAND --help says more. Exit codes: 0 done, 1 failed, 2 usage,\n"
                 "3 a limit given to compare was exceeded.\n");
}

/* A descriptor from 0 to 2 that is closed would be given to a socket, and what is printed would go
 * to the server. They are opened for reading alone, so that printing fails and is told. */
static void open_standard(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) != fd)
            _exit(EXIT_FAILED);
}

/* What could not be printed is a failure, whoever printed it. */
static int printed(const char *command, int code)
{
    if (fflush(stdout) != 0 && code == EXIT_DONE)
        return cli_fail(command, "standard output: %s", strerror(errno));
    return code;
}

int main(int argc, char **argv)
{
    open_standard();
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return printed("help", EXIT_DONE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("larder %s\n", LARDER_VERSION);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++) {
        if (strcmp(argv[1], subcommands[i].name) != 0)
            continue;
        char **typed = cli_hide_passwords(argc, argv);
        if (!typed)
            return cli_fail(argv[1], "out of memory");
        int code = subcommands[i].run(argc - 1, typed + 1); /* getopt permutes, and loses none */
        code = printed(argv[1], code);
        cli_free_arguments(typed);
        return code;
    }
    fprintf(stderr, "larder: no subcommand \"%s\" (try larder --help)\n", argv[1]);
    return EXIT_USAGE;
}
