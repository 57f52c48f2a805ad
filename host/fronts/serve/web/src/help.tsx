// The keys.

import { useEffect, useRef } from "preact/hooks";

const KEYS: [string, string][] = [
  ["n", "new session"],
  ["/", "search the sessions"],
  ["m", "write a message"],
  ["Enter", "send the message; Shift-Enter starts a line"],
  ["w", "go to what waits for you"],
  ["a, e, d", "there: approve, edit or deny the call"],
  ["t", "tools and what they may reach"],
  ["u", "what was used"],
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
