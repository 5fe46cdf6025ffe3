/* The scripted server's files, and the operations on them. */
#include "bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIR_LIB, FILE_A, DIR_MANY, DIR_ODD, FIXED_NODES = 20 };

static struct server_node nodes[FIXED_NODES + MANY] = {
    [DIR_LIB] = {SERVER_ROOT,
                 SERVER_NAME(u"lib"),
                 {.id = 10, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    [FILE_A] = {DIR_LIB,
                SERVER_NAME(u"a.py"),
                {.id = 11, .attributes = FILE_ATTRIBUTE_ARCHIVE},
                SERVER_CONTENT("print('a')\n")},
    [DIR_MANY] = {SERVER_ROOT,
                  SERVER_NAME(u"many"),
                  {.id = 12, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    [DIR_ODD] = {SERVER_ROOT,
                 SERVER_NAME(u"odd"),
                 {.id = 13, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    {DIR_ODD, SERVER_NAME(u"good"), {.id = 20}},
    {DIR_ODD, SERVER_NAME(u"sl/ash"), {.id = 21}},
    {DIR_ODD, SERVER_NAME(u"back\\slash"), {.id = 22}},
    {DIR_ODD, SERVER_NAME(u"nu\0l"), {.id = 23}},
    {DIR_ODD, SERVER_NAME(u".."), {.id = 24}},
    {DIR_ODD, SERVER_NAME(u"."), {.id = 25}},
    {DIR_ODD, SERVER_NAME(u"..."), {.id = 26}},
    {DIR_ODD, SERVER_NAME(u"trailing. "), {.id = 27}},
    {DIR_ODD, SERVER_NAME(u"last"), {.id = 28}},
};
static uint16_t many_names[MANY][8];

struct observe *observe;

/* ---- client and server ---- */

struct server_script plain_script(void)
{
    return (struct server_script){.nodes = nodes, .node_count = COUNT(nodes)};
}

void set_rule(struct server_script *script, const struct server_rule *rule,
              const struct server_alteration *alteration)
{
    script->rules = rule;
    script->rule_count = 1;
    script->alterations = alteration;
    script->alteration_count = alteration != NULL;
}

struct client_options options(const struct server *s)
{
    return (struct client_options){
        .host = "127.0.0.1",
        .port = server_port(s),
        .share = "share",
        .guest = true,
        .dialect_min = 0x0202,
        .dialect_max = 0x0311,
        .request_timeout_ns = 5 * NS_PER_SEC,
        .observe = observe,
    };
}

struct bed start_with(const struct server_script *script, uint64_t request_timeout)
{
    struct bed b = {.server = server_new(script)};
    struct error err = {0};
    assert_non_null(b.server);
    struct client_options o = options(b.server);
    o.request_timeout_ns = request_timeout;
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

struct bed start(void)
{
    const struct server_script script = plain_script();
    return start_with(&script, 5 * NS_PER_SEC);
}

void play(struct bed *b, const struct server_rule *rules, size_t count)
{
    struct server_script script = plain_script();
    script.rules = rules;
    script.rule_count = count;
    server_play(b->server, &script);
}

void stop(struct bed *b)
{
    client_free(b->client);
    server_free(b->server);
}

void no_open_is_left(struct bed *b)
{
    for (int i = 0; i < 200 && server_opens(b->server); i++)
        usleep(10000);
    assert_int_equal(server_opens(b->server), 0);
}

struct observe_counts counts(void)
{
    struct observe_counts c;
    observe_read(observe, &c);
    return c;
}

/* ---- operations that know the right answer ---- */

int stat_a(struct client *c, struct error *err)
{
    struct file_attr attr = {0};
    char spelling[CLIENT_NAME_MAX] = "?";
    int r = client_stat(c, "lib/A.PY", CLIENT_COMPOUND, &attr, spelling, err);
    if (r == 0) {
        assert_int_equal(attr.id, 11);
        assert_int_equal(attr.size, 11);
        assert_string_equal(spelling, "a.py");
    }
    return r;
}

int note_name(void *user, const char *name, size_t len, const struct file_attr *attr,
              size_t wire_bytes)
{
    struct names *n = user;
    unsigned i;
    n->count++;
    if (sscanf(name, "n%u", &i) == 1 && i < MANY) {
        assert_false(n->many[i]);
        n->many[i] = true;
    } else {
        snprintf(n->text + strlen(n->text), sizeof(n->text) - strlen(n->text), "%s|", name);
    }
    return 0;
}

int list_many(struct client *c, enum client_style style, struct error *err)
{
    struct names *n = calloc(1, sizeof(*n));
    struct client_list_result result = {0};
    int r = client_list(c, "many", "*", style, false, note_name, n, &result, err);
    if (r == 0) {
        assert_int_equal(n->count, MANY);
        assert_true(result.complete);
        assert_int_equal(result.dir_attr.id, 12);
    }
    free(n);
    return r;
}

int list_lib(struct client *c, struct error *err)
{
    struct names n = {0};
    struct client_list_result result = {0};
    int r = client_list(c, "lib", "*", CLIENT_COMPOUND, false, note_name, &n, &result, err);
    if (r == 0) {
        assert_string_equal(n.text, "a.py|");
        assert_true(result.complete);
    }
    return r;
}

int read_a(struct client *c, enum client_style close_style, struct error *err)
{
    struct client_file *f;
    struct file_attr attr;
    char buf[64];
    size_t len;
    bool eof;
    int r =
        client_open(c, "lib/a.py", CLIENT_COMPOUND, buf, sizeof(buf), &f, &attr, &len, &eof, err);
    if (r < 0)
        return r;
    assert_int_equal(attr.id, 11);
    if (!eof) {
        int64_t n = client_read(f, buf + len, sizeof(buf) - len, len, err);
        r = n < 0 ? (int)n : 0;
        len += n < 0 ? 0 : (size_t)n;
    }
    if (r == 0) {
        assert_int_equal(len, 11);
        assert_memory_equal(buf, "print('a')\n", 11);
    }
    int closed = client_close(f, close_style, NULL, err);
    return r ? r : closed;
}

int do_everything(struct client *c, struct error *err)
{
    struct client_statfs fs;
    int r = stat_a(c, err);
    if (r == 0)
        r = list_lib(c, err);
    if (r == 0)
        r = read_a(c, CLIENT_SINGLE, err);
    if (r == 0)
        r = client_statfs(c, &fs, err);
    return r;
}

void everything_works(struct bed *b)
{
    struct error err = {0};
    if (do_everything(b->client, &err) < 0 || list_many(b->client, CLIENT_COMPOUND, &err) < 0)
        fail_msg("%s", err.text);
    no_open_is_left(b);
}

/* ---- the bed ---- */

int bed_set_up(void **state)
{
    const struct observe_options o = {0};
    for (unsigned i = 0; i < MANY; i++) {
        char name[16];
        int len = snprintf(name, sizeof(name), "n%06u", i);
        for (int j = 0; j < len; j++)
            many_names[i][j] = (uint16_t)name[j];
        nodes[FIXED_NODES + i] = (struct server_node){
            .parent = DIR_MANY,
            .name = {.base = (const uint8_t *)many_names[i], .len = (size_t)len * 2},
            .attr = {.id = 1000 + i},
        };
    }
    for (unsigned i = DIR_ODD + 10; i < FIXED_NODES; i++)
        nodes[i] = (struct server_node){SERVER_ROOT, SERVER_NAME(u"filler"), {.id = 99}};
    return observe_new(&o, &observe, NULL);
}

int bed_tear_down(void **state)
{
    observe_free(observe);
    return 0;
}
