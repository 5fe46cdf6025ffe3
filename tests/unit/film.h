/*
 * What the tests of what-ifs and sweeps share: a client's share with its clock, and operations on
 * it made by hand. Everything is inline, so that a test may leave out what it does not need.
 */
#ifndef LARDER_TESTS_FILM_H
#define LARDER_TESTS_FILM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "capture/sweep.h"
#include "capture/whatif.h"
#include "capture/window.h"

#define S  NS_PER_SEC
#define MS (S / 1000)

/* One client's share, its clock, and the questions that are asked of what it does. */
struct film {
    struct replay *replay;
    struct whatif *whatif;
    struct smb_share share;
    uint64_t now;
};

static inline void begin(struct film *f, const char *spec)
{
    *f = (struct film){.replay = replay_new(),
                       .share = {.server = "192.0.2.1:445",
                                 .name = "\\\\srv\\data",
                                 .client = "192.0.2.9",
                                 .session_id = 0x11},
                       .now = 1000 * S};
    assert_non_null(f->replay);
    assert_int_equal(whatif_new(f->replay, spec, &f->whatif, NULL), 0);
}

static inline struct whatif_result end(struct film *f)
{
    struct whatif_result r;
    replay_finish(f->replay);
    whatif_result(f->whatif, &r);
    f->whatif = whatif_free(f->whatif);
    f->replay = replay_free(f->replay);
    return r;
}

/* ---- operations ---- */

static inline struct operation operation(struct film *f, enum operation_kind kind, const char *path)
{
    return (struct operation){.kind = kind,
                              .share = &f->share,
                              .path = path,
                              .desired_access = FILE_READ_ATTRIBUTES,
                              .disposition = FILE_OPEN};
}

/* One request and its response, a round trip of a millisecond. */
static inline void request(struct operation *o, unsigned command, unsigned n)
{
    o->requests[command] += n;
    o->messages += 2 * n;
    o->round_trips += n;
    o->waited_ns += n * MS;
}

static inline void play(struct film *f, struct operation *o)
{
    if (!o->begin_ns)
        o->begin_ns = f->now;
    if (!o->end_ns)
        o->end_ns = o->begin_ns + o->waited_ns;
    assert_int_equal(replay_operation(f->replay, o), 0);
    f->now += 10 * MS;
}

static inline struct operation_name entry(const char *name)
{
    return (struct operation_name){
        .name = name, .len = strlen(name), .wire_bytes = 120, .attr = {.size = 1}};
}

static inline struct operation listing(struct film *f, const char *dir,
                                       const struct operation_name *names, size_t count)
{
    struct operation o = operation(f, OPERATION_LIST, dir);
    o.is_directory = o.complete = true;
    o.pattern = "*";
    o.names = names;
    o.name_count = count;
    for (size_t i = 0; i < count; i++)
        o.listing_bytes += names[i].wire_bytes;
    request(&o, SMB2_CREATE, 1);
    request(&o, SMB2_QUERY_DIRECTORY, 2);
    request(&o, SMB2_CLOSE, 1);
    return o;
}

static inline void list(struct film *f, const char *dir)
{
    const struct operation_name names[] = {entry("a"), entry("b")};
    struct operation o = listing(f, dir, names, 2);
    play(f, &o);
}

static inline void search(struct film *f, const char *dir, const char *name, bool found)
{
    const struct operation_name names[] = {entry(name)};
    struct operation o = operation(f, OPERATION_SEARCH, dir);
    o.is_directory = o.complete = true;
    o.pattern = name;
    o.search_found = found;
    o.names = names;
    o.name_count = found;
    request(&o, SMB2_CREATE, 1);
    request(&o, SMB2_QUERY_DIRECTORY, found ? 2 : 1);
    request(&o, SMB2_CLOSE, 1);
    play(f, &o);
}

static inline void stat_path(struct film *f, const char *path)
{
    struct operation o = operation(f, OPERATION_STAT, path);
    o.attr_known = true;
    o.is_directory = !*path;
    o.attr.size = 1;
    request(&o, SMB2_CREATE, 1);
    request(&o, SMB2_QUERY_INFO, 1);
    request(&o, SMB2_CLOSE, 1);
    play(f, &o);
}

static inline void miss(struct film *f, const char *path, uint32_t access)
{
    struct operation o = operation(f, OPERATION_MISS, path);
    o.status = STATUS_OBJECT_NAME_NOT_FOUND;
    o.desired_access = access;
    request(&o, SMB2_CREATE, 1);
    play(f, &o);
}

static inline struct operation writing(struct film *f, const char *path)
{
    struct operation o = operation(f, OPERATION_DATA, path);
    o.served = o.changes = true;
    o.disposition = FILE_OVERWRITE_IF;
    request(&o, SMB2_CREATE, 1);
    request(&o, SMB2_WRITE, 1);
    request(&o, SMB2_CLOSE, 1);
    return o;
}

static inline void write_path(struct film *f, const char *path)
{
    struct operation o = writing(f, path);
    play(f, &o);
}

/* What was avoidable, what was asked in the profile's own way, and what was left add up. */
static inline uint64_t avoidable(const struct whatif_result *r)
{
    uint64_t sum = 0;
    for (int i = 0; i < OBSERVE_CACHES; i++)
        sum += r->avoidable[i].requests;
    return sum;
}

static inline void asks(const struct whatif_result *r, unsigned creates, unsigned queries,
                        unsigned infos)
{
    assert_int_equal(r->predicted.requests[SMB2_CREATE], creates);
    assert_int_equal(r->predicted.requests[SMB2_QUERY_DIRECTORY], queries);
    assert_int_equal(r->predicted.requests[SMB2_QUERY_INFO], infos);
}

static inline void same_as_seen(const struct whatif_result *r)
{
    assert_memory_equal(&r->predicted, &r->seen, sizeof(r->seen));
    assert_int_equal(avoidable(r), 0);
}

#endif
