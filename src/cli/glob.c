/*
 * Wildcards. A pattern is taken apart at its slashes. Components without a wildcard are appended as
 * they are; for one with a wildcard the directory so far is listed once, and each name that matches
 * goes on to the next component. Matching walks forward only and goes back to the last `*` alone,
 * so that no pattern takes longer than its length times the name's.
 */
#include "cli/glob.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"

static bool component_has_wildcard(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '\\')
            i++;
        else if (strchr("*?[", s[i]))
            return true;
    }
    return false;
}

bool glob_has_wildcard(const char *path)
{
    return component_has_wildcard(path, strlen(path));
}

/* Appends a component without its backslashes; returns the new length. */
static size_t append(char *out, size_t at, const char *s, size_t len)
{
    if (at && len)
        out[at++] = '/';
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '\\' && i + 1 < len)
            i++;
        out[at++] = s[i];
    }
    out[at] = 0;
    return at;
}

char *glob_target(const char *path)
{
    char *out = glob_literal(path);
    size_t len = strlen(path), out_len = out ? strlen(out) : 0;
    if (out_len && path[len - 1] == '/')
        memcpy(out + out_len, "/", 2);
    return out;
}

char *glob_literal(const char *path)
{
    char *out = malloc(strlen(path) + 2); /* glob_target appends a slash */
    if (!out)
        return NULL;
    out[0] = 0;
    for (size_t at = 0; *path;) {
        size_t len = strcspn(path, "/");
        at = append(out, at, path, len);
        path += len + (path[len] == '/');
    }
    return out;
}

/* ---- one component ---- */

/* One character of a pattern, a backslash before it taken away. */
static size_t pattern_char(const char *p, size_t n, uint32_t *ret)
{
    size_t skip = *p == '\\' && n > 1;
    return skip + utf8_next_folded(p + skip, n - skip, ret);
}

/* The length of `[...]`; 0 where it is never closed and stands for itself. */
static size_t set_length(const char *p, size_t n)
{
    size_t i = 1;
    if (i < n && (p[i] == '!' || p[i] == '^'))
        i++;
    if (i < n && p[i] == ']')
        i++;
    for (; i < n; i++) {
        if (p[i] == '\\')
            i++;
        else if (p[i] == ']')
            return i + 1;
    }
    return 0;
}

static bool set_has(const char *p, size_t len, uint32_t c)
{
    bool negated = p[1] == '!' || p[1] == '^', found = false;
    for (size_t i = 1 + negated; i < len - 1;) {
        uint32_t low, high;
        i += pattern_char(p + i, len - 1 - i, &low);
        high = low;
        if (i + 1 < len - 1 && p[i] == '-') {
            i++;
            i += pattern_char(p + i, len - 1 - i, &high);
        }
        found = found || (low <= c && c <= high);
    }
    return found != negated;
}

/* Whether what stands at the pattern's beginning, no `*`, takes `c`; *ret_len: how long it is. */
static bool takes(const char *p, size_t n, uint32_t c, size_t *ret_len)
{
    uint32_t own;
    size_t set = *p == '[' ? set_length(p, n) : 0;
    if (set) {
        *ret_len = set;
        return set_has(p, set, c);
    }
    if (*p == '?') {
        *ret_len = 1;
        return true;
    }
    *ret_len = pattern_char(p, n, &own);
    return own == c;
}

bool glob_match(const char *pattern, size_t len, const char *name)
{
    size_t name_len = strlen(name), i = 0, k = 0;
    size_t star = SIZE_MAX, star_name = 0; /* behind the last `*`, and what it has taken up to */
    while (k < name_len) {
        uint32_t c;
        size_t step = utf8_next_folded(name + k, name_len - k, &c), taken;
        if (i < len && pattern[i] == '*') {
            star = ++i;
            star_name = k;
        } else if (i < len && takes(pattern + i, len - i, c, &taken)) {
            i += taken;
            k += step;
        } else if (star != SIZE_MAX) {
            star_name += utf8_next_folded(name + star_name, name_len - star_name, &c);
            k = star_name;
            i = star;
        } else {
            return false;
        }
    }
    while (i < len && pattern[i] == '*')
        i++;
    return i == len;
}

/* ---- a path ---- */

