// A call in one line of words, as `core/engine/src/call_summary.rs` tells it, whose documentation says
// why a line ends with the tool's name. The cases in `cases.json` beside it hold for both.

import { size, visible } from "./format";
import type { FileData, Json, JsonObject, Output, Part } from "./types";

export interface SummaryTemplate {
  text: string;
  own?: boolean;
}

/// The parts of a tool that its summaries are made from.
export interface KnownTool {
  input_schema?: Json;
  summary?: SummaryTemplate;
}

export interface Summary {
  words: string;
  /// The tool's name, which is shown behind the words; absent for a tool of the host.
  tool?: string;
}

const MAX_WORDS = 100;
const MAX_VALUE = 60;
const MAX_SHORT_TEXT = 40;
const MAX_TOOL_NAME = 64;
const MAX_TEMPLATE = 200;
const MAX_VALUES = 12;
const MAX_FILTERS = 3;

const SPACES = /[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;
const MARKS = /[\u2205\u2298\u2611\u2612\u2705\u2713-\u2718\u274c\u274e]/gu;

type Value = Json | undefined;

interface Values {
  input: JsonObject;
  result: Value;
  size: number | undefined;
}

/// Tells a call. `whole` is the size of the whole result, where `output` is a preview of it.
export function summary(name: string, tool: KnownTool | undefined, input: JsonObject, output?: Output, whole?: number): Summary {
  const failure = output && failed(output);
  const isDone = output !== undefined && failure === undefined;
  const total = isDone ? (whole ?? sizeOf(output)) : undefined;
  const result = isDone && whole === undefined ? resultOf(output) : undefined;
  const template = tool?.summary;
  const told = template && render(template.text, { input, result, size: total });
  let words = told ?? defaultWords(name, tool, input);
  if (told === undefined && isDone) words += `  ${whole === undefined ? outcomeOf(output) : size(whole)}`;
  words = cut(words, MAX_WORDS);
  return {
    words: failure === undefined ? words : `${words}  ${failure}`,
    ...(template?.own ? {} : { tool: spaced(name, MAX_TOOL_NAME) }),
  };
}

/// Names a call that has no result yet: its tool and its main argument.
export function pending(name: string, tool: KnownTool | undefined, input: JsonObject): string {
  const argument = mainValue(tool, input);
  return spaced(name, MAX_TOOL_NAME) + (argument === undefined ? "" : ` ${argument}`);
}

/// The text or the JSON of a success, unless it has files.
function resultOf(output: Output): Value {
  return output.type === "text" || output.type === "json" ? output.value : undefined;
}

function sizeOf(output: Output): number {
  switch (output.type) {
    case "text":
      return bytesOf(output.value);
    case "json":
      return bytesOf(JSON.stringify(output.value));
    case "content":
      return output.value.reduce((sum, part) => sum + (part.type === "text" ? bytesOf(part.text) : fileSize(part.data)), 0);
    default:
      return 0;
  }
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}

function fileSize(data: FileData): number {
  if (data.type === "blob") return data.value.size;
  if (data.type === "text") return bytesOf(data.value);
  return data.type === "bytes" ? Math.floor((data.value.replace(/=+$/, "").length * 3) / 4) : 0;
}

function defaultWords(name: string, tool: KnownTool | undefined, input: JsonObject): string {
  const words = spaced(name.split(/[_-]/).join(" "), MAX_TOOL_NAME);
  const first = words.slice(0, 1).replace(/[a-z]/, (letter) => letter.toUpperCase());
  const argument = mainValue(tool, input);
  return first + words.slice(1) + (argument === undefined ? "" : ` ${argument}`);
}

function mainValue(tool: KnownTool | undefined, input: JsonObject): string | undefined {
  const isText = (name: string) => typeof input[name] === "string";
  const name = tool ? mainArgument(tool) : isText("path") ? "path" : Object.keys(input).find(isText);
  const value = name === undefined ? undefined : input[name];
  const shown = plain(value);
  return typeof value === "string" && shown?.includes(" ") ? quoted(value) : shown;
}

/// The name of a tool's main argument: that of `core/engine/src/policy/rule/main_argument.rs`.
function mainArgument(tool: KnownTool): string | undefined {
  const schema = tool.input_schema as { properties?: JsonObject; required?: Json[] } | undefined;
  const required = Array.isArray(schema?.required) ? schema.required : [];
  const isText = (name: Json): name is string => {
    const property = (typeof name === "string" ? schema?.properties?.[name] : undefined) as { type?: Json; items?: { type?: Json } } | undefined;
    return property?.type === "string" || (property?.type === "array" && property.items?.type === "string");
  };
  return ["path", ...required].find(isText);
}

function outcomeOf(output: Output): string {
  const told =
    output.type === "text" ? textOutcome(output.value)
    : output.type === "json" ? jsonOutcome(output.value)
    : output.type === "content" ? filesOutcome(output.value)
    : undefined;
  return told ?? size(sizeOf(output));
}

function textOutcome(text: string): string {
  const trimmed = text.trim();
  const lines = linesOf(trimmed);
  if (lines > 1) return `${lines} lines`;
  return lines === 1 && [...trimmed].length <= MAX_SHORT_TEXT ? quoted(trimmed) : size(bytesOf(text));
}

function jsonOutcome(value: Json): string | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return scalar(value);
  const fields = Object.values(value);
  const lists = fields.filter(Array.isArray);
  if (lists.length === 1) return scalar(lists[0]!);
  return fields.length === 1 ? scalar(fields[0]!) : undefined;
}

