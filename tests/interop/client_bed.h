/*
 * What the tests of a client of a real server share: one of a Samba that requires signing
 * (client.sh starts it), the share as its own disk has it, and calls that are checked.
 */
#ifndef LARDER_TESTS_CLIENT_BED_H
#define LARDER_TESTS_CLIENT_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "client/client.h"
#include "observe/observe.h"

enum { WRITE = 9, IOCTL = 11, MIB = 1 << 20 };

extern struct bed {
    uint16_t port, open_port; /* the second server requires no signing and speaks 3.0 at most */
    const char *share, *user, *password;
    const uint8_t *big; /* 100 MiB of noise */
    size_t big_size;
} bed;

extern struct observe *observe;
extern struct error err;      /* of the call under test */
extern struct client *client; /* of most tests: the highest dialect, signed, names mapped */

int bed_set_up(void **state);
int bed_tear_down(void **state);

struct client_options options(void);
struct client *connect_or_fail(const struct client_options *o);
uint64_t round_trips(void);
uint64_t requests(unsigned command);

void works(const char *call, int64_t result);
void fails(const char *call, int code, int64_t result);
#define WORKS(call)       works(#call, call)
#define FAILS(code, call) fails(#call, code, call)

/* One call, and how many waits for the server it is. */
#define COSTS(trips, call)                                                                         \
    do {                                                                                           \
        uint64_t trips_before = round_trips();                                                     \
        WORKS(call);                                                                               \
        assert_int_equal(round_trips() - trips_before, trips);                                     \
    } while (0)

/* A path on the share's own disk; good for three more calls. */
const char *local(const char *name);
bool exists(const char *name);
struct stat stat_local(const char *name);
/* The file there has these bytes and no others. */
void holds(const char *name, const void *data, size_t len);

/* Any access, made where it is not there, emptied where it is. */
extern const struct client_how make;
struct client_file *create_by(struct client *c, const char *name);
struct client_file *create(const char *name);
void put(const char *name, const void *data, size_t len);
void put_text(const char *name, const char *text);
struct file_attr attr_of(const char *name);

#endif
