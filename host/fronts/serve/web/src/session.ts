// A session as a list of items, from the lines of its stream. Lines only ever add to it.

import type { AuditEntry, CallLimits, CallWords, Continuation, JsonObject, Line, Output, Part, Usage } from "./types";

export type Item = InputItem | ReplyItem | CallItem | NoteItem | EndItem;

interface Base {
  /// Unique in the session, and stable.
  key: string;
}

export interface InputItem extends Base {
  kind: "input";
  parts: Part[];
  by?: string;
}

export interface ReplyItem extends Base {
  kind: "reply";
  text: string;
  reasoning: string;
  /// Whether the text still arrives.
  live: boolean;
  model?: string;
  usage?: Usage;
  ms?: number;
}

export interface CallItem extends Base {
  kind: "call";
  id: string;
  tool: string;
  /// The call in words, and the tool's name, which is shown behind them unless they are the host's.
  words?: string;
  by?: string;
  /// The kind of what it does.
  does?: string;
  /// The reply that requested it, whose calls are one step.
  step?: string;
  /// The times of its first and of its last event, in milliseconds.
  since: number;
  until?: number;
  input: JsonObject | null;
  state: "requested" | "waiting" | "running" | "ended" | "skipped";
  effect?: string;
  rule?: string;
  output?: Output;
  /// The digest of the whole result, where `output` is a preview.
  whole?: string;
  ms?: number;
  progress?: { message: string; fraction?: number };
  /// The last lines that it printed while it runs.
  lines?: string[];
  audit: AuditEntry[];
  /// The most memory that it had at once, in bytes, and the bytes that it read and wrote.
  used?: { memory: number; in: number; out: number };
  /// The limits in force; absent outside of the sandbox.
  limits?: CallLimits;
  /// The session of the agent.
  child?: string;
  stdio?: string;
}

export interface NoteItem extends Base {
  kind: "note";
  text: string;
  tone: "quiet" | "warning" | "error";
}

/// The end of a turn: its figures, and at the end of a run those of the session.
export interface EndItem extends Base {
  kind: "end";
  turn: number;
  outcome: string;
  calls: number;
  usage: Usage;
  total: Usage;
  ms: number;
}

export interface Model {
  items: Item[];
  calls: Map<string, CallItem>;
  /// The newest limits of each tool: an event has them where they differ from those before.
  limits: Map<string, CallLimits>;
  reply: ReplyItem | null;
  /// The open request.
  open: Continuation | null;
  outcome: string | null;
  running: boolean;
  /// Whether the last event of a turn is an answer of the model, after which nothing is left to do.
  answered: boolean;
  /// The number of events of the journal that were read.
  events: number;
  /// Whether live text may have been missed: since the stream was opened, no reply has begun.
  gap: boolean;
  /// The model that was chosen for the session, unless it has that of its agent.
  chosen?: string;
  /// The time of the newest event, in milliseconds.
  now: number;
  /// The number of changes; the view reads the model again when it grows.
  version: number;
}

/// The most lines of a running call that are shown.
const LAST_LINES = 3;

export function newModel(): Model {
  return { items: [], calls: new Map(), limits: new Map(), reply: null, open: null, outcome: null, running: false, answered: false, events: 0, gap: true, now: 0, version: 0 };
}

/// Forgets the text of a reply that has not ended: what comes next of it may be missed, and a server
/// that ended says nothing more of it. The event of the whole reply has all of its text.
export function interrupted(model: Model): void {
  const { reply } = model;
  if (reply) model.items.splice(model.items.lastIndexOf(reply), 1);
  model.reply = null;
  model.gap = true;
  model.version += 1;
}

export function apply(model: Model, lines: Line[]): void {
  for (const line of lines) {
    // What an agent does is in the stream of its own session, too.
    if (line.path?.length) continue;
    if (line.event && line.seq !== model.events) continue;
    if (line.event) {
      model.now = line.at_ms ?? 0;
      record(model, line.seq ?? 0, line.event);
      for (const told of line.calls ?? []) tell(model, told);
    }
    else if (line.live) live(model, line);
  }
  model.version += 1;
}

/// The number of the first item of the step that an item is in.
export function stepStart(model: Model, at: number): number {
  const step = (index: number) => {
    const item = model.items[index];
    return item?.kind === "call" ? item.step : undefined;
  };
  const within = step(at);
  let first = at;
  while (within !== undefined && step(first - 1) === within) first -= 1;
  return first;
}

function push<T extends Item>(model: Model, item: T): T {
  model.items.push(item);
  return item;
}

function note(model: Model, key: string, text: string, tone: NoteItem["tone"] = "quiet"): void {
  push(model, { kind: "note", key, text, tone });
}

