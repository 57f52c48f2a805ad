// The frame: the list of sessions beside what is open, and the keys that work everywhere.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Announcer } from "./announcer";
import { ApiError, get, hasToken, isLink, setToken, takeToken } from "./api";
import { Conversation } from "./conversation";
import { Help } from "./help";
import { LinkedSession } from "./linked";
import { Memory } from "./memory";
import { NewSession } from "./new";
import { SessionList } from "./list";
import { Palette } from "./palette";
import { Preferences } from "./preferences";
import { RightsContext, rightsOf } from "./rights";
import { changeSettings, settings, THEMES, useSettings } from "./settings";
import { Tools } from "./tools";
import type { Role, SessionRow } from "./types";
import { Usage } from "./usage";

/// The most sessions of one answer.
const MOST_ROWS = 500;

/// Sessions change without this page; the list is read again at this interval.
const REFRESH_MS = 4_000;

/// While the server does not answer, it is asked at this interval.
const RETRY_MS = 1_000;

interface Page {
  sessions: SessionRow[];
  next_offset?: number;
}

export function App() {
  const [link, setLink] = useState(isLink);
  useEffect(() => {
    const changed = () => {
      // Another link in the same tab shows another session.
      if (takeToken() && isLink()) location.reload();
      setLink(isLink());
    };
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return link ? <LinkedSession /> : <Sessions />;
}

function Sessions() {
  const [hash, setHash] = useState(location.hash);
  const [sessions, setSessions] = useState<SessionRow[]>([]);
  const [loaded, setLoaded] = useState(false);
  const [limit, setLimit] = useState(100);
  const [more, setMore] = useState(false);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [dialog, setDialog] = useState<"" | "help" | "palette" | "preferences">("");
  const [role, setRole] = useState<Role | null>(null);
  const [links, setLinks] = useState(false);
  const isKnown = useRef(false);

  const refresh = useCallback(async () => {
    try {
      if (!isKnown.current) {
        const health = await get<{ role: Role; links: boolean }>("/health");
        setRole(health.role);
        setLinks(health.links);
        isKnown.current = true;
      }
      const rows: SessionRow[] = [];
      let next: number | undefined = 0;
      while (next !== undefined && next < limit) {
        const page: Page = await get<Page>(`/sessions?limit=${Math.min(MOST_ROWS, limit - next)}&offset=${next}`);
        rows.push(...page.sessions);
        next = page.next_offset;
      }
      // A session that was written to meanwhile has moved into the page before.
      setSessions([...new Map(rows.map((row) => [row.session, row])).values()]);
      setLoaded(true);
      setMore(next !== undefined);
      setProblem(null);
    } catch (error) {
      setProblem(error as ApiError);
      // The next token may have another role.
      if ((error as ApiError).status === 401) isKnown.current = false;
    }
  }, [limit]);

  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  const isAway = problem?.code === "unreachable" || problem?.code === "foreign-answer";
  useEffect(() => void refresh(), [refresh]);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden || settings().notify) void refresh();
    }, isAway ? RETRY_MS : REFRESH_MS);
    return () => clearInterval(timer);
  }, [refresh, isAway]);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) {
        event.preventDefault();
        setDialog((shown) => (shown === "" ? "palette" : shown));
        return;
      }
      const typing = (event.target as HTMLElement).closest("input, textarea, select");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const go: Record<string, () => void> = {
        "?": () => setDialog((shown) => (shown === "" ? "help" : shown)),
        n: () => (location.hash = "#/"),
        t: () => (location.hash = "#/tools"),
        u: () => (location.hash = "#/usage"),
        w: () => document.querySelector<HTMLElement>(".request [data-open], .request form")?.focus(),
        "/": () => document.querySelector<HTMLElement>("#search")?.focus(),
        m: () => document.querySelector<HTMLElement>("#message")?.focus(),
      };
      const action = go[event.key];
      if (action) {
        event.preventDefault();
        action();
      }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);

  // A dialog that another one has taken the place of closes late.
  const close = (name: typeof dialog) => () => setDialog((shown) => (shown === name ? "" : shown));
  if (!hasToken() || problem?.status === 401) return <SignIn problem={problem} retry={refresh} />;
  // What comes first is drawn whole, and moves nothing that is there.
  if (role === null && !problem) return <div class="frame" aria-busy="true" />;
  const session = /^#\/s\/([0-9a-f-]+)/.exec(hash)?.[1];
  return (
    <RightsContext.Provider value={rightsOf(role ?? "viewer", { links })}>
      <div class={`frame ${hash.length > 2 ? "has-open" : ""}`}>
        <nav aria-label="Sessions">
          <header>
            <a href="#/" class="brand">
              agent-host
            </a>
            <a href="#/tools">Tools</a>
            <a href="#/memory">Memory</a>
            <a href="#/usage">Usage</a>
            <ThemeButton />
            <button type="button" class="quiet" aria-label="Settings" title="Settings" onClick={() => setDialog("preferences")}>
              ⚙
            </button>
            <button type="button" class="quiet" aria-label="Keys" title="Keys" onClick={() => setDialog("help")}>
              ?
            </button>
          </header>
          <SessionList sessions={sessions} open={session ?? ""} more={more} showMore={() => setLimit(limit + 200)} />
        </nav>
        <main>
          {problem && (
            <p class="banner error" role="alert">
              {problem.message}
            </p>
          )}
          {role === null ? null : session ? (
            <Conversation key={session} session={session} row={sessions.find((row) => row.session === session)} refresh={refresh} />
          ) : hash === "#/tools" ? (
            <Tools />
          ) : hash === "#/memory" ? (
            <Memory />
          ) : hash === "#/usage" ? (
            <Usage />
          ) : rightsOf(role).send ? (
            <NewSession refresh={refresh} />
          ) : (
            <p class="quiet empty">This token reads sessions. To send messages, open the page with one of the role user.</p>
          )}
        </main>
        {loaded && <Announcer sessions={sessions} />}
        {dialog === "help" && <Help close={close("help")} />}
        {dialog === "preferences" && <Preferences close={close("preferences")} />}
        {dialog === "palette" && (
          <Palette sessions={sessions} more={more} close={close("palette")} help={() => setDialog("help")} preferences={() => setDialog("preferences")} />
        )}
      </div>
    </RightsContext.Provider>
  );
}

function ThemeButton() {
  const { theme } = useSettings();
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
  return (
    <button type="button" class="quiet" aria-label={`Theme: ${theme}`} title={`Theme: ${theme}`} onClick={() => changeSettings({ theme: next })}>
      {{ system: "◐", light: "☀", dark: "☾" }[theme]}
    </button>
  );
}

function SignIn({ problem, retry }: { problem: ApiError | null; retry: () => Promise<void> }) {
  const [token, type] = useState("");
  return (
    <main class="sign-in">
      <h1>agent-host</h1>
      <p>Open the link that <code>agent-host serve</code> printed, or enter its token.</p>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          setToken(token.trim());
          void retry();
        }}
      >
        <label class="grow">
          Token
          <input type="password" value={token} autocomplete="off" onInput={(event) => type(event.currentTarget.value)} />
        </label>
        <button class="primary">Open</button>
      </form>
      {problem && hasToken() && <p class="error" role="alert">{problem.message}</p>}
    </main>
  );
}