function scalar(value: Json): string | undefined {
  if (Array.isArray(value)) return value.length === 1 ? "1 item" : `${value.length} items`;
  if (typeof value === "string") return textOutcome(value);
  return value === null ? "null" : plain(value);
}

function filesOutcome(parts: Part[]): string | undefined {
  const files = parts.filter((part) => part.type === "file");
  if (files.length > 1) return `${files.length} files`;
  return files[0] && `${spaced(files[0].media_type, MAX_VALUE)}, ${size(fileSize(files[0].data))}`;
}

/// The host's words about a failure or a denial, with its reason.
function failed(output: Output): string | undefined {
  const told = (word: string, reason: string) => {
    const shown = spaced(reason, MAX_WORDS);
    return shown ? `${word}: ${shown}` : word;
  };
  switch (output.type) {
    case "error-text":
      return told("failed", output.value);
    case "error-json": {
      const fields = output.value as { message?: Json; status?: Json } | null;
      if (typeof fields?.message === "string") return told("failed", fields.message);
      return told("failed", Number.isInteger(fields?.status) ? `status ${fields?.status}` : JSON.stringify(output.value));
    }
    case "execution-denied":
      return told("denied", output.reason ?? "");
    default:
      return undefined;
  }
}

/// Returns the line of a template; `undefined` if it is malformed, or its first part lacks a value.
function render(template: string, values: Values): string | undefined {
  if ([...template].length > MAX_TEMPLATE || /\p{Cc}/u.test(template)) return undefined;
  const parts = template.split("  ").map((part) => part.trim()).filter((part) => part !== "");
  const parsed = parts.map(parse);
  const count = parsed.flat().flatMap((group) => group?.pieces ?? []).filter((piece) => typeof piece !== "string").length;
  if (parsed.length === 0 || count > MAX_VALUES || parsed.some((groups) => groups.some((group) => !group))) return undefined;
  const shown = parsed.map((groups) => renderPart(groups as Group[], values));
  return shown[0] ? shown.filter((part) => part).join("  ") : undefined;
}

interface Group {
  optional: boolean;
  pieces: (string | { path: string[]; filters: string[][] })[];
}

const FILTERS: { [name: string]: number } = { bytes: 1, lines: 1, quoted: 1, address: 1, or: 2, count: 3 };

