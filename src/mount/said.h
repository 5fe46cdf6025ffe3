/*
 * What libfuse, and fusermount3 which it runs, have to say of a failure: for the one line that our
 * caller gets.
 */
#ifndef LARDER_MOUNT_SAID_H
#define LARDER_MOUNT_SAID_H

struct said {
    char text[256];      /* the last line; "": none */
    int errors, capture; /* descriptors: stderr as it was, what stands for it; -1: not so */
};

/* From here to said_end, by one thread of the process at a time. */
void said_begin(struct said *s);
/* Lines of others that came to stderr meanwhile go there now; on `failed` not the last one, which
 * is the text where libfuse had none. */
void said_end(struct said *s, int failed);

#endif
