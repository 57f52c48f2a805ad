// The calls of one step, which are those of one reply of the model: a line with their number, kinds
// and time, which opens into the calls.

import { useEffect, useRef, useState } from "preact/hooks";
import { CallView, outcome } from "./call";
import { duration } from "./format";
import { KindIcon, kindWord } from "./icons";
import { ResultMedia } from "./output";
import type { CallItem, Item } from "./session";

/// The time between two drawings of the time that has gone by.
const TICK_MS = 1_000;

/// Joins the calls of each step; what stands alone stays as it is.
export function bySteps(items: Item[]): (Exclude<Item, CallItem> | CallItem[])[] {
  const blocks: (Exclude<Item, CallItem> | CallItem[])[] = [];
  for (const item of items) {
    const last = blocks[blocks.length - 1];
    if (item.kind !== "call") blocks.push(item);
    else if (Array.isArray(last) && item.step !== undefined && last[0]!.step === item.step) last.push(item);
    else blocks.push([item]);
  }
  return blocks;
}

export function StepView({ session, calls }: { session: string; calls: CallItem[] }) {
  const media = calls.map((call) => <ResultMedia key={call.key} session={session} tool={call.tool} output={call.output} />);
  const shown = calls.map((call) => <CallView key={call.key} session={session} call={call} />);
  return (
    <>
      {calls.length === 1 ? shown : <Folded calls={calls}>{shown}</Folded>}
      {media}
    </>
  );
}

/// It is open while it has something to watch or to look into, unless the user says otherwise. What
/// has the focus is not folded away.
function Folded({ calls, children }: { calls: CallItem[]; children: preact.ComponentChildren }) {
  const [chosen, choose] = useState<boolean | null>(null);
  const inside = useRef<HTMLDivElement>(null);
  const isQuiet = calls.every((call) => outcome(call)[1] === "done");
  const isHeld = inside.current?.contains(document.activeElement) ?? false;
  const open = chosen ?? (!isQuiet || isHeld);
  const kinds = [...new Set(calls.map((call) => kindWord(call.does)))];
  const counts = kinds.map((kind) => `${calls.filter((call) => kindWord(call.does) === kind).length} ${kind}`);
  return (
    <details class="step" open={open}>
      <summary
        onClick={(event) => {
          event.preventDefault();
          choose(!open);
        }}
      >
        <span class="kinds">
          {kinds.map((kind) => (
            <KindIcon key={kind} kind={kind} />
          ))}
        </span>
        <span class="about">
          {calls.length} calls<span class="quiet">: {counts.join(", ")}</span>
        </span>
        <span class="quiet">
          {states(calls)} <Elapsed calls={calls} />
        </span>
      </summary>
      <div ref={inside}>{open && children}</div>
    </details>
  );
}

/// The states of calls that have not ended well, or that all have.
function states(calls: CallItem[]): string {
  const words = ["waiting", "requested", "running", "failed", "denied", "skipped"].flatMap((kind) => {
    const number = calls.filter((call) => outcome(call)[1] === kind).length;
    return number > 0 ? [`${number} ${kind}`] : [];
  });
  return words.length > 0 ? words.join(", ") : "done";
}

/// The time from the step's reply to its last result, or until now. It is read on request, and not
/// called out each second.
function Elapsed({ calls }: { calls: CallItem[] }) {
  const [, tick] = useState(0);
  const isRunning = calls.some((call) => call.state === "running");
  useEffect(() => {
    if (!isRunning) return;
    const timer = setInterval(() => tick((ticks) => ticks + 1), TICK_MS);
    return () => clearInterval(timer);
  }, [isRunning]);
  const since = Math.min(...calls.map((call) => call.since));
  const until = isRunning ? Date.now() : Math.max(...calls.map((call) => call.until ?? 0));
  // The clock of the server may be ahead.
  const taken = Math.max(0, until - since);
  return (
    <span class="elapsed" role="timer" aria-live="off">
      {until > 0 && (isRunning ? `${Math.round(taken / 1000)} s` : duration(taken))}
    </span>
  );
}
