/*
 * Writes PNG: a signature, and chunks with a checksum each. The pixels are put into a zlib stream
 * as they are, not compressed.
 */
#include "png.h"

#include <string.h>

/* The most bytes in one stored block of a zlib stream (RFC 1951, 3.2.4). */
#define MAX_BLOCK 65535

/* A buffer that is written from start to end. Its creator knows its final size. */
typedef struct {
    unsigned char *data;
    size_t len;
} bytes;

static void put(bytes *out, const void *data, size_t len) {
    if (len > 0) {
        memcpy(out->data + out->len, data, len);
        out->len += len;
    }
}

static void put_u32(bytes *out, uint32_t number) {
    const unsigned char digits[] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                                    (unsigned char)(number >> 8), (unsigned char)number};
    put(out, digits, sizeof digits);
}

/* The checksum of a chunk: CRC-32. */
static uint32_t crc(const unsigned char *data, size_t len) {
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < len; i++) {
        sum ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            sum = sum & 1 ? sum >> 1 ^ 0xEDB88320 : sum >> 1;
        }
    }
    return ~sum;
}

/* The checksum of a zlib stream: Adler-32. */
static uint32_t adler(const unsigned char *data, size_t len) {
    uint32_t low = 1;
    uint32_t high = 0;
    for (size_t i = 0; i < len; i++) {
        low = (low + data[i]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

static void put_chunk(bytes *out, const char *type, const bytes *content) {
    put_u32(out, (uint32_t)content->len);
    const unsigned char *start = out->data + out->len;
    put(out, type, 4);
    put(out, content->data, content->len);
    put_u32(out, crc(start, content->len + 4));
}

/* A zlib stream of stored blocks. */
static bytes deflate(const bytes *content) {
    size_t blocks = content->len / MAX_BLOCK + 1;
    bytes out = {at_alloc(content->len + blocks * 5 + 6, 1), 0};
    put(&out, "\x78\x01", 2);
    for (size_t start = 0; start < content->len; start += MAX_BLOCK) {
        size_t left = content->len - start;
        size_t len = left < MAX_BLOCK ? left : MAX_BLOCK;
        const unsigned char head[] = {len == left, (unsigned char)len, (unsigned char)(len >> 8), (unsigned char)~len,
                                      (unsigned char)(~len >> 8)};
        put(&out, head, sizeof head);
        put(&out, content->data + start, len);
    }
    put_u32(&out, adler(content->data, content->len));
    return out;
}

at_str png_of_colour(uint32_t width, uint32_t height, const unsigned char colour[3]) {
    if (width == 0 || width > PNG_MAX_SIDE || height == 0 || height > PNG_MAX_SIDE) {
        at_panic("an image of %u by %u pixels cannot be written", (unsigned)width, (unsigned)height);
    }
    /* Every row begins with the number of its filter: 0 for none. */
    bytes rows = {at_alloc(height, 1 + (size_t)width * 3), 0};
    for (uint32_t y = 0; y < height; y++) {
        put(&rows, "\0", 1);
        for (uint32_t x = 0; x < width; x++) {
            put(&rows, colour, 3);
        }
    }
    bytes header = {at_alloc(13, 1), 0};
    put_u32(&header, width);
    put_u32(&header, height);
    /*
     * 8 bits for each of red, green and blue, with the only compression, filters and order that
     * there are.
     */
    put(&header, "\x08\x02\0\0\0", 5);
    bytes pixels = deflate(&rows);
    bytes end = {NULL, 0};

    bytes png = {at_alloc(8 + 3 * 12 + header.len + pixels.len, 1), 0};
    put(&png, "\x89PNG\r\n\x1a\n", 8);
    put_chunk(&png, "IHDR", &header);
    put_chunk(&png, "IDAT", &pixels);
    put_chunk(&png, "IEND", &end);
    return at_bytes(png.data, png.len);
}
