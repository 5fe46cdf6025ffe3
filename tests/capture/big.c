/*
 * capture_big FILE BYTES: writes a capture of at least that size, of many clients that work on one
 * share at once. The same arguments give the same bytes.
 *
 * Every client does one thing after the other (an action), chosen by weight; an action is a
 * function of its step, and each step is one record, request or response. Which client makes the
 * next step is random, so that conversations are interleaved as on a busy server. Some segments are
 * sent twice, some reads and every watch have an interim response, and who has done enough logs off
 * and comes back with a new connection. The share is a function of numbers: DIRECTORIES directories
 * with a fixed number of names in each, of which a few are used most, however long the capture is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ntstatus.h"
#include "base/utf.h"
#include "capture/speak.h"

enum {
    CLIENTS = 16,
    DIRECTORIES = 120,
    ACTIONS_A_CONNECTION = 600,
    PACKET_NS = 500000,
    RETRANSMITTED = 150, /* one record in so many */
    DRAIN = 1 << 20,
    LISTING_MAX = 60000,
    READ_ACCESS = FILE_READ_DATA | FILE_READ_ATTRIBUTES | ACCESS_SYNCHRONIZE,
    STAT_ACCESS = FILE_READ_ATTRIBUTES | ACCESS_SYNCHRONIZE,
    WRITE_ACCESS = READ_ACCESS | 2,
    BLOCK = 8192,
};

struct client {
    struct speaker s;
    uint8_t number;
    unsigned connections, done;                      /* actions, on this connection */
    bool (*action)(struct client *c, unsigned step); /* NULL: chooses one */
    unsigned step, directory, file, blocks;
    uint64_t opens;
    bool watching;
    uint64_t watch_id; /* MessageId */
};

static uint64_t random_state = 3;

/* splitmix64 */
static uint32_t below(uint32_t n)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ z >> 31) % n);
}

/* ---- the share ---- */

static unsigned files_in(unsigned directory)
{
    return directory % 50 == 7 ? 700 : 6 + directory * 37 % 45;
}

static const char *directory_path(unsigned directory)
{
    static char path[128];
    snprintf(path, sizeof(path), "tools\\lib\\site-packages\\package%02u\\part%u", directory / 10,
             directory % 10);
    return path;
}

static const char *file_name(unsigned directory, unsigned file)
{
    static char name[64];
    snprintf(name, sizeof(name), "module_%u_%03u.py", directory, file);
    return name;
}

static const char *file_path(unsigned directory, unsigned file, const char *suffix)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s\\%s%s", directory_path(directory), file_name(directory, file),
             suffix);
    return path;
}

/* ---- bodies ---- */

static struct wire_file_id open_id(const struct client *c)
{
    return (struct wire_file_id){c->opens, (uint64_t)c->number << 32 | c->connections};
}

static void ask_open(struct client *c, const char *path, uint32_t access)
{
    c->opens++;
    speak_create(speak_request(&c->s, SMB2_CREATE), path, access, FILE_OPEN);
}

static void say_opened(struct client *c, bool directory)
{
    speak_created(speak_response(&c->s, SMB2_CREATE, STATUS_SUCCESS), open_id(c), directory,
                  directory ? 0 : BLOCK * c->blocks);
}

static void ask_close(struct client *c)
{
    speak_close(speak_request(&c->s, SMB2_CLOSE), open_id(c));
}

static void say_closed(struct client *c)
{
    speak_closed(speak_response(&c->s, SMB2_CLOSE, STATUS_SUCCESS));
}

/* Files from..to of the directory. */
static void say_listing(struct client *c, unsigned from, unsigned to)
{
    static uint8_t output[1 << 17];
    struct wr w = wr_init(output, sizeof(output));
    size_t last = SIZE_MAX;
    for (unsigned i = from; i < to; i++) {
        uint8_t name[256];
        const char *text = file_name(c->directory, i);
        int n = utf8_to_utf16(text, strlen(text), name, sizeof(name));
        wire_dirent_encode(&w, &last,
                           &(struct wire_dirent){.name = rd_init(name, (size_t)n),
                                                 .attr = {.id = c->directory * 1000 + i + 1,
                                                          .attributes = FILE_ATTRIBUTE_NORMAL,
                                                          .size = 100 * i}});
    }
    wire_buffer_response_encode(speak_response(&c->s, SMB2_QUERY_DIRECTORY, STATUS_SUCCESS), output,
                                (uint32_t)w.pos);
}

static void ask_read(struct client *c, unsigned block)
{
    wire_read_request_encode(speak_request(&c->s, SMB2_READ),
                             &(struct wire_read_request){.length = BLOCK,
                                                         .offset = (uint64_t)block * BLOCK,
                                                         .file_id = open_id(c)});
}

