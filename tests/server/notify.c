/*
 * The scripted server's watches: a CHANGE_NOTIFY waits until a test has something to say, until it
 * is cancelled, or until its open is closed. What is said when none waits is kept for the next.
 */
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/ntstatus.h"
#include "internal.h"

static void count_watches(struct server *s, int by)
{
    pthread_mutex_lock(&s->lock);
    s->watch_count += (unsigned)by;
    pthread_mutex_unlock(&s->lock);
}

uint32_t server_watch_add(struct exchange *x, struct rd msg)
{
    struct server *s = x->s;
    struct wire_change_notify_request q;
    if (wire_change_notify_request_decode(msg, &q) < 0 || q.output_length > x->script.max_transact)
        return REFUSED;
    const struct server_open *o = server_open_of(x, q.file_id);
    if (!o)
        return (uint32_t)STATUS_FILE_CLOSED;
    for (size_t i = 0; i < SERVER_WATCHES; i++) {
        if (s->watches[i].conn)
            continue;
        s->watches[i] = (struct server_watch){x->c, o->serial, ++s->serial, x->reply};
        if (x->reply.flags & SMB2_FLAGS_ASYNC_COMMAND)
            s->watches[i].reply.credits = 0; /* the interim response has them */
        count_watches(s, 1);
        return STATUS_SUCCESS;
    }
    return (uint32_t)STATUS_INSUFFICIENT_RESOURCES;
}

/* Sends its answer; s->out is empty before and after. */
static void answer(struct server *s, struct server_watch *watch, uint32_t status,
                   const uint8_t *output, size_t len)
{
    struct wr *w = &s->out.w;
    watch->reply.status = status;
    server_out_begin(&s->out);
    wire_header_encode(w, &watch->reply);
    if (status == STATUS_SUCCESS || status == STATUS_NOTIFY_ENUM_DIR)
        wire_buffer_response_encode(w, output, (uint32_t)len);
    else
        wire_error_encode(w, NULL, 0);
    struct server_conn *c = watch->conn;
    watch->conn = NULL;
    count_watches(s, -1); /* before anybody can have the answer */
    server_flush(s, c);
}

static struct server_watch *oldest(struct server *s)
{
    struct server_watch *found = NULL;
    for (size_t i = 0; i < SERVER_WATCHES; i++)
        if (s->watches[i].conn && (!found || s->watches[i].order < found->order))
            found = &s->watches[i];
    return found;
}

void server_watch_flush(struct server *s)
{
    struct server_watch *watch;
    while ((watch = oldest(s))) {
        struct server_note note = {0};
        pthread_mutex_lock(&s->lock);
        bool is_there = s->note_count > 0;
        if (is_there) {
            note = s->notes[0];
            memmove(s->notes, s->notes + 1, --s->note_count * sizeof(note));
        }
        pthread_mutex_unlock(&s->lock);
        if (!is_there)
            return;
        answer(s, watch, note.status, note.output, note.len);
        free(note.output);
    }
}

void server_watch_cancel(struct server *s, struct server_conn *c, const struct wire_header *h)
{
    for (size_t i = 0; i < SERVER_WATCHES; i++) {
        struct server_watch *watch = &s->watches[i];
        bool is_async = h->flags & SMB2_FLAGS_ASYNC_COMMAND;
        if (watch->conn == c && (is_async ? watch->reply.async_id == h->async_id
                                          : watch->reply.message_id == h->message_id)) {
            answer(s, watch, STATUS_CANCELLED, NULL, 0);
            return;
        }
    }
}

void server_watch_closed(struct server *s, uint64_t open)
{
    for (size_t i = 0; i < SERVER_WATCHES; i++)
        if (s->watches[i].conn && s->watches[i].open == open)
            answer(s, &s->watches[i], STATUS_NOTIFY_CLEANUP, NULL, 0);
}

void server_watch_forget(struct server *s, const struct server_conn *c)
{
    for (size_t i = 0; i < SERVER_WATCHES; i++) {
        if (s->watches[i].conn != c)
            continue;
        s->watches[i].conn = NULL;
        count_watches(s, -1);
    }
}

/* ---- what tests call ---- */

void server_notify(struct server *s, uint32_t status, struct rd output)
{
    struct server_note note = {
        .status = status, .len = output.len, .output = malloc(output.len + 1)};
    if (output.len)
        memcpy(note.output, output.base, output.len);
    pthread_mutex_lock(&s->lock);
    if (s->note_count < SERVER_NOTES)
        s->notes[s->note_count++] = note;
    pthread_mutex_unlock(&s->lock);
    eventfd_write(s->wake, 1);
}

unsigned server_watches(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    unsigned n = s->watch_count;
    pthread_mutex_unlock(&s->lock);
    return n;
}
