/**
 * A stand-in for the host, for tests under Node.js. It keeps what a tool reported and hands out
 * what a test prepared.
 */

import type { Answer, Json, Tool } from "./index.js";

/** The calls of tools to the host. */
export interface Recorded {
  /** Messages with the part that is done. */
  progress: { message: string; fraction: number | undefined }[];
  /** The requested changes of the state. */
  deltas: { [name: string]: Json }[];
  /** Questions, in order. */
  questions: { prompt: string; choices: string[]; freeText: boolean }[];
}

/**
 * Starts over: nothing recorded, this state, and these answers, in the order of the questions. A
 * string is a free-text answer and a number is the index of a choice. A question without an answer
 * is answered `unavailable`.
 *
 * @returns what is recorded from here on
 */
export function prepare(given?: {
  state?: object;
  answers?: (string | number | Answer)[];
}): Recorded;

/**
 * Calls a tool, from an input as JSON to the result, without the check of the input that a host
 * makes. `value` is the variant's value, with JSON parsed. An error that would end a component as a
 * trap is thrown.
 */
export function call(tool: Tool, input?: object): Promise<{ kind: string; value: any }>;
