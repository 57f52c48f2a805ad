/**
 * Calls from a tool to its host: progress, partial results, state, context, artifacts, questions
 * to the user, and the end of the run. In a component these are the imports that the project's `uses` names;
 * elsewhere, `testing.js` stands in for them.
 */

import { failureOf } from "./artifacts.js";
import { formOf } from "./form.js";
import { parse, stringify } from "./json.js";
import { bytes, utf8 } from "./output.js";

/** The functions of the contract's interfaces, by the name that `uses` has for each interface. */
let host = {};

/** Takes what is asked of the host from here on. */
export function connect(functions) {
  host = functions;
}

export function progress(message, fraction = undefined) {
  declared("progress").report(String(message), fraction);
}

export const partial = {
  text(text) {
    return declared("partial").text(utf8(text, "partial.text()"));
  },
  file(mediaType, filename = undefined) {
    return declared("partial").file(String(mediaType), filename);
  },
  bytes(data) {
    return declared("partial").bytes(bytes(data, "partial.bytes()"));
  },
};

export const state = {
  get() {
    return parse(declared("state").get());
  },
  merge(delta) {
    declared("state").merge(stringify(delta));
  },
};

export const context = {
  get() {
    return parse(declared("context").get());
  },
};

export function halt(message) {
  declared("control").halt(String(message));
}

export function ask(
  prompt,
  choices = [],
  { freeText = choices.length === 0, multiple = false } = {},
) {
  const answer = declared("ask").ask({ prompt, choices: [...choices], freeText, multiple });
  switch (answer.tag) {
    case "text":
      return { kind: "text", text: answer.val };
    case "choice":
      return { kind: "choice", index: answer.val };
    case "choices":
      return { kind: "choices", indexes: [...answer.val] };
    default:
      return { kind: answer.tag };
  }
}

export function askForm(prompt, form) {
  const { schema, read } = formOf(form);
  const answer = declared("ask").askForm(prompt, stringify(schema));
  return answer.tag === "fields"
    ? { kind: "fields", fields: read(parse(answer.val)) }
    : { kind: answer.tag };
}

export const artifacts = {
  list() {
    const listed = tried("artifacts", () => declared("artifacts").list());
    return listed.map(({ name, mediaType, size }) => ({ name, mediaType, size: Number(size) }));
  },
  get(name) {
    return tried(name, () => declared("artifacts").get(name));
  },
  put(name, data, mediaType) {
    const content =
      typeof data === "string" ? new TextEncoder().encode(data) : bytes(data, "put()");
    tried(name, () => declared("artifacts").put(name, mediaType, content));
  },
  delete(name) {
    tried(name, () => declared("artifacts").delete(name));
  },
};

/** The value of a function of `artifacts`; its failure is thrown as an `ArtifactError`. */
function tried(name, action) {
  try {
    return action();
  } catch (thrown) {
    throw failureOf(thrown, name);
  }
}

/**
 * The functions of an interface. `build/uses.mjs` looks for calls of this in the bundle, which has
 * those that the tools need.
 */
function declared(name) {
  const functions = host[name];
  if (functions === undefined) {
    throw new Error(
      `the component was built without \`${name}\`: add "${name}" to "uses" of "agent-host" in package.json, and build again`,
    );
  }
  return functions;
}
