/*
 * libfuse tells its log function, fusermount3 tells stderr. For the moment of a call stderr is
 * therefore a file in memory; whatever others wrote to it meanwhile is handed on afterwards.
 */
#include "mount/said.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/log.h"
#include "mount/fuse.h"

static _Thread_local struct said *listening;

static void take_fuse_log(enum fuse_log_level level, const char *format, va_list args)
{
    char line[sizeof(listening->text)];
    vsnprintf(line, sizeof(line), format, args);
    line[strcspn(line, "\n")] = '\0';
    if (listening)
        memcpy(listening->text, line, sizeof(line));
    if (level > FUSE_LOG_ERR)
        log_line(LOG_DETAIL, "%s", line);
}

void said_begin(struct said *s)
{
    *s = (struct said){.errors = -1, .capture = memfd_create("stderr", MFD_CLOEXEC)};
    fuse_set_log_func(take_fuse_log);
    listening = s;
    if (s->capture < 0)
        return;
    s->errors = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (s->errors >= 0)
        dup2(s->capture, STDERR_FILENO);
}

static void hand_on(const char *text, size_t len)
{
    if (len && write(STDERR_FILENO, text, len) < 0)
        log_line(LOG_DETAIL, "stderr is gone");
}

/* A few lines at most: what does not fit was said first. */
static void take_last_line(struct said *s, int failed)
{
    char all[2048];
    off_t size = lseek(s->capture, 0, SEEK_END);
    off_t from = size > (off_t)sizeof(all) - 1 ? size - (off_t)sizeof(all) + 1 : 0;
    ssize_t n = size > 0 ? pread(s->capture, all, sizeof(all) - 1, from) : 0;
    if (n <= 0)
        return;
    all[n] = '\0';
    size_t len = (size_t)n - (all[n - 1] == '\n');
    const char *newline = memrchr(all, '\n', len);
    const char *last = newline ? newline + 1 : all;
    if (!failed) {
        hand_on(all, (size_t)n);
        return;
    }
    hand_on(all, (size_t)(last - all));
    if (!s->text[0])
        snprintf(s->text, sizeof(s->text), "%.*s", (int)(all + len - last), last);
}

void said_end(struct said *s, int failed)
{
    listening = NULL;
    if (s->errors >= 0) {
        dup2(s->errors, STDERR_FILENO);
        close(s->errors);
        take_last_line(s, failed);
    }
    if (s->capture >= 0)
        close(s->capture);
    s->errors = s->capture = -1;
}
