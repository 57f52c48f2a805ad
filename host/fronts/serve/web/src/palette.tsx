// The palette: commands and sessions, found by typing and chosen by keys.

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { state, title, useFound } from "./list";
import { changeSettings, DENSITIES, THEMES, useSettings } from "./settings";
import type { SessionRow } from "./types";

/// The most entries that are shown.
const MOST = 50;

interface Entry {
  key: string;
  name: string;
  /// Shown beside the name: a key or a status.
  note: string;
  run: () => void;
}

interface Props {
  sessions: SessionRow[];
  /// Whether there are sessions that are not loaded.
  more: boolean;
  close: () => void;
  help: () => void;
  preferences: () => void;
}

function goTo(hash: string): () => void {
  return () => {
    location.hash = hash;
  };
}

export function Palette({ sessions, more, close, help, preferences }: Props) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const { theme, density } = useSettings();
  const found = useFound(text, more);
  // What is typed next belongs into its field.
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const known = new Set(sessions.map(({ session }) => session));
  const all = [...sessions, ...found.filter(({ session }) => !known.has(session))];
  const entries: Entry[] = [
    { key: "new", name: "New session", note: "n", run: goTo("#/") },
    { key: "tools", name: "Tools", note: "t", run: goTo("#/tools") },
    { key: "memory", name: "Memory", note: "", run: goTo("#/memory") },
    { key: "usage", name: "Usage", note: "u", run: goTo("#/usage") },
    { key: "help", name: "Help: keys", note: "?", run: help },
    { key: "settings", name: "Settings", note: "", run: preferences },
    ...THEMES.filter((one) => one !== theme).map((one) => ({ key: one, name: `Theme: ${one}`, note: "", run: () => changeSettings({ theme: one }) })),
    ...DENSITIES.filter((one) => one !== density).map((one) => ({ key: one, name: `Density: ${one}`, note: "", run: () => changeSettings({ density: one }) })),
    ...all.map((row) => ({ key: row.session, name: title(row), note: state(row)[0], run: goTo(`#/s/${row.session}`) })),
  ];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = entries.filter(({ name, note }) => words.every((word) => `${name} ${note}`.toLowerCase().includes(word))).slice(0, MOST);
  const active = Math.min(at, shown.length - 1);
  useLayoutEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active, text]);
  // The event of a dialog that closes may come late, when the palette is opened again.
  const isOver = useRef(false);
  const end = () => {
    if (isOver.current) return;
    isOver.current = true;
    close();
  };
  // The focus goes back where it was.
  const shut = () => {
    dialog.current?.close();
    end();
  };
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    shut();
    entry.run();
  };
  const pressed = (event: KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: (active + 1) % shown.length, ArrowUp: (active + shown.length - 1) % shown.length };
    if (event.key === "Enter") choose(shown[active]);
    else if (event.key === "Escape") shut();
    else if (event.key in moves && shown.length > 0) setAt(moves[event.key]!);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Palette"
      onClose={end}
      onClick={(event) => {
        if (event.target === dialog.current) shut();
      }}
    >
      <input
        role="combobox"
        aria-label="Go to a session or run a command"
        placeholder="Go to a session or run a command"
        aria-controls="palette-list"
        aria-expanded="true"
        aria-autocomplete="list"
        aria-activedescendant={shown.length > 0 ? `palette-${active}` : undefined}
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={pressed}
      />
      <ul ref={list} role="listbox" id="palette-list" aria-label="Commands and sessions">
        {shown.map((entry, index) => (
          <li key={entry.key} id={`palette-${index}`} role="option" aria-selected={index === active} onClick={() => choose(entry)}>
            <span class="grow">{entry.name}</span>
            {entry.note && <span class="quiet">{entry.note}</span>}
          </li>
        ))}
      </ul>
      <p class={shown.length > 0 ? "unseen" : "quiet"} role="status">
        {shown.length === 0 ? "Nothing matches." : `${shown.length} entries`}
      </p>
    </dialog>
  );
}
