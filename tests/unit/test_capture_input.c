/* Capture files of every kind, whole, cut off and broken; what is no capture; live interfaces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/packet.h"
#include "capture/writer.h"

static char directory[] = "/tmp/larder-capture-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[sizeof(directory) + 64];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

/* ---- what came out of a file ---- */

enum { MAX_SEEN = 64 };

struct seen {
    size_t count;
    struct packet packets[MAX_SEEN]; /* data are copies */
    bool cut_off;
    int end; /* what the last call returned */
    struct error err;
};

static void forget(struct seen *seen)
{
    for (size_t i = 0; i < seen->count; i++)
        free((uint8_t *)seen->packets[i].data);
}

/* Everything that a file gives; the error of opening it, or 0. */
static int read_file(const char *path, struct seen *seen)
{
    struct packet_reader *r;
    *seen = (struct seen){0};
    int code = packet_reader_open(path, &r, &seen->err);
    if (code < 0)
        return code;
    struct packet p;
    while ((seen->end = packet_reader_next(r, &p, &seen->err)) == 1) {
        assert_true(seen->count < MAX_SEEN);
        assert_true(p.captured <= p.original);
        uint8_t *copy = malloc(p.captured ? p.captured : 1);
        memcpy(copy, p.data, p.captured);
        seen->packets[seen->count] = p;
        seen->packets[seen->count++].data = copy;
    }
    seen->cut_off = packet_reader_cut_off(r);
    packet_reader_free(r);
    return 0;
}

static int read_capture(const struct capture *c, struct seen *seen)
{
    capture_save(c, path_of("capture"), c->len);
    return read_file(path_of("capture"), seen);
}

/* Packet number i of the captures below: its bytes tell which it is. */
static uint32_t sample(size_t i, uint8_t out[static 256])
{
    uint32_t n = (uint32_t)(i * 37 % 200);
    for (uint32_t b = 0; b < n; b++)
        out[b] = (uint8_t)(i * 11 + b);
    return n;
}

static void write_samples(struct capture *c, size_t count)
{
    uint8_t data[256];
    for (size_t i = 0; i < count; i++) {
        uint32_t n = sample(i, data);
        capture_packet(c, data, n, n + (i % 3 == 0 ? 1000 : 0));
    }
}

static void assert_sample(const struct packet *p, size_t i)
{
    uint8_t data[256];
    assert_int_equal(p->number, i + 1);
    assert_int_equal(p->captured, sample(i, data));
    assert_memory_equal(p->data, data, p->captured);
    assert_int_equal(p->original, p->captured + (i % 3 == 0 ? 1000 : 0));
}

static void assert_samples(const struct seen *seen, size_t count, uint64_t unit_ns)
{
    assert_int_equal(seen->end, 0);
    assert_false(seen->cut_off);
    assert_int_equal(seen->count, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t time = 1700000000123456789 + i * 1000001;
        assert_sample(&seen->packets[i], i);
        assert_int_equal(seen->packets[i].time_ns, time / unit_ns * unit_ns);
    }
}

static void begin_samples(struct capture *c, enum capture_format format, bool big, uint32_t link)
{
    capture_begin(c, format, big, link);
    c->now_ns = 1700000000123456789;
    c->step_ns = 1000001;
}

/* ---- pcap and gzip ---- */

static void every_pcap_magic_is_read(void **state)
{
    for (int format = CAPTURE_PCAP; format <= CAPTURE_PCAPNG; format++) {
        for (int big = 0; big < 2; big++) {
            struct capture c;
            struct seen seen;
            begin_samples(&c, (enum capture_format)format, big, 113);
            write_samples(&c, 20);
            assert_int_equal(read_capture(&c, &seen), 0);
            assert_samples(&seen, 20, format == CAPTURE_PCAP_NS ? 1 : 1000);
            assert_int_equal(seen.packets[7].link_type, 113);
            forget(&seen);
            capture_done(&c);
        }
    }
}

static void files_of_old_versions_have_their_lengths_swapped(void **state)
{
    struct capture c;
    struct seen seen;
    capture_begin(&c, CAPTURE_PCAP, false, 1);
    c.data[6] = 2; /* 2.2, not 2.4 */
    capture_packet(&c, "abcdef", 6, 6);
    memcpy(c.data + 24 + 8, "\x09\0\0\0\x06", 5);
    assert_int_equal(read_capture(&c, &seen), 0);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.packets[0].captured, 6);
    assert_int_equal(seen.packets[0].original, 9);
    forget(&seen);
    capture_done(&c);
}