function call(model: Model, id: string, tool: string, input: JsonObject | null): CallItem {
  const known = model.calls.get(id);
  if (known) {
    if (input) known.input = input;
    return known;
  }
  const item: CallItem = { kind: "call", key: `call-${id}`, id, tool, input, state: "requested", since: model.now, audit: [] };
  model.calls.set(id, item);
  return push(model, item);
}

/// Takes the words of the host about a call.
function tell(model: Model, { call_id, words, tool, kind }: CallWords): void {
  const item = model.calls.get(call_id);
  if (!item) return;
  item.words = words;
  item.does = kind;
  if (tool) item.by = tool;
}

function replying(model: Model): ReplyItem {
  const text = model.gap ? "… " : "";
  model.reply ??= push(model, { kind: "reply", key: `live-${model.items.length}`, text, reasoning: "", live: true });
  return model.reply;
}

function live(model: Model, line: Line): void {
  switch (line.live) {
    case "text":
      replying(model).text += line.text;
      break;
    case "reasoning":
      replying(model).reasoning += line.text;
      break;
    case "restarted":
      // What comes next is the reply from its start.
      model.gap = false;
      if (model.reply) model.reply.text = model.reply.reasoning = "";
      break;
    case "waiting":
      note(model, `wait-${model.items.length}`, `${line.error} Trying again in ${Math.round(line.wait_ms / 1000)} s.`, "warning");
      break;
    case "note":
      note(model, `note-${model.items.length}`, line.text);
      break;
    case "call-progress": {
      const running = model.calls.get(line.call_id);
      if (running) running.progress = { message: line.message, fraction: line.fraction };
      break;
    }
    case "call-output": {
      const running = model.calls.get(line.call_id);
      const printed = line.text.split("\n").filter((text: string) => text.trim() !== "");
      if (running && running.state !== "ended") running.lines = [...(running.lines ?? []), ...printed].slice(-LAST_LINES);
      break;
    }
  }
}

/// The events that do not belong to a turn.
const BETWEEN_TURNS = ["approval-revoked", "session-forked", "context-set", "files-restored"];

function record(model: Model, seq: number, event: NonNullable<Line["event"]>): void {
  const key = `event-${seq}`;
  model.events = seq + 1;
  if (event.kind !== "turn-ended" && !BETWEEN_TURNS.includes(event.kind)) {
    model.running = true;
    model.open = null;
    model.answered = event.kind === "model-replied" && (event["reply"].tool_calls ?? []).length === 0;
  }
  switch (event.kind) {
    case "run-configured":
      if (event.arguments.model) model.chosen = event.arguments.model;
      break;
    case "session-forked":
      note(model, key, "Copied from another session.");
      break;
    case "input-received":
      push(model, { kind: "input", key, parts: event.message.content ?? [], ...(event.by ? { by: event.by } : {}) });
      break;
    case "model-requested":
      interrupted(model);
      model.gap = false;
      break;
    case "model-replied":
      replied(model, key, event);
      break;
    case "call-received":
    case "call-intended": {
      const item = call(model, event.call_id, event.tool, event.input);
      item.state = "running";
      if (event.effect) item.effect = event.effect;
      if (event.rule) item.rule = event.rule;
      break;
    }
    case "node-intended": {
      const of = event.iteration === undefined ? event.node : `${event.node}[${event.iteration}]`;
      const item = call(model, event.call_id, `${of} · ${event.tool}`, event.input ?? null);
      item.state = "running";
      item.effect = event.effect;
      break;
    }
    case "call-settled":
      settled(model, call(model, event.call_id, event.tool, null), event, event.output);
      break;
    case "node-settled": {
      const { output, error, text } = event.output;
      const shown: Output = output ?? (error ? { type: "error-text", value: error.message } : { type: "text", value: text });
      settled(model, call(model, event.call_id, `${event.node} · ${event.tool}`, null), event, shown);
      break;
    }
    case "node-skipped":
      note(model, key, `Node ${event.node} was skipped.`);
      break;
    case "agent-spawned":
      call(model, event.call_id, event.agent, null).child = event.session;
      break;
    case "approval-requested":
    case "calls-dispatched":
      for (const waiting of event.calls) {
        const item = call(model, waiting.call_id, waiting.tool, waiting.input);
        item.state = "waiting";
        item.effect = waiting.effect;
      }
      break;
    case "question-asked":
      call(model, event.call_id, event.tool, null).state = "waiting";
      break;
    case "answer-received":
      note(model, key, `${event.by ?? "You"} ${event.answer.type === "cancelled" ? "declined to answer" : "answered the question"}.`);
      break;
    case "decision-recorded": {
      const words = event.decisions.map((decision: { type: string }) => DECIDED[decision.type] ?? decision.type);
      note(model, key, `${event.by ?? "You"} ${[...new Set(words)].join(", ")} ${words.length === 1 ? "the call" : `${words.length} calls`}.`);
      break;
    }
    case "approval-remembered":
      note(model, key, `Approval of ${event.rule.tool}${covered(event.rule)} is remembered for this ${event.scope}.`);
      break;
    case "hook-decided":
      note(model, key, `Hook ${event.verdict.hook ?? ""} decided: ${event.verdict.verdict?.kind ?? event.verdict.kind ?? "changed it"}.`, "warning");
      break;
    case "results-referenced":
    case "history-summarised":
      note(model, key, "The conversation was shortened to fit the model's window.");
      break;
    case "files-restored":
      note(model, key, `${event.by ?? "You"} had the changes of calls undone: ${(event.paths as string[]).join(", ")}`);
      break;
    case "turn-interrupted":
      interrupted(model);
      note(model, key, "The program ended during this turn.", "warning");
      break;
    case "repair-requested":
      note(model, key, "The answer did not fit its schema; the model was asked again.", "warning");
      break;
    case "artifact-stored":
      note(model, key, `Stored ${event.name}.`);
      break;
    case "workflow-started":
      note(model, key, `Workflow ${event.workflow} started.`);
      break;
    case "turn-ended":
      ended(model, key, event.outcome, event.by);
      break;
  }
}

