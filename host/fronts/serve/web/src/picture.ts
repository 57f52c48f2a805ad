// What the first bytes of a file say of it. They decide what is shown, and not what a tool says.

/// The most pixels of a picture that is shown; each takes 4 bytes once it is decoded.
export const MOST_PIXELS = 40_000_000;

export interface Picture {
  type: string;
  width: number;
  height: number;
}

/// The type and the size of a picture that a browser shows without running anything in it; null for
/// anything else, and for one whose size cannot be read.
export function picture(data: ArrayBuffer): Picture | null {
  const view = new DataView(data);
  const starts = (at: number, text: string) =>
    at + text.length <= view.byteLength && [...text].every((char, index) => view.getUint8(at + index) === char.charCodeAt(0));
  try {
    if (starts(0, "\x89PNG\r\n\x1a\n") && starts(12, "IHDR")) {
      return { type: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
    }
    if (starts(0, "GIF87a") || starts(0, "GIF89a")) {
      return { type: "image/gif", width: view.getUint16(6, true), height: view.getUint16(8, true) };
    }
    if (starts(0, "\xff\xd8\xff")) return jpeg(view);
    if (starts(0, "RIFF") && starts(8, "WEBP")) return webp(view, starts);
  } catch (error) {
    // The header ends before its size.
    if (!(error instanceof RangeError)) throw error;
  }
  return null;
}

/// The first frame header says the size. Segments before it have a length of their own.
function jpeg(view: DataView): Picture | null {
  let at = 2;
  for (;;) {
    if (view.getUint8(at) !== 0xff) return null;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { type: "image/jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    at += 2 + view.getUint16(at + 2);
  }
}

/// The canvas of the extended format, or the frame of one of the simple ones.
function webp(view: DataView, starts: (at: number, text: string) => boolean): Picture | null {
  const type = "image/webp";
  const low24 = (at: number) => view.getUint16(at, true) | (view.getUint8(at + 2) << 16);
  if (starts(12, "VP8X")) return { type, width: low24(24) + 1, height: low24(27) + 1 };
  if (starts(12, "VP8 ")) return { type, width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  if (starts(12, "VP8L")) {
    const bits = view.getUint32(21, true);
    return { type, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  return null;
}
