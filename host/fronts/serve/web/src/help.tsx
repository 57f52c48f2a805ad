// The keys.

import { useEffect, useRef } from "preact/hooks";

const KEYS: [string, string][] = [
  ["n", "new session"],
  ["/", "search the sessions"],
  ["m", "write a message"],
  ["Enter", "send the message; Shift-Enter starts a line"],
  ["w", "go to the pending request"],
  ["a, d, e", "there: allow the call once, deny it, or edit its arguments"],
  ["t", "tools and what they can access"],
  ["u", "usage"],
  ["Ctrl-K", "palette: sessions and commands (⌘K on a Mac)"],
  ["?", "these keys"],
  ["Esc", "close"],
];

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-label="Keys">
      <h2>Keys</h2>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={close}>
        Close
      </button>
    </dialog>
  );
}