static void a_packet_longer_than_the_window_is_read(void **state)
{
    struct capture c;
    struct seen seen;
    uint8_t *large = calloc(1, 1 << 20);
    memset(large, 0x5a, 1 << 20);
    capture_begin(&c, CAPTURE_PCAP, false, 1);
    for (int i = 0; i < 3; i++)
        capture_packet(&c, large, (1 << 20) - (uint32_t)i, 1 << 20);
    assert_int_equal(read_capture(&c, &seen), 0);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.packets[2].captured, (1 << 20) - 2);
    assert_memory_equal(seen.packets[2].data, large, (1 << 20) - 2);
    forget(&seen);
    capture_done(&c);
    free(large);
}

static void gzip_is_read_member_after_member(void **state)
{
    struct capture c, zipped;
    struct seen seen;
    begin_samples(&c, CAPTURE_PCAP_NS, false, 1);
    write_samples(&c, 30);
    capture_save_gzip(&c, path_of("a.gz"), c.len);
    assert_int_equal(read_file(path_of("a.gz"), &seen), 0);
    assert_samples(&seen, 30, 1);
    forget(&seen);

    /* the same bytes in two members, cut within a packet, and rubbish behind them */
    struct capture second = c;
    second.data += 333;
    second.len -= 333;
    capture_begin(&zipped, CAPTURE_PCAP, false, 1);
    zipped.len = 0;
    for (int part = 0; part < 2; part++) {
        uint8_t buf[8192];
        capture_save_gzip(part ? &second : &c, path_of("part.gz"), part ? second.len : 333);
        FILE *f = fopen(path_of("part.gz"), "rb");
        size_t n = fread(buf, 1, sizeof(buf), f);
        fclose(f);
        capture_raw(&zipped, buf, n);
    }
    capture_raw(&zipped, "\0\0\0\0", 4);
    assert_int_equal(read_capture(&zipped, &seen), 0);
    assert_samples(&seen, 30, 1);
    forget(&seen);

    zipped.data[zipped.len - 12] ^= 0xff; /* the checksum of the second member */
    assert_int_equal(read_capture(&zipped, &seen), 0);
    assert_int_equal(seen.end, -EBADMSG);
    assert_non_null(strstr(seen.err.text, "damaged gzip data"));
    forget(&seen);
    capture_done(&zipped);
    capture_done(&c);
}

static void standard_input_is_read(void **state)
{
    struct capture c;
    struct seen seen;
    begin_samples(&c, CAPTURE_PCAPNG, true, 1);
    write_samples(&c, 20);
    int ends[2], saved = dup(STDIN_FILENO);
    assert_int_equal(pipe(ends), 0);
    assert_true(write(ends[1], c.data, c.len) == (ssize_t)c.len);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    assert_int_equal(read_file("-", &seen), 0);
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(ends[0]);
    assert_samples(&seen, 20, 1000);
    forget(&seen);
    capture_done(&c);
}

/* ---- pcapng ---- */

static void each_interface_has_its_link_type_and_clock(void **state)
{
    struct capture c;
    struct seen seen;
    capture_begin(&c, CAPTURE_PCAPNG, false, 1); /* interface 0: microseconds */
    capture_interface(&c, 113, 0, 9, 0);         /* 1: nanoseconds */
    capture_interface(&c, 0, 0, 0x80 | 30, 0);   /* 2: 2^-30 seconds */
    capture_interface(&c, 276, 0, 6, 1600000000);
    capture_interface(&c, 101, 0, 3, -3600);
    capture_interface(&c, 228, 0, 12, 1699000000); /* picoseconds, of which 64 bits hold 200 days */
    for (c.interface = 0; c.interface < 6; c.interface++)
        capture_packet(&c, "abc", 3, 3);
    capture_section(&c, true);
    capture_interface(&c, 229, 0, 9, 0);
    capture_obsolete_packet(&c, "defgh", 5, 6);
    assert_int_equal(read_capture(&c, &seen), 0);
    static const uint32_t links[] = {1, 113, 0, 276, 101, 228, 229};
    assert_int_equal(seen.count, 7);
    for (size_t i = 0; i < 7; i++) {
        uint64_t time = 1700000000000000000 + i * 1000000;
        assert_int_equal(seen.packets[i].link_type, links[i]);
        assert_in_range(seen.packets[i].time_ns, time - 1, time);
    }
    assert_int_equal(seen.packets[6].captured, 5);
    assert_int_equal(seen.packets[6].original, 6);
    forget(&seen);
    capture_done(&c);
}

