/**
 * Translates componentize-js errors about modules that cannot be loaded into the author's terms.
 */

import { framesOf } from "../src/stack.js";

/** A component that cannot be made of the project as it is; the text is for the author. */
export class BundleError extends Error {}

/**
 * The text before the error that a module threw while it was loaded: its position, name and
 * message.
 */
const THROWN =
  /Exception while evaluating top-level script\n[^\n]*?:\d+:\d+ ([\s\S]*?)(?=\nAdditionally,|\nStack:|$)/;

/** Functions that the engine needs and that are missing while the component is built. */
const ASKED = /attempted to call an unknown imported function: '([^']+)' '([^']+)'/;

/**
 * The text for the author.
 *
 * @param failure what `componentize` threw
 * @param origins where the lines of the bundle come from
 */
export function explainFailure(failure, origins) {
  const told = String(failure?.message ?? failure);
  const thrown = THROWN.exec(told);
  if (thrown !== null) {
    const stack = told.slice(told.lastIndexOf("\nStack:"));
    return [thrown[1], ...framesOf(stack, origins)].join("\n");
  }
  const asked = ASKED.exec(told);
  if (asked !== null) {
    return (
      `a module calls ${asked[2]} of ${asked[1]} while it is loaded, which happens when the component is built; ` +
      "call it in a tool's `run` (random numbers and the time are there only in a call)"
    );
  }
  return told;
}
