/* The frame of SHA-256 (FIPS 180-4) and MD5 (RFC 1321). */
#include <string.h>

#include "hash.h"

void hash_add_blocks(hash_state *state, const unsigned char *data, size_t len, hash_compress compress) {
    while (len > 0) {
        size_t used = (size_t)(state->len % sizeof state->block);
        size_t room = sizeof state->block - used;
        size_t taken = len < room ? len : room;
        memcpy(state->block + used, data, taken);
        state->len += taken;
        data += taken;
        len -= taken;
        if (taken == room) {
            compress(state->words, state->block);
        }
    }
}

void hash_finish_blocks(hash_state *state, hash_compress compress, bool big_endian) {
    static const unsigned char padding[64] = {0x80};
    uint64_t bits = state->len * 8;
    /* One bit, and zeros up to the last 8 bytes of a block. */
    size_t used = (size_t)(state->len % 64);
    hash_add_blocks(state, padding, (used < 56 ? 56 : 120) - used, compress);
    unsigned char length[8];
    for (int i = 0; i < 8; i++) {
        length[i] = (unsigned char)(bits >> 8 * (big_endian ? 7 - i : i));
    }
    hash_add_blocks(state, length, sizeof length, compress);
}