static void simple_packets_end_at_the_snapshot_length(void **state)
{
    struct capture c;
    struct seen seen;
    capture_begin(&c, CAPTURE_PCAPNG, false, 1);
    capture_section(&c, false);
    capture_interface(&c, 1, 6, 6, 0);
    capture_simple_packet(&c, "abcdef\0", 6, 7); /* one byte of padding, which is no data */
    capture_simple_packet(&c, "xy", 2, 2);
    assert_int_equal(read_capture(&c, &seen), 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.packets[0].captured, 6);
    assert_int_equal(seen.packets[0].original, 7);
    assert_int_equal(seen.packets[0].time_ns, 0);
    assert_int_equal(seen.packets[1].captured, 2);
    forget(&seen);
    capture_done(&c);
}

static void unknown_blocks_are_skipped_and_unknown_interfaces_keep_the_number(void **state)
{
    struct capture c;
    struct seen seen;
    char *large = calloc(1, 3 << 20);
    begin_samples(&c, CAPTURE_PCAPNG, true, 1);
    capture_block(&c, 10, large, 3 << 20); /* decryption secrets, say */
    capture_block(&c, 0x80000001, "x", 1);
    c.interface = 7;
    capture_packet(&c, "abc", 3, 3);
    c.interface = 0;
    capture_block(&c, 5, NULL, 0);
    capture_packet(&c, "abc", 3, 3);
    assert_int_equal(read_capture(&c, &seen), 0);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.packets[0].link_type, 0xffffffff);
    assert_int_equal(seen.packets[1].link_type, 1);
    assert_int_equal(seen.packets[1].number, 2);
    forget(&seen);
    capture_done(&c);
    free(large);
}

/* ---- hostile files ---- */

static void put32(struct capture *c, size_t at, uint32_t v)
{
    memcpy(c->data + at,
           (uint8_t[]){(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)}, 4);
}

/* A file of two packets whose field at `at` (from the beginning of the second packet) is `v`: the
 * first packet comes out, the second does not. */
static void assert_second_refused(enum capture_format format, size_t at, uint32_t v, int end)
{
    struct capture c;
    struct seen seen;
    capture_begin(&c, format, false, 1);
    capture_packet(&c, "abcdef", 6, 6);
    size_t second = c.len;
    capture_packet(&c, "ghijkl", 6, 6);
    put32(&c, second + at, v);
    assert_int_equal(read_capture(&c, &seen), 0);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.end, end);
    if (end)
        assert_non_null(strstr(seen.err.text, "after packet 1"));
    assert_int_equal(seen.cut_off, end == 0);
    forget(&seen);
    capture_done(&c);
}

static void impossible_lengths_end_the_file(void **state)
{
    assert_second_refused(CAPTURE_PCAP, 8, 0xffffffff, -EBADMSG);
    assert_second_refused(CAPTURE_PCAP, 8, (1 << 20) + 1, -EBADMSG);
    assert_second_refused(CAPTURE_PCAP, 8, 1 << 20, 0);
    assert_second_refused(CAPTURE_PCAPNG, 4, 0, -EBADMSG);
    assert_second_refused(CAPTURE_PCAPNG, 4, 11, -EBADMSG);
    assert_second_refused(CAPTURE_PCAPNG, 4, 12, -EBADMSG); /* its end is not where it says */
    assert_second_refused(CAPTURE_PCAPNG, 4, 0xfffffffc, -EBADMSG);
    assert_second_refused(CAPTURE_PCAPNG, 4, 0xffffffff, -EBADMSG);
    assert_second_refused(CAPTURE_PCAPNG, 20, 0xffffffff, -EBADMSG);
    assert_second_refused(CAPTURE_PCAPNG, 20, 25, -EBADMSG); /* one more than the block has */
}

static void absurd_clocks_do_no_harm(void **state)
{
    static const uint8_t resolutions[] = {0, 1, 19, 20, 38, 39, 64, 127, 128, 191, 192, 222, 255};
    for (size_t i = 0; i < sizeof(resolutions); i++) {
        struct capture c;
        struct seen seen;
        capture_begin(&c, CAPTURE_PCAPNG, false, 1);
        capture_interface(&c, 1, 0, resolutions[i], INT64_MIN);
        c.clocks[1].resolution = 9; /* the writer need not follow */
        c.interface = 1;
        capture_packet(&c, "abc", 3, 3);
        assert_int_equal(read_capture(&c, &seen), 0);
        assert_int_equal(seen.count, 1);
        forget(&seen);
        capture_done(&c);
    }
}

/* What a file of 20 packets says of itself: where its header ends, and each packet. */
struct ends {
    size_t header[2], packets[20];
};

