/*
 * A session's encryption (3.1.4.3, 3.2.4.1.8, 3.2.5.1.1.1): the keys of both directions, the nonces
 * that have been used, and frames on their way out and in.
 *
 * A frame is sealed whole, with all the elements of a compound in it, on the way into a frame of
 * its own, since what was built may have to be sent again; the data of a WRITE goes there right
 * from where its caller has it. A frame that came is opened where it lies.
 *
 * A nonce that is used twice with one key gives both messages away. They are counted, from a random
 * number on, by all threads that send; frames may leave in another order than they were numbered.
 * The count has 64 bits of the 88 or 96 that the ciphers take. Where it comes round nothing more is
 * sealed, and the connection ends.
 *
 * From the message that start_sealing comes before, every request is sealed, and so has its
 * answer to be (receive.c). Whether the whole session or only the share demanded it makes no
 * difference, since a connection has one of each.
 */
#include "client/seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "client/operation.h"

enum { SEALED = 1 }; /* Flags; in 3.0 and 3.0.2 the algorithm, of which there is one */

struct seal {
    struct secure_sealer *to_server, *from_server; /* constant */
    uint64_t session_id;                           /* constant */
    uint64_t first_nonce;                          /* constant */
    atomic_uint_fast64_t next_nonce;
};

int seal_new(enum secure_cipher c, const struct secure_cipher_keys *keys, uint64_t session_id,
             struct seal **ret)
{
    struct seal *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->session_id = session_id;
    int r = secure_sealer_new(c, keys->to_server, &s->to_server);
    if (r == 0)
        r = secure_sealer_new(c, keys->from_server, &s->from_server);
    if (r == 0 && getrandom(&s->first_nonce, sizeof(s->first_nonce), 0) < 0)
        r = -errno;
    if (r < 0) {
        seal_free(s);
        return r;
    }
    atomic_init(&s->next_nonce, s->first_nonce);
    *ret = s;
    return 0;
}

struct seal *seal_free(struct seal *s)
{
    if (!s)
        return NULL;
    secure_sealer_free(s->to_server);
    secure_sealer_free(s->from_server);
    free(s);
    return NULL;
}

/* False: there is none any more. The first one is never given out, so that the end can be seen. */
static bool next_nonce(struct seal *s, uint8_t nonce[static 16])
{
    uint64_t n = atomic_load_explicit(&s->next_nonce, memory_order_relaxed);
    do {
        if (n + 1 == s->first_nonce)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&s->next_nonce, &n, n + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    struct wr w = wr_init(nonce, 16);
    wr_u64(&w, n + 1);
    wr_zero(&w, 8);
    return true;
}

int seal_frame(struct seal *s, struct frame_pool *pool, struct rd frame, struct rd tail,
               struct frame **ret)
{
    const uint8_t *messages = frame.base + WIRE_FRAME_HEADER;
    size_t head = frame.len - WIRE_FRAME_HEADER, len = head + tail.len;
    struct wire_transform t = {
        .original_size = (uint32_t)len,
        .flags = SEALED,
        .session_id = s->session_id,
    };
    if (!next_nonce(s, t.nonce))
        return -EOVERFLOW;
    struct frame *f = frame_new(pool, WIRE_FRAME_HEADER + WIRE_TRANSFORM_SIZE + len);
    if (!f)
        return -ENOMEM;
    struct wr w = wr_init(f->data, f->len);
    wr_be32(&w, (uint32_t)(WIRE_TRANSFORM_SIZE + len));
    wire_transform_encode(&w, &t);
    int r = secure_seal_parts(s->to_server, f->data + WIRE_FRAME_HEADER, messages, head, tail.base,
                              tail.len);
    if (r < 0) {
        frame_unref(f);
        return r;
    }
    *ret = f;
    return 0;
}

/* ---- what came ---- */

static int broken(struct error *why, const char *what)
{
    return error_set(why, -EBADMSG, 0,
                     "the server sent an encrypted message %s; the session is ended", what);
}

int seal_open(struct conn *c, struct frame *f, struct rd *ret, uint64_t *ret_session_id,
              struct error *why)
{
    struct rd rest = rd_init(f->data, f->len);
    struct wire_transform t;

    pthread_mutex_lock(&c->lock);
    const struct seal *s = c->seal;
    pthread_mutex_unlock(&c->lock);
    if (!s)
        return broken(why, "although no encryption was agreed");
    if (wire_transform_decode(&rest, &t) < 0 || rd_left(&rest) == 0)
        return broken(why, "with nothing in it");
    if (t.flags != SEALED)
        return broken(why, "that does not say how it was encrypted");
    if (t.session_id != s->session_id)
        return broken(why, "of another session");
    if (t.original_size != rd_left(&rest))
        return broken(why, "of another length than it says");
    uint8_t *message = f->data + WIRE_TRANSFORM_SIZE;
    int r = secure_unseal(s->from_server, f->data, f->len, message);
    if (r == -EBADMSG)
        return broken(why, "that cannot be decrypted (bytes were changed on their way, or the keys "
                           "differ)");
    if (r < 0)
        return error_set(why, r, 0, "cannot decrypt a message: %s", strerror(-r));
    *ret = rd_init(message, f->len - WIRE_TRANSFORM_SIZE);
    *ret_session_id = s->session_id;
    return 0;
}

/* ---- the connection's ---- */

void conn_set_seal(struct conn *c, struct seal *s)
{
    pthread_mutex_lock(&c->lock);
    c->seal = s;
    pthread_mutex_unlock(&c->lock);
}

const char *conn_why_no_cipher(const struct conn *c)
{
    if (c->dialect < SMB2_DIALECT_300)
        return "the SMB dialect that was agreed on has none: that takes 3.0 (see vers=, "
               "Smb2DialectMin, Smb2DialectMax)";
    if (c->dialect < SMB2_DIALECT_311)
        return "SMB 3.0 has AES-128-CCM only, which the server does not have or EncryptionCiphers "
               "does not allow";
    return "the server has none of the ciphers that EncryptionCiphers allows";
}

void start_sealing(struct client *client)
{
    struct conn *c = client->conn;
    pthread_mutex_lock(&c->lock);
    c->sealing = true;
    pthread_mutex_unlock(&c->lock);
    client->facts.signing = false;
    client->facts.signing_algorithm = "none";
    client->facts.encryption = secure_cipher_name(c->cipher);
}
