// The list of sessions.

import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import { FoundTexts } from "./found";
import { age, cost, day } from "./format";
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

/// The wait behind a key before the server is asked, and the most sessions that it returns.
export const TYPING_MS = 250;
const FOUND = 100;

/// The sessions that the server finds by the words of their names and titles: those that are not
/// loaded are found, too.
export function useFound(search: string, isPart: boolean): SessionRow[] {
  const [found, setFound] = useState<SessionRow[]>([]);
  useEffect(() => {
    setFound([]);
    if (search.trim() === "" || !isPart) return;
    let isOld = false;
    const ask = () =>
      get<{ sessions: SessionRow[] }>(`/sessions?limit=${FOUND}&search=${encodeURIComponent(search)}`)
        .then(({ sessions }) => isOld || setFound(sessions))
        // The loaded ones are searched in any case.
        .catch(() => {});
    const timer = setTimeout(ask, TYPING_MS);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [search, isPart]);
  return found;
}

/// Sessions by the days on which they were used, the last one first.
function byDay(sessions: SessionRow[]): [string, SessionRow[]][] {
  const days = new Map<string, SessionRow[]>();
  for (const row of sessions) {
    const name = day(row.last_ms);
    days.set(name, [...(days.get(name) ?? []), row]);
  }
  return [...days];
}

export function SessionList({ sessions, open, more, showMore }: Props) {
  const [search, setSearch] = useState("");
  const [only, setOnly] = useState("");
  const found = useFound(search, more);
  const known = new Set(sessions.map(({ session }) => session));
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const loaded = sessions.filter((row) => {
    const text = `${row.name ?? ""} ${row.title ?? ""} ${row.model ?? ""} ${row.session} ${state(row)[0]}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const all = [...loaded, ...found.filter(({ session }) => !known.has(session))];
  const shown = all.filter((row) => only === "" || state(row)[1] === only);
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
      <div class="sessions">
        {byDay(shown).map(([name, rows]) => (
          <section key={name} aria-label={name}>
            <h2>{name}</h2>
            <ul>
              {rows.map((row) => (
                <SessionLink key={row.session} row={row} isOpen={row.session === open} />
              ))}
            </ul>
          </section>
        ))}
        {shown.length === 0 && <p class="quiet empty">{sessions.length === 0 ? "No sessions yet." : "No session matches."}</p>}
        <FoundTexts search={search} open={open} />
        {more && (
          <button type="button" class="quiet" onClick={showMore}>
            Show older sessions
          </button>
        )}
      </div>
    </>
  );
}

function SessionLink({ row, isOpen }: { row: SessionRow; isOpen: boolean }) {
  const [word, kind] = state(row);
  return (
    <li>
      <a href={`#/s/${row.session}`} aria-current={isOpen ? "page" : undefined}>
        <span class="title">{title(row)}</span>
        <span class="facts">
          <span class={`dot ${kind}`} aria-hidden="true" />
          {word} · {age(row.last_ms)}
          {row.cost_micros ? ` · ${cost(row.cost_micros)}` : ""}
        </span>
      </a>
    </li>
  );
}
