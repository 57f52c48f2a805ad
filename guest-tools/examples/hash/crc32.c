/* CRC-32 as in ZIP, gzip and PNG: it finds accidents, not intent. */
#include "hash.h"

static void start(hash_state *state) {
    *state = (hash_state){.words = {UINT32_MAX}};
}

static void add(hash_state *state, const unsigned char *data, size_t len) {
    uint32_t sum = state->words[0];
    for (size_t i = 0; i < len; i++) {
        sum ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            sum = sum & 1 ? sum >> 1 ^ 0xEDB88320 : sum >> 1;
        }
    }
    state->words[0] = sum;
}

static void finish(hash_state *state, unsigned char *digest) {
    for (int i = 0; i < 4; i++) {
        digest[i] = (unsigned char)(~state->words[0] >> (24 - 8 * i));
    }
}

const hash_algorithm HASH_CRC32 = {"crc32", 4, start, add, finish};
