/* Log lines of the programs (mount daemon, compare): to stderr until log_to_syslog(). The library
 * prints nothing; code below cli/ and mount/ does not call this. */
#ifndef LARDER_BASE_LOG_H
#define LARDER_BASE_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_NOTE, LOG_DETAIL };

void log_set_level(enum log_level level); /* default LOG_NOTE */
void log_to_syslog(const char *program); /* from now on to syslog, for daemons without a terminal */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
