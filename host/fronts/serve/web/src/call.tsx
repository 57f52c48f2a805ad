// A call, its result, and the session of the agent that it started.

import { useContext, useState } from "preact/hooks";
import { bytes } from "./api";
import { Items, useSession } from "./conversation";
import { EffectBadge } from "./effect";
import { duration, size } from "./format";
import { KindIcon } from "./icons";
import { Most } from "./most";
import { LongText, OutputView } from "./output";
import { Arguments } from "./request";
import { RightsContext } from "./rights";
import type { CallItem } from "./session";
import type { AuditEntry } from "./types";

export function CallView({ session, call }: { session: string; call: CallItem }) {
  const [open, setOpen] = useState(false);
  const [state, kind] = outcome(call);
  return (
    <>
      <details class={`call ${kind}`} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <span class={`dot ${kind}`} aria-hidden="true" />
          <KindIcon kind={call.does} />
          <span class="about">{call.words ?? call.tool}</span>
          {call.by && <code class="quiet">({call.by})</code>}
          <span class="quiet">
            {call.state !== "ended" && state}
            {call.ms !== undefined && ` ${duration(call.ms)}`}
          </span>
        </summary>
        {open && <Opened session={session} call={call} />}
      </details>
      {call.lines && <pre class="printed">{call.lines.join("\n")}</pre>}
    </>
  );
}

function Opened({ session, call }: { session: string; call: CallItem }) {
  // The session of an agent is another one.
  const may = useContext(RightsContext);
  return (
    <div class="opened">
      <p class="quiet">
        {call.effect && <EffectBadge effect={call.effect} />}
        {call.rule && ` rule ${call.rule}`}
      </p>
      {call.input && <Arguments input={call.input} />}
      {call.child && !may.isLink && <Agent session={call.child} />}
      {call.output && <OutputView session={session} output={call.output} />}
      {call.whole && <Whole session={session} digest={call.whole} />}
      {call.audit.length > 0 && <Audit audit={call.audit} />}
      {call.limits && <p class="quiet">Used {used(call)}.</p>}
      {call.stdio && (
        <details>
          <summary>Its output streams</summary>
          <LongText text={call.stdio} />
        </details>
      )}
    </div>
  );
}

/// The requests that are shown at first.
const REQUESTS = 50;

function Audit({ audit }: { audit: AuditEntry[] }) {
  return (
    <Most
      items={audit}
      step={REQUESTS}
      within={(entries) => (
        <ul class="audit" aria-label="What it asked for">
          {entries}
        </ul>
      )}
      show={(entry, index) => (
        <li key={index} class={entry.verdict}>
          {entry.verdict} <code>{entry.request}</code>
          {entry.count > 1 && ` ×${entry.count}`} <span class="quiet">{entry.rule}</span>
          {entry.grant && (
            <details>
              <summary>What would allow it</summary>
              <p class="quiet">The smallest grant, for agent.toml:</p>
              <pre tabIndex={0}>{entry.grant}</pre>
            </details>
          )}
        </li>
      )}
    />
  );
}

/// The share of its limits that a call used.
export function used({ ms, used, limits }: CallItem): string {
  if (!limits || !used || ms === undefined) return "";
  const memory = `${size(used.memory)} of ${size(limits["memory-bytes"])} memory`;
  const traffic = used.in + used.out > 0 ? `, ${size(used.in)} read, ${size(used.out)} written` : "";
  return `${duration(ms)} of ${duration(limits["deadline-ms"])}, ${memory}${traffic}`;
}

/// The session of an agent, nested.
function Agent({ session }: { session: string }) {
  const { model, error } = useSession(session);
  return (
    <div class="agent">
      {error ? <p class="error">{error.message}</p> : <Items session={session} model={{ ...model, open: null }} state={model.running ? "running" : "idle"} send={async () => {}} />}
    </div>
  );
}

function Whole({ session, digest }: { session: string; digest: string }) {
  const [text, setText] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const load = () =>
    bytes(`/sessions/${session}/blobs/${digest}`)
      .then((data) => setText(new TextDecoder().decode(data)))
      .catch((error: Error) => setProblem(error.message));
  if (problem) return <p class="error">{problem}</p>;
  if (text !== null) return <LongText text={text} />;
  return (
    <button type="button" class="quiet" onClick={() => void load()}>
      Load the whole result
    </button>
  );
}

/// How a call ended in a word, and its kind for the colour.
export function outcome(call: CallItem): [string, string] {
  if (call.state !== "ended") {
    const progress = call.progress;
    if (!progress) return [call.state, call.state];
    const share = progress.fraction === undefined ? "" : ` ${Math.round(progress.fraction * 100)} %`;
    return [`${progress.message}${share}`, "running"];
  }
  switch (call.output?.type) {
    case "execution-denied":
      return ["denied", "denied"];
    case "error-text":
    case "error-json":
      return ["failed", "failed"];
    default:
      return ["done", "done"];
  }
}
