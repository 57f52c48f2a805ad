/**
 * Calls from a tool to its host: progress, the shared state, and questions to the user. In a
 * component these are the imports that the project's `uses` names; elsewhere, `testing.js` stands
 * in for them.
 */

import { parse, stringify } from "./json.js";

/** The functions of the contract's interfaces, by the name that `uses` has for each interface. */
let host = {};

/** Takes what is asked of the host from here on. */
export function connect(functions) {
  host = functions;
}

export function progress(message, fraction = undefined) {
  declared("progress").report(String(message), fraction);
}

export const state = {
  get() {
    return parse(declared("state").get());
  },
  merge(delta) {
    declared("state").merge(stringify(delta));
  },
};

export function ask(prompt, choices = [], { freeText = choices.length === 0 } = {}) {
  const answer = declared("ask").ask({ prompt, choices: [...choices], freeText });
  switch (answer.tag) {
    case "text":
      return { kind: "text", text: answer.val };
    case "choice":
      return { kind: "choice", index: answer.val };
    default:
      return { kind: answer.tag };
  }
}

function declared(name) {
  const functions = host[name];
  if (functions === undefined) {
    throw new Error(
      `the component was built without \`${name}\`: add "${name}" to "uses" of "agent-host" in package.json, and build again`,
    );
  }
  return functions;
}
