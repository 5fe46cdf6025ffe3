/* Exchanges by hand, as the dissector would give them: one client, one share, one clock. */
#ifndef LARDER_TESTS_EXCHANGES_H
#define LARDER_TESTS_EXCHANGES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "base/utf.h"
#include "capture/operation.h"

#define ROUND_NS   NS_PER_MS /* every request waits for so long */
#define LOOK       (FILE_READ_ATTRIBUTES | ACCESS_SYNCHRONIZE)
#define LIST_IT    (FILE_READ_DATA | FILE_READ_ATTRIBUTES | ACCESS_SYNCHRONIZE)
#define WRITE_DATA 0x2u

struct hand {
    void (*exchange)(void *user, const struct exchange *x);
    void (*closed)(void *user, struct smb_open *o);
    void *user;
    uint64_t now_ns, group, opens;
    struct smb_share share;
    struct flow flow;
};

static inline void hand_init(struct hand *h, void (*exchange)(void *user, const struct exchange *x),
                             void (*closed)(void *user, struct smb_open *o), void *user)
{
    *h = (struct hand){
        .exchange = exchange,
        .closed = closed,
        .user = user,
        .now_ns = 1000 * NS_PER_SEC,
        .share = {.server = "10.0.0.200:445", .name = "\\\\srv\\tools", .client = "10.0.0.1"},
    };
}

/* Gives an exchange of its own compound, which takes ROUND_NS; what `x` has stays. */
static inline void give(struct hand *h, struct exchange x)
{
    x.flow = &h->flow;
    x.share = &h->share;
    x.request_seen = true;
    x.answered = true;
    x.group = ++h->group;
    x.asked_ns = h->now_ns;
    h->now_ns += ROUND_NS;
    x.answered_ns = h->now_ns;
    if (!x.path && x.open && x.open->path_known)
        x.path = x.open->path;
    h->exchange(h->user, &x);
}

/* A CREATE that succeeds; the path is borrowed until the open is closed. */
static inline struct smb_open *open_path(struct hand *h, const char *path, uint32_t access,
                                         uint32_t disposition, bool directory)
{
    struct smb_open *o = calloc(1, sizeof(*o));
    *o = (struct smb_open){.id = ++h->opens,
                           .share = &h->share,
                           .path = path,
                           .path_known = true,
                           .desired_access = access,
                           .disposition = disposition,
                           .is_directory = directory,
                           .opened_ns = h->now_ns};
    o->attr.attributes = directory ? FILE_ATTRIBUTE_DIRECTORY : FILE_ATTRIBUTE_NORMAL;
    give(h, (struct exchange){.command = SMB2_CREATE,
                              .open = o,
                              .desired_access = access,
                              .disposition = disposition,
                              .attr = o->attr,
                              .attr_known = true});
    return o;
}

static inline void on(struct hand *h, struct smb_open *o, uint16_t command)
{
    give(h, (struct exchange){.command = command, .open = o, .info_type = SMB2_0_INFO_FILE});
}

static inline void close_open(struct hand *h, struct smb_open *o)
{
    on(h, o, SMB2_CLOSE);
    h->closed(h->user, o);
    free(o);
}

static inline void fail_create(struct hand *h, const char *path, uint32_t status,
                               uint32_t disposition)
{
    give(h, (struct exchange){.command = SMB2_CREATE,
                              .status = status,
                              .path = path,
                              .desired_access = LOOK,
                              .disposition = disposition});
}

/* QUERY_DIRECTORY that shows `count` names "name0" ... (or just the pattern, for a single name). */
static inline void query(struct hand *h, struct smb_open *o, const char *pattern, size_t count,
                         uint8_t flags)
{
    size_t cap = count * 160 + 160;
    uint8_t *buffer = malloc(cap);
    struct wr w = wr_init(buffer, cap);
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        char name[64];
        uint8_t utf16[128];
        if (pattern_has_wildcard(pattern))
            snprintf(name, sizeof(name), "name%zu", i);
        else
            snprintf(name, sizeof(name), "%s", pattern);
        int len = utf8_to_utf16(name, strlen(name), utf16, sizeof(utf16));
        struct wire_dirent e = {.name = rd_init(utf16, (size_t)len), .attr = {.id = i + 1}};
        wire_dirent_encode(&w, &last, &e);
    }
    give(h, (struct exchange){.command = SMB2_QUERY_DIRECTORY,
                              .open = o,
                              .status = count ? STATUS_SUCCESS : STATUS_NO_MORE_FILES,
                              .pattern = pattern,
                              .info_class = FILE_ID_BOTH_DIRECTORY_INFORMATION,
                              .flags = flags,
                              .payload = (uint32_t)w.pos,
                              .listing = rd_init(buffer, w.pos)});
    free(buffer);
}

/* CREATE, QUERY_DIRECTORY twice, CLOSE: what Windows sends for a listing or a search. */
static inline void enumerate(struct hand *h, const char *path, const char *pattern, size_t count)
{
    struct smb_open *o = open_path(h, path, LIST_IT, FILE_OPEN, true);
    query(h, o, pattern, count, 0);
    if (count)
        query(h, o, pattern, 0, 0);
    close_open(h, o);
}

/* CREATE for attributes, CLOSE. */
static inline void look(struct hand *h, const char *path)
{
    close_open(h, open_path(h, path, LOOK, FILE_OPEN, false));
}

static inline void write_file(struct hand *h, const char *path)
{
    struct smb_open *o = open_path(h, path, FILE_READ_DATA | WRITE_DATA, FILE_OPEN, false);
    on(h, o, SMB2_WRITE);
    close_open(h, o);
}

#endif
