// Sounds and documents by the first bytes of a file.

function startsWith(view: DataView, at: number, text: string): boolean {
  return at + text.length <= view.byteLength && [...text].every((char, index) => view.getUint8(at + index) === char.charCodeAt(0));
}

/// The media type of a sound that a browser plays; null for anything else.
export function sound(data: ArrayBuffer): string | null {
  const view = new DataView(data);
  const starts = (at: number, text: string) => startsWith(view, at, text);
  if (starts(0, "RIFF") && starts(8, "WAVE")) return "audio/wav";
  if (starts(0, "OggS")) return "audio/ogg";
  if (starts(0, "fLaC")) return "audio/flac";
  if (starts(4, "ftypM4A")) return "audio/mp4";
  const isFrame = view.byteLength > 2 && view.getUint8(0) === 0xff && [0xfb, 0xf3, 0xf2].includes(view.getUint8(1));
  return starts(0, "ID3") || isFrame ? "audio/mpeg" : null;
}

/// Whether a file is a PDF, which a browser shows in a viewer of its own and not in this page.
export function isDocument(data: ArrayBuffer): boolean {
  return startsWith(new DataView(data), 0, "%PDF-");
}
