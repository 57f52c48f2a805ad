/**
 * The host interfaces that the tools use, found in the bundle: unused functions are not in it.
 */

import { placeOf } from "../src/stack.js";

/** What a tool calls to use each interface that `uses` can name. */
const FUNCTIONS = {
  progress: "progress()",
  partial: "partial",
  state: "state",
  ask: "ask() or askForm()",
  context: "context",
  control: "halt()",
  artifacts: "artifacts",
};

/**
 * The problems of a project that uses what it does not declare; each text is for the author.
 *
 * @param code the bundle
 * @param origins where its lines come from
 * @param uses what the project declares
 */
export function undeclaredUses(code, origins, uses) {
  const needed = Object.keys(FUNCTIONS).filter((use) => code.includes(`declared("${use}")`));
  const problems = needed
    .filter((use) => !uses.includes(use))
    .map((use) => `the tools use ${FUNCTIONS[use]}, which is not declared: ${remedy(use)}`);
  const place = uses.includes("http") ? undefined : placeOfFetch(code, origins);
  if (place !== undefined) {
    problems.push(`${place}: fetch() is not declared: ${remedy("http")}`);
  }
  return problems;
}

/** The author's first line with a `fetch` that stands for that of `src/fetch.js`. */
function placeOfFetch(code, origins) {
  const places = code
    .split("\n")
    .map((line, index) =>
      /\bfetchUndeclared\b/.test(line) ? placeOf(index + 1, origins) : undefined,
    );
  return places.find((place) => place !== undefined);
}

function remedy(use) {
  return `add "${use}" to "uses" of "agent-host" in package.json, and build again`;
}
