// The parts of the API's values that the page reads. `GET /api/v1/openapi.json` has all of them.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export type SessionStatus =
  | "new"
  | "queued"
  | "running"
  | "interrupted"
  | "waiting-for-approval"
  | "waiting-for-answer"
  | "waiting-for-results"
  | "done"
  | "done-with-errors"
  | "halted"
  | "over-budget"
  | "refused"
  | "cancelled"
  | "failed";

export interface SessionRow {
  session: string;
  status: SessionStatus;
  name: string | null;
  title: string | null;
  directory: string | null;
  model: string | null;
  cost_micros: number | null;
  started_ms: number;
  last_ms: number;
  events: number;
  running: boolean;
  /// Where several hosts share the store.
  run?: Run;
}

export interface Run {
  state: "waiting" | "running" | "interrupted" | "stopped";
  machine?: string;
  reason?: string;
}

export type FileData =
  | { type: "bytes" | "url" | "text"; value: string }
  | { type: "blob"; value: { digest: string; size: number } };

export type Part =
  | { type: "text"; text: string }
  | { type: "file"; media_type: string; data: FileData; filename?: string };

export type Output =
  | { type: "text" | "error-text"; value: string }
  | { type: "json" | "error-json"; value: Json }
  | { type: "content"; value: Part[] }
  | { type: "execution-denied"; reason?: string };

export type Effect = "read-only" | "idempotent" | "effectful";

export interface PendingCall {
  call_id: string;
  tool: string;
  title?: string;
  description?: string;
  effect: Effect;
  input: JsonObject;
  input_digest: string;
  /// The digest of the tool as it was at the request: its component, definition and grants.
  identity?: string;
  executables?: string[];
  /// The untrusted sources of its arguments; without a reference, of what the model had read.
  sources?: { pointer: string; reference?: string; sources: string[] }[];
  rule: string;
  decisions: string[];
}

export interface Question {
  prompt: string;
  choices?: string[];
  free_text: boolean;
  multiple?: boolean;
  form?: FormField[];
}

export interface FormField {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
  default?: Json;
  kind: FieldKind;
}

export type FieldKind =
  | { type: "text"; format?: string; min_length?: number; max_length?: number }
  | { type: "number" | "integer"; minimum?: number; maximum?: number }
  | { type: "boolean" }
  | { type: "one"; choices: { value: string; title?: string }[] };

export type Awaiting =
  | { kind: "confirm"; index: number; calls: PendingCall[] }
  | { kind: "answer"; call_id: string; tool: string; question: Question }
  | { kind: "external"; calls: PendingCall[] }
  | { kind: "children"; children: WaitingChild[] };

export interface WaitingChild {
  call_id: string;
  agent: string;
  program?: string;
  continuation: Continuation;
}

export interface Continuation {
  session: string;
  request: string;
  awaiting: Awaiting;
  expires_at_ms?: number;
}

export interface Remember {
  what: "tool" | "arguments" | { pattern: { pointer: string; glob: string } };
  scope: "session" | "project";
}

export type Decision =
  | { type: "approve"; call_id: string; remember?: Remember }
  | { type: "edit"; call_id: string; input: JsonObject }
  | { type: "reject"; call_id: string; reason?: string }
  | { type: "respond"; call_id: string; text: string };

export type Answer =
  | { type: "text"; text: string }
  | { type: "choice"; index: number }
  | { type: "choices"; indexes: number[] }
  | { type: "fields"; fields: JsonObject }
  | { type: "cancelled" };

/// An answer to a request: exactly one of its fields.
export interface AnswerForm {
  decisions?: Decision[];
  answer?: Answer;
  children?: ({ call_id: string } & AnswerForm)[];
}

export interface DiffRow {
  kind: "hunk" | "same" | "removed" | "added";
  text: string;
}

export type FileChange =
  | { kind: "compared"; is_new: boolean; rows: DiffRow[]; shows: string[] }
  | { kind: "unread"; reason: string };

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cost_micros?: number;
}

export interface AuditEntry {
  request: string;
  verdict: "allowed" | "denied";
  rule: string;
  count: number;
  /// The smallest grant that would allow it, as lines of agent.toml.
  grant?: string;
}

/// Those of a call's limits that the page shows.
export interface CallLimits {
  "deadline-ms": number;
  "memory-bytes": number;
}

export type Role = "viewer" | "user" | "approver" | "operator";

export interface Tool {
  name: string;
  title?: string;
  description: string;
  effect: string;
}

/// A call in the words of the host.
export interface CallWords {
  call_id: string;
  words: string;
  /// The tool's name, unless the words are the host's alone.
  tool?: string;
  kind: string;
}

/// A line of a session's stream: an event of its journal, or something live.
export interface Line {
  seq?: number;
  at_ms?: number;
  event?: { kind: string } & { [key: string]: any };
  live?: string;
  path?: string[];
  /// The calls of the event in words.
  calls?: CallWords[];
  [key: string]: any;
}
