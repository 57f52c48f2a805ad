// What agents remember beyond a session: where each item is from, and how it is trusted or removed.

import { useContext, useEffect, useState } from "preact/hooks";
import { change, get, post } from "./api";
import { Back } from "./back";
import { RightsContext } from "./rights";

interface Item {
  id: string;
  text: string;
  session: string;
  project?: string | null;
  sources: string[];
  at_ms: number;
  expires_ms: number;
}

/// The items that are read at once.
const STEP = 50;

const DAY = new Intl.DateTimeFormat("en", { dateStyle: "medium" });

export function Memory() {
  const rights = useContext(RightsContext);
  const [words, setWords] = useState("");
  const [items, setItems] = useState<Item[]>([]);
  const [more, setMore] = useState(false);
  const [read, setRead] = useState(false);
  const [told, setTold] = useState("");
  const page = async (offset: number) => {
    const path = `/memory?limit=${STEP}&offset=${offset}&words=${encodeURIComponent(words)}`;
    return (await get<{ items: Item[] }>(path)).items;
  };
  const show = (found: Item[], before: Item[]) => {
    setItems([...before, ...found]);
    setMore(found.length === STEP);
    setRead(true);
  };
  const attempt = (work: Promise<unknown>) => void work.catch((error: Error) => setTold(error.message));
  useEffect(() => {
    let stale = false;
    attempt(page(0).then((found) => !stale && show(found, [])));
    return () => {
      stale = true;
    };
  }, [words]);
  const done = async (work: Promise<unknown>, say: string) => {
    await work;
    setTold(say);
    show(await page(0), []);
  };
  return (
    <div class="tools" tabIndex={0} role="region" aria-label="Memory">
      <Back />
      <h1>Memory</h1>
      <label>
        Words <input type="search" value={words} onInput={(event) => setWords(event.currentTarget.value)} />
      </label>
      <p role="status" class="quiet">
        {told}
      </p>
      {read && items.length === 0 && <p class="quiet">{words ? "No item has one of these words." : "Nothing is remembered."}</p>}
      <ul class="plain" aria-label="Items">
        {items.map((item) => (
          <li key={item.id}>
            <p class="description">{item.text}</p>
            {item.sources.length > 0 && <p class="warning">From untrusted sources: {item.sources.join(", ")}</p>}
            <div class="row">
              <span class="quiet grow">
                <a href={`#/s/${item.session}`}>{DAY.format(item.at_ms)}</a>, {item.project ?? "all projects"}, kept until {DAY.format(item.expires_ms)}
              </span>
              {rights.operate && item.sources.length > 0 && (
                <button type="button" aria-label={`Trust ${item.id}`} onClick={() => attempt(done(post(`/memory/${item.id}/trust`, {}), "Trusted."))}>
                  Trust
                </button>
              )}
              {rights.send && (
                <button type="button" class="danger" aria-label={`Forget ${item.id}`} onClick={() => attempt(done(change("DELETE", `/memory/${item.id}`), "Forgotten."))}>
                  Forget
                </button>
              )}
            </div>
          </li>
        ))}
      </ul>
      {more && (
        <button type="button" onClick={() => attempt(page(items.length).then((found) => show(found, items)))}>
          More
        </button>
      )}
    </div>
  );
}
