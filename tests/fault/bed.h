/* What the tests of faults share: a scripted server with some files, a client on it, and operations
 * that know their right answers. */
#ifndef LARDER_TESTS_FAULT_BED_H
#define LARDER_TESTS_FAULT_BED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "client/client.h"
#include "observe/observe.h"
#include "server/server.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum { MANY = 3000 }; /* files in the directory "many" */

extern struct observe *observe; /* of all clients, from bed_set_up on */

int bed_set_up(void **state);
int bed_tear_down(void **state);

struct bed {
    struct server *server;
    struct client *client;
};

struct server_script plain_script(void);
/* The script's only rule, and what it alters; NULL: nothing. */
void set_rule(struct server_script *script, const struct server_rule *rule,
              const struct server_alteration *alteration);
struct client_options options(const struct server *s);
struct bed start_with(const struct server_script *script, uint64_t request_timeout);
struct bed start(void);
/* From now on the server plays by these rules. */
void play(struct bed *b, const struct server_rule *rules, size_t count);
void stop(struct bed *b);
/* What nobody waits for may take a moment. */
void no_open_is_left(struct bed *b);
struct observe_counts counts(void);
int stat_a(struct client *c, struct error *err);
int list_many(struct client *c, enum client_style style, struct error *err);
int list_lib(struct client *c, struct error *err);
int read_a(struct client *c, enum client_style close_style, struct error *err);
int do_everything(struct client *c, struct error *err);
void everything_works(struct bed *b);

struct names {
    unsigned count;
    bool many[MANY];
    char text[400]; /* the other ones, each with a `|` behind it */
};
/* A client_entry_fn with a struct names. */
int note_name(void *user, const char *name, size_t len, const struct file_attr *attr,
              size_t wire_bytes);

#endif
