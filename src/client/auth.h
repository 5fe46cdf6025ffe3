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
/* The first 16 bytes of the key that both sides know now, padded with zeroes (3.2.5.3.1). */
int auth_key(struct auth *a, uint8_t ret[static SECURE_KEY_SIZE], struct error *err);

/* For texts: whom we log on as. Lives as long as `a`. */
const char *auth_user(const struct auth *a);

#endif
