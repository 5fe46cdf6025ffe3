/*
 * The form, in five parts (the last but one is what it is for):
 *
 *     "XSym\n"  length in four digits "\n"  MD5 of the target in hexadecimal "\n"
 *     target "\n"  spaces up to 1,067 bytes
 *
 * A file is a link only where all of them agree, so that an ordinary file of this length, by
 * whoever wrote it, stays one.
 */
#include "client/mflink.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS 4
#define SUM    32
#define SUM_AT (5 + DIGITS + 1)
#define TARGET (SUM_AT + SUM + 1)

_Static_assert(TARGET + MFLINK_TARGET_MAX == MFLINK_SIZE, "a target of full length has no newline");

static int sum_of(const char *target, size_t len, char out[static SUM + 1])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_Digest(target, len, digest, &size, EVP_md5(), NULL) != 1 || size != SUM / 2)
        return -EIO;
    for (unsigned i = 0; i < size; i++)
        snprintf(out + i * 2, 3, "%02x", digest[i]);
    return 0;
}

int mflink_encode(const char *target, char out[static MFLINK_SIZE])
{
    size_t len = strlen(target);
    char sum[SUM + 1], head[TARGET + 1];
    if (len == 0)
        return -EINVAL;
    if (len > MFLINK_TARGET_MAX)
        return -ENAMETOOLONG;
    int r = sum_of(target, len, sum);
    if (r < 0)
        return r;
    snprintf(head, sizeof head, "XSym\n%04zu\n%s\n", len, sum);
    memset(out, ' ', MFLINK_SIZE);
    memcpy(out, head, TARGET);
    memcpy(out + TARGET, target, len);
    if (len < MFLINK_TARGET_MAX)
        out[TARGET + len] = '\n';
    return 0;
}

int mflink_decode(const char *data, size_t len, char **ret)
{
    if (len != MFLINK_SIZE || memcmp(data, "XSym\n", 5) != 0)
        return -EINVAL;
    size_t target_len = 0;
    for (unsigned i = 0; i < DIGITS; i++) {
        if (data[5 + i] < '0' || data[5 + i] > '9')
            return -EINVAL;
        target_len = target_len * 10 + (size_t)(data[5 + i] - '0');
    }
    const char *target = data + TARGET;
    char sum[SUM + 1];
    if (target_len == 0 || target_len > MFLINK_TARGET_MAX || memchr(target, 0, target_len) ||
        sum_of(target, target_len, sum) < 0 || memcmp(data + SUM_AT, sum, SUM) != 0)
        return -EINVAL;
    *ret = strndup(target, target_len);
    return *ret ? 0 : -ENOMEM;
}
