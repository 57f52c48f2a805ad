// A session as a table of its steps: what took how long, what it used of its limits, and which rule
// decided.

import { outcome, used } from "./call";
import { count, cost, duration } from "./format";
import type { CallItem, EndItem, InputItem, Item, Model, ReplyItem } from "./session";
import type { AuditEntry, Usage } from "./types";

/// Rows beyond this are left out.
const ROWS = 200;

/// The requests of a call that are shown.
const REQUESTS = 3;

type Step = CallItem | ReplyItem | EndItem | InputItem;

export function Timeline({ model }: { model: Model }) {
  const steps = model.items.filter((item: Item): item is Step => item.kind !== "note");
  const longest = Math.max(1, ...steps.slice(-ROWS).map((step) => (step.kind === "call" || step.kind === "reply" ? step.ms ?? 0 : 0)));
  return (
    <div class="items scroll" tabIndex={0} role="region" aria-label="Timeline">
      {steps.length > ROWS && (
        <p class="quiet">
          The last {ROWS} of {count(steps.length)} steps; the export of the session has all.
        </p>
      )}
      <table class="timeline">
        <thead>
          <tr>
            {["Step", "Outcome", "Rule", "Requests", "Used", "Time"].map((name) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.slice(-ROWS).map((step) => (
            <tr key={step.key} data-kind={step.kind}>
              <Cells step={step} />
              <td class="time">{step.kind !== "input" && step.ms !== undefined && <Time step={step} longest={longest} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Time({ step, longest }: { step: CallItem | ReplyItem | EndItem; longest: number }) {
  return (
    <>
      {step.kind !== "end" && <progress max={longest} value={step.ms} aria-label="share of the longest step" />} {duration(step.ms ?? 0)}
    </>
  );
}

function Cells({ step }: { step: Step }) {
  switch (step.kind) {
    case "call":
      return <CallCells call={step} />;
    case "reply":
      return (
        <>
          <td>model{step.model ? ` ${step.model}` : ""}</td>
          <td>{step.live ? "running" : "done"}</td>
          <td />
          <td />
          <td>{step.usage && tokens(step.usage)}</td>
        </>
      );
    case "input":
      return <th colSpan={5} scope="rowgroup">{`Message${step.by ? ` by ${step.by}` : ""}`}</th>;
    case "end":
      return (
        <>
          <td>turn {step.turn}</td>
          <td>{step.outcome.replaceAll("-", " ")}</td>
          <td />
          <td>{step.calls > 0 && `${count(step.calls)} ${step.calls === 1 ? "call" : "calls"}`}</td>
          <td>{tokens(step.usage)}</td>
        </>
      );
  }
}

function tokens({ input_tokens, output_tokens, cost_micros }: Usage): string {
  const money = cost_micros === undefined ? "" : `, ${cost(cost_micros)}`;
  return `${count(input_tokens)} + ${count(output_tokens)} tokens${money}`;
}

function CallCells({ call }: { call: CallItem }) {
  const denied = call.audit.filter((entry) => entry.verdict === "denied");
  // What was denied is what one looks for.
  const shown = [...denied, ...call.audit.filter((entry) => entry.verdict === "allowed")];
  return (
    <>
      <td>
        <code>{call.tool}</code>
      </td>
      <td class={outcome(call)[1]}>{outcome(call)[0]}</td>
      <td>{call.rule ?? ""}</td>
      <td class="requests">
        {shown.slice(0, REQUESTS).map((entry, index) => (
          <Request key={index} entry={entry} />
        ))}
        {shown.length > REQUESTS && (
          <div class="quiet">
            {count(shown.length - REQUESTS)} more, {count(denied.length)} denied in all
          </div>
        )}
      </td>
      <td class="used">{used(call)}</td>
    </>
  );
}

function Request({ entry }: { entry: AuditEntry }) {
  return (
    <div>
      <span class={entry.verdict === "denied" ? "error" : "quiet"}>{entry.verdict}</span> <code>{entry.request.slice(0, 120)}</code>{" "}
      <span class="quiet">by {entry.rule}</span>
    </div>
  );
}
