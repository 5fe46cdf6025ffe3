/*
 * The property that holds for any bytes whatsoever: what decodes, encodes again and decodes to the
 * same. Both fuzz targets, the corpus replay and the tampering tests are this one function.
 */
#ifndef LARDER_TESTS_ROUNDTRIP_H
#define LARDER_TESTS_ROUNDTRIP_H

#include <stdint.h>

#include "wire/wire.h"

enum direction { REQUEST, RESPONSE };

/* Decodes a frame, each element of it, and every chain inside, checking the property wherever
 * something decoded; aborts with a message where it does not hold. Returns how many bodies decoded,
 * or -EBADMSG where the frame's own chain of elements is broken. A frame that is encrypted or
 * compressed is one body: its header, and the payloads that it says to have. */
int roundtrip_frame(const uint8_t *data, size_t len, enum direction direction);

/* The same for one message, positioned after its header. 0, or -EBADMSG where its body, or a chain
 * in it, is refused. A command that is not spoken here counts as refused. */
int roundtrip_message(const struct wire_header *h, struct rd msg, enum direction direction);

#endif