/// Returns the groups of a part, with an absent one for a defect.
function parse(part: string): (Group | undefined)[] {
  const groups: Group[] = [{ optional: false, pieces: [] }];
  let rest = part;
  for (;;) {
    const at = rest.search(/[{}[\]]/);
    const group = groups[groups.length - 1]!;
    const literal = at < 0 ? rest : rest.slice(0, at);
    if (literal) group.pieces.push(literal);
    if (at < 0) return group.optional ? [undefined] : groups;
    const mark = rest[at];
    rest = rest.slice(at + 1);
    if (mark === "{") {
      const end = rest.indexOf("}");
      const [path = "", ...filters] = rest.slice(0, end).split("|");
      const parsed = filters.map((filter) => filter.split(":"));
      const names = path.split(".");
      const isBad = parsed.some((words) => FILTERS[words[0]!] !== words.length) || parsed.length > MAX_FILTERS;
      if (end < 0 || isBad || !names.every((name) => /^[\p{Alphabetic}\p{N}_-]+$/u.test(name))) return [undefined];
      group.pieces.push({ path: names, filters: parsed });
      rest = rest.slice(end + 1);
    } else if ((mark === "[") === group.optional || mark === "}") return [undefined];
    else groups.push({ optional: mark === "[", pieces: [] });
  }
}

function renderPart(groups: Group[], values: Values): string | undefined {
  let shown = "";
  for (const { optional, pieces } of groups) {
    const texts = pieces.map((piece) => (typeof piece === "string" ? piece : valueText(piece.path, piece.filters, values)));
    if (!texts.includes(undefined)) shown += texts.join("");
    else if (!optional) return undefined;
  }
  return spaced(shown, MAX_WORDS);
}

function valueText(path: string[], filters: string[][], { input, result, size: total }: Values): string | undefined {
  const [first = "", ...rest] = path;
  if (first === "result" && rest.length === 0 && filters.length === 1 && filters[0]![0] === "bytes") {
    return total === undefined ? undefined : size(total);
  }
  const field = (value: Value, key: string): Value =>
    value !== null && typeof value === "object" && !Array.isArray(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  const root = first === "result" ? result : field(input, first);
  return plain(filters.reduce(filtered, rest.reduce(field, root)));
}

function filtered(value: Value, [filter, one = "", many = ""]: string[]): Value {
  if (filter === "or") return plain(value) === undefined ? one : value;
  const text = typeof value === "string" ? value : undefined;
  const number = Number.isInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
  switch (filter) {
    case "bytes": {
      const length = number ?? (text === undefined ? undefined : bytesOf(text));
      return length === undefined ? undefined : size(length);
    }
    case "count": {
      const length = number ?? (Array.isArray(value) ? value.length : undefined);
      return length === undefined ? undefined : `${length} ${length === 1 ? one : many}`;
    }
    case "lines":
      return text === undefined ? undefined : linesOf(text);
    case "quoted":
      return text === undefined ? undefined : quoted(text);
    default:
      return text?.replace(/^https:\/\//, "");
  }
}

function linesOf(text: string): number {
  return text === "" ? 0 : text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

function quoted(text: string): string {
  return `"${spaced(text, MAX_VALUE - 3)}"`;
}

function plain(value: Value): string | undefined {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const isList = Array.isArray(value) && value.every((item) => typeof item === "string");
  const text = typeof value === "string" ? value : isList ? value.join(", ") : "";
  return spaced(text, MAX_VALUE) || undefined;
}

/// Escapes a text onto one line of at most `max` characters, with one space between its words, and
/// with the marks of outcomes escaped.
function spaced(text: string, max: number): string {
  const start = [...text.slice(0, 8 * max)].slice(0, 4 * max).join("");
  const words = start.split(SPACES).filter((word) => word !== "");
  return cut(visible(words.join(" ")).replace(MARKS, (mark) => `\\u{${mark.codePointAt(0)!.toString(16)}}`), max);
}

function cut(text: string, max: number): string {
  const characters = [...text];
  return characters.length > max ? `${characters.slice(0, max).join("")}…` : text;
}
