/*
 * The scripted server's frames on their way out.
 *
 * A frame stands in s->out with its elements and with what the script wants done to it. It goes
 * through here in an order that matters: alterations that the server itself makes come before its
 * signature, which is right for them; then come the hash, the signature and the encryption; then
 * what somebody on the way does, behind their back. The signature covers what the client will take
 * for the message: up to where NextCommand leads, also where that was altered.
 *
 * The bytes that result are sent whole, in pieces with pauses, together with the next ones, more
 * than once, or are put by: until so many other frames have left, or for so long. Every byte that
 * leaves goes through send_bytes, which is where the script's "hang up before byte n" holds.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "internal.h"

/* ---- the socket ---- */

/* False: the other side is gone, or somebody wants the thread back. */
static bool wait_writable(const struct server *s, int fd)
{
    struct pollfd p[] = {{.fd = fd, .events = POLLOUT}, {.fd = s->wake, .events = POLLIN}};
    int r;
    do
        r = poll(p, 2, -1);
    while (r < 0 && errno == EINTR);
    return r > 0 && !p[1].revents;
}

/* How many of `len` bytes the script lets through; they count as sent. */
static size_t allowed(struct server *s, size_t len)
{
    pthread_mutex_lock(&s->lock);
    uint64_t stop = s->script.hang_up_before;
    if (stop && s->sent + len >= stop)
        len = s->sent < stop ? (size_t)(stop - 1 - s->sent) : 0;
    s->sent += len;
    pthread_mutex_unlock(&s->lock);
    return len;
}

static bool send_bytes(struct server *s, int fd, const uint8_t *data, size_t len)
{
    size_t pass = allowed(s, len);
    for (size_t done = 0; done < pass;) {
        ssize_t n = send(fd, data + done, pass - done, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR && (errno != EAGAIN || !wait_writable(s, fd)))
            return false;
    }
    return pass == len;
}

/* ---- alterations ---- */

