/*
 * Nonces of a session's encryption (src/client/seal.c, which is in here): none is used twice, from
 * however many threads, and when they come to their end nothing more is sealed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/seal.c"

enum { THREADS = 8, EACH = 2000, MESSAGE = 68 };

static struct frame_pool pool;

static struct seal *new_seal(void)
{
    static const struct secure_cipher_keys keys = {{1}, {2}};
    struct seal *s;
    assert_int_equal(seal_new(SECURE_AES128_GCM, &keys, 0x1122334455667788, &s), 0);
    return s;
}

static int seal_one(struct seal *s, struct frame **ret)
{
    static const uint8_t frame[WIRE_FRAME_HEADER + MESSAGE];
    return seal_frame(s, &pool, rd_init(frame, sizeof(frame)), (struct rd){0}, ret);
}

static uint64_t nonce_of(struct frame *f)
{
    struct rd r = rd_init(f->data, f->len);
    struct wire_transform t;
    rd_skip(&r, WIRE_FRAME_HEADER);
    assert_int_equal(wire_transform_decode(&r, &t), 0);
    assert_int_equal(t.session_id, 0x1122334455667788);
    assert_int_equal(t.original_size, MESSAGE);
    assert_int_equal(t.flags, SEALED);
    struct rd nonce = rd_init(t.nonce, sizeof(t.nonce));
    uint64_t n = rd_u64(&nonce);
    assert_int_equal(rd_u64(&nonce), 0); /* what CCM and GCM leave unused has to be 0 */
    return n;
}

static void the_last_nonce_is_the_last(void **state)
{
    struct seal *s = new_seal();
    struct frame *f = NULL;
    uint64_t first = s->first_nonce;
    atomic_store(&s->next_nonce, first - 3);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(seal_one(s, &f), 0);
        assert_int_equal(nonce_of(f), first - 2 + i);
        f = frame_unref(f);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(seal_one(s, &f), -EOVERFLOW);
        assert_null(f);
    }
    seal_free(s);
}

static void sessions_begin_anywhere(void **state)
{
    struct seal *a = new_seal(), *b = new_seal();
    assert_int_not_equal(a->first_nonce, b->first_nonce);
    seal_free(a);
    seal_free(b);
}

struct work {
    struct seal *seal;
    uint64_t nonces[EACH];
};

static void *seal_many(void *arg)
{
    struct work *w = arg;
    for (unsigned i = 0; i < EACH; i++) {
        struct frame *f = NULL;
        if (seal_one(w->seal, &f) < 0)
            return NULL;
        w->nonces[i] = nonce_of(f);
        frame_unref(f);
    }
    return w;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void threads_never_share_a_nonce(void **state)
{
    struct seal *s = new_seal();
    struct work *work = calloc(THREADS, sizeof(*work));
    uint64_t *all = calloc(THREADS * EACH, sizeof(*all));
    pthread_t threads[THREADS];
    void *done;
    assert_true(work && all);
    for (unsigned i = 0; i < THREADS; i++) {
        work[i].seal = s;
        assert_int_equal(pthread_create(&threads[i], NULL, seal_many, &work[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &done);
        assert_non_null(done);
        memcpy(all + i * EACH, work[i].nonces, sizeof(work[i].nonces));
    }
    qsort(all, THREADS * EACH, sizeof(*all), by_value);
    for (unsigned i = 1; i < THREADS * EACH; i++)
        assert_int_not_equal(all[i], all[i - 1]);
    seal_free(s);
    free(work);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_nonce_is_the_last),
        cmocka_unit_test(sessions_begin_anywhere),
        cmocka_unit_test(threads_never_share_a_nonce),
    };
    frame_pool_init(&pool);
    int r = cmocka_run_group_tests_name("nonces", tests, NULL, NULL);
    frame_pool_done(&pool);
    return r;
}
