// What a session waits for: approvals, questions, and those of its agents.

import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get } from "./api";
import { FormFields, initial, values } from "./form";
import { Most } from "./most";
import { JsonView, LongText, Prose } from "./output";
import { RightsContext } from "./rights";
import type { AnswerForm, Awaiting, Continuation, Decision, DiffRow, FileChange, JsonObject, PendingCall, Question, Remember } from "./types";

type Send = (form: AnswerForm) => Promise<void>;

/// The change that a call would make, and the reach of its tool.
interface Preview {
  change?: FileChange;
  grants?: string[];
  /// Its words that mix the letters of several scripts.
  words?: string[];
}

/// The previews of the calls by their ids.
const Previews = createContext<Map<string, Preview>>(new Map());

interface Shown {
  changes: { call_id: string; change: FileChange }[];
  reach: { call_id: string; grants: string[] }[];
  mixed: { call_id: string; words: string[] }[];
}

function previews({ changes, reach, mixed }: Shown): Map<string, Preview> {
  const all = new Map<string, Preview>(reach.map(({ call_id, grants }) => [call_id, { grants }]));
  for (const { call_id, change } of changes) all.set(call_id, { ...all.get(call_id), change });
  for (const { call_id, words } of mixed) all.set(call_id, { ...all.get(call_id), words });
  return all;
}

export function RequestView({ continuation, send }: { continuation: Continuation; send: Send }) {
  const [shown, setShown] = useState<Map<string, Preview>>(new Map());
  const { session } = continuation;
  const section = useRef<HTMLElement>(null);
  // Who decided by keys is not sent back to the start of the page.
  useLayoutEffect(
    () => () => {
      const { current } = section;
      if (current?.contains(document.activeElement)) current.closest<HTMLElement>(".items")?.focus();
    },
    [],
  );
  useEffect(() => {
    get<Shown>(`/sessions/${session}/changes`)
      .then((found) => setShown(previews(found)))
      // The arguments are shown in any case.
      .catch(() => {});
  }, [session]);
  return (
    <section ref={section} class="request" aria-label="Waiting for you" data-request={continuation.request}>
      <Previews.Provider value={shown}>
        <Waiting awaiting={continuation.awaiting} send={send} />
      </Previews.Provider>
    </section>
  );
}

/// The time for which a call has to be on the screen before a key decides on it.
const SETTLE_MS = 500;

/// The calls and arguments that are shown at first.
const STEP = 50;

const SIGNS = { hunk: "", same: " ", removed: "-", added: "+" };