static uint64_t get(const uint8_t *p, unsigned width)
{
    uint64_t v = 0;
    for (unsigned i = width; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

static void put(uint8_t *p, unsigned width, uint64_t v)
{
    for (unsigned i = 0; i < width; i++, v >>= 8)
        p[i] = (uint8_t)v;
}

/* The element `at` .. `end` of the frame. What lies behind its end is not altered. */
static void alter_field(uint8_t *element, size_t len, const struct server_alteration *a)
{
    if (a->width > 8 || a->offset > len || a->width > len - a->offset)
        return;
    uint8_t *p = element + a->offset;
    uint64_t old = get(p, a->width);
    put(p, a->width,
        a->how == SERVER_SET   ? a->value
        : a->how == SERVER_ADD ? old + a->value
                               : old ^ a->value);
}

/* The whole frame grows by zeroes or loses its end; an element before it keeps what it says. */
static void alter_length(struct wr *w, uint64_t by)
{
    int64_t change = (int64_t)by;
    if (change > 0)
        wr_zero(w, (size_t)change);
    else if ((size_t)-change < w->pos - WIRE_FRAME_HEADER)
        w->pos -= (size_t)-change;
    else
        w->pos = WIRE_FRAME_HEADER + 1;
}

/* Where the element that begins at `at` ends, as the server means it. */
static size_t end_of(const struct server_out *out, size_t at)
{
    for (unsigned i = 0; i < out->element_count; i++)
        if (out->elements[i] > at)
            return out->elements[i];
    return out->w.pos;
}

static void alter(struct server_out *out, bool on_the_way)
{
    for (unsigned i = 0; i < out->altered_count; i++) {
        const struct server_alteration *a = out->altered[i].what;
        size_t at = out->altered[i].at;
        if (a->on_the_way != on_the_way)
            continue;
        if (a->how == SERVER_RESIZE)
            alter_length(&out->w, a->value);
        else if (at < out->w.pos)
            alter_field(out->w.buf + at, end_of(out, at) - at, a);
    }
}

/* ---- signatures ---- */

/* As far as the client will take the element to reach. */
static size_t signed_length(const struct server_out *out, size_t at)
{
    size_t left = out->w.pos - at;
    struct rd rest = rd_init(out->w.buf + at, left), msg;
    struct wire_header h;
    return wire_frame_next(&rest, &h, &msg) == 1 ? msg.len : end_of(out, at) - at;
}

/* The headers are looked at before anybody alters them: what is to be signed is. */
static unsigned read_headers(const struct server_out *out, struct wire_header *ret)
{
    unsigned n = 0;
    for (; n < out->element_count; n++) {
        size_t at = out->elements[n];
        struct rd msg = rd_init(out->w.buf + at, end_of(out, at) - at);
        if (wire_header_decode(&msg, &ret[n]) < 0)
            ret[n] = (struct wire_header){.command = SMB2_COMMANDS};
    }
    return n;
}

/* ---- one frame ---- */

/* Noise, the same in every run. */
static void fill_random(uint8_t *out, size_t len)
{
    uint32_t x = 2463534242;
    for (size_t i = 0; i < len; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        out[i] = (uint8_t)x;
    }
}

void server_out_reset(struct server_out *out)
{
    uint8_t *buf = out->w.buf;
    *out = (struct server_out){.w = wr_init(buf, SERVER_OUT_MAX), .hang_up_after = SIZE_MAX};
    wr_zero(&out->w, WIRE_FRAME_HEADER);
}

void server_out_begin(struct server_out *out)
{
    if (out->element_count < SERVER_ELEMENTS)
        out->elements[out->element_count++] = out->w.pos;
}

/* Everything up to the frame header: the bytes as they are to leave. Their number. */
static size_t finish(struct server_out *out, struct server_conn *c)
{
    struct wire_header headers[SERVER_ELEMENTS];
    unsigned n = read_headers(out, headers);
    alter(out, false);
    for (unsigned i = 0; i < n; i++) {
        size_t at = out->elements[i];
        if (at + WIRE_HEADER_SIZE > out->w.pos)
            continue;
        size_t len = signed_length(out, at);
        server_logon_hash(&c->logon, &headers[i], out->w.buf + at, len);
        server_logon_sign(&c->logon, &headers[i], out->w.buf + at, len);
    }
    server_seal(c, out);
    alter(out, true);
    if (c->logon.over)
        server_logon_done(&c->logon);

    size_t len = out->w.pos;
    struct wr header = wr_init(out->w.buf, WIRE_FRAME_HEADER);
    wr_be32(&header, (uint32_t)(out->length ? out->length : len - WIRE_FRAME_HEADER));
    if (out->random) {
        len = out->random < SERVER_OUT_MAX ? out->random : SERVER_OUT_MAX;
        fill_random(out->w.buf, len);
    }
    return len;
}

/* ---- ways to send it ---- */

static bool send_in_pieces(struct server *s, int fd, const uint8_t *data, size_t len, size_t piece,
                           unsigned pause_us)
{
    bool good = true;
    for (size_t at = 0; good && at < len; at += piece) {
        good = send_bytes(s, fd, data + at, len - at < piece ? len - at : piece);
        usleep(pause_us);
    }
    return good;
}

/* Puts the bytes behind those that leave together, later. */
static bool join(struct server_conn *c, const uint8_t *data, size_t len)
{
    uint8_t *all = realloc(c->joined, c->joined_len + len);
    if (!all)
        return false;
    memcpy(all + c->joined_len, data, len);
    c->joined = all;
    c->joined_len += len;
    return true;
}

bool server_joined_flush(struct server *s, struct server_conn *c)
{
    uint8_t *all = c->joined;
    size_t len = c->joined_len;
    c->joined = NULL;
    c->joined_len = 0;
    bool good = len == 0 || send_bytes(s, c->fd, all, len);
    free(all);
    return good;
}

static bool put_by(struct server *s, struct server_conn *c, size_t len)
{
    struct server_out *out = &s->out;
    for (size_t i = 0; i < SERVER_HELD; i++) {
        struct server_held *h = &s->held[i];
        if (h->conn)
            continue;
        h->bytes = malloc(len);
        if (!h->bytes)
            return false;
        memcpy(h->bytes, out->w.buf, len);
        h->conn = c;
        h->len = len;
        h->behind = out->behind;
        h->due = out->late_ms ? clock_now() + out->late_ms * NS_PER_MS : CLOCK_NEVER;
        return true;
    }
    return false; /* a test asked for more than fits */
}

static bool send_out(struct server *s, struct server_conn *c, size_t len)
{
    struct server_out *out = &s->out;
    size_t pass = len < out->hang_up_after ? len : out->hang_up_after;
    bool good = true;
    for (unsigned i = 0; good && i <= out->repeats; i++) {
        if (out->joins)
            good = join(c, out->w.buf, pass);
        else if (out->piece)
            good = server_joined_flush(s, c) &&
                   send_in_pieces(s, c->fd, out->w.buf, pass, out->piece, out->pause_us);
        else if (c->joined_len)
            good = join(c, out->w.buf, pass) && server_joined_flush(s, c);
        else
            good = send_bytes(s, c->fd, out->w.buf, pass);
    }
    return good && out->hang_up_after == SIZE_MAX;
}

static bool send_held(struct server *s, struct server_held *h)
{
    bool good = send_bytes(s, h->conn->fd, h->bytes, h->len);
    free(h->bytes);
    *h = (struct server_held){0};
    return good;
}

/* One more frame has left: those that waited for it follow. */
static bool release_behind(struct server *s, const struct server_conn *c)
{
    bool good = true;
    for (size_t i = 0; i < SERVER_HELD; i++) {
        struct server_held *h = &s->held[i];
        if (h->conn == c && h->behind && --h->behind == 0)
            good = send_held(s, h) && good;
    }
    return good;
}

bool server_flush(struct server *s, struct server_conn *c)
{
    struct server_out *out = &s->out;
    if (out->w.pos == WIRE_FRAME_HEADER)
        return true;
    bool good = wr_ok(&out->w); /* otherwise a test asked for more than fits */
    size_t len = good ? finish(out, c) : 0;
    bool held = out->behind || out->late_ms;
    good = good && (held ? put_by(s, c, len) : send_out(s, c, len));
    server_out_reset(out);
    return good && (held || release_behind(s, c));
}

/* ---- frames that were put by ---- */

int server_held_timeout(const struct server *s)
{
    uint64_t now = clock_now(), first = CLOCK_NEVER;
    for (size_t i = 0; i < SERVER_HELD; i++)
        if (s->held[i].conn && s->held[i].due < first)
            first = s->held[i].due;
    if (first == CLOCK_NEVER)
        return -1;
    return first <= now ? 0 : (int)((first - now) / NS_PER_MS) + 1;
}

void server_held_release(struct server *s)
{
    uint64_t now = clock_now();
    for (size_t i = 0; i < SERVER_HELD; i++)
        if (s->held[i].conn && s->held[i].due <= now)
            send_held(s, &s->held[i]); /* who is gone is found gone by the next poll */
}

void server_held_forget(struct server *s, const struct server_conn *c)
{
    for (size_t i = 0; i < SERVER_HELD; i++) {
        if (s->held[i].conn != c)
            continue;
        free(s->held[i].bytes);
        s->held[i] = (struct server_held){0};
    }
}
