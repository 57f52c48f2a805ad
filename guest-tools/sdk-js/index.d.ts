/**
 * Write a tool for agent-host as a function over a described input. `README.md` has a complete
 * example.
 */

/** A value that has a JSON form. Integers that a `number` cannot hold exactly are `bigint`. */
export type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json };

/** A JSON Schema, or some more of its keywords. */
export type JsonSchema = { [keyword: string]: unknown };

declare const VALUE: unique symbol;
declare const OPTIONAL: unique symbol;

/** A JSON Schema, and the type of what fits it. */
export interface Shape<T> {
  /** The JSON Schema. */
  readonly schema: JsonSchema;
  /** A marker for the compiler only. */
  readonly [VALUE]: T;
}

/** The shape of a field that may be left out. */
export interface Optional<T> extends Shape<T> {
  /** A marker for the compiler only. */
  readonly [OPTIONAL]: true;
}

/** A value that can be converted to a shape. */
export type Shaped = Shape<unknown> | JsonSchema;

/** The type of what fits a shape; anything, for a plain JSON Schema. */
export type Infer<S> = S extends Shape<infer T> ? T : any;

type Fields = { [name: string]: Shaped };
type Open<F> = { [K in keyof F]: F[K] extends Optional<unknown> ? K : never }[keyof F];
type Closed<F> = { [K in keyof F]: F[K] extends Optional<unknown> ? never : K }[keyof F];

/** The type of an object with these fields. */
export type ObjectOf<F> = { [K in Closed<F>]: Infer<F[K]> } & { [K in Open<F>]?: Infer<F[K]> };

/** Text. */
export function string(description?: string, more?: JsonSchema): Shape<string>;

/**
 * An integer that a `number` holds exactly: within 2^53 on both sides of zero, unless `more` has
 * closer bounds. The host refuses values outside.
 */
export function integer(description?: string, more?: JsonSchema): Shape<number>;

/** An integer of any size. */
export function bigint(description?: string, more?: JsonSchema): Shape<bigint>;

/** A number. */
export function number(description?: string, more?: JsonSchema): Shape<number>;

/** True or false. */
export function boolean(description?: string, more?: JsonSchema): Shape<boolean>;

/** Any JSON value. */
export function any(description?: string, more?: JsonSchema): Shape<Json>;

/** One of some strings or numbers. */
export function enumOf<const V extends string | number>(
  values: readonly V[],
  description?: string,
  more?: JsonSchema,
): Shape<V>;

/** A list of values of one shape. */
export function array<S extends Shaped>(
  item: S,
  description?: string,
  more?: JsonSchema,
): Shape<Infer<S>[]>;

/** An object with any fields, whose values are all of one shape. */
export function record<S extends Shaped>(
  value: S,
  description?: string,
  more?: JsonSchema,
): Shape<{ [name: string]: Infer<S> }>;

/** An object with these fields and no others. */
export function object<F extends Fields>(
  fields: F,
  description?: string,
  more?: JsonSchema,
): Shape<ObjectOf<F>>;

/** A field that may be left out. */
export function optional<S extends Shaped>(item: S): Optional<Infer<S>>;

/** A field that may be left out, and is then `fallback`. */
export function optional<S extends Shaped>(item: S, fallback: Infer<S>): Shape<Infer<S>>;

/** The effect that a call may have. The host enforces it. */
export type Effect =
  /** Changes nothing. May run beside others, and again. */
  | "read-only"
  /** Changes something, and a repetition with the same idempotency key changes nothing more. */
  | "idempotent"
  /** Changes something. Never repeated without being asked. */
  | "effectful";

/** The call that a tool is answering. */
export interface Call {
  /** The id of the call, unique in its session. */
  readonly id: string;
  /** The name of the tool. */
  readonly name: string;
  /**
   * A key that is equal for every attempt at this call: pass it on to services that support
   * idempotency keys.
   */
  readonly idempotencyKey: string;
}

/** The definition of a tool. */
export interface Definition<S extends Shaped> {
  /** The name that the model calls: letters, digits, `_` and `-`, at most 64. */
  name: string;
  /** A short name to show to users. */
  title?: string;
  /** A description of what the tool does and when to use it, for the model. */
  description: string;
  /** The effect that a call may have. */
  effect: Effect;
  /** The shape of the input, an object. Without it, the tool takes no input. */
  input?: S;
  /** The shape of a JSON result, where the tool promises one. */
  output?: Shaped;
  /**
   * Answers a call. A thrown error ends the call as a trap, with the stack on stderr, unless it is
   * a `ToolError`.
   */
  run(input: Infer<S>, call: Call): Returned | Promise<Returned>;
}

/**
 * A value that a tool may return: a string is text, a part is content, an `Output` is itself, and
 * any other value with a JSON form is JSON.
 */
export type Returned = string | Part | Output | object | number | bigint | boolean | null;

/** A tool. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly effect: Effect;
}

/** Makes a tool of its definition. A mistake in it ends the build. */
export function tool<S extends Shaped = Shape<{}>>(definition: Definition<S>): Tool;

/** One of the variants of a result. */
export interface Output {
  readonly tag: "text" | "json" | "content" | "error-text" | "error-json" | "execution-denied";
}

/** One part of a result with several. */
export interface Part {
  readonly tag: "text" | "file";
}

/** Success, as text. A tool may return the string itself. */
export function text(value: string): Output;

/** Success, as JSON. Needed for a string; a tool may return other values themselves. */
export function json(value: unknown): Output;

/** Success, as several parts: strings, images and files. */
export function content(parts: Iterable<string | Part>): Output;

/**
 * An image, `image/png` if no media type is given. The media type must agree with the bytes: the
 * host sniffs them.
 */
