// Results of calls and the files in messages.

import { useMemo, useState } from "preact/hooks";
import { Code } from "./code";
import { size } from "./format";
import { BlobFile, isShown } from "./media";
import { Most } from "./most";
import type { FileData, Json, Output, Part } from "./types";

/// Text beyond this is shown on request, so that a long result does not hold up the page.
const LONG = 4_000;

/// The text that each request adds.
const MORE = 16 * LONG;

/// The parts of a message or a result that are shown at first.
const PARTS = 20;

export function LongText({ text, language, whole = false }: { text: string; language?: string; whole?: boolean }) {
  const [shown, setShown] = useState(whole ? MORE : LONG);
  const rest = text.length - shown;
  return (
    <>
      <Code text={text.slice(0, shown)} {...(language ? { language } : {})} />
      {rest > 0 && (
        <button type="button" class="quiet" onClick={() => setShown(shown + MORE)}>
          Show more ({size(rest)} left)
        </button>
      )}
    </>
  );
}

/// A text as a paragraph, and a long one in parts.
export function Prose({ text }: { text: string }) {
  return text.length > LONG ? <LongText text={text} /> : <p class="prompt">{text}</p>;
}

export function JsonView({ value }: { value: Json }) {
  const text = useMemo(() => JSON.stringify(value, null, 2), [value]);
  return <LongText text={text} language="json" />;
}

export function OutputView({ session, output }: { session: string; output: Output }) {
  switch (output.type) {
    case "text":
      return <LongText text={output.value} />;
    case "error-text":
      return (
        <div class="failed">
          <LongText text={output.value} />
        </div>
      );
    case "json":
      return <JsonView value={output.value} />;
    case "error-json":
      return (
        <div class="failed">
          <JsonView value={output.value} />
        </div>
      );
    case "execution-denied":
      return <p class="denied">Denied{output.reason ? `: ${output.reason}` : "."}</p>;
    case "content":
      return <Parts session={session} parts={output.value} named />;
  }
}

interface PartsProps {
  session: string;
  parts: Part[];
  /// Whether files are only named: those of a result are shown below its call.
  named?: boolean;
}

export function Parts({ session, parts, named = false }: PartsProps) {
  return (
    <Most
      items={parts}
      step={PARTS}
      show={(part, index) =>
        part.type === "text" ? (
          <LongText key={index} text={part.text} />
        ) : (
          <File key={index} session={session} type={part.media_type} data={part.data} name={part.filename ?? ""} wanted={!named && isShown(part.media_type)} />
        )
      }
    />
  );
}

/// The files of a result that can be shown, whether its call is opened or not.
export function ResultMedia({ session, tool, output }: { session: string; tool: string; output: Output | undefined }) {
  const files = output?.type === "content" ? output.value.filter(hasMedia) : [];
  if (files.length === 0) return null;
  return (
    <div class="media">
      <Most
        items={files}
        step={PARTS}
        show={(part, index) => (
          <File key={index} session={session} type={part.media_type} data={part.data} name={part.filename ?? `${part.media_type} of ${tool}`} wanted />
        )}
      />
    </div>
  );
}

type FilePart = Part & { type: "file" };

function hasMedia(part: Part): part is FilePart {
  return part.type === "file" && part.data.type === "blob" && isShown(part.media_type);
}

interface FileProps {
  session: string;
  type: string;
  data: FileData;
  name: string;
  wanted: boolean;
}

function File({ session, type, data, name, wanted }: FileProps) {
  const label = name || type;
  if (data.type === "blob") {
    const { digest, size } = data.value;
    return <BlobFile session={session} digest={digest} bytes={size} label={label} wanted={wanted} />;
  }
  if (data.type === "text") return <LongText text={data.value} />;
  return <p class="file">{data.type === "url" ? `${label}: ${data.value}` : label}</p>;
}
