/* Symbolic links as small files, in the form of Minshall and French that mount.cifs (`mfsymlinks`)
 * and macOS write: 1,067 bytes that begin with "XSym". Bytes in, bytes out. */
#ifndef LARDER_CLIENT_MFLINK_H
#define LARDER_CLIENT_MFLINK_H

#include <stddef.h>

#define MFLINK_SIZE       1067
#define MFLINK_TARGET_MAX 1024

/* -ENAMETOOLONG: a target is at most MFLINK_TARGET_MAX bytes. -EIO: no MD5 on this system. */
int mflink_encode(const char *target, char out[static MFLINK_SIZE]);
/* The target, malloc'ed into *ret. -EINVAL: these bytes are no link. */
int mflink_decode(const char *data, size_t len, char **ret);

#endif
