/* Inside of the oracle: beliefs (oracle.c), answers (oracle_commit.c), plans (oracle_plan.c). */
#ifndef LARDER_TESTS_MODEL_ORACLE_INTERNAL_H
#define LARDER_TESTS_MODEL_ORACLE_INTERNAL_H

#include "model/oracle.h"

int oracle_new_file(struct oracle *o, bool is_dir);
/* Sets the second-chance bit of an entry that is in the ring. */
void oracle_use(struct oracle *o, enum observe_cache which, int entry);

void oracle_ring_add(struct oracle_ring *r, int entry);
/* Pushes out what is too much in any ring, but not `added`, which is in this one. */
void oracle_keep_bounds(struct oracle *o, enum observe_cache which, int added);

/* What is forgotten of a directory's names keeps older answers out. */
void oracle_forget(struct oracle *o, int dir, int64_t order);
void oracle_drop_info(struct oracle *o, int file, enum observe_miss why);
void oracle_drop_listing(struct oracle *o, int dir, enum observe_miss why);
void oracle_drop_negative(struct oracle *o, int at);

struct oracle_name *oracle_find_name(struct oracle *o, int dir, int spelling);
const struct oracle_name *oracle_name_of(const struct oracle *o, int file);
const struct oracle_name *oracle_leading_name(const struct oracle *o, int file);
int oracle_find_negative(const struct oracle *o, int dir, int spelling);
struct oracle_name *oracle_bind(struct oracle *o, int dir, int spelling,
                                const struct file_attr *attr, int64_t order);
int oracle_bind_directory(struct oracle *o, int dir, int spelling);
void oracle_unbind(struct oracle *o, struct oracle_name *n);
void oracle_identify(struct oracle *o, int file, const struct file_attr *attr);

bool oracle_same(const struct oracle *o, int file, const struct file_attr *attr);
bool oracle_valid(const struct oracle *o, enum observe_cache which, uint64_t sent, uint64_t now);
bool oracle_attr_newest(const struct oracle *o, int file, int64_t order);
void oracle_hear(struct oracle *o, int file, const struct file_attr *attr, int64_t order,
                 uint64_t sent);
int oracle_in_listing(const struct oracle_listing *l, int spelling, int *ret_alike, int *ret_one);

#endif