function Diff({ rows }: { rows: DiffRow[] }) {
  return (
    <pre class="diff" tabIndex={0} aria-label="Change of the file">
      {rows.map((row, index) => (
        <span key={index} class={row.kind}>
          {SIGNS[row.kind]}
          {row.text.replace(/\n$/, "")}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}

function Waiting({ awaiting, send }: { awaiting: Awaiting; send: Send }) {
  switch (awaiting.kind) {
    case "confirm":
      return <Approvals calls={awaiting.calls} send={send} />;
    case "answer":
      return <QuestionView tool={awaiting.tool} question={awaiting.question} send={send} />;
    case "external":
      return (
        <p>
          {awaiting.calls.length === 1 ? "A call runs" : `${awaiting.calls.length} calls run`} outside of this host. Its
          result comes over the API.
        </p>
      );
    case "children":
      return (
        <>
          {awaiting.children.map((child) => (
            <fieldset key={child.call_id}>
              <legend>{child.program === undefined ? `Agent ${child.agent}` : "Program"}</legend>
              {child.program !== undefined && <pre>{child.program}</pre>}
              <Waiting
                awaiting={child.continuation.awaiting}
                send={(form) => send({ children: [{ call_id: child.call_id, ...form }] })}
              />
            </fieldset>
          ))}
        </>
      );
  }
}

/// The arguments that say what a call is about, the most telling one first.
const TARGETS = ["path", "to", "url", "command", "query", "name"];

/// The name of the argument that says what a call is about.
export function target(input: JsonObject): string | undefined {
  return TARGETS.find((name) => typeof input[name] === "string");
}

function Approvals({ calls, send }: { calls: PendingCall[]; send: Send }) {
  const [decided, setDecided] = useState<Map<string, Decision>>(new Map());
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (all: Map<string, Decision>) => {
    setDecided(all);
    const decisions = calls.flatMap((call) => all.get(call.call_id) ?? []);
    if (decisions.length < calls.length) return;
    setBusy(true);
    try {
      await send({ decisions });
    } catch (error) {
      setProblem((error as Error).message);
      setDecided(new Map());
    } finally {
      setBusy(false);
    }
  };
  const decide = (decision: Decision) => submit(new Map(decided).set(decision.call_id, decision));
  const approveAll = () => submit(new Map(calls.map(({ call_id }) => [call_id, { type: "approve", call_id }])));
  const open = calls.filter((call) => !decided.has(call.call_id));
  const may = useContext(RightsContext);
  return (
    <>
      {calls.length > 1 && (
        <p>
          <strong>{calls.length} calls</strong> wait for approval.{" "}
          {may.decide && (
            <button type="button" disabled={busy} onClick={() => void approveAll()}>
              Approve all
            </button>
          )}
        </p>
      )}
      <Most items={calls} step={STEP} show={(call, index) => (
        <ApprovalView
          key={call.call_id}
          call={call}
          place={calls.length > 1 ? `${index + 1} of ${calls.length}` : ""}
          decision={decided.get(call.call_id)}
          busy={busy}
          decide={decide}
          again={() => {
            const rest = new Map(decided);
            rest.delete(call.call_id);
            setDecided(rest);
          }}
        />
      )} />
      {calls.length > 1 && open.length > 0 && decided.size > 0 && <p class="quiet">{open.length} left to decide.</p>}
      {problem && <p class="error" role="alert">{problem}</p>}
    </>
  );
}

interface ApprovalProps {
  call: PendingCall;
  place: string;
  decision: Decision | undefined;
  busy: boolean;
  decide: (decision: Decision) => void;
  again: () => void;
}

function ApprovalView({ call, place, decision, busy, decide, again }: ApprovalProps) {
  const [mode, setMode] = useState<"" | "deny" | "edit">("");
  const [reason, setReason] = useState("");
  const [text, setText] = useState(() => JSON.stringify(call.input, null, 2));
  const [fault, setFault] = useState("");
  const { call_id } = call;
  const rights = useContext(RightsContext);
  const may = (kind: string) => rights.decide && call.decisions.includes(kind);
  const remembered = (scope: Remember["scope"]) => () => decide({ type: "approve", call_id, remember: { what: "tool", scope } });
  const about = target(call.input);
  const { change, grants = [], words = [] } = useContext(Previews).get(call_id) ?? {};
  const compared = change?.kind === "compared" ? change : undefined;
  const known = [...(compared?.shows ?? []), ...(about ? [about] : [])];
  const edit = () => {
    try {
      const input = JSON.parse(text) as JsonObject;
      if (typeof input !== "object" || input === null || Array.isArray(input)) throw new Error("it is no object");
      decide({ type: "edit", call_id, input });
    } catch (error) {
      setFault(`The arguments are no JSON object: ${(error as Error).message}`);
    }
  };
  const drawn = useRef(performance.now());
  const article = useRef<HTMLElement>(null);
  // What is typed next belongs into the field that was opened, from its first character on.
  useLayoutEffect(() => {
    if (mode) article.current?.querySelector<HTMLElement>("form input, textarea")?.focus();
  }, [mode]);
  const pressed = (event: KeyboardEvent) => {
    const typing = (event.target as HTMLElement).closest("input, textarea, select");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    // A key that was meant for something else decides nothing.
    if (decision || busy || mode || performance.now() - drawn.current < SETTLE_MS) return;
    const keys: Record<string, [string, () => void]> = {
      a: ["approve", () => decide({ type: "approve", call_id })],
      e: ["edit", () => setMode("edit")],
      d: ["reject", () => setMode("deny")],
    };
    const [kind, act] = keys[event.key] ?? [];
    if (!kind || !act || !may(kind)) return;
    event.preventDefault();
    act();
  };
  return (
    <article
      ref={article}
      class="approval"
      aria-label={`Approve ${call.tool}?`}
      tabIndex={-1}
      data-open={decision ? undefined : ""}
      onKeyDown={pressed}
    >
      <header>
        <strong>{call.title ?? call.tool}</strong> {call.title && <code>{call.tool}</code>}
        <span class={`badge ${call.effect}`}>{call.effect}</span>
        <span class="quiet grow">{place}</span>
      </header>
      {about && <p class="target">{String(call.input[about])}</p>}
      {compared && <Diff rows={compared.rows} />}
      {change?.kind === "unread" && <p class="quiet">Nothing to compare with: {change.reason}</p>}
      {(call.executables ?? []).length > 0 && (
        <p class="warning">It may rewrite programs: {call.executables!.join(", ")}</p>
      )}
      {words.length > 0 && (
        <p class="warning">These words mix scripts, so that they may look like others: {words.join("; ")}</p>
      )}
      <Arguments input={call.input} without={known} />
      {grants.length > 0 && <p class="reach quiet">The tool may reach: {grants.join("; ")}.</p>}
      <details>
        <summary>Exact JSON, and the rule</summary>
        <JsonView value={call.input} />
        <p class="quiet">Asked by the rule {call.rule}.</p>
      </details>
      {decision ? (
        <p>
          <span class="quiet">Decided: {decision.type}.</span>{" "}
          <button type="button" class="quiet" disabled={busy} onClick={again}>
            Change
          </button>
        </p>
      ) : (
        <div class="actions">
          {may("approve") && (
            <>
              <button
                type="button"
                class="primary"
                aria-keyshortcuts="a"
                disabled={busy}
                onClick={() => decide({ type: "approve", call_id })}
              >
                Approve
              </button>
              <button type="button" disabled={busy} onClick={remembered("session")}>
                Approve {call.tool} for this session
              </button>
              {rights.operate && (
                <button type="button" disabled={busy} onClick={remembered("project")}>
                  … for this project
                </button>
              )}
            </>
          )}
          {!rights.decide && <p class="quiet">Someone with the role approver must decide on it.</p>}
          {may("edit") && (
            <button type="button" aria-keyshortcuts="e" disabled={busy} aria-expanded={mode === "edit"} onClick={() => setMode(mode === "edit" ? "" : "edit")}>
              Edit…
            </button>
          )}
          {may("reject") && (
            <button type="button" aria-keyshortcuts="d" disabled={busy} aria-expanded={mode === "deny"} onClick={() => setMode(mode === "deny" ? "" : "deny")}>
              Deny…
            </button>
          )}
        </div>
      )}
      {!decision && mode === "deny" && (
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            decide({ type: "reject", call_id, ...(reason ? { reason } : {}) });
          }}
        >
          <label class="grow">
            Reason, for the model (optional)
            <input value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
          </label>
          <button disabled={busy}>Deny</button>
        </form>
      )}
      {!decision && mode === "edit" && (
        <div>
          <label>
            Arguments
            <textarea rows={8} spellcheck={false} value={text} onInput={(event) => setText(event.currentTarget.value)} />
          </label>
          {fault && <p class="error" role="alert">{fault}</p>}
          <button type="button" disabled={busy} onClick={edit}>
            Approve these arguments
          </button>
        </div>
      )}
    </article>
  );
}

/// The arguments for reading: text as text, and what replaces what as a comparison.
export function Arguments({ input, without = [] }: { input: JsonObject; without?: string[] }) {
  const rows = Object.entries(input).filter(([name]) => !without.includes(name));
  return (
    <dl class="arguments">
      <Most items={rows} step={STEP} show={([name, value]) => (
        <div key={name} class={/^old/.test(name) ? "removed" : /^new/.test(name) ? "added" : ""}>
          <dt>{name}</dt>
          <dd>{typeof value === "string" ? <LongText text={value} /> : <JsonView value={value} />}</dd>
        </div>
      )} />
    </dl>
  );
}

function QuestionView({ tool, question, send }: { tool: string; question: Question; send: Send }) {
  const choices = question.choices ?? [];
  const [picked, setPicked] = useState<number[]>([]);
  const [text, setText] = useState("");
  const fields = question.form;
  const [typed, setTyped] = useState(() => initial(fields ?? []));
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const give = async (form: AnswerForm) => {
    setBusy(true);
    try {
      await send(form);
    } catch (error) {
      setProblem((error as Error).message);
    } finally {
      setBusy(false);
    }
  };
  const answer = () => {
    if (fields) return give({ answer: { type: "fields", fields: values(fields, typed) } });
    if (text !== "") return give({ answer: { type: "text", text } });
    if (question.multiple) return give({ answer: { type: "choices", indexes: picked } });
    const [index] = picked;
    return index === undefined ? Promise.resolve() : give({ answer: { type: "choice", index } });
  };
  const mayWrite = !fields && (question.free_text || choices.length === 0);
  return (
    <form
      tabIndex={-1}
      onSubmit={(event) => {
        event.preventDefault();
        void answer();
      }}
    >
      <fieldset disabled={busy || !useContext(RightsContext).send}>
        <legend>
          <code>{tool}</code> asks
        </legend>
        <Prose text={question.prompt} />
        {choices.map((choice, index) => (
          <label key={index} class="choice">
            <input
              type={question.multiple ? "checkbox" : "radio"}
              name="choice"
              checked={picked.includes(index)}
              onChange={(event) => {
                const others = question.multiple ? picked.filter((other) => other !== index) : [];
                setPicked(event.currentTarget.checked ? [...others, index].sort((a, b) => a - b) : others);
              }}
            />
            {choice}
          </label>
        ))}
        {fields && <FormFields fields={fields} typed={typed} set={setTyped} />}
        {mayWrite && (
          <label>
            {choices.length > 0 ? "Or in your own words" : "Answer"}
            <input value={text} onInput={(event) => setText(event.currentTarget.value)} />
          </label>
        )}
        <div class="actions">
          <button class="primary" disabled={!fields && text === "" && picked.length === 0 && !question.multiple}>
            Answer
          </button>
          <button type="button" onClick={() => void give({ answer: { type: "cancelled" } })}>
            Decline
          </button>
        </div>
        {problem && <p class="error" role="alert">{problem}</p>}
      </fieldset>
    </form>
  );
}
