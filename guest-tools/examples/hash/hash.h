/* Digests of bytes that come piece by piece. */
#ifndef HASH_H
#define HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest digest, in bytes. */
#define HASH_MAX_LEN 32

/* A digest under construction. */
typedef struct {
    uint32_t words[8];
    /* The number of bytes so far, and the last block, which is not yet full. */
    uint64_t len;
    unsigned char block[64];
} hash_state;

/* A way to make digests. */
typedef struct {
    /* Its name for the model. */
    const char *name;
    /* The length of its digests, in bytes. */
    size_t len;
    void (*start)(hash_state *state);
    void (*add)(hash_state *state, const unsigned char *data, size_t len);
    void (*finish)(hash_state *state, unsigned char *digest);
} hash_algorithm;

extern const hash_algorithm HASH_SHA256;
extern const hash_algorithm HASH_MD5;
extern const hash_algorithm HASH_CRC32;

/* Takes in a full block of 64 bytes. */
typedef void (*hash_compress)(uint32_t words[8], const unsigned char block[64]);

/*
 * The part that SHA-256 and MD5 share: blocks of 64 bytes, and an end that says how many bits there
 * were, in one or the other byte order.
 */
void hash_add_blocks(hash_state *state, const unsigned char *data, size_t len, hash_compress compress);
void hash_finish_blocks(hash_state *state, hash_compress compress, bool big_endian);

#endif
