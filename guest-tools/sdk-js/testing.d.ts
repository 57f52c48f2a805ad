/**
 * A stand-in for the host, for tests under Node.js. It keeps what a tool reported and hands out
 * what a test prepared.
 */

import type { Answer, Json, JsonSchema, Tool } from "./index.js";

/** A question as the host gets it. */
export interface Question {
  prompt: string;
  choices: string[];
  freeText: boolean;
  multiple: boolean;
}

/** A form as the host gets it. */
export interface Form {
  prompt: string;
  schema: JsonSchema;
}

/** The calls of tools to the host. */
export interface Recorded {
  /** Messages with the part that is done. */
  progress: { message: string; fraction: number | undefined }[];
  /** The parts of results that were added while calls ran. */
  partial: (
    | { text: string }
    | { mediaType: string; filename: string | undefined; data: Uint8Array }
  )[];
  /** The requested changes of the state. */
  deltas: { [name: string]: Json }[];
  /** Questions and forms, in order. */
  questions: (Question | Form)[];
  /** The message with which the run ends, if it does. */
  halt: string | undefined;
  /** The artifacts as the calls left them, by name. */
  artifacts: Map<string, { mediaType: string; data: Uint8Array }>;
}

/**
 * Starts over: nothing recorded, this state, this context, and these answers, in the order of the
 * questions. A string is a free-text answer, a number is the index of a choice, and a list of
 * numbers are the indexes of several. A question without an answer is answered `unavailable`.
 * Without `artifacts`, the tools have no grant for them.
 *
 * @returns what is recorded from here on
 */
export function prepare(given?: {
  state?: object;
  context?: object;
  answers?: (string | number | readonly number[] | Answer | { kind: "fields"; fields: object })[];
  artifacts?: { [name: string]: { mediaType: string; data: Uint8Array } };
}): Recorded;

/**
 * Calls a tool, from an input as JSON to the result, without the check of the input that a host
 * makes. `value` is the variant's value, with JSON parsed. An error that would end a component as a
 * trap is thrown. A call that fails or is denied changes no state and no artifacts, and does not end
 * the run.
 */
export function call(tool: Tool, input?: object): Promise<{ kind: string; value: any }>;
