/*
 * What a mount does, once through: log on, list, stat, read, write, rename, remove, log off,
 * against the scripted server, at the level that the mount calls (share/). Each answer is held
 * against what is right, so that whoever breaks something underneath can see what came of it.
 */
#ifndef LARDER_TESTS_FAULT_SESSION_H
#define LARDER_TESTS_FAULT_SESSION_H

#include "base/error.h"
#include "server/server.h"
#include "share/share.h"

/* How the user comes in. */
enum session_kind { SESSION_GUEST, SESSION_SIGNED, SESSION_SEALED };

enum { SESSION_MANY = 90 }; /* files in the directory "many", whose names begin with `n` */

struct session_result {
    int code;         /* 0: it went through; else of the first step that failed */
    const char *step; /* that step */
    struct error err;
    char wrong[200];  /* an answer that is not right; empty: none was */
    unsigned written; /* bytes that the share said were written */
};

/* Files, dialect and sink of the server; the sink is the process's one. */
struct server_script session_script(enum session_kind kind);

/* Its connection alone; no request waits longer than `timeout_ns`. */
int session_share(struct server *server, enum session_kind kind, uint64_t timeout_ns,
                  struct share **ret, struct error *err);

/* Runs it. No request waits longer than `timeout_ns`. Nothing of it is left when it returns. */
void session_run(struct server *server, enum session_kind kind, uint64_t timeout_ns,
                 struct session_result *ret);

#endif
