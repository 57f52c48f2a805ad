// A session: its conversation, what it waits for, and the field for the next message.

import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Explained } from "./explained";
import { ApiError, bytes, change, post, save, watch, type Connection } from "./api";
import { Back } from "./back";
import { Composer } from "./composer";
import { count, cost, duration } from "./format";
import { Graph } from "./graph";
import { Files } from "./files";
import { Guarded } from "./guarded";
import { Markdown } from "./markdown";
import { Parts, Prose } from "./output";
import { RequestView } from "./request";
import { RightsContext } from "./rights";
import { Share } from "./share";
import { apply, interrupted, newModel, stepStart, type CallItem, type Item, type Model } from "./session";
import { bySteps, StepView } from "./step";
import { Timeline } from "./timeline";
import { title } from "./list";
import { UndoReport, undo, type Undone } from "./undo";
import type { AnswerForm, Continuation, Line, Run, SessionRow } from "./types";

/// The views of a session.
const TABS = ["conversation", "timeline", "graph", "files", "access"] as const;

/// Those that need no more than its events.
const OF_EVENTS = ["conversation", "timeline"];

/// The items that are shown at first, from the end, and those that are shown at most.
const WINDOW = 120;
const MOST = 600;

/// A batch of more lines is a part of a long session that is read from its start. It is drawn at this
/// interval, since each drawing has other items.
const MANY_LINES = 50;
const CATCH_UP_MS = 120;

/// Follows a session. The result changes at most once for each frame.
export function useSession(session: string): { model: Model; connection: Connection; error: ApiError | null } {
  const [model] = useState(newModel);
  const [, redraw] = useState(0);
  const [connection, setConnection] = useState<Connection>("connecting");
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    let frame = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = () => {
      timer = undefined;
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        redraw(model.version);
      });
    };
    const onLines = (lines: Line[]) => {
      apply(model, lines);
      if (lines.length <= MANY_LINES && timer === undefined) draw();
      else timer ??= setTimeout(draw, CATCH_UP_MS);
    };
    const stop = watch(
      session,
      onLines,
      (state, problem) => {
        if (state === "connecting" || state === "lost") {
          interrupted(model);
        }
        setConnection(state);
        setError(problem ?? null);
      },
    );
    return () => {
      stop();
      clearTimeout(timer);
      cancelAnimationFrame(frame);
    };
  }, [session, model]);
  return { model, connection, error };
}

interface Props {
  session: string;
  row: SessionRow | undefined;
  refresh: () => Promise<void>;
}

