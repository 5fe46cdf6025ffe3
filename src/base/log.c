/* One line a call, to stderr or to syslog. */
#include "base/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <syslog.h>

static enum log_level threshold = LOG_NOTE; /* set before threads start */
static bool use_syslog;                     /* the same */

void log_set_level(enum log_level level)
{
    threshold = level;
}

void log_to_syslog(const char *program)
{
    openlog(program, LOG_PID, LOG_DAEMON);
    use_syslog = true;
}

void log_line(enum log_level level, const char *format, ...)
{
    static const int priority[] = {LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_DEBUG};
    if (level > threshold)
        return;
    va_list args;
    va_start(args, format);
    if (use_syslog) {
        vsyslog(priority[level], format, args);
    } else {
        char line[1024];
        vsnprintf(line, sizeof line, format, args);
        fprintf(stderr, "larder: %s\n", line);
    }
    va_end(args);
}
