// A session as a table of its steps: what took how long, and which rule decided.

import { outcome } from "./call";
import { count, cost, duration, visible } from "./format";
import type { CallItem, Model, ReplyItem } from "./session";

/// Rows beyond this are left out at first.
const ROWS = 500;

export function Timeline({ model }: { model: Model }) {
  const steps = model.items.filter((item): item is CallItem | ReplyItem => item.kind === "call" || item.kind === "reply");
  const longest = Math.max(1, ...steps.map((step) => step.ms ?? 0));
  const shown = steps.slice(-ROWS);
  return (
    <div class="items scroll" tabIndex={0} role="region" aria-label="Timeline">
      {steps.length > shown.length && <p class="quiet">The last {ROWS} of {count(steps.length)} steps.</p>}
      <table class="timeline">
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Outcome</th>
            <th scope="col">Rule</th>
            <th scope="col">Requests</th>
            <th scope="col">Tokens</th>
            <th scope="col">Time</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((step) => (
            <tr key={step.key}>
              {step.kind === "call" ? <CallCells call={step} /> : <ReplyCells reply={step} />}
              <td class="time">
                {step.ms !== undefined && (
                  <>
                    <progress max={longest} value={step.ms} aria-label="share of the longest step" /> {duration(step.ms)}
                  </>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CallCells({ call }: { call: CallItem }) {
  const denied = call.audit.filter((entry) => entry.verdict === "denied").length;
  return (
    <>
      <td>
        <code>{visible(call.tool)}</code>
      </td>
      <td class={outcome(call)[1]}>{outcome(call)[0]}</td>
      <td>{visible(call.rule ?? "")}</td>
      <td>{call.audit.length > 0 && `${call.audit.length - denied} allowed, ${denied} denied`}</td>
      <td />
    </>
  );
}

function ReplyCells({ reply }: { reply: ReplyItem }) {
  const { usage } = reply;
  return (
    <>
      <td>model{reply.model ? ` ${visible(reply.model)}` : ""}</td>
      <td>{reply.live ? "running" : "done"}</td>
      <td />
      <td />
      <td>
        {usage && `${count(usage.input_tokens)} + ${count(usage.output_tokens)}`}
        {usage?.cost_micros !== undefined && ` (${cost(usage.cost_micros)})`}
      </td>
    </>
  );
}
