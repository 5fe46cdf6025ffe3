/* The one entry of every fuzz target, called by libFuzzer or by replay.c. */
#ifndef LARDER_TESTS_FUZZ_H
#define LARDER_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
