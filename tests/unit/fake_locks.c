#include "fake_locks.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/ntstatus.h"

enum { LOCKS_MAX = 4096 };

static struct {
    const struct client_file *file;
    uint64_t start, len;
    bool exclusive;
} locks[LOCKS_MAX]; /* protected by mutex; oldest first */
static size_t count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* protects `fake`, too, in client_lock */
static bool disconnected, no_stacking;

struct fake_locks fake;

void fake_reset(void)
{
    count = 0;
    disconnected = no_stacking = false;
    fake = (struct fake_locks){0};
}

static bool overlaps(size_t i, uint64_t start, uint64_t len)
{
    return start <= locks[i].start + locks[i].len - 1 && start + len - 1 >= locks[i].start;
}

/* MS-FSA 2.1.4.10, with LockIntent. */
static bool conflicts(const struct client_file *f, bool exclusive, uint64_t start, uint64_t len)
{
    for (size_t i = 0; i < count; i++)
        if (overlaps(i, start, len) &&
            (locks[i].exclusive ? locks[i].file != f || exclusive || no_stacking : exclusive))
            return true;
    return false;
}

static uint32_t unlock(const struct client_file *f, uint64_t start, uint64_t len)
{
    size_t found = count;
    for (size_t i = 0; i < count; i++) {
        if (locks[i].file != f || locks[i].start != start || locks[i].len != len)
            continue;
        found = i;
        if (locks[i].exclusive)
            break;
    }
    if (found == count)
        return STATUS_RANGE_NOT_LOCKED;
    memmove(&locks[found], &locks[found + 1], (--count - found) * sizeof locks[0]);
    return STATUS_SUCCESS;
}

static uint32_t carry_out(const struct client_file *f, enum client_lock_type type, uint64_t start,
                          uint64_t len)
{
    if (len && start + len - 1 < start)
        return STATUS_INVALID_LOCK_RANGE;
    assert(f && len && start + len - 1 <= INT64_MAX); /* which is all that we want to ask for */
    if (type == CLIENT_UNLOCK)
        return unlock(f, start, len);
    if (conflicts(f, type == CLIENT_LOCK_EXCLUSIVE, start, len))
        return STATUS_LOCK_NOT_GRANTED;
    assert(count < LOCKS_MAX);
    locks[count].file = f;
    locks[count].start = start;
    locks[count].len = len;
    locks[count++].exclusive = type == CLIENT_LOCK_EXCLUSIVE;
    return STATUS_SUCCESS;
}

static int answer(struct error *err, uint32_t status)
{
    return status == STATUS_SUCCESS ? 0 : error_status(err, status, "lock");
}

int fake_rival(struct client_file *f, enum client_lock_type type, uint64_t offset, uint64_t len)
{
    pthread_mutex_lock(&mutex);
    uint32_t status = carry_out(f, type, offset, len);
    pthread_mutex_unlock(&mutex);
    return answer(NULL, status);
}

static int fail(const struct client_file *f, enum client_lock_type type, uint64_t offset,
                uint64_t len, struct error *err)
{
    fake.failed = true;
    if (fake.failure == FAKE_REFUSED)
        return error_status(err, STATUS_INSUFFICIENT_RESOURCES, "lock");
    if (fake.failure == FAKE_LOST_ANSWER)
        carry_out(f, type, offset, len);
    disconnected = fake.failure == FAKE_DISCONNECTED;
    return error_set(err, disconnected ? -ENOTCONN : -ETIMEDOUT, 0, "no answer");
}

int client_lock(struct client_file *f, enum client_lock_type type, uint64_t offset, uint64_t len,
                struct error *err)
{
    if (fake.before)
        fake.before(fake.user);
    if (fake.delay_us)
        usleep(fake.delay_us);
    pthread_mutex_lock(&mutex);
    int r;
    bool fails = ++fake.requests == fake.fail_at;
    if (fails && fake.failure == FAKE_NO_STACKING)
        no_stacking = fake.failed = true;
    if (disconnected)
        r = error_set(err, -ENOTCONN, 0, "not connected");
    else if (fails && !no_stacking)
        r = fail(f, type, offset, len, err);
    else
        r = answer(err, carry_out(f, type, offset, len));
    pthread_mutex_unlock(&mutex);
    if (fake.after)
        fake.after(fake.user);
    return r;
}

enum client_lock_type fake_held(const struct client_file *f, uint64_t byte)
{
    enum client_lock_type held = CLIENT_UNLOCK;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count; i++) {
        enum client_lock_type type =
            locks[i].exclusive ? CLIENT_LOCK_EXCLUSIVE : CLIENT_LOCK_SHARED;
        if (locks[i].file == f && overlaps(i, byte, 1) && type > held)
            held = type;
    }
    pthread_mutex_unlock(&mutex);
    return held;
}

bool fake_one_piece(const struct client_file *f, uint64_t a, uint64_t b)
{
    bool found = false;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count; i++)
        found |= locks[i].file == f && overlaps(i, a, 1) && overlaps(i, b, 1);
    pthread_mutex_unlock(&mutex);
    return found;
}

unsigned fake_count(const struct client_file *f)
{
    unsigned n = 0;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count; i++)
        n += locks[i].file == f;
    pthread_mutex_unlock(&mutex);
    return n;
}

bool fake_conflict(const struct client_file *f, enum client_lock_type type, uint64_t byte)
{
    bool found = false;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count; i++)
        found |= locks[i].file != f && overlaps(i, byte, 1) &&
                 (locks[i].exclusive || type == CLIENT_LOCK_EXCLUSIVE);
    pthread_mutex_unlock(&mutex);
    return found;
}
