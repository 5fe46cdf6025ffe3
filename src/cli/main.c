/*
 * `larder`: one binary, a table of subcommands. They work on a copy of what was typed; the
 * original, which everybody can see, has had its passwords blotted out by then.
 */
#include <stdio.h>
#include <string.h>

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
    {"stat", cmd_stat, "show what the server says about a path"},
    {"stats", cmd_stats, "show counters and caches of a live mount"},
    {"compare", cmd_compare, "run one command under several client behaviours and compare"},
    {"analyze", cmd_analyze, "say what a packet capture shows of a client's caches"},
};

static void print_help(FILE *out)
{
    fprintf(out,
            "larder %s - an SMB 2/3 client whose metadata caches work and can be seen to work\n\n"
            "  larder mount //server/share /mnt -o credentials=FILE\n\n",
            LARDER_VERSION);
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++)
        fprintf(out, "  %-9s %s\n", subcommands[i].name, subcommands[i].help);
    fprintf(out, "\nlarder SUBCOMMAND --help says more. Exit codes: 0 done, 1 failed, 2 usage,\n"
                 "3 a limit given to compare was exceeded.\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return EXIT_DONE;
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
        cli_free_arguments(typed);
        return code;
    }
    fprintf(stderr, "larder: no subcommand \"%s\" (try larder --help)\n", argv[1]);
    return EXIT_USAGE;
}
