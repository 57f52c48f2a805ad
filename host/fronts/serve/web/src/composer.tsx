// The field for a message, with its files. What is typed stays until it was accepted.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { size } from "./format";
import type { Part } from "./types";

/// The server takes 32 MiB in one request, and base64 adds a third.
const MAX_FILE_BYTES = 20 * 1024 * 1024;

export interface Draft {
  message: string;
  parts: Part[];
}

interface Props {
  label: string;
  button: string;
  disabled?: string;
  /// A text that takes the place of what is typed; another object each time.
  fill?: { text: string } | null;
  send: (draft: Draft) => Promise<void>;
  children?: preact.ComponentChildren;
}

export function Composer({ label, button, disabled = "", fill = null, send, children }: Props) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<File[]>([]);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [over, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    if (!fill) return;
    setText(fill.text);
    field.current?.focus();
  }, [fill]);

  const add = (found: Iterable<File>) => {
    const all = [...found];
    const large = all.find((file) => file.size > MAX_FILE_BYTES);
    if (large) setProblem(`${large.name} has ${size(large.size)}; 20 MiB are allowed.`);
    setFiles((before) => [...before, ...all.filter((file) => file !== large)]);
  };
  // A file that misses the field would be opened in the place of the page.
  useEffect(() => {
    const hasFiles = (event: DragEvent) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    const dragged = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const left = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const dropped = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      setOver(false);
      add(event.dataTransfer!.files);
    };
    addEventListener("dragover", dragged);
    addEventListener("dragleave", left);
    addEventListener("drop", dropped);
    return () => {
      removeEventListener("dragover", dragged);
      removeEventListener("dragleave", left);
      removeEventListener("drop", dropped);
    };
  }, []);
  const submit = async () => {
    if (busy || disabled !== "" || (text.trim() === "" && files.length === 0)) return;
    setBusy(true);
    setProblem("");
    try {
      await send({ message: text, parts: await Promise.all(files.map(part)) });
      setText("");
      setFiles([]);
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      class={`composer ${over ? "over" : ""}`}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {problem && <p class="error" role="alert">{problem}</p>}
      {children}
      <textarea
        ref={field}
        id="message"
        aria-label={label}
        placeholder={label}
        rows={Math.min(12, Math.max(2, text.split("\n").length))}
        value={text}
        readOnly={busy}
        onInput={(event) => setText(event.currentTarget.value)}
        onPaste={(event) => {
          const pasted = [...(event.clipboardData?.files ?? [])];
          if (pasted.length > 0) {
            event.preventDefault();
            add(pasted);
          }
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            void submit();
          }
        }}
      />
      <div class="row">
        <button type="button" class="quiet" onClick={() => picker.current?.click()}>
          Attach
        </button>
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          aria-label="Files"
          onChange={(event) => {
            add(event.currentTarget.files ?? []);
            event.currentTarget.value = "";
          }}
        />
        <span class="grow files">
          {files.map((file, index) => (
            <button
              key={index}
              type="button"
              class="quiet"
              aria-label={`Remove ${file.name}`}
              onClick={() => setFiles(files.filter((other) => other !== file))}
            >
              {file.name} ({size(file.size)}) ×
            </button>
          ))}
        </span>
        <span class="quiet">{disabled}</span>
        <button class="primary" disabled={busy || disabled !== ""}>
          {button}
        </button>
      </div>
    </form>
  );
}

async function part(file: File): Promise<Part> {
  const url = await new Promise<string>((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result));
    reader.onerror = () => failed(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
  const value = url.slice(url.indexOf(",") + 1);
  return {
    type: "file",
    media_type: file.type || "application/octet-stream",
    data: { type: "bytes", value },
    filename: file.name,
  };
}