static void say_read(struct client *c)
{
    static uint8_t data[BLOCK];
    memset(data, 'a' + (int)(c->opens % 26), sizeof(data));
    wire_read_response_encode(speak_response(&c->s, SMB2_READ, STATUS_SUCCESS),
                              &(struct wire_read_response){.data = {data, sizeof(data)}});
}

/* ---- actions: one record a step; true with the last ---- */

/* What every open of a directory begins and ends with; steps 2 and 3 are what it is for. */
static bool in_directory(struct client *c, unsigned step)
{
    if (step == 0)
        ask_open(c, directory_path(c->directory), READ_ACCESS);
    else if (step == 1)
        say_opened(c, true);
    else if (step == 4)
        ask_close(c);
    else if (step == 5)
        say_closed(c);
    return step == 5;
}

/* As Windows does: two QUERY_DIRECTORY in one compound, more where the listing is large. */
static bool list(struct client *c, unsigned step)
{
    const unsigned files = files_in(c->directory);
    if (step == 2) {
        speak_query(speak_request(&c->s, SMB2_QUERY_DIRECTORY), open_id(c), "*");
        speak_query(speak_request(&c->s, SMB2_QUERY_DIRECTORY), open_id(c), "*");
    } else if (step == 3) {
        say_listing(c, 0, files < 350 ? files : 350);
        if (files > 350)
            say_listing(c, 350, files);
        else
            speak_response(&c->s, SMB2_QUERY_DIRECTORY, STATUS_NO_MORE_FILES);
    }
    return in_directory(c, step);
}

/* One name by a pattern, found or not. */
static bool search(struct client *c, unsigned step)
{
    if (step == 2)
        speak_query(speak_request(&c->s, SMB2_QUERY_DIRECTORY), open_id(c),
                    file_name(c->directory, c->file));
    else if (step == 3 && c->file < files_in(c->directory))
        say_listing(c, c->file, c->file + 1);
    else if (step == 3)
        speak_response(&c->s, SMB2_QUERY_DIRECTORY, STATUS_NO_SUCH_FILE);
    return in_directory(c, step);
}

static bool look(struct client *c, unsigned step)
{
    static const struct file_attr attr = {.id = 5, .attributes = FILE_ATTRIBUTE_NORMAL, .links = 1};
    if (step == 0) {
        ask_open(c, file_path(c->directory, c->file, ""), STAT_ACCESS);
        wire_query_info_request_encode(
            speak_related(&c->s, SMB2_QUERY_INFO),
            &(struct wire_query_info_request){.info_type = SMB2_0_INFO_FILE,
                                              .info_class = FILE_NETWORK_OPEN_INFORMATION,
                                              .output_length = 56,
                                              .file_id = WIRE_FILE_ID_RELATED});
        speak_close(speak_related(&c->s, SMB2_CLOSE), WIRE_FILE_ID_RELATED);
        return false;
    }
    uint8_t output[64];
    struct wr w = wr_init(output, sizeof(output));
    wire_network_open_information_encode(&w, &attr);
    say_opened(c, false);
    wire_buffer_response_encode(speak_response(&c->s, SMB2_QUERY_INFO, STATUS_SUCCESS), output,
                                (uint32_t)w.pos);
    say_closed(c);
    return true;
}

static bool miss(struct client *c, unsigned step)
{
    if (step == 0)
        ask_open(c, file_path(c->directory, c->file, "c"), STAT_ACCESS);
    else
        speak_response(&c->s, SMB2_CREATE, STATUS_OBJECT_NAME_NOT_FOUND);
    return step == 1;
}

/* Every block a READ; the first one is answered late now and then. */
static bool read_file(struct client *c, unsigned step)
{
    const bool late = c->file % 8 == 0;
    if (step == 0)
        ask_open(c, file_path(c->directory, c->file, ""), READ_ACCESS);
    else if (step == 1)
        say_opened(c, false);
    else if (late && step == 3)
        speak_response(&c->s, SMB2_READ, STATUS_PENDING);
    else {
        unsigned at = step - (late && step > 3); /* as if there had been no interim response */
        if (at == 2 * c->blocks + 2)
            ask_close(c);
        else if (at == 2 * c->blocks + 3)
            say_closed(c);
        else if (at % 2 == 0)
            ask_read(c, at / 2 - 1);
        else
            say_read(c);
        return at == 2 * c->blocks + 3;
    }
    return false;
}