export function image(
  data: ArrayBuffer | ArrayBufferView,
  mediaType?: string,
  filename?: string,
): Part;

/** A file by its content, bytes or text. */
export function file(
  data: string | ArrayBuffer | ArrayBufferView,
  mediaType: string,
  filename?: string,
): Part;

/** A file by its absolute URL, from which the host fetches it if the tool may reach it. */
export function fileUrl(url: string | URL, mediaType: string, filename?: string): Part;

/**
 * A failure: what went wrong, and what the model should do next. `throw new ToolError(message)` is
 * the same.
 */
export function error(message: string): Output;

/** A failure, as JSON. */
export function errorJson(value: unknown): Output;

/** The call did not run, because a user or a rule did not allow it. */
export function denied(reason?: string): Output;

/** A failure that the model reads. Say what went wrong, and what it should do next. */
export class ToolError extends Error {}

/**
 * The result of a call, piece by piece, as the pieces are ready: users see the text while the call
 * runs. When the tool returns text or content, the pieces come first in the result, and text
 * continues the text before it; an empty text adds nothing. Anything else is the whole result. Each
 * function returns false once the result is full: what is left out is not part of it, and a note at
 * its end says so.
 */
export const partial: {
  /** Adds text. */
  text(text: string): boolean;
  /** Begins a file; `bytes` adds its content, which the media type must agree with. */
  file(mediaType: string, filename?: string): boolean;
  /** Adds bytes to the file that the call has just begun or continued. */
  bytes(data: ArrayBuffer | ArrayBufferView): boolean;
};

/** Shows the progress of a call to the waiting user; `fraction` is between 0 and 1. */
export function progress(message: string, fraction?: number): void;

/** The state that the tools of a session share: one JSON object. */
export const state: {
  /** The state as it was when the call began. */
  get(): { [name: string]: Json };
  /**
   * Asks for a change: objects merge deeply, lists and other values replace. It is applied when the
   * call settles, and not at all if it does not.
   */
  merge(delta: object): void;
};

/**
 * What the operator's program says of the request that the session serves: a user, a tenant, a
 * request id. The model neither sees nor sets it.
 */
export const context: {
  /** The context of the session when the call began; `{}` where none was given. */
  get(): { [name: string]: Json };
};

/**
 * Asks to end the whole run with a message for the user once this call has succeeded: the model is
 * not asked again. A call that fails or is denied ends nothing. The last message counts.
 */
export function halt(message: string): void;

/** An artifact of the session. */
export interface Artifact {
  /** The name, a relative path such as `plots/one.png`. */
  readonly name: string;
  /** The media type, such as `text/csv`. */
  readonly mediaType: string;
  /** The size, in bytes. */
  readonly size: number;
}

/**
 * The artifacts of the session: named files that calls left, and results that are too large for the
 * conversation. They need a grant. Every function throws an `ArtifactError` when it fails.
 */
export const artifacts: {
  /** The artifacts as they were when the call began, with this call's changes, by name. */
  list(): Artifact[];
  /** The bytes of an artifact. */
  get(name: string): Uint8Array;
  /**
   * Stores an artifact, in place of one with its name. A string is stored as UTF-8. It is kept once
   * the call has succeeded, and not at all otherwise.
   */
  put(name: string, data: string | ArrayBuffer | ArrayBufferView, mediaType: string): void;
  /** Deletes an artifact, once the call has succeeded. */
  delete(name: string): void;
};

/**
 * A failure of one of the functions of `artifacts`. If the tool does not catch it, the model reads
 * its message.
 */
export class ArtifactError extends ToolError {
  /** The failure. */
  readonly code:
    /** No artifact has this name. */
    | "not-found"
    /** The tool has no grant for artifacts, or only one to read. */
    | "denied"
    /** The name is absolute, too long, leads out, or is in `results/`. */
    | "invalid-name"
    /** The media type is malformed, or does not agree with the bytes. */
    | "invalid-media-type"
    /** The artifact is larger than one call may move. */
    | "too-large"
    /** The artifacts of the session have used up their quota. */
    | "quota-exceeded";
}

/** An answer. */
export type Answer =
  /** Free text. */
  | { kind: "text"; text: string }
  /** The index of one of the choices. */
  | { kind: "choice"; index: number }
  /** The indexes of several of the choices, ascending; only with `multiple`. */
  | { kind: "choices"; indexes: number[] }
  /** The user declined to answer. */
  | { kind: "cancelled" }
  /** No user can be asked here, or the call has already changed something. */
  | { kind: "unavailable" };

/**
 * Asks the user and waits for the answer, for days if needed.
 *
 * Without choices the answer is free text; with choices, only if `freeText` is set. With `multiple`
 * the user may take several of the choices. The call is run again from its start once the answer is
 * there, with earlier answers given again, so a tool must ask before its first effect, and ask the
 * same questions in the same order.
 */
export function ask(
  prompt: string,
  choices?: readonly string[],
  options?: { freeText?: boolean; multiple?: boolean },
): Answer;

/** An answer to a form with fields of the type `F`. */
export type FormAnswer<F> =
  /** The fields. */
  | { kind: "fields"; fields: F }
  /** The user declined to answer. */
  | { kind: "cancelled" }
  /** No user can be asked here, or the call has already changed something. */
  | { kind: "unavailable" };

/**
 * Asks the user for several fields at once, under the rules of `ask`. The form is `object({...})`
 * of strings, integers, numbers, booleans and `enumOf(...)` of strings, or a JSON Schema of one
 * flat object.
 */
export function askForm<S extends Shaped>(prompt: string, form: S): FormAnswer<Infer<S>>;