static void write_small(struct capture *c, enum capture_format format, bool big, struct ends *ret)
{
    uint8_t data[256];
    begin_samples(c, format, big, 1);
    *ret = (struct ends){.header = {format == CAPTURE_PCAPNG ? 28 : 24, c->len}};
    for (size_t i = 0; i < 20; i++) {
        uint32_t n = sample(i, data);
        capture_packet(c, data, n, n + (i % 3 == 0 ? 1000 : 0));
        ret->packets[i] = c->len;
    }
}

/* The first n bytes of a file give the packets that are whole in them, and say whether they end in
 * the middle of something. */
static void assert_cut(size_t n, const struct ends *ends)
{
    struct seen part;
    int code = read_file(path_of("cut"), &part);
    if (n < 4) {
        assert_int_equal(code, -EINVAL);
        return;
    }
    size_t whole = 0;
    bool between = n == ends->header[0] || n == ends->header[1];
    for (; whole < 20 && ends->packets[whole] <= n; whole++)
        between |= ends->packets[whole] == n;
    assert_int_equal(code, 0);
    assert_int_equal(part.end, 0);
    assert_int_equal(part.count, whole);
    assert_int_equal(part.cut_off, !between);
    for (size_t i = 0; i < whole; i++)
        assert_sample(&part.packets[i], i);
    forget(&part);
}

static void a_capture_cut_at_any_byte_gives_what_is_whole(void **state)
{
    for (int kind = 0; kind < 4; kind++) {
        struct capture c;
        struct ends ends;
        write_small(&c, kind < 2 ? CAPTURE_PCAP : CAPTURE_PCAPNG, kind % 2, &ends);
        for (size_t n = 0; n <= c.len; n++) {
            capture_save(&c, path_of("cut"), n);
            assert_cut(n, &ends);
        }
        capture_done(&c);
    }
}

static void gzip_data_cut_at_any_byte_give_what_is_whole(void **state)
{
    struct capture c, zipped = {0};
    struct ends ends;
    write_small(&c, CAPTURE_PCAPNG, false, &ends);
    capture_save_gzip(&c, path_of("whole.gz"), c.len);
    FILE *f = fopen(path_of("whole.gz"), "rb");
    uint8_t buf[8192];
    capture_raw(&zipped, buf, fread(buf, 1, sizeof(buf), f));
    fclose(f);
    size_t most = 0;
    for (size_t n = 3; n < zipped.len; n++) {
        struct seen part;
        capture_save(&zipped, path_of("cut"), n);
        if (read_file(path_of("cut"), &part) < 0) {
            assert_int_equal(most, 0); /* it had not even a magic number */
            continue;
        }
        assert_int_equal(part.end, 0);
        assert_true(part.cut_off);
        assert_true(part.count >= most && part.count <= 20);
        most = part.count;
        for (size_t i = 0; i < part.count; i++)
            assert_sample(&part.packets[i], i);
        forget(&part);
    }
    assert_int_equal(most, 20); /* only the checksum was missing */
    capture_done(&zipped);
    capture_done(&c);
}

/* ---- what is no capture ---- */

static void assert_refused(const void *data, size_t n, const char *why)
{
    struct capture c = {0};
    struct seen seen;
    capture_raw(&c, data, n);
    assert_true(read_capture(&c, &seen) < 0);
    if (!strstr(seen.err.text, why))
        fail_msg("\"%s\" does not say \"%s\"", seen.err.text, why);
    assert_non_null(strstr(seen.err.text, directory));
    assert_null(strchr(seen.err.text, '\n'));
    capture_done(&c);
}

