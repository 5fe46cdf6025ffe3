/*
 * Reads a capture's bytes with few, large reads and gives them out where they lie: a reader peeks
 * at as many bytes as it needs in one piece and moves on; only what is left at the end of the
 * window (less than one packet) is ever moved. gzip is told by its first two bytes and inflated
 * straight into the window, one member after the other, as `cat a.gz b.gz` makes them. The file is
 * not mapped: a mapping would count as resident memory, and a file that shrinks would kill us.
 */
#include "capture/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { WINDOW = 256 << 10 };

struct source {
    int fd;
    char *name;
    uint64_t done, all;
    uint8_t *window;
    size_t size, at, end; /* of the window; bytes [at, end) are there */
    bool ended, cut_off;
    int error;
    bool gzip;
    z_stream inflater;
    uint8_t *compressed; /* of WINDOW bytes; NULL for a plain file */
};

/* The number of bytes read, 0 at the end; a failure is kept in s->error and is an end too. */
static size_t read_some(struct source *s, uint8_t *to, size_t room)
{
    ssize_t n;
    do
        n = read(s->fd, to, room);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        s->error = -errno;
    if (n <= 0)
        return 0;
    s->done += (uint64_t)n;
    return (size_t)n;
}

/* What follows the end of a gzip member: another one, or nothing that is of use (gzip itself
 * ignores zeros and other bytes there). False: nothing. */
static bool next_member(struct source *s)
{
    z_stream *z = &s->inflater;
    if (z->avail_in == 0) {
        z->next_in = s->compressed;
        z->avail_in = (uInt)read_some(s, s->compressed, WINDOW);
    }
    return z->avail_in > 0 && z->next_in[0] == 0x1f && inflateReset(z) == Z_OK;
}

static size_t inflate_some(struct source *s, uint8_t *to, size_t room)
{
    z_stream *z = &s->inflater;
    z->next_out = to;
    z->avail_out = (uInt)room;
    while (z->avail_out == room) {
        if (z->avail_in == 0) {
            z->next_in = s->compressed;
            z->avail_in = (uInt)read_some(s, s->compressed, WINDOW);
            if (z->avail_in == 0) {
                s->cut_off = s->error == 0;
                break;
            }
        }
        int r = inflate(z, Z_NO_FLUSH);
        if (r == Z_STREAM_END) {
            if (!next_member(s)) {
                s->ended = true;
                break;
            }
        } else if (r != Z_OK) {
            s->error = r == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
            break;
        }
    }
    return room - z->avail_out;
}

/* Reads until `want` bytes are in the window or the data end. */
static void fill(struct source *s, size_t want)
{
    memmove(s->window, s->window + s->at, s->end - s->at);
    s->end -= s->at;
    s->at = 0;
    while (s->end < want && !s->ended) {
        size_t room = s->size - s->end;
        size_t n = s->gzip ? inflate_some(s, s->window + s->end, room)
                           : read_some(s, s->window + s->end, room);
        s->end += n;
        if (n == 0 || s->error)
            s->ended = true;
    }
}

size_t source_peek(struct source *s, size_t want, const uint8_t **ret)
{
    if (s->end - s->at < want && !s->ended) {
        if (want > s->size) {
            uint8_t *larger = realloc(s->window, want);
            if (!larger) {
                s->error = -ENOMEM;
                s->ended = true;
            } else {
                s->window = larger;
                s->size = want;
            }
        }
        fill(s, want);
    }
    *ret = s->window + s->at;
    return s->end - s->at;
}

bool source_skip(struct source *s, uint64_t n)
{
    while (n > s->end - s->at) {
        n -= s->end - s->at;
        s->at = s->end;
        if (s->ended)
            return false;
        fill(s, 1);
        if (s->at == s->end)
            return false;
    }
    s->at += (size_t)n;
    return true;
}

int source_error(const struct source *s)
{
    return s->error;
}

bool source_cut_off(const struct source *s)
{
    return s->cut_off;
}

const char *source_name(const struct source *s)
{
    return s->name;
}

void source_progress(const struct source *s, uint64_t *ret_done, uint64_t *ret_all)
{
    *ret_done = s->done;
    *ret_all = s->all;
}

/* The first bytes tell gzip; they move over to the compressed side then. */
static int start_gzip(struct source *s)
{
    const uint8_t *first;
    if (source_peek(s, 3, &first) < 3 || memcmp(first, "\x1f\x8b\x08", 3) != 0)
        return 0;
    if (inflateInit2(&s->inflater, 16 + MAX_WBITS) != Z_OK)
        return -ENOMEM;
    s->gzip = true;
    s->compressed = malloc(WINDOW);
    if (!s->compressed)
        return -ENOMEM;
    memcpy(s->compressed, first, s->end - s->at);
    s->inflater.next_in = s->compressed;
    s->inflater.avail_in = (uInt)(s->end - s->at);
    s->at = s->end = 0;
    s->ended = false;
    return 0;
}

/* Opens the file and refuses what cannot be one. */
static int open_file(struct source *s, const char *path, struct error *err)
{
    bool standard_input = strcmp(path, "-") == 0;
    s->name = strdup(standard_input ? "standard input" : path);
    s->window = malloc(WINDOW);
    s->size = WINDOW;
    if (!s->name || !s->window)
        return error_set(err, -ENOMEM, 0, "out of memory");
    s->fd = standard_input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (s->fd < 0 || fstat(s->fd, &st) < 0) {
        int code = -errno;
        return error_set(err, code, 0, "%s: %s", s->name, strerror(-code));
    }
    if (S_ISDIR(st.st_mode))
        return error_set(err, -EISDIR, 0, "%s is a directory: name the capture files in it",
                         s->name);
    if (isatty(s->fd))
        return error_set(err, -EINVAL, 0, "%s is a terminal: give a capture file, or pipe one in",
                         s->name);
    if (S_ISREG(st.st_mode))
        s->all = (uint64_t)st.st_size;
    return 0;
}

int source_open(const char *path, struct source **ret, struct error *err)
{
    struct source *s = calloc(1, sizeof(*s));
    if (!s)
        return error_set(err, -ENOMEM, 0, "out of memory");
    s->fd = -1;
    int r = open_file(s, path, err);
    if (r == 0 && (r = start_gzip(s)) < 0)
        error_set(err, r, 0, "out of memory");
    if (r < 0) {
        source_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

struct source *source_free(struct source *s)
{
    if (!s)
        return NULL;
    if (s->fd >= 0)
        close(s->fd);
    if (s->gzip)
        inflateEnd(&s->inflater);
    free(s->compressed);
    free(s->window);
    free(s->name);
    free(s);
    return NULL;
}
