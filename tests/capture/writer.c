/* Capture files, byte by byte, after draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. */
#include "capture/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void must(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

void capture_raw(struct capture *c, const void *data, size_t n)
{
    if (c->len + n > c->cap) {
        c->cap = 2 * (c->len + n) + 4096;
        c->data = realloc(c->data, c->cap);
        must(c->data, "capture");
    }
    if (n)
        memcpy(c->data + c->len, data, n);
    c->len += n;
}

static void put(struct capture *c, uint64_t v, int bytes)
{
    uint8_t out[8];
    for (int i = 0; i < bytes; i++)
        out[i] = (uint8_t)(v >> 8 * (c->big ? bytes - 1 - i : i));
    capture_raw(c, out, (size_t)bytes);
}

static void pad(struct capture *c, size_t n)
{
    capture_raw(c, "\0\0\0", (4 - n % 4) % 4);
}

void capture_begin(struct capture *c, enum capture_format format, bool big, uint32_t link_type)
{
    static const uint32_t magics[] = {0xa1b2c3d4, 0xa1b23c4d, 0xa1b2cd34};
    *c = (struct capture){
        .format = format, .big = big, .now_ns = 1700000000000000000, .step_ns = 1000000};
    if (format == CAPTURE_PCAPNG) {
        capture_section(c, big);
        capture_interface(c, (uint16_t)link_type, 0, 6, 0);
        return;
    }
    put(c, magics[format], 4);
    put(c, 2, 2);
    put(c, 4, 2);
    put(c, 0, 8);
    put(c, 262144, 4);
    put(c, link_type, 4);
}

void capture_done(struct capture *c)
{
    free(c->data);
    *c = (struct capture){0};
}

void capture_section(struct capture *c, bool big)
{
    c->big = big;
    c->interfaces = c->interface = 0;
    put(c, 0x0a0d0d0a, 4);
    put(c, 28, 4);
    put(c, 0x1a2b3c4d, 4);
    put(c, 1, 2);
    put(c, 0, 2);
    put(c, UINT64_MAX, 8);
    put(c, 28, 4);
}

void capture_block(struct capture *c, uint32_t type, const void *body, size_t n)
{
    size_t padded = (n + 3) / 4 * 4;
    put(c, type, 4);
    put(c, 12 + padded, 4);
    capture_raw(c, body, n);
    pad(c, n);
    put(c, 12 + padded, 4);
}

uint32_t capture_interface(struct capture *c, uint16_t link_type, uint32_t snaplen,
                           uint8_t resolution, int64_t offset)
{
    struct capture body = {.big = c->big};
    put(&body, link_type, 2);
    put(&body, 0, 2);
    put(&body, snaplen, 4);
    put(&body, 2, 2); /* if_name, which the reader has to step over */
    put(&body, 5, 2);
    capture_raw(&body, "eth12\0\0", 8);
    put(&body, 9, 2);
    put(&body, 1, 2);
    put(&body, resolution, 1);
    capture_raw(&body, "\0\0", 3);
    put(&body, 14, 2);
    put(&body, 8, 2);
    put(&body, (uint64_t)offset, 8);
    put(&body, 0, 4);
    capture_block(c, 1, body.data, body.len);
    free(body.data);
    c->clocks[c->interfaces].resolution = resolution;
    c->clocks[c->interfaces].offset = offset;
    return c->interfaces++;
}

/* The time in units of the interface. */
static uint64_t ticks(const struct capture *c)
{
    uint8_t resolution = c->clocks[c->interface].resolution;
    uint64_t ns = c->now_ns - (uint64_t)c->clocks[c->interface].offset * 1000000000;
    if (resolution & 0x80)
        return (uint64_t)(((unsigned __int128)ns << (resolution & 0x7f)) / 1000000000);
    for (; resolution < 9; resolution++)
        ns /= 10;
    for (; resolution > 9; resolution--)
        ns *= 10;
    return ns;
}

static void moved_on(struct capture *c)
{
    c->now_ns += c->step_ns;
    c->packets++;
}

static void enhanced_packet(struct capture *c, const void *data, uint32_t captured,
                            uint32_t original)
{
    struct capture body = {.big = c->big};
    put(&body, c->interface, 4);
    put(&body, ticks(c) >> 32, 4);
    put(&body, ticks(c) & 0xffffffff, 4);
    put(&body, captured, 4);
    put(&body, original, 4);
    capture_raw(&body, data, captured);
    pad(&body, captured);
    put(&body, 1, 2); /* a comment, which the reader has to step over */
    put(&body, 3, 2);
    capture_raw(&body, "abc", 4);
    put(&body, 0, 4);
    capture_block(c, 6, body.data, body.len);
    free(body.data);
}

void capture_packet(struct capture *c, const void *data, uint32_t captured, uint32_t original)
{
    if (c->format == CAPTURE_PCAPNG) {
        enhanced_packet(c, data, captured, original);
    } else {
        put(c, c->now_ns / 1000000000, 4);
        put(c, c->now_ns % 1000000000 / (c->format == CAPTURE_PCAP_NS ? 1 : 1000), 4);
        put(c, captured, 4);
        put(c, original, 4);
        if (c->format == CAPTURE_PCAP_MODIFIED)
            put(c, 0, 8);
        capture_raw(c, data, captured);
    }
    moved_on(c);
}

void capture_simple_packet(struct capture *c, const void *data, uint32_t captured,
                           uint32_t original)
{
    struct capture body = {.big = c->big};
    put(&body, original, 4);
    capture_raw(&body, data, captured);
    capture_block(c, 3, body.data, body.len);
    free(body.data);
    moved_on(c);
}

void capture_obsolete_packet(struct capture *c, const void *data, uint32_t captured,
                             uint32_t original)
{
    struct capture body = {.big = c->big};
    put(&body, c->interface, 2);
    put(&body, 0xffff, 2);
    put(&body, ticks(c) >> 32, 4);
    put(&body, ticks(c) & 0xffffffff, 4);
    put(&body, captured, 4);
    put(&body, original, 4);
    capture_raw(&body, data, captured);
    capture_block(c, 2, body.data, body.len);
    free(body.data);
    moved_on(c);
}

/* A file that is there is removed, not truncated: some file systems write a truncated one out when
 * it is closed, which takes milliseconds. */
void capture_save(const struct capture *c, const char *path, size_t n)
{
    remove(path);
    FILE *f = fopen(path, "wb");
    must(f && n <= c->len && (n == 0 || fwrite(c->data, 1, n, f) == n) && fclose(f) == 0, path);
}

void capture_save_gzip(const struct capture *c, const char *path, size_t n)
{
    gzFile f = gzopen(path, "wb");
    must(f && n <= c->len && gzwrite(f, c->data, (unsigned)n) == (int)n && gzclose(f) == Z_OK,
         path);
}

size_t capture_drain(struct capture *c, const char *path)
{
    size_t n = c->len;
    FILE *f = fopen(path, "ab");
    must(f && fwrite(c->data, 1, n, f) == n && fclose(f) == 0, path);
    c->len = 0;
    return n;
}
