/**
 * A square of one colour as a PNG: a palette of one colour, and an image whose pixels are all its
 * first.
 */

/** The width and the height, in pixels. */
const SIDE = 64;

/** A row: its filter, which is none, and a bit for each pixel. */
const ROW_BYTES = 1 + SIDE / 8;

/** The PNG of a colour, given as red, green and blue. */
export function png(colour) {
  const header = [...word(SIDE), ...word(SIDE), 1, 3, 0, 0, 0];
  return Uint8Array.from([
    ...[0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
    ...chunk("IHDR", header),
    ...chunk("PLTE", [...colour]),
    ...chunk("IDAT", zlib(new Array(SIDE * ROW_BYTES).fill(0))),
    ...chunk("IEND", []),
  ]);
}

/** A chunk: its length, its kind, its data, and the checksum of both. */
function chunk(kind, data) {
  const body = [...new TextEncoder().encode(kind), ...data];
  return [...word(data.length), ...body, ...word(crc32(body))];
}

/** At most 65,535 bytes in the format of zlib, stored as they are. */
function zlib(data) {
  const length = [data.length & 0xff, data.length >> 8];
  return [
    0x78,
    0x01,
    0x01,
    ...length,
    ...length.map((byte) => byte ^ 0xff),
    ...data,
    ...word(adler32(data)),
  ];
}

function crc32(data) {
  let crc = ~0;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    }
  }
  return ~crc;
}

function adler32(data) {
  let [low, high] = [1, 0];
  for (const byte of data) {
    low = (low + byte) % 65521;
    high = (high + low) % 65521;
  }
  return (high << 16) | low;
}

/** A number of 32 bits, its highest byte first. */
function word(value) {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff);
}
