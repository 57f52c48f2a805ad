// The list of sessions.

import { useState } from "preact/hooks";
import { age, cost } from "./format";
import type { SessionRow, SessionStatus } from "./types";

/// The kinds of statuses, for colours and for the filter.
const KINDS: Record<SessionStatus, string> = {
  new: "ended",
  queued: "waiting",
  running: "running",
  interrupted: "failed",
  "waiting-for-approval": "waiting",
  "waiting-for-answer": "waiting",
  "waiting-for-results": "waiting",
  done: "done",
  "done-with-errors": "failed",
  halted: "ended",
  "over-budget": "ended",
  refused: "ended",
  cancelled: "ended",
  failed: "failed",
};

/// The status of a session in words, and its kind.
export function state(row: SessionRow): [string, string] {
  return [row.status.replaceAll("-", " "), KINDS[row.status] ?? "ended"];
}

export function title(row: SessionRow): string {
  return row.name ?? row.title ?? `Session ${row.session.slice(-8)}`;
}

interface Props {
  sessions: SessionRow[];
  open: string;
  more: boolean;
  showMore: () => void;
}

export function SessionList({ sessions, open, more, showMore }: Props) {
  const [search, setSearch] = useState("");
  const [only, setOnly] = useState("");
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = sessions.filter((row) => {
    const text = `${row.name ?? ""} ${row.title ?? ""} ${row.model ?? ""} ${row.session} ${state(row)[0]}`.toLowerCase();
    return words.every((word) => text.includes(word)) && (only === "" || state(row)[1] === only);
  });
  return (
    <>
      <div class="filters">
        <input id="search" type="search" placeholder="Search" aria-label="Search sessions" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        <select aria-label="State" value={only} onChange={(event) => setOnly(event.currentTarget.value)}>
          <option value="">all</option>
          <option value="waiting">waiting</option>
          <option value="running">running</option>
          <option value="failed">failed</option>
          <option value="done">done</option>
        </select>
      </div>
      <ul class="sessions">
        {shown.map((row) => {
          const [word, kind] = state(row);
          return (
            <li key={row.session}>
              <a href={`#/s/${row.session}`} aria-current={row.session === open ? "page" : undefined}>
                <span class="title">{title(row)}</span>
                <span class="facts">
                  <span class={`dot ${kind}`} aria-hidden="true" />
                  {word} · {age(row.last_ms)}
                  {row.cost_micros ? ` · ${cost(row.cost_micros)}` : ""}
                </span>
              </a>
            </li>
          );
        })}
      </ul>
      {shown.length === 0 && <p class="quiet empty">{sessions.length === 0 ? "No sessions yet." : "No session matches."}</p>}
      {more && (
        <button type="button" class="quiet" onClick={showMore}>
          Show older sessions
        </button>
      )}
    </>
  );
}