static int add_path(struct glob_paths *paths, const char *path)
{
    if ((paths->count & (paths->count - 1)) == 0) { /* full at every power of two */
        size_t cap = paths->count ? 2 * paths->count : 1;
        char **more = realloc(paths->path, cap * sizeof *more);
        if (!more)
            return -ENOMEM;
        paths->path = more;
    }
    paths->path[paths->count] = strdup(path);
    return paths->path[paths->count] ? (int)(paths->count++, 0) : -ENOMEM;
}

void glob_paths_free(struct glob_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->path[i]);
    free(paths->path);
    *paths = (struct glob_paths){0};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_below(struct glob_paths *ret, const char *dir, const char *name)
{
    char *path;
    if (asprintf(&path, "%s%s%s", dir, *dir && *name ? "/" : "", name) < 0)
        return -ENOMEM;
    int r = add_path(ret, path);
    free(path);
    return r;
}

/* The names in `dir` that match; the literal name where only a `[` would not. */
static int match_in(struct larder *l, const char *dir, const char *component, size_t len,
                    bool dirs_only, struct glob_paths *ret, struct larder_error *err)
{
    struct larder_dir *list;
    int r = larder_list(l, dir, &list, err);
    if (r < 0)
        return r == -ENOTDIR || r == -ENOENT ? 0 : r;
    size_t before = ret->count;
    int passes = memchr(component, '[', len) ? 2 : 1;
    for (int pass = 0; pass < passes && ret->count == before; pass++)
        for (size_t i = 0; r == 0 && i < larder_dir_count(list); i++) {
            struct larder_stat st;
            const char *name = larder_dir_entry(list, i, &st);
            bool good = pass == 0 ? glob_match(component, len, name)
                                  : utf8_fold_equal(name, strlen(name), component, len);
            if (good && (st.is_dir || !dirs_only))
                r = add_below(ret, dir, name);
        }
    larder_dir_close(list);
    return r;
}

/* Every path so far, with the next component; a slash behind it asks for directories. */
static int next_component(struct larder *l, const struct glob_paths *so_far, const char *component,
                          size_t len, bool dirs_only, struct glob_paths *ret,
                          struct larder_error *err)
{
    int r = 0;
    char *literal = malloc(len + 1);
    if (!literal)
        return -ENOMEM;
    append(literal, 0, component, len);
    for (size_t i = 0; r == 0 && i < so_far->count; i++)
        r = component_has_wildcard(component, len)
                ? match_in(l, so_far->path[i], component, len, dirs_only, ret, err)
                : add_below(ret, so_far->path[i], literal);
    free(literal);
    return r;
}

/* Behind a wildcard a component without one may lead nowhere: those paths are left out. */
static int keep_existing(struct larder *l, struct glob_paths *paths, struct larder_error *err)
{
    size_t kept = 0;
    int r = 0;
    for (size_t i = 0; i < paths->count; i++) {
        struct larder_stat st;
        int found = r == 0 ? larder_stat(l, paths->path[i], &st, err) : r;
        if (found == 0) {
            paths->path[kept++] = paths->path[i];
            continue;
        }
        if (found != -ENOENT && found != -ENOTDIR)
            r = found;
        free(paths->path[i]);
    }
    paths->count = kept;
    return r;
}

int glob_expand(struct larder *l, const char *pattern, struct glob_paths *ret,
                struct larder_error *err)
{
    struct glob_paths paths = {0};
    int r = add_path(&paths, "");
    bool any = false, last_any = false;
    for (const char *at = pattern; r == 0 && *at;) {
        size_t len = strcspn(at, "/"), rest = len + strspn(at + len, "/");
        struct glob_paths next = {0};
        if (len) {
            last_any = component_has_wildcard(at, len);
            any = any || last_any;
            r = next_component(l, &paths, at, len, rest > len, &next, err);
            glob_paths_free(&paths);
            paths = next;
        }
        at += rest;
    }
    if (r == 0 && any && !last_any)
        r = keep_existing(l, &paths, err);
    if (r == 0 && paths.count == 0) {
        r = -ENOENT;
        *err = (struct larder_error){.code = r};
        snprintf(err->text, sizeof err->text, "%s: nothing matches", pattern);
    }
    if (r < 0) {
        if (r == -ENOMEM)
            *err = (struct larder_error){.code = r, .text = "out of memory"};
        glob_paths_free(&paths);
        return r;
    }
    qsort(paths.path, paths.count, sizeof *paths.path, by_text);
    *ret = paths;
    return 0;
}
