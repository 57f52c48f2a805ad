// Code in a fixed-width font, coloured by its language, and a button that copies it.

import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { highlight } from "./highlight";
import { visible } from "./format";

/// The characters of a language's name that are shown.
const LONGEST_NAME = 24;

interface Props {
  text: string;
  language?: string;
  /// Whether it has a button that copies it.
  copies?: boolean;
}

export function Code({ text, language = "", copies = false }: Props) {
  const [coloured, setColoured] = useState<{ text: string; drawn: ComponentChildren } | null>(null);
  useEffect(() => highlight(text, language, (drawn) => setColoured({ text, drawn })), [text, language]);
  const code = (
    <pre tabIndex={0} data-language={language || undefined}>
      <code>{coloured?.text === text ? coloured.drawn : text}</code>
    </pre>
  );
  // A page that came without TLS from another machine has no clipboard.
  if (!copies || !navigator.clipboard) return code;
  return (
    <div class="code">
      <div class="row">
        <span class="quiet grow">{language.slice(0, LONGEST_NAME)}</span>
        <Copy text={text} />
      </div>
      {code}
    </div>
  );
}

/// Copies the text as it is shown: nothing that is hidden reaches a terminal by way of the clipboard.
function Copy({ text }: { text: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), 2_000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = () => {
    const written = navigator.clipboard.writeText(visible(text));
    written.then(() => setSaid("Copied")).catch(() => setSaid("Not allowed"));
  };
  return (
    <>
      <button type="button" class="copy" aria-label={said || "Copy the code"} onClick={copy}>
        {said || "Copy"}
      </button>
      <span class="unseen" role="status">
        {said}
      </span>
    </>
  );
}
