/*
 * No fault: a machine so busy that a thread gets the CPU only a while after its answer came. What
 * the server told meanwhile has to count all the same. planted_tickets.c is the same without the
 * rule that sees to it.
 */
#include <unistd.h>

#include "tests/coherence/planted.h"

enum { LATE_US = 60000 };

WRAPPED(int, client_stat, struct client *c, const char *path, enum client_style style,
        struct file_attr *ret_attr, char *ret_name, struct error *err)
{
    int r = __real_client_stat(c, path, style, ret_attr, ret_name, err);
    usleep(LATE_US);
    return r;
}

WRAPPED(int, client_list, struct client *c, const char *path, const char *pattern,
        enum client_style style, bool first_only, client_entry_fn entry, void *user,
        struct client_list_result *ret, struct error *err)
{
    int r = __real_client_list(c, path, pattern, style, first_only, entry, user, ret, err);
    usleep(LATE_US);
    return r;
}

WRAPPED(int, client_list_leased, struct client *c, const char *path, struct client_lease_ask *lease,
        bool first_only, client_entry_fn entry, void *user, struct client_file **ret_dir,
        struct client_list_result *ret, struct error *err)
{
    int r = __real_client_list_leased(c, path, lease, first_only, entry, user, ret_dir, ret, err);
    usleep(LATE_US);
    return r;
}
