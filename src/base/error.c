/* Error texts are one line whatever a server put into them: control characters become `?`. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ntstatus.h"

static void keep_to_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

int error_set(struct error *err, int code, uint32_t status, const char *format, ...)
{
    if (!err)
        return code;
    char text[sizeof err->text]; /* apart from *err, which the arguments may quote */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    keep_to_one_line(text);
    *err = (struct error){.code = code, .status = status};
    memcpy(err->text, text, sizeof text);
    return code;
}

int error_status(struct error *err, uint32_t status, const char *format, ...)
{
    int code = ntstatus_errno(status);
    if (!err)
        return code;
    char what[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const char *name = ntstatus_name(status);
    /* the status must survive a long path: what was tried is cut, not what came back */
    return error_set(err, code, status, "%.*s: %s (0x%08X)", (int)sizeof err->text - 80, what,
                     name ? name : "unknown status", status);
}
