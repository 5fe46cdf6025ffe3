/*
 * Writes the part of the corpus that our own encoders can make: every sample, the compounds that a
 * client sends, and what a server answers to them. `make_seeds tests/fuzz/corpus` after a message
 * was added; the files are kept in the tree, so that every run starts from the same ones.
 */
#include <stdio.h>
#include <stdlib.h>

#include "samples.h"

static void write_seed(const char *corpus, enum direction direction, const char *name,
                       const struct wr *w)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s/%s", corpus, direction == REQUEST ? "request" : "response",
             name);
    FILE *f = fopen(path, "wb");
    if (!f || !wr_ok(w) || fwrite(w->buf, 1, w->pos, f) != w->pos || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

static const struct {
    const char *name;
    const char *elements[4];
} compounds[] = {
    {"compound_stat", {"create", "query_info", "close"}},
    {"compound_list", {"create", "query_directory", "query_directory"}},
    {"compound_read", {"create", "read"}},
    {"compound_stat_reply", {"create_reply", "query_info_all_reply", "close_reply"}},
    {"compound_list_reply", {"create_reply", "query_directory_reply", "error_empty_reply"}},
    {"compound_read_reply", {"create_reply", "read_reply"}},
};

int main(int argc, char **argv)
{
    uint8_t buf[2048];
    if (argc != 2) {
        fprintf(stderr, "usage: make_seeds CORPUS\n");
        return 2;
    }
    for (size_t i = 0; i < sample_count; i++) {
        struct wr w = wr_init(buf, sizeof(buf));
        sample_encode(&w, &samples[i]);
        write_seed(argv[1], samples[i].direction, samples[i].name, &w);
    }
    for (size_t i = 0; i < 3; i++) {
        struct wr w = wr_init(buf, sizeof(buf));
        sample_envelopes[i].encode(&w);
        write_seed(argv[1], REQUEST, sample_envelopes[i].name, &w);
        write_seed(argv[1], RESPONSE, sample_envelopes[i].name, &w);
    }
    for (size_t i = 0; i < sizeof(compounds) / sizeof(compounds[0]); i++) {
        const struct sample *elements[4];
        size_t count = 0;
        for (; count < 4 && compounds[i].elements[count]; count++)
            elements[count] = sample_find(compounds[i].elements[count]);
        struct wr w = wr_init(buf, sizeof(buf));
        sample_encode_compound(&w, elements, count);
        write_seed(argv[1], elements[0]->direction, compounds[i].name, &w);
    }
    return 0;
}
