// The arguments of a call for reading: text as text, and what replaces what as a comparison.

import { useState } from "preact/hooks";
import { Code } from "./code";
import { compare, Diff } from "./diff";
import { count } from "./format";
import { Most } from "./most";
import { JsonView, LongText } from "./output";
import { firstRows, MOST_ROWS, rowsOf } from "./rows";
import type { Json, JsonObject } from "./types";

/// The arguments that are shown at first.
const STEP = 50;

/// The longest texts that are compared, in characters together.
const COMPARED = 100_000;

/// The arguments that say what a call is about, the most telling one first.
const TARGETS = ["path", "to", "url", "command", "query", "name"];

/// The name of the argument that says what a call is about.
export function target(input: JsonObject): string | undefined {
  return TARGETS.find((name) => typeof input[name] === "string");
}

interface Props {
  input: JsonObject;
  /// The arguments that are shown elsewhere.
  without?: string[];
  /// Whether the user asked for all rows.
  whole?: boolean;
}

export function Arguments({ input, without = [], whole = false }: Props) {
  const { old: before, new: after } = input;
  const isCompared = typeof before === "string" && typeof after === "string" && before.length + after.length <= COMPARED && !without.includes("old");
  const rows = Object.entries(input).filter(([name]) => !without.includes(name) && !(isCompared && ["old", "new"].includes(name)));
  return (
    <>
      <dl class="arguments">
        <Most items={rows} step={STEP} show={([name, value]) => (
          <div key={name} class={kind(name)}>
            <dt>{name}</dt>
            <dd>{typeof value === "string" ? <LongText text={value} whole={whole} /> : <JsonView value={value} />}</dd>
          </div>
        )} />
      </dl>
      {isCompared && <Diff rows={compare(before, after)} whole={whole} />}
    </>
  );
}

function kind(name: string): string {
  if (/^old/.test(name)) return "removed";
  return /^new/.test(name) ? "added" : "";
}

/// The arguments of a call that waits for a decision; at first at most `MOST_ROWS` rows of them.
export function FirstArguments({ input, without = [] }: Props) {
  const [all, setAll] = useState(false);
  const texts = Object.entries(input)
    .filter(([name]) => !without.includes(name))
    .map(([name, value]): [string, string] => [name, written(value)]);
  const total = texts.reduce((sum, [, text]) => sum + rowsOf(text), 0);
  if (texts.length === 0) return null;
  if (all || total <= MOST_ROWS) return <Arguments input={input} without={without} whole={all} />;
  let left = MOST_ROWS;
  const shown = texts.flatMap(([name, text]) => {
    const part = firstRows(text, left);
    const isShown = left > 0;
    left -= rowsOf(text);
    return isShown ? [{ name, part }] : [];
  });
  return (
    <>
      <dl class="arguments">
        {shown.map(({ name, part }) => (
          <div key={name} class={kind(name)}>
            <dt>{name}</dt>
            <dd>
              <Code text={part} />
            </dd>
          </div>
        ))}
      </dl>
      <button type="button" class="quiet" onClick={() => setAll(true)}>
        Show all {count(total)} rows
      </button>
    </>
  );
}

function written(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
