/* IP fragments, of either version, back to datagrams. Bounded in number and in time. */
#ifndef LARDER_CAPTURE_FRAGMENT_H
#define LARDER_CAPTURE_FRAGMENT_H

#include <stdbool.h>
#include <stdint.h>

struct fragment {
    uint8_t from[16], to[16];
    uint32_t id;
    uint8_t protocol;
    bool more;
    uint32_t offset;     /* bytes; a multiple of 8 */
    const uint8_t *data; /* borrowed for the call */
    uint32_t captured, length;
    uint64_t time_ns;
};

struct fragments;
struct fragments *fragments_new(void);
struct fragments *fragments_free(struct fragments *f);
/* The datagram's bytes, until the next call, if this fragment completes it: `*ret_captured` of them
 * are there, `*ret_length` were on the wire. NULL where others are missing. */
const uint8_t *fragments_take(struct fragments *f, const struct fragment *piece,
                              uint32_t *ret_captured, uint32_t *ret_length);

#endif
