// The conversations whose texts have the words of the search field. The server reads a bounded part
// of the sessions for each answer, and continues where the reader asks for it.

import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import { age } from "./format";
import { title, TYPING_MS } from "./list";
import type { SessionRow } from "./types";

/// Shorter words are in most texts.
const LEAST = 3;

/// The answers without a match after which the reader is asked whether to go on.
const MOST_EMPTY = 5;

interface Match extends SessionRow {
  extract: { text: string; is_match: boolean }[];
}

interface Answer {
  matches: Match[];
  next?: string;
}

/// Asks until something is found.
async function ask(text: string, from: string | undefined, isOld: () => boolean): Promise<Answer> {
  let next = from;
  for (let asked = 0; ; asked += 1) {
    const path = `/search?text=${encodeURIComponent(text)}${next === undefined ? "" : `&from=${next}`}`;
    const answer = await get<Answer>(path);
    if (answer.matches.length > 0 || answer.next === undefined || asked === MOST_EMPTY || isOld()) return answer;
    next = answer.next;
  }
}

export function FoundTexts({ search, open }: { search: string; open: string }) {
  const [matches, setMatches] = useState<Match[]>([]);
  const [next, setNext] = useState<string | undefined>();
  const [state, setState] = useState<"idle" | "searching" | "failed">("idle");
  const text = search.trim();
  const take = (before: Match[], from: string | undefined, isOld: () => boolean) => {
    setState("searching");
    return ask(text, from, isOld)
      .then((answer) => {
        if (isOld()) return;
        const known = new Set(before.map(({ session }) => session));
        setMatches([...before, ...answer.matches.filter(({ session }) => !known.has(session))]);
        setNext(answer.next);
        setState("idle");
      })
      .catch(() => isOld() || setState("failed"));
  };
  useEffect(() => {
    setMatches([]);
    setNext(undefined);
    setState("idle");
    if (text.length < LEAST) return;
    let isOld = false;
    const timer = setTimeout(() => void take([], undefined, () => isOld), TYPING_MS);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [text]);
  if (text.length < LEAST) return null;
  const told = { searching: "Searching…", failed: "The texts could not be searched.", idle: matches.length === 0 ? "No text matches." : "" }[state];
  return (
    <section aria-label="In the texts" class="found">
      <h2>In the texts</h2>
      <ul>
        {matches.map((match) => (
          <li key={match.session}>
            <a href={`#/s/${match.session}`} aria-current={match.session === open ? "page" : undefined}>
              <span class="title">{title(match)}</span>
              <span class="extract">
                {match.extract.map(({ text, is_match }, index) => (is_match ? <mark key={index}>{text}</mark> : text))}
              </span>
              <span class="facts">{age(match.last_ms)}</span>
            </a>
          </li>
        ))}
      </ul>
      <p class="quiet empty" role="status">
        {told}
      </p>
      {next !== undefined && state !== "searching" && (
        <button type="button" class="quiet" onClick={() => void take(matches, next, () => false)}>
          Search older conversations
        </button>
      )}
    </section>
  );
}
