/**
 * A stand-in for the host, for tests under Node.js. It keeps what a tool reported and hands out
 * what a test prepared.
 */

import { connect } from "./src/host.js";
import { stringify } from "./src/json.js";

let recorded = { progress: [], deltas: [], questions: [] };
let given = { state: {}, answers: [] };

export function prepare({ state = {}, answers = [] } = {}) {
  recorded = { progress: [], deltas: [], questions: [] };
  given = { state, answers: [...answers] };
  connect({
    progress: { report: (message, fraction) => recorded.progress.push({ message, fraction }) },
    state: {
      get: () => stringify(given.state),
      merge: (delta) => recorded.deltas.push(JSON.parse(delta)),
    },
    ask: { ask: answer },
  });
  return recorded;
}

export async function call(tool, input = {}) {
  const { tag, val } = await tool.answer(
    { id: "test", name: tool.name, idempotencyKey: "test" },
    stringify(input),
  );
  return { kind: tag, value: tag === "json" || tag === "error-json" ? JSON.parse(val) : val };
}

function answer(question) {
  recorded.questions.push(question);
  const next = given.answers.shift();
  switch (typeof next) {
    case "string":
      return { tag: "text", val: next };
    case "number":
      return { tag: "choice", val: next };
    default:
      return { tag: next?.kind ?? "unavailable" };
  }
}
