/* SHA-256: FIPS 180-4. */
#include <string.h>

#include "hash.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2). */
static const uint32_t ROUNDS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The first 32 bits of the fractional parts of the square roots of the first 8 primes (5.3.3). */
static const uint32_t START[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t rotate(uint32_t word, unsigned by) {
    return word >> by | word << (32 - by);
}

static void compress(uint32_t words[8], const unsigned char block[64]) {
    uint32_t schedule[64];
    for (int i = 0; i < 16; i++) {
        const unsigned char *at = block + 4 * i;
        schedule[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t early = schedule[i - 15];
        uint32_t late = schedule[i - 2];
        uint32_t mixed_early = rotate(early, 7) ^ rotate(early, 18) ^ early >> 3;
        uint32_t mixed_late = rotate(late, 17) ^ rotate(late, 19) ^ late >> 10;
        schedule[i] = schedule[i - 16] + mixed_early + schedule[i - 7] + mixed_late;
    }
    /* The working variables a to h of the standard. */
    uint32_t v[8];
    memcpy(v, words, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        uint32_t first = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + choice + ROUNDS[i] + schedule[i];
        uint32_t second = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + majority;
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += first;
        v[0] = first + second;
    }
    for (int i = 0; i < 8; i++) {
        words[i] += v[i];
    }
}

static void start(hash_state *state) {
    *state = (hash_state){0};
    memcpy(state->words, START, sizeof START);
}

static void add(hash_state *state, const unsigned char *data, size_t len) {
    hash_add_blocks(state, data, len, compress);
}

static void finish(hash_state *state, unsigned char *digest) {
    hash_finish_blocks(state, compress, true);
    for (int i = 0; i < 32; i++) {
        digest[i] = (unsigned char)(state->words[i / 4] >> (24 - 8 * (i % 4)));
    }
}

const hash_algorithm HASH_SHA256 = {"sha256", 32, start, add, finish};
