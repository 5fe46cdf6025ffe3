/*
 * The file of session keys, in either of two forms, which may follow each other. Lines that are
 * empty or begin with # are passed over.
 *
 * Wireshark's smb2_seskey_list is a session a line: its id as on the wire, its session key, the key
 * from the server, the key to the server, all in hex, separated by commas, each with or without
 * quotes. What is not known is empty.
 *
 * What `smbinfo keys` of cifs-utils prints is a line a value, `name: value`, the bytes in hex with
 * a space between. `Session Id` begins a session. It is the kernel's number as it lies in memory,
 * which is the order of the wire on any machine but a big-endian one. ServerIn is what the server
 * takes in; older versions call it the (client's) encryption key, and the other one its decryption
 * key.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dissector.h"

enum { LINE_MAX_LEN = 1024, KEYS_MAX = 65536, FIELDS = 4, NAME_SIZE = 32 };

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

/* Whether there is a key to use; -EINVAL with what is wrong with them. */
static int check_key(const struct key *k, const char **ret_why)
{
    *ret_why = "there is neither a session key nor a key for a direction";
    if (k->session_len + k->from_len + k->to_len == 0)
        return -EINVAL;
    *ret_why = "a key for a direction has neither 16 nor 32 bytes";
    if ((k->from_len && k->from_len != 16 && k->from_len != 32) ||
        (k->to_len && k->to_len != 16 && k->to_len != 32))
        return -EINVAL;
    return 0;
}

static uint64_t id_of(const uint8_t wire[static 8])
{
    struct rd r = rd_init(wire, 8);
    return rd_u64(&r);
}

/* A line of Wireshark's. 0, or -EINVAL with what is wrong with it. */
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
    k.session_len = (size_t)fields[1].len;
    k.from_len = (size_t)fields[2].len;
    k.to_len = (size_t)fields[3].len;
    k.session_id = id_of(id);
    if (check_key(&k, ret_why) < 0)
        return -EINVAL;
    *ret = k;
    return 0;
}

/* ---- what smbinfo prints ---- */

/* The session whose lines are being read. */
struct session_lines {
    struct key key;
    bool begun;
    unsigned number; /* of its first line */
};

/* What stands before the colon, in small letters, with one space for several. */
static void read_name(const char *line, char out[static NAME_SIZE])
{
    size_t len = 0;
    for (const char *p = line; *p != ':' && len < NAME_SIZE - 1; p++) {
        bool space = isspace((unsigned char)*p);
        if (!space)
            out[len++] = (char)tolower((unsigned char)*p);
        else if (len && out[len - 1] != ' ')
            out[len++] = ' ';
    }
    out[len] = 0;
}

/* Hex up to the end of the line, with or without spaces between bytes. Bytes, or -EINVAL. */
static int read_bytes(const char *p, uint8_t *out, size_t cap)
{
    size_t len = 0;
    for (p += strspn(p, " \t\r\n"); *p; p += strspn(p, " \t\r\n")) {
        int high = hex_digit(p[0]), low = high < 0 ? -1 : hex_digit(p[1]);
        if (low < 0 || len == cap)
            return -EINVAL;
        out[len++] = (uint8_t)(high << 4 | low);
        p += 2;
    }
    return (int)len;
}

static int read_value(const char *value, uint8_t *out, size_t cap, size_t *ret_len)
{
    int len = read_bytes(value, out, cap);
    if (len < 0)
        return len;
    *ret_len = (size_t)len;
    return 0;
}

/* A line of the session at hand. 0, or -EINVAL with what is wrong with it. */
static int read_named(const char *line, struct session_lines *s, const char **ret_why)
{
    struct key *k = &s->key;
    const struct {
        const char *name;
        uint8_t *out;
        size_t cap, *len;
    } values[] = {
        {"session key", k->session_key, sizeof(k->session_key), &k->session_len},
        {"serverin key", k->to_server, sizeof(k->to_server), &k->to_len},
        {"encryption key", k->to_server, sizeof(k->to_server), &k->to_len},
        {"serverout key", k->from_server, sizeof(k->from_server), &k->from_len},
        {"decryption key", k->from_server, sizeof(k->from_server), &k->from_len},
    };
    const char *value = strchr(line, ':') + 1;
    char name[NAME_SIZE];
    read_name(line, name);
    *ret_why = "no Session Id goes before it";
    if (strcmp(name, "session id") == 0) {
        uint8_t id[8];
        *ret_why = "the session id has not 8 bytes";
        if (read_bytes(value, id, sizeof(id)) != sizeof(id))
            return -EINVAL;
        k->session_id = id_of(id);
        s->begun = true;
        return 0;
    }
    if (!s->begun)
        return -EINVAL;
    if (strcmp(name, "cipher") == 0) /* the capture tells */
        return 0;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (strcmp(name, values[i].name) == 0) {
            *ret_why = "it is no key in hex";
            return read_value(value, values[i].out, values[i].cap, values[i].len);
        }
    *ret_why = "smbinfo keys prints no such line";
    return -EINVAL;
}

static bool begins_session(const char *line)
{
    char name[NAME_SIZE];
    read_name(line, name);
    return strcmp(name, "session id") == 0;
}

/* ---- the file ---- */

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

static int keep(struct keyring *k, const struct key *key, const char *path, struct error *err)
{
    if (k->count == KEYS_MAX)
        return error_set(err, -E2BIG, 0, "%s: more than %d keys", path, KEYS_MAX);
    if (add(k, key) < 0)
        return error_set(err, -ENOMEM, 0, "%s: out of memory", path);
    return 0;
}

/* The lines of a session are all there. */
static int finish(struct session_lines *s, struct keyring *k, const char *path, struct error *err)
{
    const char *why;
    int r = 0;
    if (s->begun && check_key(&s->key, &why) < 0)
        r = error_set(err, -EINVAL, 0, "%s:%u: %s", path, s->number, why);
    else if (s->begun)
        r = keep(k, &s->key, path, err);
    *s = (struct session_lines){0};
    return r;
}

/* One line with something in it, of either form. */
static int take_line(const char *line, unsigned number, struct session_lines *session,
                     struct keyring *k, const char *path, struct error *err)
{
    const char *why = NULL;
    struct key key;
    bool named = strchr(line, ':') != NULL;
    if (!named || begins_session(line)) {
        int r = finish(session, k, path, err);
        if (r < 0)
            return r;
        session->number = number;
    }
    if ((named ? read_named(line, session, &why) : read_line(line, &key, &why)) < 0)
        return error_set(err, -EINVAL, 0, "%s:%u: %s", path, number, why);
    return named ? 0 : keep(k, &key, path, err);
}

static int read_lines(FILE *f, const char *path, struct keyring *k, struct error *err)
{
    char line[LINE_MAX_LEN];
    struct session_lines session = {0};

    for (unsigned number = 1; fgets(line, sizeof(line), f); number++) {
        if (!strchr(line, '\n') && !feof(f))
            return error_set(err, -EINVAL, 0, "%s:%u: the line is too long for keys", path, number);
        if (line[0] == '#' || line[strspn(line, " \t\r\n")] == 0)
            continue;
        int r = take_line(line, number, &session, k, path, err);
        if (r < 0)
            return r;
    }
    if (ferror(f))
        return error_set(err, -EIO, 0, "%s: %s", path, strerror(errno));
    return finish(&session, k, path, err);
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
