// Read-only links to a session: they are made, listed and revoked here. The text of a link is shown
// once.

import { useEffect, useRef, useState } from "preact/hooks";
import { change, get, post } from "./api";

interface Link {
  link: string;
  by: string;
  created_at_ms: number;
  expires_at_ms: number;
  single_use: boolean;
  opened: boolean;
}

const HOURS: [number, string][] = [
  [1, "1 hour"],
  [24, "24 hours"],
  [168, "7 days"],
];

const TIME = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

export function Share({ session, close }: { session: string; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const made = useRef<HTMLInputElement>(null);
  const [links, setLinks] = useState<Link[]>([]);
  const [hours, setHours] = useState(24);
  const [single, setSingle] = useState(false);
  const [address, setAddress] = useState("");
  const [told, setTold] = useState("");
  const path = `/sessions/${session}/links`;
  const read = () => get<{ links: Link[] }>(path).then(({ links }) => setLinks(links));
  const attempt = (work: Promise<unknown>) => void work.catch((error: Error) => setTold(error.message));
  useEffect(() => {
    dialog.current?.showModal();
    attempt(read());
  }, []);
  const make = async () => {
    setTold("");
    const { token } = await post<{ token: string }>(path, { hours, single_use: single });
    setAddress(`${location.origin}/#link=${token}`);
    await read();
    made.current?.select();
  };
  const revoke = async (link: string) => {
    await change("DELETE", `${path}/${link}`);
    setTold("Revoked.");
    await read();
  };
  return (
    <dialog ref={dialog} class="share" aria-label="Share" onClose={close}>
      <h2>Share this session</h2>
      <p class="quiet">The holder of a link reads this session while it runs, and cannot write, decide or see another session.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          attempt(make());
        }}
      >
        <fieldset>
          <legend>The link expires after</legend>
          <div class="scopes">
            {HOURS.map(([number, name]) => (
              <label key={number} class="choice">
                <input type="radio" name="hours" checked={hours === number} onChange={() => setHours(number)} />
                {name}
              </label>
            ))}
          </div>
          <label class="choice">
            <input type="checkbox" checked={single} onChange={(event) => setSingle(event.currentTarget.checked)} />
            Only the first browser that opens it
          </label>
        </fieldset>
        <button class="primary">Make a link</button>
      </form>
      {address && (
        <label>
          The link, which is not shown again
          <input ref={made} readOnly value={address} onFocus={(event) => event.currentTarget.select()} />
        </label>
      )}
      <p role="status" class="quiet">
        {told}
      </p>
      {links.length > 0 && (
        <ul class="links" aria-label="Links">
          {links.map((link) => (
            <li key={link.link}>
              <span class="grow">
                until {TIME.format(link.expires_at_ms)}, by {link.by}
                {link.single_use && (link.opened ? ", opened" : ", for one browser")}
              </span>
              <button type="button" class="danger" aria-label={`Revoke the link until ${TIME.format(link.expires_at_ms)}`} onClick={() => attempt(revoke(link.link))}>
                Revoke
              </button>
            </li>
          ))}
        </ul>
      )}
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
