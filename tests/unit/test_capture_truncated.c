/*
 * Captures cut off at every byte, through the whole report: nothing crashes, a longer piece never
 * shows less than a shorter one, so none shows more than the whole, and a piece that ends in the
 * middle says so.
 *
 * The file is in memory and is made shorter byte by byte. What is printed goes nowhere; that it can
 * be printed is what is tested.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ntstatus.h"
#include "capture/analyze.h"
#include "capture/page.h"
#include "capture/speak.h"

#define SESSION 0x0123456789abcdefull
#define KEY     "000102030405060708090a0b0c0d0e0f"
#define FID     ((struct wire_file_id){5, 6})

/* ---- what is captured ---- */

static void put_listing(struct wr *body)
{
    uint8_t output[512];
    struct wr w = wr_init(output, sizeof(output));
    size_t last = SIZE_MAX;
    wire_dirent_encode(&w, &last, &(struct wire_dirent){.name = {(const uint8_t *)u"a.py", 8}});
    wire_dirent_encode(&w, &last, &(struct wire_dirent){.name = {(const uint8_t *)u"b.py", 8}});
    wire_buffer_response_encode(body, output, (uint32_t)w.pos);
}

/* CREATE, then two QUERY_DIRECTORYs and a CLOSE in one compound. */
static void list(struct speaker *s)
{
    speak_create(speak_request(s, SMB2_CREATE), "lib", FILE_READ_DATA, FILE_OPEN);
    speak(s);
    speak_created(speak_response(s, SMB2_CREATE, STATUS_SUCCESS), FID, true, 0);
    speak(s);
    speak_query(speak_request(s, SMB2_QUERY_DIRECTORY), FID, "*");
    speak_query(speak_related(s, SMB2_QUERY_DIRECTORY), WIRE_FILE_ID_RELATED, "*");
    speak_close(speak_related(s, SMB2_CLOSE), WIRE_FILE_ID_RELATED);
    speak(s);
    put_listing(speak_response(s, SMB2_QUERY_DIRECTORY, STATUS_SUCCESS));
    speak_response(s, SMB2_QUERY_DIRECTORY, STATUS_NO_MORE_FILES);
    speak_closed(speak_response(s, SMB2_CLOSE, STATUS_SUCCESS));
    speak(s);
}

/* A READ with an interim response, the final one over several segments; then one sent again. */
static void read_late(struct speaker *s)
{
    static const uint8_t data[100];
    s->tcp.mss = 120;
    wire_read_request_encode(speak_request(s, SMB2_READ),
                             &(struct wire_read_request){.length = 100, .file_id = FID});
    speak(s);
    speak_response(s, SMB2_READ, STATUS_PENDING);
    speak(s);
    wire_read_response_encode(speak_response(s, SMB2_READ, STATUS_SUCCESS),
                              &(struct wire_read_response){.data = {data, sizeof(data)}});
    speak(s);
    speak_again(s);
    s->tcp.mss = 1448;
}

static void miss(struct speaker *s)
{
    speak_create(speak_request(s, SMB2_CREATE), "lib\\c.py", FILE_READ_ATTRIBUTES, FILE_OPEN);
    speak(s);
    speak_response(s, SMB2_CREATE, STATUS_OBJECT_NAME_NOT_FOUND);
    speak(s);
}

/* A record whose second half overtakes its first. */
static void echo_out_of_order(struct speaker *s)
{
    wire_empty_encode(speak_request(s, SMB2_ECHO));
    const uint32_t at = s->tcp.seq[CLIENT];
    struct capture *file = s->tcp.c, aside = {0};
    s->tcp.c = &aside; /* what `speak` sends is not seen */
    speak(s);
    capture_done(&aside);
    s->tcp.c = file;
    const uint32_t n = s->tcp.seq[CLIENT] - at;
    session_segment(&s->tcp, CLIENT, at + 40, s->record + 40, n - 40, TCP_HAS_ACK);
    session_segment(&s->tcp, CLIENT, at, s->record, 40, TCP_HAS_ACK);
    wire_empty_encode(speak_response(s, SMB2_ECHO, STATUS_SUCCESS));
    speak(s);
}

static void converse(struct capture *c, const struct link_style *style,
                     struct secure_sealer *sealer)
{
    struct speaker s;
    speaker_init(&s, c, 1, SESSION);
    s.tcp.style = *style;
    s.tcp.acks = false;
    s.sealer = sealer;
    speak_logon(&s, "\\\\server\\share");
    list(&s);
    miss(&s);
    read_late(&s);
    echo_out_of_order(&s);
    speak_logoff(&s);
    speaker_done(&s);
}

/* ---- the report ---- */

enum { COUNTS = 7 + 4 * SMB2_COMMANDS };

struct outcome {
    bool read; /* there is a report */
    bool ends_early;
    uint64_t count[COUNTS];
};

static void counts_of(const struct analysis *a, uint64_t count[static COUNTS])
{
    const uint64_t sums[] = {a->packets,           a->frames,
                             a->messages,          a->decrypted_messages,
                             a->dissected.records, a->enumerations.count,
                             a->names.missing};
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
        *count++ = sums[i];
    for (size_t i = 0; i < SMB2_COMMANDS; i++) {
        const struct analysis_command *c = &a->command[i];
        *count++ = c->requests;
        *count++ = c->responses;
        *count++ = c->interims;
        *count++ = c->frames;
    }
}

