/* Proving who we are: the tokens of a logon, whatever is in them. */
#ifndef LARDER_CLIENT_AUTH_H
#define LARDER_CLIENT_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/rd.h"
#include "client/client.h"
#include "secure/secure.h"

/* Who logs on, and by what: kept as long as there is somebody to log on again. Constant. */
struct auth_source;
/* Copies what the options say. -EINVAL, or -EACCES where they forbid what they ask for. */
int auth_source_new(const struct client_options *options, struct auth_source **ret,
                    struct error *err);
/* Wipes the password. Returns NULL. NULL is allowed. */
struct auth_source *auth_source_free(struct auth_source *s);
/* "NTLM", "Kerberos", "anonymous" */
const char *auth_source_logon(const struct auth_source *s);
bool auth_by_ticket(const struct auth_source *s);
bool auth_blocks_ntlm(const struct auth_source *s);
bool auth_is_anonymous(const struct auth_source *s);
/* refusal.c: what may help when a server answers a logon with this status; NULL: who knows. */
const char *auth_hint(const struct auth_source *s, uint32_t status);

/* One logon. */
struct auth;

/* The source is borrowed until auth_free. By Kerberos this is where a ticket is got: see
 * kerberos.h for the errors, and for how long that may take. */
int auth_new(const struct auth_source *source, struct auth **ret, struct error *err);
/* Wipes what was derived from the password. Returns NULL. NULL is allowed. */
struct auth *auth_free(struct auth *a);

/* Takes the server's last token (empty at first) and gives our next one, good until the next call;
 * it is empty where nothing is left to say. */
int auth_step(struct auth *a, struct rd token, struct rd *ret_token, struct error *err);
/* -EBADMSG for a token with an NTLM challenge that gss-ntlmssp must not see: challenge.c. */
int auth_check_challenge(struct rd token);
/* Whether both sides are satisfied: the server has proved that it knows the key too. Never for an
 * anonymous logon, in which nobody has any. */
bool auth_complete(const struct auth *a);
/* The key that both sides know now, 1 to AUTH_KEY_MAX bytes, zeroes behind it. Signing and the
 * 128-bit ciphers use its first SECURE_KEY_SIZE bytes, the 256-bit ciphers all of it (3.2.5.3.1:
 * Session.SessionKey and FullSessionKey). The caller wipes it. */
#define AUTH_KEY_MAX 64
int auth_key(struct auth *a, uint8_t ret[static AUTH_KEY_MAX], size_t *ret_len, struct error *err);

/* For texts: whom we log on as. Lives as long as `a`. */
const char *auth_user(const struct auth *a);
/* When what it was done by ends, in seconds of the wall clock; INT64_MAX: never. */
int64_t auth_end(const struct auth *a);

/* ---- anonymous.c ---- */

/* The two tokens of an anonymous logon, into `out`. `challenge`: the server's first token; -EBADMSG
 * where there is no NTLM challenge in it. */
#define ANONYMOUS_TOKEN_MAX 160
size_t anonymous_begin(uint8_t out[static ANONYMOUS_TOKEN_MAX]);
int anonymous_answer(struct rd challenge, uint8_t out[static ANONYMOUS_TOKEN_MAX], size_t *ret_len);

#endif