export function Conversation({ session, row, refresh }: Props) {
  const { model, connection, error } = useSession(session);
  const [tab, setTab] = useState<(typeof TABS)[number]>("conversation");
  const [problem, setProblem] = useState("");
  const [undone, setUndone] = useState<Undone | null>(null);
  const running = row?.running ?? model.running;
  const may = useContext(RightsContext);
  // A lost stream is the first sign of a server that is gone.
  useEffect(() => {
    if (connection === "lost") void refresh();
  }, [connection, refresh]);
  // The turn has no end, and the server, which knows no further event of it, does not run it.
  const isOver = row !== undefined && !row.running && row.events === model.events;
  const isRunning = model.running && !isOver;
  const isInterrupted = model.running && isOver && !model.answered;
  // A server that is gone, or that another one has taken the place of, is told at the top.
  useEffect(() => {
    if (connection !== "connecting") void refresh();
  }, [connection]);
  // The list has the state of the session, too.
  useEffect(() => {
    if (model.outcome !== null) void refresh();
  }, [model.outcome, model.running, model.open?.request]);
  const act = async (what: () => Promise<unknown>) => {
    setProblem("");
    try {
      await what();
      await refresh();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  if (error && connection === "refused") {
    return (
      <p class="banner error" role="alert">
        {error.message} {!may.isLink && <a href="#/">Back</a>}
      </p>
    );
  }
  return (
    <div class="session">
      <header>
        {!may.isLink && <Back />}
        <Name session={session} row={row} act={act} />
        <span class="quiet facts">
          {connection === "lost" && <span class="warning">connecting again… </span>}
          {(row?.model ?? model.chosen) && <span class="model">{row?.model ?? model.chosen} </span>}
          {row?.cost_micros ? cost(row.cost_micros) : ""}
        </span>
        <div class="actions">
          {TABS.filter((name) => !may.isLink || OF_EVENTS.includes(name)).map((name) => (
            <button key={name} type="button" class="quiet" aria-pressed={tab === name} onClick={() => setTab(name)}>
              {name[0]!.toUpperCase() + name.slice(1)}
            </button>
          ))}
          {isRunning && may.send && (
            <button type="button" onClick={() => void act(() => post(`/sessions/${session}/cancel`))}>
              Stop
            </button>
          )}
          {!may.isLink && <More session={session} running={running} act={act} undone={setUndone} />}
        </div>
      </header>
      {problem && (
        <p class="banner error" role="alert">
          {problem}
        </p>
      )}
      {undone && (
        <UndoReport
          undone={undone}
          close={() => setUndone(null)}
          force={() => void act(async () => setUndone(await undo(session, true)))}
        />
      )}
      {row?.run && <Placed run={row.run} />}
      {tab === "timeline" ? (
        <Timeline model={model} />
      ) : tab === "graph" ? (
        <Graph session={session} version={model.items.length} />
      ) : tab === "files" ? (
        <Files session={session} version={model.items.length} />
      ) : tab === "access" ? (
        <Explained session={session} version={model.items.length} />
      ) : (
        <Items
          session={session}
          model={model}
          state={isRunning ? "running" : isInterrupted ? "interrupted" : "idle"}
          resume={() => void act(() => post(`/sessions/${session}/resume`))}
          send={(form) => answer(session, model.open, form)}
        />
      )}
      {may.send && (
        <Composer
          label={model.open ? "Say something else instead" : "Message"}
          button="Send"
          disabled={isRunning ? "It is running." : ""}
          send={async (draft) => {
            await post(`/sessions/${session}/messages`, draft);
          }}
        />
      )}
    </div>
  );
}

/// Answers what a session waits for.
async function answer(session: string, open: Continuation | null, form: AnswerForm): Promise<void> {
  if (!open) throw new Error("It was answered already.");
  const number = open.request.slice(open.request.lastIndexOf("/") + 1);
  await post(`/sessions/${session}/requests/${number}/answer`, { continuation: open, ...form });
}

type Act = (what: () => Promise<unknown>) => Promise<void>;

function Name({ session, row, act }: { session: string; row: SessionRow | undefined; act: Act }) {
  const [name, setName] = useState<string | null>(null);
  if (name === null) {
    return (
      <h1 class="grow">
        {row ? title(row) : `Session ${session.slice(-8)}`}{" "}
        {useContext(RightsContext).send && (
          <button type="button" class="quiet" aria-label="Rename" title="Rename" onClick={() => setName(row?.name ?? "")}>
            ✎
          </button>
        )}
      </h1>
    );
  }
  return (
    <form
      class="row grow"
      onSubmit={(event) => {
        event.preventDefault();
        void act(() => change("PATCH", `/sessions/${session}`, { name })).then(() => setName(null));
      }}
    >
      <input aria-label="Name" value={name} autoFocus onInput={(event) => setName(event.currentTarget.value)} />
      <button>Save</button>
      <button type="button" class="quiet" onClick={() => setName(null)}>
        Cancel
      </button>
    </form>
  );
}

/// The host that a run waits for, or on which it stays.
function Placed({ run }: { run: Run }) {
  const states = {
    waiting: "This run waits for a host.",
    running: "",
    interrupted: "The host of this run does not answer; another one continues it.",
    stopped: "No host continues this run by itself.",
  };
  const stays = run.machine ? `It stays on ${run.machine}, which has the directories that it reaches.` : "";
  const text = [states[run.state], run.reason ?? "", stays].filter(Boolean).join(" ");
  return text ? (
    <p class={run.state === "running" ? "quiet" : "note warning"} role="status">
      {text}
    </p>
  ) : null;
}

interface MoreProps {
  session: string;
  running: boolean;
  act: Act;
  undone: (undone: Undone) => void;
}

function More({ session, running, act, undone }: MoreProps) {
  const [sure, setSure] = useState(false);
  const [sharing, setSharing] = useState(false);
  const may = useContext(RightsContext);
  const path = `/sessions/${session}`;
  const saved = (
    <button type="button" onClick={() => void act(async () => save(`${session}.jsonl`, await bytes(`${path}/export`)))}>
      Export
    </button>
  );
  if (!may.send) return saved;
  return (
    <details class="menu">
      <summary>More</summary>
      <div>
        <button
          type="button"
          onClick={() =>
            void act(async () => {
              const copy = await post<{ session: string }>(`${path}/fork`);
              location.hash = `#/s/${copy.session}`;
            })
          }
        >
          Copy into a new session
        </button>
        <button
          type="button"
          disabled={running}
          onClick={(event) => {
            event.currentTarget.closest("details")!.open = false;
            void act(async () => undone(await undo(session, false)));
          }}
        >
          Undo changes to files
        </button>
        {saved}
        {may.share && (
          <button type="button" onClick={() => setSharing(true)}>
            Share…
          </button>
        )}
        {sharing && <Share session={session} close={() => setSharing(false)} />}
        {sure ? (
          <button
            type="button"
            class="danger"
            onClick={() =>
              void act(async () => {
                await change("DELETE", path);
                location.hash = "#/";
              })
            }
          >
            Delete for ever
          </button>
        ) : (
          <button type="button" disabled={running} onClick={() => setSure(true)}>
            Delete…
          </button>
        )}
      </div>
    </details>
  );
}

interface ItemsProps {
  session: string;
  model: Model;
  /// Interrupted is a run that was cut off: by the end of the program, or by a drain.
  state: "running" | "interrupted" | "idle";
  resume?: () => void;
  send: (form: AnswerForm) => Promise<void>;
}

export function Items({ session, model, state, resume, send }: ItemsProps) {
  const may = useContext(RightsContext);
  const [shown, setShown] = useState(WINDOW);
  // The number of the last item that is shown; null for the newest.
  const [last, setLast] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  const [isAway, setAway] = useState(false);
  // Only a user scrolls away from the end; the browser scrolls, too, when sizes become known.
  const byUser = useRef(false);
  const touched = () => (byUser.current = true);
  const list = useRef<HTMLDivElement>(null);
  // The request that was brought into view; what opens inside of it moves nothing.
  const placed = useRef("");
  // Pictures arrive and long texts are parsed later than they are put here.
  useLayoutEffect(() => {
    const toEnd = () => {
      if (!follows.current || !box.current) return;
      const request = list.current!.querySelector<HTMLElement>(":scope > .request");
      const name = request?.dataset["request"] ?? "";
      if (request && placed.current === name) return;
      byUser.current = false;
      box.current.scrollTop = box.current.scrollHeight;
      if (!request) return;
      // One that is taller than the view is read from its start.
      if (request.offsetHeight > box.current.clientHeight) request.scrollIntoView({ block: "start" });
      if (request.ariaBusy === "false") placed.current = name;
    };
    const observer = new ResizeObserver(toEnd);
    observer.observe(list.current!);
    return () => observer.disconnect();
  }, []);
  const end = last ?? model.items.length;
  const first = stepStart(model, Math.max(0, end - shown));
  const showEarlier = () => {
    follows.current = false;
    setShown(Math.min(MOST, shown + WINDOW));
    if (shown + WINDOW > MOST) setLast(end - WINDOW);
  };
  const showNewest = () => {
    follows.current = true;
    setAway(false);
    setShown(WINDOW);
    setLast(null);
    box.current!.scrollTop = box.current!.scrollHeight;
  };
  return (
    <div
      class="items"
      ref={box}
      tabIndex={0}
      role="log"
      aria-label="Conversation"
      onWheel={touched}
      onTouchMove={touched}
      onPointerDown={touched}
      onKeyDown={touched}
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        const isAtEnd = scrollHeight - scrollTop - clientHeight < 60;
        if (isAtEnd || byUser.current) follows.current = isAtEnd;
        setAway(!follows.current);
      }}
    >
      <div class="list" ref={list}>
        {first > 0 && (
          <button type="button" class="quiet" onClick={showEarlier}>
            Show {Math.min(first, WINDOW)} of {count(first)} earlier items
          </button>
        )}
        {bySteps(model.items.slice(first, end)).map((block) =>
          Array.isArray(block) ? (
            <Guarded key={block[0]!.key}>
              <StepView session={session} calls={block} />
            </Guarded>
          ) : (
            <Guarded key={block.key}>
              <ItemView session={session} item={block} />
            </Guarded>
          ),
        )}
        {model.open && may.isLink && <p class="note">This session waits for its user.</p>}
        {model.open && !may.isLink && <RequestView key={model.open.request} continuation={model.open} send={send} />}
        {state === "interrupted" && (
          <p class="note warning" role="status">
            This run was interrupted.{" "}
            {may.send && resume && (
              <button type="button" onClick={resume}>
                Resume
              </button>
            )}
          </p>
        )}
        {state === "running" && !model.open && (
          <p class="quiet working" role="status">
            Working…
          </p>
        )}
      </div>
      {(last !== null || isAway) && (
        <button type="button" class="newest" onClick={showNewest}>
          Go to the newest item
        </button>
      )}
    </div>
  );
}