static void print_all(const struct analysis *a, FILE *nowhere)
{
    json_t *page = page_json(a), *findings = page_json_verdict(a);
    assert_int_equal(page_print(a, nowhere, REPORT_TEXT), 0);
    assert_int_equal(json_dumpf(page, nowhere, 0), 0);
    assert_int_equal(json_dumpf(findings, nowhere, 0), 0);
    json_decref(page);
    json_decref(findings);
}

static void report(const char *path, const struct keyring *keys, FILE *nowhere, struct outcome *ret)
{
    struct analysis *a = NULL;
    struct error err = {0};
    *ret = (struct outcome){0};
    if (analyze(path, &(struct analyze_options){.keys = keys}, &a, &err) < 0) {
        assert_null(a);
        assert_true(err.text[0] != 0);
        return;
    }
    ret->read = true;
    ret->ends_early = a->cut_off || a->stopped[0];
    counts_of(a, ret->count);
    print_all(a, nowhere);
    analysis_free(a);
}

static void never_more(const struct outcome *shorter, const struct outcome *longer, size_t bytes)
{
    for (size_t i = 0; i < COUNTS; i++)
        if (shorter->count[i] > longer->count[i])
            fail_msg("count %zu: %llu with %zu bytes, %llu with one more", i,
                     (unsigned long long)shorter->count[i], bytes,
                     (unsigned long long)longer->count[i]);
    assert_true(longer->read || !shorter->read);
}

/* The whole report of every beginning of a file. Returns how many of them did not end early. */
static size_t cut_everywhere(const void *data, size_t n, const struct keyring *keys,
                             struct outcome *ret_whole)
{
    char path[64];
    struct outcome longer, shorter;
    size_t complete = 0;
    FILE *nowhere = fopen("/dev/null", "w");
    int file = memfd_create("capture", MFD_CLOEXEC);
    assert_true(nowhere && file >= 0 && write(file, data, n) == (ssize_t)n);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    report(path, keys, nowhere, &longer);
    *ret_whole = longer;
    while (n-- > 0) {
        complete += longer.read && !longer.ends_early;
        assert_int_equal(ftruncate(file, (off_t)n), 0);
        report(path, keys, nowhere, &shorter);
        never_more(&shorter, &longer, n);
        longer = shorter;
    }
    close(file);
    fclose(nowhere);
    return complete;
}

/* What the conversation has, whatever it is wrapped in. */
static void has_everything(const struct outcome *whole, const struct capture *c, bool sealed)
{
    assert_true(whole->read && !whole->ends_early);
    assert_int_equal(whole->count[0], c->packets);
    assert_int_equal(whole->count[2], 23); /* messages, the interim response among them */
    assert_int_equal(whole->count[3], sealed ? 19 : 0);
    assert_int_equal(whole->count[5], 1);
    assert_int_equal(whole->count[6], 1);
}

/* ---- the tests ---- */

static void a_pcap_file_cut_at_every_byte(void **state)
{
    struct capture c;
    struct outcome whole;
    capture_begin(&c, CAPTURE_PCAP, false, 1);
    converse(&c, &(struct link_style){0}, NULL);
    /* its header, and every packet */
    assert_int_equal(cut_everywhere(c.data, c.len, NULL, &whole), c.packets + 1);
    has_everything(&whole, &c, false);
    capture_done(&c);
}

static void a_pcapng_file_cut_at_every_byte(void **state)
{
    struct capture c;
    struct outcome whole;
    capture_begin(&c, CAPTURE_PCAPNG, true, 1);
    capture_block(&c, 5, "statistics", 10);
    converse(&c, &(struct link_style){.ipv6 = true, .vlan_tags = 1}, NULL);
    /* its section, its interface, the statistics and every packet */
    assert_int_equal(cut_everywhere(c.data, c.len, NULL, &whole), c.packets + 3);
    has_everything(&whole, &c, false);
    capture_done(&c);
}

static struct keyring *key_of_the_session(void)
{
    char path[] = "/tmp/larder-keys-XXXXXX";
    struct keyring *keys;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "efcdab8967452301,,%s,%s\n", KEY, KEY) > 0);
    close(fd);
    assert_int_equal(keyring_read(path, &keys, NULL), 0);
    unlink(path);
    return keys;
}

/* The compressed bytes of a capture; to be freed. */
static void *compressed(const struct capture *c, size_t *ret_len)
{
    char path[] = "/tmp/larder-gzip-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    capture_save_gzip(c, path, c->len);
    FILE *f = fopen(path, "rb");
    void *data = malloc(c->len + 1000);
    *ret_len = fread(data, 1, c->len + 1000, f);
    fclose(f);
    close(fd);
    unlink(path);
    return data;
}

static void an_encrypted_one_in_gzip_cut_at_every_byte(void **state)
{
    struct capture c;
    struct outcome whole;
    struct secure_sealer *sealer;
    uint8_t key[16];
    size_t len;
    for (uint8_t i = 0; i < sizeof(key); i++)
        key[i] = i;
    assert_int_equal(secure_sealer_new(SECURE_AES128_CCM, key, &sealer), 0);
    struct keyring *keys = key_of_the_session();
    capture_begin(&c, CAPTURE_PCAP_NS, false, 1);
    converse(&c, &(struct link_style){.padded = true}, sealer);
    void *data = compressed(&c, &len);
    assert_int_equal(cut_everywhere(data, len, keys, &whole), 1);
    has_everything(&whole, &c, true);
    free(data);
    capture_done(&c);
    keyring_free(keys);
    secure_sealer_free(sealer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pcap_file_cut_at_every_byte),
        cmocka_unit_test(a_pcapng_file_cut_at_every_byte),
        cmocka_unit_test(an_encrypted_one_in_gzip_cut_at_every_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
