/*
 * The pre-authentication hash: 3.2.5.2, 3.2.5.3.1.
 *
 * Each message of the negotiation and the logon is chained into one SHA-512: the new hash is over
 * the old one followed by the message. Both sides derive their keys from the end of the chain, so
 * that whoever changed a message on its way (to take an algorithm or a dialect away, say) leaves
 * them with different keys and the first signature fails.
 */
#include "secure/secure.h"

#include <errno.h>
#include <openssl/evp.h>

int secure_preauth_add(struct secure_preauth *p, const void *message, size_t len)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    int ok = ctx && EVP_DigestInit_ex(ctx, EVP_sha512(), NULL) &&
             EVP_DigestUpdate(ctx, p->hash, sizeof(p->hash)) &&
             EVP_DigestUpdate(ctx, message, len) && EVP_DigestFinal_ex(ctx, p->hash, NULL);
    EVP_MD_CTX_free(ctx);
    return ok ? 0 : -ENOMEM;
}
