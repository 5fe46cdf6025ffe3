/*
 * Feeds every file of the directories named to a fuzz target, one after the other, without
 * libFuzzer: the kept corpus is part of the ordinary test run, under any compiler. Each input lies
 * in memory of exactly its size, so that the address sanitizer sees the first byte read outside.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

static int replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f || fstat(fileno(f), &st) < 0) {
        perror(path);
        return -1;
    }
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size);
    int r = data && fread(data, 1, size, f) == size ? 0 : -1;
    fclose(f);
    if (r == 0) {
        fprintf(stderr, "%s\n", path); /* the last line of a log that ends in a crash */
        LLVMFuzzerTestOneInput(data, size);
    }
    free(data);
    return r;
}

/* The number of files, or -1. */
static int replay_directory(const char *dir)
{
    DIR *d = opendir(dir);
    if (!d) {
        perror(dir);
        return -1;
    }
    int count = 0;
    const struct dirent *e;
    while (count >= 0 && (e = readdir(d))) {
        char path[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        count = replay_file(path) < 0 ? -1 : count + 1;
    }
    closedir(d);
    return count;
}

int main(int argc, char **argv)
{
    int total = 0;
    for (int i = 1; i < argc; i++) {
        int count = replay_directory(argv[i]);
        if (count < 0)
            return 1;
        total += count;
    }
    printf("%d inputs\n", total);
    return total ? 0 : 1; /* an empty corpus is a mistake */
}
