/* Proving who we are: the tokens of SPNEGO with NTLM in it, by GSSAPI and gss-ntlmssp. */
#ifndef LARDER_CLIENT_AUTH_H
#define LARDER_CLIENT_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/rd.h"
#include "client/client.h"
#include "secure/secure.h"

struct auth;

/* Takes user, domain and password from the options, and keeps none of the pointers. */
int auth_new(const struct client_options *options, struct auth **ret, struct error *err);
/* Wipes what was derived from the password. Returns NULL. NULL is allowed. */
struct auth *auth_free(struct auth *a);

/* Takes the server's last token (empty at first) and gives our next one, good until the next call;
 * it is empty where nothing is left to say. */
int auth_step(struct auth *a, struct rd token, struct rd *ret_token, struct error *err);
/* Whether both sides are satisfied: the server has proved that it knows the password too. */
bool auth_complete(const struct auth *a);
/* The key that both sides know now, 1 to AUTH_KEY_MAX bytes, zeroes behind it. Signing and the
 * 128-bit ciphers use its first SECURE_KEY_SIZE bytes, the 256-bit ciphers all of it (3.2.5.3.1:
 * Session.SessionKey and FullSessionKey). The caller wipes it. */
#define AUTH_KEY_MAX 64
int auth_key(struct auth *a, uint8_t ret[static AUTH_KEY_MAX], size_t *ret_len, struct error *err);

/* For texts: whom we log on as. Lives as long as `a`. */
const char *auth_user(const struct auth *a);

#endif
