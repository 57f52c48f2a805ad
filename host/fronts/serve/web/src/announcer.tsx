// Tells screen readers which sessions wait, and which ended, since the list was read last; and the
// desktop which wait, if the user wants that.

import { useEffect, useRef, useState } from "preact/hooks";
import { visible } from "./format";
import { state, title } from "./list";
import { canNotify, settings } from "./settings";
import type { SessionRow } from "./types";

/// Tells the desktop of a session that waits, unless the user looks at the page.
function notify(row: SessionRow, word: string): void {
  if (!settings().notify || !canNotify() || document.hasFocus()) return;
  // One session has one notification, which the next one takes the place of.
  const shown = new Notification(visible(title(row)), { body: word, tag: row.session });
  shown.onclick = () => {
    focus();
    location.hash = `#/s/${row.session}`;
  };
}

export function Announcer({ sessions }: { sessions: SessionRow[] }) {
  const known = useRef<Map<string, string> | null>(null);
  const [news, setNews] = useState("");
  useEffect(() => {
    const before = known.current;
    known.current = new Map(sessions.map((row) => [row.session, state(row)[1]]));
    // What was there when the page was opened is no news.
    if (!before) return;
    const said = sessions.flatMap((row) => {
      const [word, kind] = state(row);
      const was = before.get(row.session);
      if (kind === was || kind === "running") return [];
      if (kind === "waiting") {
        notify(row, word);
        return [`${title(row)}: ${word}`];
      }
      return was === undefined ? [] : [`${title(row)}: ${kind === "ended" ? `ended, ${word}` : word}`];
    });
    if (said.length > 0) setNews(`${said.join(". ")}.`);
  }, [sessions]);
  return (
    <p class="unseen" role="status" aria-label="News">
      {news}
    </p>
  );
}
