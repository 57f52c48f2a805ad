/*
 * MD5: RFC 1321. It is no proof that a file is unchanged, but many lists of checksums still use it.
 */
#include <math.h>
#include <string.h>

#include "hash.h"

/* The rotation of the four steps of each round, in bits (3.4). */
static const unsigned TURNS[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};

static uint32_t mix(int round, uint32_t x, uint32_t y, uint32_t z) {
    switch (round) {
    case 0:
        return (x & y) | (~x & z);
    case 1:
        return (x & z) | (y & ~z);
    case 2:
        return x ^ y ^ z;
    default:
        return y ^ (x | ~z);
    }
}

static void compress(uint32_t words[8], const unsigned char block[64]) {
    /* The first word of the block in a round, and the distance to the next one. */
    static const int first[4] = {0, 1, 5, 0};
    static const int stride[4] = {1, 5, 3, 7};
    uint32_t a = words[0];
    uint32_t b = words[1];
    uint32_t c = words[2];
    uint32_t d = words[3];
    for (int i = 0; i < 64; i++) {
        int round = i / 16;
        const unsigned char *at = block + 4 * ((first[round] + stride[round] * i) % 16);
        uint32_t word = (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
        /* The constants are defined by the sine (3.4). */
        uint32_t constant = (uint32_t)(4294967296.0 * fabs(sin(i + 1)));
        uint32_t sum = a + mix(round, b, c, d) + word + constant;
        unsigned turn = TURNS[round][i % 4];
        a = d;
        d = c;
        c = b;
        b += sum << turn | sum >> (32 - turn);
    }
    words[0] += a;
    words[1] += b;
    words[2] += c;
    words[3] += d;
}

static void start(hash_state *state) {
    *state = (hash_state){.words = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
}

static void add(hash_state *state, const unsigned char *data, size_t len) {
    hash_add_blocks(state, data, len, compress);
}

static void finish(hash_state *state, unsigned char *digest) {
    hash_finish_blocks(state, compress, false);
    for (int i = 0; i < 16; i++) {
        digest[i] = (unsigned char)(state->words[i / 4] >> 8 * (i % 4));
    }
}

const hash_algorithm HASH_MD5 = {"md5", 16, start, add, finish};
