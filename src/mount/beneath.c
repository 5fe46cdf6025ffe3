/*
 * Which larder mount a path is on (place_on_larder): a walk by text, component by component, as the
 * kernel would do it, with the table of mounts at hand. Links are followed until a mount of larder
 * is reached; from there on nothing is looked at, since that would ask the server, or hang.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mount/place.h"

/* A path on its way: what has been walked is canonical, the rest is as it was given. */
struct walk {
    char done[PATH_MAX]; /* "" is the root */
    char rest[2 * PATH_MAX];
    unsigned links; /* followed so far */
    struct place at;
    size_t top; /* length of the mount's path in `done`; 0: on no larder mount */
};

static int start(struct walk *w, const char *path)
{
    char here[PATH_MAX] = "";
    *w = (struct walk){0};
    if (!*path)
        return -ENOENT;
    if (*path != '/' && !getcwd(here, sizeof(here)))
        return -errno;
    int n = snprintf(w->rest, sizeof(w->rest), "%s/%s", here, path);
    return n < (int)sizeof(w->rest) && n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* The next component out of `rest`; "": none is left. */
static int take(struct walk *w, char name[static NAME_MAX * 4])
{
    size_t slashes = strspn(w->rest, "/"), len = strcspn(w->rest + slashes, "/");
    if (len >= NAME_MAX * 4)
        return -ENAMETOOLONG;
    memcpy(name, w->rest + slashes, len);
    name[len] = '\0';
    memmove(w->rest, w->rest + slashes + len, strlen(w->rest + slashes + len) + 1);
    return 0;
}

/* Outside larder's mounts: 1 where the last component was a link, whose target is now to come. */
static int follow(struct walk *w, size_t parent)
{
    char target[PATH_MAX], rest[2 * PATH_MAX];
    ssize_t n = readlink(w->done, target, sizeof(target) - 1);
    if (n < 0)
        return 0; /* none, or nothing: then it is on no mount of larder either */
    target[n] = '\0';
    if (++w->links > 40)
        return -ELOOP;
    memcpy(rest, w->rest, sizeof(rest));
    int len = snprintf(w->rest, sizeof(w->rest), "%s%s", target, rest);
    if (len >= PATH_MAX)
        return -ENAMETOOLONG;
    w->done[*target == '/' ? 0 : parent] = '\0';
    return 1;
}

/* What is mounted at `done`, if anything. */
static void look_at(struct walk *w)
{
    struct place at;
    if (place_find_exact(w->done, &at) < 0)
        return;
    bool ours = strcmp(at.type, MOUNT_FS_TYPE) == 0;
    w->top = ours ? strlen(w->done) : 0;
    if (ours)
        w->at = at;
}

/* `..` by the text. From a mount's own directory it leads to what that stands on, whose own mount
 * is found by walking there anew. */
static int go_up(struct walk *w)
{
    char rest[2 * PATH_MAX];
    bool leaves = w->top == strlen(w->done);
    char *slash = strrchr(w->done, '/');
    if (!slash)
        return 0; /* the root's is the root */
    *slash = '\0';
    if (!leaves)
        return 0;
    if (snprintf(rest, sizeof(rest), "%s/%s", w->done, w->rest) >= PATH_MAX)
        return -ENAMETOOLONG;
    memcpy(w->rest, rest, strlen(rest) + 1);
    w->done[0] = '\0';
    w->top = 0;
    return 0;
}

static int step(struct walk *w, const char *name)
{
    size_t parent = strlen(w->done);
    if (strcmp(name, ".") == 0)
        return 0;
    if (strcmp(name, "..") == 0)
        return go_up(w);
    if (parent + 1 + strlen(name) >= sizeof(w->done))
        return -ENAMETOOLONG;
    w->done[parent] = '/';
    memcpy(w->done + parent + 1, name, strlen(name) + 1);
    look_at(w);
    int rc = w->top ? 0 : follow(w, parent);
    return rc < 0 ? rc : 0;
}

int place_on_larder(const char *path, struct place *ret, char ret_rest[static PATH_MAX],
                    struct error *err)
{
    struct walk w;
    char name[NAME_MAX * 4];
    int rc = start(&w, path);
    while (rc == 0 && (rc = take(&w, name)) == 0 && *name)
        rc = step(&w, name);
    if (rc < 0)
        return error_set(err, rc, 0, "%s: %s", path, strerror(-rc));
    if (!w.top)
        return error_set(err, -EINVAL, 0, "%s is on no mount of larder", path);
    const char *rest = w.done + w.top;
    memcpy(ret_rest, rest + (*rest == '/'), strlen(rest + (*rest == '/')) + 1);
    *ret = w.at;
    return 0;
}
