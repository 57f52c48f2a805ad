// A call that waits for approval, in one frame: what it does, what else it can reach, and the
// choices. The host's words are plain; those of the model or a tool stand in a fixed-width font.

import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import { FirstArguments, target } from "./arguments";
import { AlwaysForm, DenyForm, EditForm, RespondForm } from "./choices";
import { changeSize, Diff } from "./diff";
import { EffectBadge } from "./effect";
import { JsonView } from "./output";
import { type Preview, Previews } from "./previews";
import { RightsContext } from "./rights";
import type { Decision, PendingCall, Remember } from "./types";
import { VERDICTS } from "./verdicts";

/// The time for which a call has to be on the screen before a key decides on it.
const SETTLE_MS = 500;

/// The longest target in the first line, in characters.
const LONGEST_TARGET = 200;

/// The form that is open.
type Mode = "" | "always" | "deny" | "edit" | "respond";

interface Props {
  call: PendingCall;
  place: string;
  decision: Decision | undefined;
  busy: boolean;
  decide: (decision: Decision) => void;
  again: () => void;
}

export function ApprovalView({ call, place, decision, busy, decide, again }: Props) {
  const [mode, setMode] = useState<Mode>("");
  const [more, setMore] = useState(false);
  const { call_id } = call;
  const rights = useContext(RightsContext);
  const may = (kind: string) => rights.decide && call.decisions.includes(kind);
  const found = useContext(Previews);
  const preview = found?.get(call_id) ?? {};
  const approve = (remember?: Remember) => decide({ type: "approve", call_id, ...(remember ? { remember } : {}) });
  const toggle = (to: Mode) => () => setMode(mode === to ? "" : to);
  const article = useRef<HTMLElement>(null);
  // The comparison comes after the call, and is a part of what is decided on.
  const drawn = useRef(0);
  useLayoutEffect(() => {
    drawn.current = performance.now();
  }, [found]);
  // What is typed next belongs into the field that was opened, from its first character on.
  useLayoutEffect(() => {
    if (mode) article.current?.querySelector<HTMLElement>("form input:not([type=radio]), form textarea, form [tabindex]")?.focus();
  }, [mode]);
  const pressed = (event: KeyboardEvent) => {
    const isField = (event.target as HTMLElement).closest("input, textarea, select");
    if (isField || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.key === "Escape" && mode) {
      setMode("");
      article.current?.focus();
    }
    // A key that was meant for something else decides nothing.
    if (decision || busy || mode || !found || performance.now() - drawn.current < SETTLE_MS) return;
    const keys: Record<string, [string, () => void]> = {
      a: ["approve", approve],
      d: ["reject", toggle("deny")],
      e: [
        "edit",
        () => {
          setMore(true);
          setMode("edit");
        },
      ],
    };
    const [kind, act] = keys[event.key] ?? [];
    if (!kind || !act || !may(kind)) return;
    event.preventDefault();
    act();
  };
  const moreButton = (
    <button
      type="button"
      class="quiet"
      aria-expanded={more}
      onClick={() => {
        setMore(!more);
        if (mode === "edit" || mode === "respond") setMode("");
      }}
    >
      More
    </button>
  );
  return (
    <article
      ref={article}
      class="approval"
      aria-label={`Approve ${call.tool}?`}
      tabIndex={-1}
      data-call={call_id}
      data-open={decision ? undefined : ""}
      onKeyDown={pressed}
    >
      <Shown call={call} preview={preview} place={place} />
      {decision ? (
        <p>
          <span class="verdict">{VERDICTS[decision.type]}</span>{" "}
          <button type="button" class="quiet" disabled={busy} onClick={again}>
            Change
          </button>
          {moreButton}
        </p>
      ) : (
        <div class="actions">
          {may("approve") && (
            <>
              <button type="button" class="primary" aria-keyshortcuts="a" disabled={busy} onClick={() => approve()}>
                Allow once
              </button>
              {!/^(hook|flow)\./.test(call.rule) && (
                <button type="button" disabled={busy} aria-expanded={mode === "always"} onClick={toggle("always")}>
                  Always allow…
                </button>
              )}
            </>
          )}
          {may("reject") && (
            <button type="button" aria-keyshortcuts="d" disabled={busy} aria-expanded={mode === "deny"} onClick={toggle("deny")}>
              Deny…
            </button>
          )}
          {!rights.decide && <p class="quiet">A token with the role approver decides on this call.</p>}
          {moreButton}
        </div>
      )}
      {!decision && mode === "always" && <AlwaysForm call={call} about={mainArgument(call, preview)} busy={busy} remember={approve} />}
      {!decision && mode === "deny" && (
        <DenyForm busy={busy} give={(reason) => decide({ type: "reject", call_id, ...(reason ? { reason } : {}) })} />
      )}
      {more && (
        <section class="more" aria-label="More about the call">
          {!decision && (
            <div class="actions">
              {may("edit") && (
                <button type="button" aria-keyshortcuts="e" disabled={busy} aria-expanded={mode === "edit"} onClick={toggle("edit")}>
                  Edit the arguments…
                </button>
              )}
              {may("respond") && (
                <button type="button" disabled={busy} aria-expanded={mode === "respond"} onClick={toggle("respond")}>
                  Answer instead of running…
                </button>
              )}
              {may("approve") && (
                <button type="button" disabled={busy} onClick={() => approve({ what: "tool", scope: "session" })}>
                  Allow every call of {call.tool} in this session
                </button>
              )}
              {may("approve") && rights.operate && (
                <button type="button" disabled={busy} onClick={() => approve({ what: "tool", scope: "project" })}>
                  … in this project
                </button>
              )}
            </div>
          )}
          {!decision && mode === "edit" && <EditForm input={call.input} busy={busy} give={(input) => decide({ type: "edit", call_id, input })} />}
          {!decision && mode === "respond" && <RespondForm busy={busy} give={(text) => decide({ type: "respond", call_id, text })} />}
          <Facts call={call} preview={preview} />
        </section>
      )}
    </article>
  );
}

