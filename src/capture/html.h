/*
 * Everything that is known of one or more captures as one page of HTML: verdicts, charts and the
 * tables of the other formats. It is complete in itself: no script, no picture, style sheet or font
 * from anywhere, and a policy in it that forbids a browser to look for one. Every name is escaped.
 */
#ifndef LARDER_CAPTURE_HTML_H
#define LARDER_CAPTURE_HTML_H

#include "capture/page.h"
#include "capture/questions.h"

struct html_capture {
    const struct analysis *analysis;
    const struct questions *questions; /* NULL: none */
};

/* `base` NULL: nothing to compare with. 0, -ENOMEM, or -EIO where `out` took not all of it. */
int html_print(const struct html_capture *capture, size_t count, const struct analysis *base,
               FILE *out);

/* The same into a file, which is there whole or, as before, not at all. A negative errno with err,
 * -EEXIST where something that is no regular file stands there. */
int html_write(const struct html_capture *capture, size_t count, const struct analysis *base,
               const char *path, struct error *err);

#endif
