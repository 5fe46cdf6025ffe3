/*
 * An error on its way to a person: what failed, what came back, and what to do about it.
 *
 * Functions return 0 or a negative errno. Where the server spoke, its NTSTATUS travels along in
 * this struct, with one line of text that names the operation and its object. The caller owns the
 * struct; NULL is allowed wherever one is taken, for callers that only want the errno.
 */
#ifndef LARDER_BASE_ERROR_H
#define LARDER_BASE_ERROR_H

#include <stdint.h>

struct error {
    int code;        /* negative errno, 0: no error */
    uint32_t status; /* NTSTATUS, 0 where no server spoke */
    char text[480];  /* one line, no newline, UTF-8 with control characters replaced */
};

/* Fills `err` (may be NULL) and returns `code`, so that a failing function ends in
 * `return error_set(err, -EIO, 0, "...")`. */
int error_set(struct error *err, int code, uint32_t status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for an answer of a server: the text ends in ": STATUS_NAME (0xC0000034)", and the errno
 * is ntstatus_errno(status). */
int error_status(struct error *err, uint32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
