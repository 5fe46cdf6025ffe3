/* Clients of a scripted server that grants and breaks leases, and what their owner hears. */
#include "leasing.h"

#include <string.h>
#include <unistd.h>

struct heard heard;

bool note_break(void *user, void *owner, unsigned state)
{
    int lease;
    unsigned ack;
    assert_ptr_equal(user, &heard);
    heard.state = state;
    heard.owner = owner;
    if (heard.slow)
        usleep(200 * 1000);
    heard.acks_before = 0;
    while (server_ack(heard.server, heard.acks_before, &lease, &ack))
        heard.acks_before++;
    heard.times++;
    return !heard.puts_off;
}

/* ---- a server and a client ---- */

struct server_script leasing_script(unsigned state, uint16_t epoch)
{
    struct server_script script = plain_script();
    script.dialect = SMB2_DIALECT_302;
    script.capabilities = BOTH;
    script.lease = (struct server_lease){.state = state, .epoch = epoch};
    return script;
}

struct bed start_leasing(const struct server_script *script)
{
    struct bed b = {.server = server_new(script)};
    struct error err = {0};
    assert_non_null(b.server);
    struct client_options o = options(b.server);
    o.events = (struct conn_events){.lease_broken = note_break, .user = &heard};
    heard.server = b.server;
    heard.owner = NULL;
    heard.state = 99;
    heard.times = 0;
    heard.puts_off = heard.slow = false;
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

struct client_file *open_by(struct bed *b, struct client_lease *l, unsigned asked,
                            unsigned expected)
{
    struct client_lease_ask ask = {.lease = l, .state = asked, .ret_state = 99};
    struct client_file *f;
    struct file_attr attr;
    struct error err = {0};
    char buf[64];
    size_t len;
    bool eof;
    if (client_open_leased(b->client, "lib/a.py", &ask, buf, sizeof(buf), &f, &attr, &len, &eof,
                           &err) < 0)
        fail_msg("%s", err.text);
    if (len) /* who has a single credit reads nothing with the CREATE */
        assert_memory_equal(buf, "print('a')\n", 11);
    assert_int_equal(ask.ret_state, expected);
    return f;
}

void close_now(struct client_file *f)
{
    assert_int_equal(client_close(f, CLIENT_SINGLE, NULL, NULL), 0);
}

void send_break(struct bed *b, struct server_break what)
{
    assert_true(server_send_break(b->server, &what));
    assert_int_equal(client_echo(b->client, NULL), 0); /* it has been heard when this is answered */
}

void expect_ack(struct bed *b, unsigned n, unsigned state)
{
    int lease = 99;
    unsigned is = 99;
    for (int i = 0; i < 200 && !server_ack(b->server, n, &lease, &is); i++)
        usleep(10000);
    assert_int_equal(lease, 0);
    assert_int_equal(is, state);
}

void expect_acks(struct bed *b, unsigned n)
{
    assert_int_equal(client_echo(b->client, NULL), 0);
    assert_int_equal(server_count(b->server, SMB2_OPLOCK_BREAK), n);
}

void end_leasing(struct bed *b, struct client_lease *l)
{
    no_open_is_left(b);
    client_lease_free(l);
    everything_works(b);
    stop(b);
}
