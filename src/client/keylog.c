/*
 * The log of session keys, for whoever wants to read his own capture: a line a session in the form
 * of Wireshark's smb2_seskey_list, which `larder analyze --keys` reads, too:
 *
 *     session id,session key,key from the server,key to the server
 *
 * in hex, the id as it lies on the wire. Whoever has the file can read all that was encrypted in
 * these sessions, and can log on with none of them. It is made for its owner alone; one that others
 * may read, or that a link leads to, is refused. Each line is one write at the end of the file, so
 * that several programs may share it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/keys.h"

enum { LINE_MAX_LEN = 2 * (8 + AUTH_KEY_MAX + 2 * SECURE_CIPHER_KEY_MAX) + 3 + 1 };

struct client_keylog {
    int fd;
};

static int check_file(int fd, const char *path, struct error *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return error_set(err, -errno, 0, "keylog %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, -EINVAL, 0, "keylog %s: it is not a regular file", path);
    if (st.st_uid != geteuid())
        return error_set(err, -EPERM, 0, "keylog %s: it is somebody else's file", path);
    if (st.st_mode & 077)
        return error_set(err, -EPERM, 0,
                         "keylog %s: others may open it (mode %04o); make it 0600, or give another "
                         "name",
                         path, (unsigned)st.st_mode & 07777);
    return 0;
}

int client_keylog_open(const char *path, struct client_keylog **ret, struct error *err)
{
    /* not blocking: a FIFO is refused below, not waited for */
    int flags = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    int fd = open(path, flags, 0600);
    if (fd < 0)
        return error_set(err, -errno, 0, "keylog %s: %s", path,
                         errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    int r = check_file(fd, path, err);
    struct client_keylog *log = r == 0 ? malloc(sizeof(*log)) : NULL;
    if (!log) {
        close(fd);
        return r < 0 ? r : error_set(err, -ENOMEM, 0, "keylog %s: out of memory", path);
    }
    log->fd = fd;
    *ret = log;
    return 0;
}

struct client_keylog *client_keylog_close(struct client_keylog *log)
{
    if (log)
        close(log->fd);
    free(log);
    return NULL;
}

static void put_hex(struct wr *w, const uint8_t *bytes, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        wr_u8(w, (uint8_t)digits[bytes[i] >> 4]);
        wr_u8(w, (uint8_t)digits[bytes[i] & 15]);
    }
}

int keylog_write(struct client_keylog *log, const struct logon_key *key,
                 const struct secure_cipher_keys *keys, size_t cipher_len, struct error *err)
{
    uint8_t line[LINE_MAX_LEN], id[8];
    struct wr w = wr_init(line, sizeof(line)), wire_id = wr_init(id, sizeof(id));

    wr_u64(&wire_id, key->session_id);
    put_hex(&w, id, sizeof(id));
    wr_u8(&w, ',');
    put_hex(&w, key->bytes, key->len);
    wr_u8(&w, ',');
    if (keys)
        put_hex(&w, keys->from_server, cipher_len);
    wr_u8(&w, ',');
    if (keys)
        put_hex(&w, keys->to_server, cipher_len);
    wr_u8(&w, '\n');
    ssize_t n = write(log->fd, line, w.pos);
    int code = n < 0 ? -errno : (size_t)n < w.pos ? -ENOSPC : 0;
    explicit_bzero(line, sizeof(line));
    return code < 0
               ? error_set(err, code, 0, "the session's key cannot be logged: %s", strerror(-code))
               : 0;
}
