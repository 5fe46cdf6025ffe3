/*
 * Calls that fail: what the linker puts before functions of the C library (and of libfuse), for all
 * of our objects. Between failing_begin and failing_end each call is counted, and one of them fails
 * as the system would have it fail.
 */
#ifndef LARDER_TESTS_FAULT_FAILING_H
#define LARDER_TESTS_FAULT_FAILING_H

#include <stdbool.h>

enum call { MEMORY, SEND, RECEIVE, CONNECT, THREAD, SYSTEM, CALLS };

const char *call_name(enum call c);
/* What it fails with: one of these, which may be the same. */
const int *call_errors(enum call c);

/* From now on the k-th of these calls fails, in whatever thread; with k 0 none. */
void failing_begin(enum call c, unsigned k, int error);
void failing_end(void);
/* How many there were since failing_begin. */
unsigned failing_count(enum call c);
/* Calls of this thread, and of threads that it makes, neither count nor fail. */
void failing_spare(bool spare);

#endif
