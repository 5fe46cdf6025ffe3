/*
 * `larder`: one binary, a table of subcommands; as mount.larder it is mount(8)'s helper. They work
 * on a copy of what was typed; the original, which everybody can see, has had its passwords blotted
 * out by then.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "cli/cli.h"

static const struct subcommand subcommands[] = {
    {"mount", cmd_mount, OPERAND_LOCAL, "mount a share"},
    {"umount", cmd_umount, OPERAND_MOUNT, "unmount it, also a dead one"},
    {"ls", cmd_ls, OPERAND_REMOTE, "list a directory"},
    {"cat", cmd_cat, OPERAND_REMOTE, "print a file"},
    {"tree", cmd_tree, OPERAND_REMOTE, "a directory and all below"},
    {"stat", cmd_stat, OPERAND_REMOTE, "what a server says of a path"},
    {"get", cmd_get, OPERAND_LOCAL, "copy from a share to here"},
    {"put", cmd_put, OPERAND_LOCAL, "copy from here to a share"},
    {"cp", cmd_cp, OPERAND_REMOTE, "copy on or between shares"},
    {"mv", cmd_mv, OPERAND_REMOTE, "rename or move"},
    {"mkdir", cmd_mkdir, OPERAND_REMOTE, "make directories"},
    {"rm", cmd_rm, OPERAND_REMOTE, "remove files and trees"},
    {"shares", cmd_shares, OPERAND_TARGET, "what a server shares"},
    {"doctor", cmd_doctor, OPERAND_TARGET, "what a server can do, tried"},
    {"df", cmd_df, OPERAND_TARGET, "how much room a share has"},
    {"stats", cmd_stats, OPERAND_MOUNT, "a live mount's counters"},
    {"explain", cmd_explain, OPERAND_LOCAL, "what it believes, and why"},
    {"drop", cmd_drop, OPERAND_LOCAL, "have it forget a path"},
    {"compare", cmd_compare, OPERAND_COMMAND, "clients' behaviours compared"},
    {"analyze", cmd_analyze, OPERAND_LOCAL, "what a packet capture shows"},
    {"settings", cmd_settings, OPERAND_PROFILE, "the settings of a profile"},
    {"complete", cmd_complete, OPERAND_TARGET, "completions, for a shell"},
};
#define SUBCOMMANDS (sizeof subcommands / sizeof subcommands[0])

const struct subcommand *cli_subcommand(size_t index)
{
    return index < SUBCOMMANDS ? &subcommands[index] : NULL;
}

/* In two columns, to be read down, so that a screen holds all of them. */
static void print_help(FILE *out)
{
    fprintf(out,
            "larder mount //server/share /mnt -o credentials=FILE\n\n"
            "larder %s, an SMB 2/3 client whose metadata caches work, visibly.\n\n",
            LARDER_VERSION);
    const size_t rows = (SUBCOMMANDS + 1) / 2;
    for (size_t i = 0; i < rows; i++) {
        const struct subcommand *left = &subcommands[i], *right = cli_subcommand(i + rows);
        if (right)
            fprintf(out, "  %-8s %-29s  %-8s %s\n", left->name, left->help, right->name,
                    right->help);
        else
            fprintf(out, "  %-8s %s\n", left->name, left->help);
    }
    fprintf(out, "\nlarder SUBCOMMAND --help says more, man larder-SUBCOMMAND all of it.\n"
                 "Exit codes: 0 done, 1 failed, 2 usage, 3 over a limit given to compare.\n");
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

static int run(int (*command)(int argc, char **argv), int argc, char **argv, int skip)
{
    char **typed = cli_hide_passwords(argc, argv);
    if (!typed)
        return cli_fail(argv[skip], "out of memory");
    int code = command(argc - skip, typed + skip); /* getopt permutes, and loses none */
    code = printed(argv[skip], code);
    cli_free_arguments(typed);
    return code;
}

/* mount(8) looks for helpers by the type of what is to be mounted, or is mounted. */
static bool is_mount_helper(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash + 1 : path;
    return name && (strcmp(name, "mount.larder") == 0 || strcmp(name, "mount.fuse.larder") == 0);
}

int main(int argc, char **argv)
{
    open_standard();
    if (is_mount_helper(argv[0]))
        return run(cmd_mount_helper, argc, argv, 0);
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
    for (size_t i = 0; i < SUBCOMMANDS; i++)
        if (strcmp(argv[1], subcommands[i].name) == 0)
            return run(subcommands[i].run, argc, argv, 1);
    struct nearest n = nearest_to(argv[1]);
    for (size_t i = 0; i < SUBCOMMANDS; i++)
        nearest_offer(&n, subcommands[i].name);
    const char *meant = nearest_meant(&n);
    fprintf(stderr, "larder: no subcommand \"%s\"%s%s%s (try larder --help)\n", argv[1],
            meant ? ": did you mean " : "", meant ? meant : "", meant ? "?" : "");
    return EXIT_USAGE;
}
