/* Tickets: from whose cache, or by which key, and why there is none. By libkrb5. */
#ifndef LARDER_CLIENT_KERBEROS_H
#define LARDER_CLIENT_KERBEROS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define KERBEROS_NAME_MAX 320 /* bytes of a principal's name with its realm, and a NUL */

/* Whose ticket is wanted, and how it can be had. What is not given is NULL. All is borrowed. */
struct kerberos_source {
    const char *user;         /* "user" or "user@REALM"; NULL: whose the cache is */
    const char *realm;        /* of a user without one; NULL: the machine's default */
    const char *keytab;       /* a ticket is got by the user's key in this file */
    const char *password;     /* or by this password; without either it is in a cache */
    const int64_t *cache_uid; /* whose cache, where that is another user's; only root can */
};

/* A ticket for one server, in a cache of this process. */
struct kerberos_ticket {
    char cache[64];                 /* "MEMORY:..." */
    char client[KERBEROS_NAME_MAX]; /* user@REALM */
    char server[KERBEROS_NAME_MAX]; /* cifs/host@REALM */
    int64_t end;                    /* seconds of the wall clock */
};

/*
 * A ticket for cifs/`host`. May ask the KDC and wait for it, as /etc/krb5.conf says. Any thread.
 * On failure err has one line that names what is missing and what helps: -ENOKEY: there is no
 * ticket; -EKEYEXPIRED: there was one, or the password's time is over; -EHOSTUNREACH: no KDC
 * answers; -EACCES: refused; -ENOMEM, -EINVAL.
 */
int kerberos_ticket_get(const struct kerberos_source *source, const char *host,
                        struct kerberos_ticket *ret, struct error *err);
/* Takes the ticket out of memory. Allowed for one that is all zero. */
void kerberos_ticket_done(struct kerberos_ticket *t);

#endif
