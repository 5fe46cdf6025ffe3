/*
 * Names: UTF-16LE on the wire, UTF-8 inside.
 *
 * Nothing is ever normalised. A lone surrogate survives the way there and back as its three-byte
 * form (WTF-8), so that every name that a server can store has one name here and the other way
 * round.
 */
#ifndef LARDER_BASE_UTF_H
#define LARDER_BASE_UTF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of UTF-8 that `bytes` bytes of UTF-16LE can need at most, without a terminating NUL. */
#define UTF8_MAX_FOR_UTF16(bytes) ((size_t)(bytes) / 2 * 3)

/* Writes at most `cap` bytes, no NUL. Returns the length, or -EINVAL for an odd number of bytes,
 * -ENAMETOOLONG where it does not fit. */
int utf16_to_utf8(const uint8_t *utf16le, size_t bytes, char *out, size_t cap);

/* Writes at most `cap` bytes of UTF-16LE. Returns the bytes written, or -EILSEQ for bytes that are
 * no UTF-8 (overlong forms, above U+10FFFF; the three-byte forms of surrogates are accepted), or
 * -ENAMETOOLONG where it does not fit. */
int utf8_to_utf16(const char *utf8, size_t len, uint8_t *out, size_t cap);

/* The folded form by which names are found: each character to its simple upper case (one to one,
 * Unicode 14, BMP only, as servers do it). In place of `out`, the hash of the folded form is enough
 * for most: see utf8_fold_hash. Invalid bytes fold to themselves. */
uint64_t utf8_fold_hash(const char *utf8, size_t len, uint64_t seed);

/* The next character of `s` (of n > 0 bytes), folded, and how many bytes it takes; an invalid byte
 * is a character of its own, above every real one. */
size_t utf8_next_folded(const char *s, size_t n, uint32_t *ret);

/* Equal after folding? */
bool utf8_fold_equal(const char *a, size_t a_len, const char *b, size_t b_len);

/* Has a byte above 0x7f: our folding and the server's may differ there. */
bool utf8_has_non_ascii(const char *utf8, size_t len);

#endif
