// Files of the journal: pictures, sounds and documents are shown, anything else can be saved. The
// first bytes of a file decide, and not what a tool says of it.

import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, save } from "./api";
import { count, size } from "./format";
import { isDocument, sound } from "./kinds";
import { MOST_PIXELS, picture } from "./picture";

/// The largest file that is loaded to be shown, in bytes.
const MOST_BYTES = 32 * 1024 * 1024;

/// A file as it is shown, at an address of this page.
interface Loaded {
  kind: "picture" | "sound" | "document";
  type: string;
  url: string;
  width?: number;
  height?: number;
}

/// The media types of which the page shows files.
export function isShown(type: string): boolean {
  return /^(image|audio)\//.test(type) || type === "application/pdf";
}

/// Finds out what a file is; null for one that is not shown.
function recognise(data: ArrayBuffer): Omit<Loaded, "url"> | null {
  const found = picture(data);
  if (found) return { kind: "picture", ...found };
  const audio = sound(data);
  if (audio) return { kind: "sound", type: audio };
  return isDocument(data) ? { kind: "document", type: "application/pdf" } : null;
}

interface Props {
  session: string;
  digest: string;
  bytes: number;
  label: string;
  /// Whether it is shown, and not only named.
  wanted: boolean;
}

export function BlobFile({ session, digest, bytes: length, label, wanted }: Props) {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [problem, setProblem] = useState("");
  const [isOpen, setOpen] = useState(false);
  const path = `/sessions/${session}/blobs/${digest}`;
  useEffect(() => {
    let made: string | null = null;
    let gone = false;
    const load = async () => {
      const data = await bytes(path);
      const found = recognise(data);
      if (!found || gone) return;
      const { width = 0, height = 0 } = found;
      if (width * height > MOST_PIXELS) {
        setProblem(`It has ${count(width)} × ${count(height)} pixels, too many to be shown.`);
        return;
      }
      made = URL.createObjectURL(new Blob([data], { type: found.type }));
      setLoaded({ ...found, url: made });
    };
    if (wanted && length <= MOST_BYTES) load().catch((error: Error) => setProblem(error.message));
    return () => {
      gone = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [path, wanted]);
  const pixels = loaded?.width ? `, ${count(loaded.width)} × ${count(loaded.height ?? 0)}` : "";
  return (
    <figure class="file">
      {loaded?.kind === "picture" && <Picture loaded={loaded} label={label} />}
      {loaded?.kind === "sound" && <audio controls preload="metadata" src={loaded.url} aria-label={label} />}
      {/* The viewer of the browser runs apart from this page. It does not start in a sandboxed frame. */}
      {loaded?.kind === "document" && isOpen && <iframe src={loaded.url} title={label} />}
      <figcaption>
        {label}
        {loaded && `, ${loaded.type}${pixels}`}, {size(length)}{" "}
        {loaded?.kind === "document" && (
          <>
            {navigator.pdfViewerEnabled && (
              <button type="button" class="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
                {isOpen ? "Hide" : "Show"}
              </button>
            )}{" "}
            <a href={loaded.url} target="_blank" rel="noopener">
              Open
            </a>{" "}
          </>
        )}
        <button type="button" class="quiet" onClick={() => void bytes(path).then((data) => save(label, data)).catch((error: Error) => setProblem(error.message))}>
          Save
        </button>
        {problem && <span class="warning"> {problem}</span>}
      </figcaption>
    </figure>
  );
}

/// A picture, which a click shows at its own size.
function Picture({ loaded, label }: { loaded: Loaded; label: string }) {
  const [isZoomed, setZoomed] = useState(false);
  const image = <img src={loaded.url} alt={label} width={loaded.width} height={loaded.height} decoding="async" />;
  return (
    <>
      <button type="button" class="picture" aria-label={`Zoom ${label}`} onClick={() => setZoomed(true)}>
        {image}
      </button>
      {isZoomed && (
        <Zoomed label={label} close={() => setZoomed(false)}>
          {image}
        </Zoomed>
      )}
    </>
  );
}

function Zoomed({ label, close, children }: { label: string; close: () => void; children: preact.ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="zoomed" aria-label={label} onClose={close} onClick={close}>
      <div class="scroll" tabIndex={0}>
        {children}
      </div>
      <button type="button" onClick={close}>
        Close
      </button>
    </dialog>
  );
}