function ItemView({ session, item }: { session: string; item: Exclude<Item, CallItem> }) {
  switch (item.kind) {
    case "input":
      return (
        <article class="input" aria-label="You">
          {item.parts.map((part, index) =>
            part.type === "text" ? <Prose key={index} text={part.text} /> : <Parts key={index} session={session} parts={[part]} />,
          )}
          {item.by && <p class="quiet">by {item.by}</p>}
        </article>
      );
    case "reply":
      if (item.text === "" && item.reasoning === "") return null;
      return (
        <article class="reply" aria-label="Answer" aria-busy={item.live}>
          {item.reasoning && (
            <details class="reasoning">
              <summary>Reasoning</summary>
              <Prose text={item.reasoning} />
            </details>
          )}
          <Markdown text={item.text} />
        </article>
      );
    case "note":
      return <p class={`note ${item.tone}`}>{item.text}</p>;
    case "end": {
      if (item.outcome !== "done") return null;
      const { input_tokens, output_tokens, cost_micros } = item.total;
      const money = cost_micros === undefined ? "" : ` · ${cost(cost_micros)}`;
      return (
        <p class="figures">
          {count(input_tokens)} tokens in, {count(output_tokens)} out{money} · {duration(item.ms)}
        </p>
      );
    }
  }
}