/// The calls that a remembered approval covers.
function covered(rule: { pattern?: { pointer: string; glob: string }; "input-digest"?: string }): string {
  if (rule.pattern) return ` with ${rule.pattern.pointer.slice(1)} like ${rule.pattern.glob}`;
  return rule["input-digest"] ? " with these arguments" : "";
}

const DECIDED: Record<string, string> = {
  approve: "approved",
  edit: "changed and approved",
  reject: "denied",
  respond: "answered",
};

function replied(model: Model, key: string, event: NonNullable<Line["event"]>): void {
  const reply = event.reply;
  const item = model.reply ?? { kind: "reply" as const, key, text: "", reasoning: "", live: false };
  item.text = reply.text;
  item.reasoning = reply.reasoning ?? item.reasoning;
  item.live = false;
  item.usage = reply.usage;
  item.ms = event.duration_ms;
  if (reply.provenance) item.model = `${reply.provenance.provider}:${reply.provenance.model}`;
  if (!model.reply) push(model, item);
  model.reply = null;
  for (const requested of reply.tool_calls ?? []) {
    call(model, requested.id, requested.name, requested.input ?? { arguments: requested.raw_arguments }).step = key;
  }
}

function settled(model: Model, item: CallItem, event: NonNullable<Line["event"]>, output: Output): void {
  item.state = "ended";
  item.until = model.now;
  item.output = output;
  const { wall_us, peak_memory_bytes, bytes_in, bytes_out, limits } = event.accounting;
  item.ms = wall_us / 1000;
  item.used = { memory: peak_memory_bytes, in: bytes_in, out: bytes_out };
  if (limits) model.limits.set(event.tool, limits);
  const inForce = model.limits.get(event.tool);
  if (inForce) item.limits = inForce;
  item.audit = event.audit ?? [];
  if (event.rule) item.rule = event.rule;
  if (event.whole) item.whole = event.whole.digest;
  if (event.accounting.stdio) item.stdio = event.accounting.stdio;
  delete item.progress;
  delete item.lines;
}

function ended(model: Model, key: string, outcome: any, by?: string): void {
  model.outcome = outcome.type;
  // What was read of an answer that was stopped stays on this page.
  if (model.reply) model.reply.live = false;
  model.reply = null;
  model.open = outcome.continuation ?? null;
  model.running = outcome.type === "needs-more-turns";
  switch (outcome.type) {
    case "done": {
      // The model wrote references to results that it has not seen; the answer has their values.
      const answer = model.items.filter((item) => item.kind === "reply").at(-1);
      if (answer?.kind === "reply" && answer.text && !outcome.output && !outcome.result) answer.text = outcome.text;
      break;
    }
    case "halted":
      note(model, key, outcome.message || "A tool ended the run.", "warning");
      break;
    case "refusal":
      note(model, key, outcome.text || "The model declined to answer.", "warning");
      break;
    case "cancelled":
      note(model, key, by ? `Stopped by ${by}.` : "Stopped.");
      break;
    case "budget-exceeded":
      note(model, key, `The budget is used up: ${JSON.stringify(outcome.budget)}`, "error");
      break;
    case "error":
      note(model, key, outcome.error.message ?? `The turn failed: ${outcome.error.kind ?? outcome.error.type}`, "error");
      break;
  }
  const { turn, tool_calls, turn_usage, total_usage, duration_ms } = outcome.summary;
  push(model, { kind: "end", key: `${key}-end`, turn, outcome: outcome.type, calls: tool_calls, usage: turn_usage, total: total_usage, ms: duration_ms });
}