static bool write_file(struct client *c, unsigned step)
{
    static const uint8_t data[1000];
    switch (step) {
    case 0:
        c->opens++;
        speak_create(speak_request(&c->s, SMB2_CREATE), file_path(c->directory, c->file, ".log"),
                     WRITE_ACCESS, FILE_OPEN_IF);
        return false;
    case 1:
        say_opened(c, false);
        return false;
    case 2:
        wire_write_request_encode(
            speak_request(&c->s, SMB2_WRITE),
            &(struct wire_write_request){.file_id = open_id(c), .data = {data, sizeof(data)}});
        return false;
    case 3:
        wire_write_response_encode(speak_response(&c->s, SMB2_WRITE, STATUS_SUCCESS),
                                   &(struct wire_write_response){.count = sizeof(data)});
        return false;
    case 4:
        ask_close(c);
        return false;
    default:
        say_closed(c);
        return true;
    }
}

/* Armed the first time; it fires the second, which is the server's word alone. */
static bool watch(struct client *c, unsigned step)
{
    if (c->watching) {
        wire_buffer_response_encode(
            speak_late_response(&c->s, SMB2_CHANGE_NOTIFY, STATUS_NOTIFY_ENUM_DIR, c->watch_id),
            NULL, 0);
        c->watching = false;
        return true;
    }
    if (step == 2) {
        c->watch_id = c->s.message_id;
        wire_change_notify_request_encode(
            speak_request(&c->s, SMB2_CHANGE_NOTIFY),
            &(struct wire_change_notify_request){
                .output_length = 4096, .file_id = open_id(c), .filter = 0x17});
    } else if (step == 3) {
        speak_response(&c->s, SMB2_CHANGE_NOTIFY, STATUS_PENDING);
        c->watching = true;
    }
    in_directory(c, step);
    return c->watching;
}

static const struct {
    bool (*action)(struct client *c, unsigned step);
    unsigned weight;
} actions[] = {{list, 12},     {search, 26},    {look, 33}, {miss, 18},
               {read_file, 7}, {write_file, 3}, {watch, 1}};

static void choose(struct client *c)
{
    unsigned weight = below(100), i = 0;
    while (weight >= actions[i].weight)
        weight -= actions[i++].weight;
    c->action = actions[i].action;
    c->step = 0;
    /* half of the work is done in a tenth of the share */
    c->directory = below(2) ? below(DIRECTORIES / 10) : below(DIRECTORIES);
    c->file = below(files_in(c->directory) + 3);
    c->blocks = 1 + c->file % 3;
}

/* ---- the clients ---- */

static void log_on(struct client *c, struct capture *file)
{
    const uint64_t session_id = (uint64_t)c->number << 32 | ++c->connections;
    speaker_init(&c->s, file, c->number, session_id);
    c->s.tcp.port[CLIENT] = (uint16_t)(49152 + c->connections);
    c->s.tcp.seq[CLIENT] = below(UINT32_MAX);
    c->s.tcp.seq[SERVER] = below(UINT32_MAX);
    speak_logon(&c->s, "\\\\fileserver\\tools");
    c->watching = false;
    c->done = 0;
}

static void log_off(struct client *c)
{
    speak_logoff(&c->s);
    speaker_done(&c->s);
}

static void next_step(struct client *c, struct capture *file)
{
    if (!c->action) {
        if (c->done++ == ACTIONS_A_CONNECTION) {
            log_off(c);
            log_on(c, file);
        }
        choose(c);
    }
    if (c->action(c, c->step++))
        c->action = NULL;
    speak(&c->s);
    if (below(RETRANSMITTED) == 0)
        speak_again(&c->s);
}

static void write_capture(const char *path, uint64_t bytes)
{
    static struct client clients[CLIENTS];
    struct capture file;
    uint64_t written = 0;
    remove(path);
    capture_begin(&file, CAPTURE_PCAP, false, 1);
    file.step_ns = PACKET_NS;
    for (uint8_t i = 0; i < CLIENTS; i++) {
        clients[i].number = i + 1;
        log_on(&clients[i], &file);
    }
    while (written + file.len < bytes) {
        next_step(&clients[below(CLIENTS)], &file);
        if (file.len > DRAIN)
            written += capture_drain(&file, path);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        log_off(&clients[i]);
    written += capture_drain(&file, path);
    printf("%llu bytes, %llu packets\n", (unsigned long long)written,
           (unsigned long long)file.packets);
    capture_done(&file);
}

int main(int argc, char **argv)
{
    char *end;
    uint64_t bytes = argc == 3 ? strtoull(argv[2], &end, 10) : 0;
    if (!bytes || *end) {
        fprintf(stderr, "usage: capture_big FILE BYTES\n");
        return 2;
    }
    write_capture(argv[1], bytes);
    return 0;
}
