/* `larder cat`: a file of a share to standard output. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "larder/larder.h"

static const char help[] =
    "larder cat -o credentials=FILE //server/share FILE\n\n"
    "Prints a file of a share.\n\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, seal, profile=, events=FILE, or a setting such as\n"
    "               DirectoryCacheLifetime=60; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n\n"
    "The password comes from -o, LARDER_PASSWORD, or a prompt.\n";

#define PIECE (8u << 20)

static int write_all(const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(STDOUT_FILENO, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int copy_out(struct larder_file *f, uint64_t size)
{
    size_t piece = size < PIECE ? (size_t)size + 1 : PIECE; /* one more shows the end */
    char *buf = malloc(piece);
    if (!buf)
        return cli_fail("cat", "out of memory");
    struct larder_error err = {0};
    int code = EXIT_DONE;
    for (uint64_t offset = 0;;) {
        int64_t n = larder_read(f, buf, piece, offset, &err);
        if (n < 0) {
            code = cli_fail("cat", "%s", err.text);
            break;
        }
        int r = write_all(buf, (size_t)n);
        if (r < 0) {
            code = cli_fail("cat", "standard output: %s", strerror(-r));
            break;
        }
        offset += (uint64_t)n;
        if ((size_t)n < piece)
            break;
    }
    free(buf);
    return code;
}

int cmd_cat(int argc, char **argv)
{
    struct cli_target t;
    int code = cli_tool_options(&t, argc, argv, "", NULL, help);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    struct larder *l;
    code = cli_connect("cat", &t, &l);
    if (code != EXIT_DONE)
        return code;
    struct larder_error err = {0};
    struct larder_file *f;
    struct larder_stat stat;
    if (larder_open(l, t.path, &f, &stat, &err) < 0) {
        code = cli_fail("cat", "%s", err.text);
    } else {
        code = copy_out(f, stat.size);
        larder_close(f);
    }
    larder_disconnect(l);
    return code;
}
