/* Where the fields of a reply are, by the layouts of MS-SMB2 2.2 and MS-FSCC 2.4. */
#ifndef LARDER_TESTS_FAULT_FIELDS_H
#define LARDER_TESTS_FAULT_FIELDS_H

#include "server/server.h"

enum { FIELDS_MAX = 400 };

struct field {
    const char *name;
    unsigned offset, width; /* bytes from the header; 1 to 8 */
    bool is_answer; /* what it says is what was asked for: nobody can tell another from it */
};

/* All fields of this reply that stand in its remembered bytes. Their number. */
unsigned fields_of(const struct server_reply *r, struct field ret[static FIELDS_MAX]);

#endif
