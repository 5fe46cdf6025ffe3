/* Clients of a real Samba, the share's own disk, and small files. */
#include "client_bed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct bed bed;
struct observe *observe;
struct error err;
struct client *client;

/* ---- clients ---- */

struct client_options options(void)
{
    return (struct client_options){
        .host = "127.0.0.1",
        .port = bed.port,
        .share = "share",
        .user = bed.user,
        .password = bed.password,
        .dialect_min = 0x0202,
        .dialect_max = 0x0311,
        .map_names = true,
        .observe = observe,
    };
}

struct client *connect_or_fail(const struct client_options *o)
{
    struct client *c = NULL;
    if (client_connect(o, &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

uint64_t round_trips(void)
{
    struct observe_counts counts;
    observe_read(observe, &counts);
    return counts.round_trips;
}

uint64_t requests(unsigned command)
{
    struct observe_counts counts;
    observe_read(observe, &counts);
    return counts.command[command].requests;
}

void works(const char *call, int64_t result)
{
    if (result < 0)
        fail_msg("%s: %s", call, err.text);
}

void fails(const char *call, int code, int64_t result)
{
    if (result != code)
        fail_msg("%s: %d expected, got %d \"%s\"", call, code, (int)result, err.text);
    assert_int_equal(err.code, code);
    assert_true(strlen(err.text) > 10);
}

/* ---- the share's own disk ---- */

const char *local(const char *name)
{
    static char path[4][1024];
    static unsigned turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof(path[0]), "%s/%s", bed.share, name);
    return p;
}

bool exists(const char *name)
{
    struct stat st;
    return lstat(local(name), &st) == 0;
}

struct stat stat_local(const char *name)
{
    struct stat st;
    if (stat(local(name), &st) < 0)
        fail_msg("%s is not there", name);
    return st;
}

void holds(const char *name, const void *data, size_t len)
{
    int fd = open(local(name), O_RDONLY);
    struct stat st;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    assert_int_equal(st.st_size, len);
    if (len) {
        const void *map = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
        assert_true(map != MAP_FAILED && memcmp(map, data, len) == 0);
        munmap((void *)map, len);
    }
    close(fd);
}

/* ---- files ---- */

const struct client_how make = {
    .access = FILE_READ_DATA | FILE_WRITE_DATA | FILE_WRITE_ATTRIBUTES | ACCESS_DELETE,
    .share = FILE_SHARE_ALL,
    .disposition = FILE_OVERWRITE_IF,
    .options = FILE_NON_DIRECTORY_FILE,
};

struct client_file *create_by(struct client *c, const char *name)
{
    struct client_file *f = NULL;
    struct file_attr attr;
    WORKS(client_create(c, name, &make, &f, &attr, NULL, &err));
    return f;
}

struct client_file *create(const char *name)
{
    return create_by(client, name);
}

void put(const char *name, const void *data, size_t len)
{
    struct client_file *f = create(name);
    WORKS(client_write(f, data, len, 0, &err));
    WORKS(client_close(f, CLIENT_SINGLE, NULL, &err));
}

void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

struct file_attr attr_of(const char *name)
{
    struct file_attr attr = {0};
    WORKS(client_stat(client, name, CLIENT_COMPOUND, &attr, NULL, &err));
    return attr;
}

/* ---- the bed ---- */

int bed_set_up(void **state)
{
    struct stat st;
    const char *port = getenv("LARDER_TEST_PORT"), *open_port = getenv("LARDER_TEST_OPEN_PORT");
    bed.share = getenv("LARDER_TEST_SHARE");
    bed.user = getenv("LARDER_TEST_USER");
    bed.password = getenv("LARDER_TEST_PASSWORD");
    if (!port || !open_port || !bed.share || !bed.user || !bed.password)
        return -1;
    bed.port = (uint16_t)atoi(port);
    bed.open_port = (uint16_t)atoi(open_port);

    int fd = open(local("big"), O_RDONLY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    bed.big_size = (size_t)st.st_size;
    bed.big = mmap(NULL, bed.big_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    const struct observe_options o = {0};
    if (bed.big == MAP_FAILED || observe_new(&o, &observe, NULL) < 0)
        return -1;
    const struct client_options c = options();
    return client_connect(&c, &client, NULL);
}

int bed_tear_down(void **state)
{
    client_free(client);
    observe_free(observe);
    return 0;
}
