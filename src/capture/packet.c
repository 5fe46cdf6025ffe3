/*
 * Opens a capture: the first bytes tell the format, and the rest is that format's (pcap.c,
 * pcapng.c; live.c for an interface). What is no capture is named for what it is, with the way to
 * make one of it: people have Network Monitor files, event traces and archives, and a "bad magic
 * number" helps none of them.
 */
#include "capture/packet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/reader.h"

static const struct stranger {
    const char *magic;
    const char *what;
} strangers[] = {
    {"GMBU", "a Network Monitor capture: convert it with `editcap -F pcapng IN OUT`"},
    {"RTSS", "a Network Monitor 1 capture: convert it with `editcap -F pcapng IN OUT`"},
    {"snoop", "a Solaris snoop capture: convert it with `editcap -F pcapng IN OUT`"},
    {"PK\x03\x04", "a zip archive: unpack it first"},
    {"MSCF", "a cabinet archive: unpack it first"},
    {"7z\xbc\xaf", "a 7z archive: unpack it first"},
    {"\xfd"
     "7zXZ",
     "compressed with xz: unpack it first, or pipe it in with `xzcat IN |` and the file `-`"},
    {"\x28\xb5\x2f\xfd",
     "compressed with zstd: unpack it first, or pipe it in with `zstdcat IN |` and the file `-`"},
    {"BZh",
     "compressed with bzip2: unpack it first, or pipe it in with `bzcat IN |` and the file `-`"},
};

/* An event trace begins with a buffer header of 0x48 bytes of type 4, in which the first event is
 * of hook 0 and carries the marker of a system event. */
static bool is_event_trace(struct rd r)
{
    uint32_t size = rd_u32(&r), saved = rd_u32(&r);
    rd_seek(&r, 0x36);
    uint16_t type = rd_u16(&r);
    rd_seek(&r, 0x4b);
    uint8_t marker = rd_u8(&r);
    return rd_ok(&r) && type == 4 && marker == 0xc0 && saved > 0x48 && saved <= size;
}

static bool is_text(const uint8_t *data, size_t len)
{
    size_t printable = 0;
    if (len >= 2 && ((data[0] == 0xff && data[1] == 0xfe) || (data[0] == 0xfe && data[1] == 0xff)))
        return true; /* UTF-16, as PowerShell writes it */
    for (size_t i = 0; i < len; i++)
        printable += data[i] >= 0x20 || (data[i] >= '\t' && data[i] <= '\r') || data[i] == 0x1b;
    return len > 0 && printable == len;
}

static const char *name_stranger(const uint8_t *data, size_t len)
{
    if (len == 0)
        return "empty";
    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
        size_t n = strlen(strangers[i].magic);
        if (len >= n && memcmp(data, strangers[i].magic, n) == 0)
            return strangers[i].what;
    }
    if (is_event_trace(rd_init(data, len)))
        return "a Windows event trace: convert it on Windows with `etl2pcapng IN OUT` or `pktmon "
               "etl2pcap IN`";
    if (is_text(data, len))
        return "text, not a packet capture: give the pcap or pcapng file itself";
    return "no packet capture: pcap and pcapng are read, plain or gzip";
}

/* Which format the first bytes are; NULL with an error where none is. */
static const struct packet_format *recognise(struct source *s, struct error *err)
{
    const uint8_t *head;
    size_t there = source_peek(s, 512, &head);
    int code = source_error(s);
    if (there >= 4 && pcap_magic_known(head))
        return &pcap_format;
    if (there >= 4 && memcmp(head, "\n\r\r\n", 4) == 0)
        return &pcapng_format;
    if (code < 0)
        error_set(err, code, 0, "%s: %s", source_name(s),
                  code == -EBADMSG ? "damaged gzip data" : strerror(-code));
    else if (there < 4 && source_cut_off(s))
        error_set(err, -EINVAL, 0, "%s is cut off before its first packet", source_name(s));
    else
        error_set(err, -EINVAL, 0, "%s is %s", source_name(s),
                  name_stranger(head, there < 512 ? there : 512));
    return NULL;
}

int packet_reader_open(const char *path, struct packet_reader **ret, struct error *err)
{
    struct error own;
    if (!err)
        err = &own; /* recognise() speaks through it */
    struct packet_reader *r = calloc(1, sizeof(*r));
    if (!r)
        return error_set(err, -ENOMEM, 0, "out of memory");
    int code = source_open(path, &r->source, err);
    if (code == 0) {
        r->format = recognise(r->source, err);
        code = r->format ? r->format->start(r, err) : err->code;
    }
    if (code < 0) {
        packet_reader_free(r);
        return code;
    }
    *ret = r;
    return 0;
}

int packet_reader_next(struct packet_reader *r, struct packet *ret, struct error *err)
{
    return r->format->next(r, ret, err);
}

int reader_end(struct packet_reader *r, bool middle, struct error *err)
{
    int code = source_error(r->source);
    r->cut_off |= middle || source_cut_off(r->source);
    if (code == 0)
        return 0;
    return error_set(err, code, 0, "%s, after packet %llu: %s", source_name(r->source),
                     (unsigned long long)r->number,
                     code == -EBADMSG ? "damaged gzip data" : strerror(-code));
}

int reader_damaged(const struct packet_reader *r, const char *what, struct error *err)
{
    return error_set(err, -EBADMSG, 0, "%s, after packet %llu: damaged, %s", source_name(r->source),
                     (unsigned long long)r->number, what);
}

bool packet_reader_cut_off(const struct packet_reader *r)
{
    return r->cut_off;
}

uint64_t packet_reader_dropped(const struct packet_reader *r)
{
    return r->dropped;
}

void packet_reader_progress(const struct packet_reader *r, uint64_t *ret_done, uint64_t *ret_all)
{
    *ret_done = *ret_all = 0;
    if (r->source)
        source_progress(r->source, ret_done, ret_all);
}

struct packet_reader *packet_reader_free(struct packet_reader *r)
{
    if (!r)
        return NULL;
    if (r->format)
        r->format->done(r);
    source_free(r->source);
    free(r);
    return NULL;
}
