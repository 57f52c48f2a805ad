// Results of calls and the files in messages.

import { useEffect, useMemo, useState } from "preact/hooks";
import { bytes, save } from "./api";
import { Code } from "./code";
import { count, size } from "./format";
import { Most } from "./most";
import { MOST_PIXELS, picture } from "./picture";
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
      return <Parts session={session} parts={output.value} />;
  }
}

export function Parts({ session, parts }: { session: string; parts: Part[] }) {
  return (
    <Most
      items={parts}
      step={PARTS}
      show={(part, index) =>
        part.type === "text" ? (
          <LongText key={index} text={part.text} />
        ) : (
          <File key={index} session={session} type={part.media_type} data={part.data} name={part.filename ?? ""} />
        )
      }
    />
  );
}

function File(props: { session: string; type: string; data: FileData; name: string }) {
  const { session, type, data, name } = props;
  const label = name || type;
  if (data.type === "blob") {
    const { digest, size } = data.value;
    return <BlobFile session={session} digest={digest} bytes={size} label={label} wanted={type.startsWith("image/")} />;
  }
  if (data.type === "text") return <LongText text={data.value} />;
  return <p class="file">{data.type === "url" ? `${label}: ${data.value}` : label}</p>;
}

/// A file of the journal: a picture is shown, anything else can be saved. Its first bytes decide, and
/// not what a tool says of it.
export function BlobFile(props: { session: string; digest: string; bytes: number; label: string; wanted: boolean }) {
  const { session, digest, label, wanted } = props;
  const [url, setUrl] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const path = `/sessions/${session}/blobs/${digest}`;
  useEffect(() => {
    let made: string | null = null;
    let gone = false;
    const load = async () => {
      const data = await bytes(path);
      const found = picture(data);
      if (!found || gone) return;
      const { type, width, height } = found;
      if (width * height > MOST_PIXELS) {
        setProblem(`It has ${count(width)} × ${count(height)} pixels, too many to be shown.`);
        return;
      }
      made = URL.createObjectURL(new Blob([data], { type }));
      setUrl(made);
    };
    if (wanted) load().catch((error: Error) => setProblem(error.message));
    return () => {
      gone = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [path, wanted]);
  return (
    <figure class="file">
      {url && <img src={url} alt={label} decoding="async" />}
      <figcaption>
        {label}, {size(props.bytes)}{" "}
        <button type="button" class="quiet" onClick={() => void bytes(path).then((data) => save(label, data)).catch((error: Error) => setProblem(error.message))}>
          Save
        </button>
        {problem && <span class="warning"> {problem}</span>}
      </figcaption>
    </figure>
  );
}
