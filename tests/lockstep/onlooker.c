/*
 * A second process that looks at the tree under test while it changes: stat and listings, the names
 * from a seed. What it sees is not compared. It is there for what it leaves in the kernel's caches
 * and in the mount's, and for the requests of its own that are under way when names change. It
 * opens no files: an open file is in the way of a rename.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lockstep/run.h"

/* The run that is under way: the last one that is there. */
static int enter_newest(const char *dir)
{
    char newest[300] = "";
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "run-", 4) == 0)
            strcpy(newest, e->d_name);
    int fd = d && *newest ? openat(dirfd(d), newest, O_RDONLY | O_DIRECTORY) : -1;
    if (d)
        closedir(d);
    return fd;
}

static void list(int top, const char *path)
{
    struct dirent **entries;
    int n = scandirat(top, path, &entries, NULL, NULL);
    struct stat st;
    for (int i = 0; i < n; i++) {
        if (i % 2)
            fstatat(top, entries[i]->d_name, &st, AT_SYMLINK_NOFOLLOW);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

static void look_on(const char *dir, uint64_t seed)
{
    enum { COUNT = 500 };
    static struct op ops[COUNT];
    for (;; seed++) {
        int top = enter_newest(dir);
        generate(seed, 0, ops, COUNT);
        for (int i = 0; i < COUNT && top >= 0; i++) {
            struct stat st;
            if (ops[i].kind == OP_LIST || i % 7 == 0)
                list(top, *ops[i].path ? ops[i].path : ".");
            else
                fstatat(top, ops[i].path, &st, AT_SYMLINK_NOFOLLOW);
            usleep(100);
        }
        if (top >= 0)
            close(top);
        usleep(1000);
    }
}

int onlooker_start(const char *dir, uint64_t seed)
{
    int pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    look_on(dir, seed);
    _exit(0);
}

void onlooker_end(int pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