/// The name of the argument whose value stands beside the tool, if it is a text: a path or URL, as the
/// server says. Others stand behind their names.
function mainArgument({ input }: PendingCall, { reach }: Preview): string | undefined {
  if (!reach) return target(input);
  const { target: name } = reach;
  return name !== undefined && typeof input[name] === "string" ? name : undefined;
}

interface ShownProps {
  call: PendingCall;
  preview: Preview;
}

/// The part of a call that a user decides on.
function Shown({ call, preview, place }: ShownProps & { place: string }) {
  const { change, reach, words = [] } = preview;
  const about = mainArgument(call, preview);
  const aim = about === undefined ? "" : String(call.input[about]);
  // One that is cut here is whole among the arguments.
  const isLong = aim.length > LONGEST_TARGET || aim.includes("\n");
  const compared = change?.kind === "compared" ? change : undefined;
  const known = [...(compared?.shows ?? []), ...(about ? [about] : [])].filter((name) => name !== about || !isLong);
  return (
    <>
      <header>
        <code class="tool">{call.tool}</code>
        {aim && <code class="target">{isLong ? `${aim.split("\n")[0]!.slice(0, LONGEST_TARGET)}…` : aim}</code>}
        {!compared && <EffectBadge effect={call.effect} words={reach?.effect} />}
        {compared && <span class="quiet change-size">{changeSize(compared)}</span>}
        {place && <span class="quiet">{place}</span>}
      </header>
      {reach?.is_outside && <p class="reach warning">{reach.beyond}</p>}
      {compared && <Diff rows={compared.is_new ? compared.rows.filter(({ kind }) => kind !== "hunk") : compared.rows} />}
      {change?.kind === "unread" && <p class="quiet">Nothing to compare with: {change.reason}</p>}
      <FirstArguments input={call.input} without={known} />
      {reach?.is_outside && call.description && (
        <p class="quiet">
          The tool says of itself, unchecked: <q>{call.description}</q>
        </p>
      )}
      {reach?.leads_to && (
        <p class="warning">
          Unless a part of the path is a link, it leads to <code>{reach.leads_to}</code>
        </p>
      )}
      {reach?.beyond && !reach.is_outside && <p class="reach quiet">{reach.beyond}</p>}
      {(call.sources ?? []).map(({ pointer, sources }) => (
        <p class="warning" key={pointer}>
          {pointer === "" ? "The model has read untrusted text from " : <><code>{pointer}</code> is untrusted, from </>}
          <code>{sources.join(", ")}</code>
        </p>
      ))}
      {(call.executables ?? []).length > 0 && (
        <p class="warning">
          May rewrite programs: <code>{call.executables!.join(", ")}</code>
        </p>
      )}
      {words.length > 0 && (
        <p class="warning">
          These words mix alphabets, so they may look like other words: <code>{words.join("; ")}</code>
        </p>
      )}
    </>
  );
}

/// Everything else about a call.
function Facts({ call, preview: { reach } }: ShownProps) {
  const facts: [string, string | undefined][] = [
    ["Title, by the tool", call.title],
    ["Description, by the tool", call.description],
    ["Asked by the rule", call.rule],
    ["It comes from", reach?.origin],
    ["Digest of the arguments", call.input_digest],
    ["Digest of the tool, its component and grants", call.identity],
  ];
  return (
    <>
      <dl class="facts-list">
        {facts.map(([name, value]) => value && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <code>{value}</code>
            </dd>
          </div>
        ))}
      </dl>
      <p class="quiet">Exact arguments, as JSON</p>
      <JsonView value={call.input} />
    </>
  );
}