static void what_is_no_capture_is_named(void **state)
{
    uint8_t trace[0x60] = {[1] = 4, [4] = 0xb8, [5] = 1, [0x36] = 4, [0x4a] = 2, [0x4b] = 0xc0};
    assert_refused("", 0, "is empty");
    assert_refused("GMBU\0\x02\x01\0", 8, "editcap");
    assert_refused(trace, sizeof(trace), "event trace");
    assert_refused("10:01:02.33 IP a > b: Flags [S]\n", 32, "is text");
    assert_refused("\xff\xfe<\0x\0m\0l\0", 10, "is text");
    assert_refused("PK\x03\x04\0\0\0\0", 8, "unpack");
    assert_refused("\xfd\x37zXZ\0", 6, "xzcat");
    assert_refused("\x28\xb5\x2f\xfd\0\0", 6, "zstdcat");
    assert_refused("BZh91AY", 7, "bzcat");
    assert_refused("\x7f\x45LF\x02\x01\x01\0\0\0", 10, "no packet capture");
    assert_refused("\x1f\x8b\x08\0\0\0\0\0\0\x03\xff\xff", 12, "damaged gzip data");
    assert_refused("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10, "cut off before its first packet");

    trace[0x4b] = 0; /* much the same, but no event in it */
    assert_refused(trace, sizeof(trace), "no packet capture");

    struct seen seen;
    assert_int_equal(read_file(directory, &seen), -EISDIR);
    assert_non_null(strstr(seen.err.text, "is a directory"));
    assert_int_equal(read_file(path_of("missing"), &seen), -ENOENT);
}

static void progress_counts_the_bytes_of_the_file(void **state)
{
    struct capture c;
    struct packet_reader *r;
    struct packet p;
    uint64_t done, all;
    begin_samples(&c, CAPTURE_PCAP, false, 1);
    write_samples(&c, 20);
    capture_save_gzip(&c, path_of("a.gz"), c.len);
    struct stat st;
    assert_int_equal(stat(path_of("a.gz"), &st), 0);
    assert_int_equal(packet_reader_open(path_of("a.gz"), &r, NULL), 0);
    while (packet_reader_next(r, &p, NULL) == 1)
        ;
    packet_reader_progress(r, &done, &all);
    assert_int_equal(done, st.st_size);
    assert_int_equal(all, st.st_size);
    packet_reader_free(r);
    capture_done(&c);
}

/* ---- live ---- */

/* What passes over the loopback interface once for each call. */
static void look(int fd)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sendto(fd, "larder looks", 12, 0, (struct sockaddr *)&to, sizeof(to));
}

static void a_live_interface_is_read_until_the_time_is_up(void **state)
{
    struct packet_reader *r;
    struct packet p;
    struct error err;
    assert_int_equal(packet_reader_live("no-such-interface", 1, NULL, &r, &err), -ENODEV);
    int code = packet_reader_live("lo", 1, NULL, &r, &err);
    if (code == -EPERM)
        skip();
    assert_int_equal(code, 0);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const uint64_t begun = clock_now();
    look(fd);
    bool found = false;
    while ((code = packet_reader_next(r, &p, &err)) == 1)
        found |= memmem(p.data, p.captured, "larder looks", 12) != NULL;
    assert_int_equal(code, 0);
    assert_true(found);
    assert_in_range((clock_now() - begun) / NS_PER_MS, 900, 3000);
    assert_int_equal(packet_reader_next(r, &p, &err), 0);
    close(fd);
    packet_reader_free(r);
}

static void a_flag_ends_a_live_interface_that_is_never_silent(void **state)
{
    struct packet_reader *r;
    struct packet p;
    struct error err;
    volatile sig_atomic_t end = 0;
    int code = packet_reader_live("lo", 60, &end, &r, &err);
    if (code == -EPERM)
        skip();
    assert_int_equal(code, 0);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const uint64_t begun = clock_now();
    for (int i = 0; i < 100; i++) {
        look(fd);
        assert_int_equal(packet_reader_next(r, &p, &err), 1);
    }
    end = SIGINT;
    assert_int_equal(packet_reader_next(r, &p, &err), 0); /* though more is there */
    assert_in_range((clock_now() - begun) / NS_PER_MS, 0, 30000);
    close(fd);
    packet_reader_free(r);
}

static int make_directory(void **state)
{
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    static const char *const files[] = {"capture", "a.gz", "part.gz", "whole.gz", "cut"};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        unlink(path_of(files[i]));
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pcap_magic_is_read),
        cmocka_unit_test(files_of_old_versions_have_their_lengths_swapped),
        cmocka_unit_test(a_packet_longer_than_the_window_is_read),
        cmocka_unit_test(gzip_is_read_member_after_member),
        cmocka_unit_test(standard_input_is_read),
        cmocka_unit_test(each_interface_has_its_link_type_and_clock),
        cmocka_unit_test(simple_packets_end_at_the_snapshot_length),
        cmocka_unit_test(unknown_blocks_are_skipped_and_unknown_interfaces_keep_the_number),
        cmocka_unit_test(impossible_lengths_end_the_file),
        cmocka_unit_test(absurd_clocks_do_no_harm),
        cmocka_unit_test(a_capture_cut_at_any_byte_gives_what_is_whole),
        cmocka_unit_test(gzip_data_cut_at_any_byte_give_what_is_whole),
        cmocka_unit_test(what_is_no_capture_is_named),
        cmocka_unit_test(progress_counts_the_bytes_of_the_file),
        cmocka_unit_test(a_live_interface_is_read_until_the_time_is_up),
        cmocka_unit_test(a_flag_ends_a_live_interface_that_is_never_silent),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
