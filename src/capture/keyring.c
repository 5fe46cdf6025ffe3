/*
 * The file of session keys, in the form of Wireshark's smb2_seskey_list: a session a line, its id
 * as on the wire, its session key, the key from the server, the key to the server, all in hex,
 * separated by commas, each with or without quotes. What is not known is empty; lines that are
 * empty or begin with # are passed over.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dissector.h"

enum { LINE_MAX_LEN = 1024, KEYS_MAX = 65536, FIELDS = 4 };

struct keyring {
    struct key *keys;
    size_t count, cap;
};

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | ('A' <= c && c <= 'F' ? 0x20 : 0)) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* One field's hex from *line into `out`, past the comma behind it. Bytes, or -EINVAL. */
static int read_field(const char **line, uint8_t *out, size_t cap)
{
    const char *p = *line;
    size_t len = 0;

    p += strspn(p, " \t");
    bool quoted = *p == '"';
    p += quoted;
    for (; hex_digit(p[0]) >= 0; p += 2) {
        if (hex_digit(p[1]) < 0 || len == cap)
            return -EINVAL;
        out[len++] = (uint8_t)(hex_digit(p[0]) << 4 | hex_digit(p[1]));
    }
    if (quoted && *p++ != '"')
        return -EINVAL;
    p += strspn(p, " \t\r\n");
    if (*p == ',')
        p++;
    else if (*p)
        return -EINVAL;
    *line = p;
    return (int)len;
}

/* 0, or -EINVAL with what is wrong with the line. */
static int read_line(const char *line, struct key *ret, const char **ret_why)
{
    struct key k = {0};
    uint8_t id[8];
    struct {
        uint8_t *out;
        size_t cap;
        int len;
    } fields[FIELDS] = {
        {id, sizeof(id), 0},
        {k.session_key, sizeof(k.session_key), 0},
        {k.from_server, sizeof(k.from_server), 0},
        {k.to_server, sizeof(k.to_server), 0},
    };

    *ret_why = "it is not of the form sessionid,seskey,s2ckey,c2skey in hex";
    for (size_t i = 0; i < FIELDS; i++) {
        fields[i].len = read_field(&line, fields[i].out, fields[i].cap);
        if (fields[i].len < 0)
            return -EINVAL;
    }
    if (*line)
        return -EINVAL;
    *ret_why = "the session id has not 8 bytes";
    if (fields[0].len != sizeof(id))
        return -EINVAL;
    *ret_why = "there is neither a session key nor a key for a direction";
    k.session_len = (size_t)fields[1].len;
    k.from_len = (size_t)fields[2].len;
    k.to_len = (size_t)fields[3].len;
    if (k.session_len + k.from_len + k.to_len == 0)
        return -EINVAL;
    *ret_why = "a key for a direction has neither 16 nor 32 bytes";
    if ((k.from_len && k.from_len != 16 && k.from_len != 32) ||
        (k.to_len && k.to_len != 16 && k.to_len != 32))
        return -EINVAL;

    struct rd r = rd_init(id, sizeof(id));
    k.session_id = rd_u64(&r);
    *ret = k;
    return 0;
}

static int add(struct keyring *k, const struct key *key)
{
    if (k->count == k->cap) {
        size_t cap = k->cap ? k->cap * 2 : 16;
        struct key *keys = realloc(k->keys, cap * sizeof(*keys));
        if (!keys)
            return -ENOMEM;
        k->keys = keys;
        k->cap = cap;
    }
    k->keys[k->count++] = *key;
    return 0;
}

static int read_lines(FILE *f, const char *path, struct keyring *k, struct error *err)
{
    char line[LINE_MAX_LEN];

    for (unsigned number = 1; fgets(line, sizeof(line), f); number++) {
        const char *why = NULL;
        struct key key;
        if (!strchr(line, '\n') && !feof(f))
            return error_set(err, -EINVAL, 0, "%s:%u: the line is too long for keys", path, number);
        if (line[0] == '#' || line[strspn(line, " \t\r\n")] == 0)
            continue;
        if (read_line(line, &key, &why) < 0)
            return error_set(err, -EINVAL, 0, "%s:%u: %s", path, number, why);
        if (k->count == KEYS_MAX)
            return error_set(err, -E2BIG, 0, "%s: more than %d keys", path, KEYS_MAX);
        if (add(k, &key) < 0)
            return error_set(err, -ENOMEM, 0, "%s: out of memory", path);
    }
    if (ferror(f))
        return error_set(err, -EIO, 0, "%s: %s", path, strerror(errno));
    return 0;
}

int keyring_read(const char *path, struct keyring **ret, struct error *err)
{
    struct keyring *k = calloc(1, sizeof(*k));
    if (!k)
        return error_set(err, -ENOMEM, 0, "%s: out of memory", path);
    FILE *f = fopen(path, "re");
    int r = f ? read_lines(f, path, k, err)
              : error_set(err, -errno, 0, "keys: %s: %s", path, strerror(errno));
    if (f)
        fclose(f);
    if (r < 0) {
        keyring_free(k);
        return r;
    }
    *ret = k;
    return 0;
}

struct keyring *keyring_free(struct keyring *k)
{
    if (k)
        free(k->keys);
    free(k);
    return NULL;
}

const struct key *keyring_find(const struct keyring *k, uint64_t session_id)
{
    for (size_t i = 0; k && i < k->count; i++)
        if (k->keys[i].session_id == session_id)
            return &k->keys[i];
    return NULL;
}
