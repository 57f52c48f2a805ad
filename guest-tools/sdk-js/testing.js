/**
 * A stand-in for the host, for tests under Node.js. It keeps what a tool reported and hands out
 * what a test prepared.
 */

import { connect } from "./src/host.js";
import { stringify } from "./src/json.js";

const SUCCESSES = ["text", "json", "content"];

let recorded = {
  progress: [],
  partial: [],
  deltas: [],
  questions: [],
  halt: undefined,
  artifacts: new Map(),
};
let given = { state: {}, context: {}, answers: [], mayUseArtifacts: false };

export function prepare({ state = {}, context = {}, answers = [], artifacts } = {}) {
  recorded = {
    progress: [],
    partial: [],
    deltas: [],
    questions: [],
    halt: undefined,
    artifacts: new Map(Object.entries(artifacts ?? {})),
  };
  given = { state, context, answers: [...answers], mayUseArtifacts: artifacts !== undefined };
  connect({
    progress: { report: (message, fraction) => recorded.progress.push({ message, fraction }) },
    partial: PARTIAL,
    state: {
      get: () => stringify(given.state),
      merge: (delta) => recorded.deltas.push(JSON.parse(delta)),
    },
    context: { get: () => stringify(given.context) },
    control: {
      halt: (message) => {
        recorded.halt = message;
      },
    },
    ask: { ask: answer, askForm: fill },
    artifacts: STORE,
  });
  return recorded;
}

export async function call(tool, input = {}) {
  const { deltas, halt, artifacts } = recorded;
  const before = { deltas: [...deltas], halt, artifacts: new Map(artifacts) };
  let failed = true;
  try {
    const { tag, val } = await tool.answer(
      { id: "test", name: tool.name, idempotencyKey: "test" },
      stringify(input),
    );
    failed = !SUCCESSES.includes(tag);
    return { kind: tag, value: tag === "json" || tag === "error-json" ? JSON.parse(val) : val };
  } finally {
    if (failed) {
      Object.assign(recorded, before);
    }
  }
}

/** The parts of results that are added while calls run. They are never full. */
const PARTIAL = {
  text(more) {
    const last = recorded.partial.at(-1);
    if (typeof last?.text === "string") {
      last.text += more;
    } else {
      recorded.partial.push({ text: more });
    }
    return true;
  },
  file(mediaType, filename) {
    recorded.partial.push({ mediaType, filename, data: new Uint8Array() });
    return true;
  },
  bytes(more) {
    if (recorded.partial.at(-1)?.data === undefined) {
      PARTIAL.file("application/octet-stream", undefined);
    }
    const last = recorded.partial.at(-1);
    last.data = Uint8Array.from([...last.data, ...more]);
    return true;
  },
};

/** The host's artifacts. It checks no media type, and has no quota. */
const STORE = {
  list() {
    allow();
    return [...recorded.artifacts]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, { mediaType, data }]) => ({ name, mediaType, size: BigInt(data.length) }));
  },
  get(name) {
    allow();
    const artifact = recorded.artifacts.get(name);
    return artifact === undefined ? refuse("not-found") : artifact.data;
  },
  put(name, mediaType, data) {
    allow();
    const parts = name.split("/");
    if (parts[0] === "results" || parts.some((part) => ["", ".", ".."].includes(part))) {
      refuse("invalid-name");
    }
    recorded.artifacts.set(name, { mediaType, data });
  },
  delete(name) {
    STORE.get(name);
    recorded.artifacts.delete(name);
  },
};

function allow() {
  if (!given.mayUseArtifacts) {
    refuse("denied");
  }
}

/** Fails as an import does. */
function refuse(code) {
  throw Object.assign(new Error(code), { payload: code });
}

function answer(question) {
  const next = nextAnswer(question);
  switch (next.kind) {
    case "text":
      return { tag: "text", val: next.text };
    case "choice":
      return { tag: "choice", val: next.index };
    case "choices":
      return { tag: "choices", val: Uint32Array.from(next.indexes).sort() };
    case "fields":
      throw new Error("the next prepared answer is one to a form, and a question was asked");
    default:
      return { tag: next.kind };
  }
}

function fill(prompt, schema) {
  const next = nextAnswer({ prompt, schema: JSON.parse(schema) });
  switch (next.kind) {
    case "fields":
      return { tag: "fields", val: stringify(next.fields) };
    case "cancelled":
    case "unavailable":
      return { tag: next.kind };
    default:
      throw new Error(`the next prepared answer is \`${next.kind}\`, which is none to a form`);
  }
}

function nextAnswer(question) {
  recorded.questions.push(question);
  const next = given.answers.shift() ?? { kind: "unavailable" };
  switch (typeof next) {
    case "string":
      return { kind: "text", text: next };
    case "number":
      return { kind: "choice", index: next };
    default:
      return Array.isArray(next) ? { kind: "choices", indexes: next } : next;
  }
}
