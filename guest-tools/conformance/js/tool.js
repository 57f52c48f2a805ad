/**
 * The conformance tools in JavaScript. Their behaviour is the same in every language;
 * `../cases.toml` defines it.
 */

import {
  ArtifactError,
  ToolError,
  any,
  array,
  artifacts,
  ask,
  askForm,
  bigint,
  boolean,
  content,
  context,
  denied,
  enumOf,
  error,
  errorJson,
  file,
  fileUrl,
  halt,
  image,
  integer,
  json,
  number,
  object,
  optional,
  partial,
  progress,
  record,
  state,
  string,
  text,
  tool,
} from "#agent-tool";
import { http, streamHttp } from "./web.js";

const DOT = Uint8Array.from(
  atob(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  ),
  (letter) => letter.charCodeAt(0),
);

let calls = 0;

const giveText = tool({
  name: "give_text",
  description: "Gives a text back as it is.",
  effect: "read-only",
  input: object({ text: string("The text to give back.") }),
  run: ({ text }) => text,
});

const giveJson = tool({
  name: "give_json",
  description: "Gives a JSON value back as it is.",
  effect: "read-only",
  input: object({ value: any("The value to give back.") }),
  run: ({ value }) => json(value),
});

const giveContent = tool({
  name: "give_content",
  description: "Gives five parts: texts, and files by bytes, by text and by URL.",
  effect: "read-only",
  run: () =>
    content([
      "before",
      image(DOT, "image/png", "dot.png"),
      "between ☃",
      file("inline", "text/plain"),
      fileUrl("https://example.com/page", "text/html"),
    ]),
});

const giveImage = tool({
  name: "give_image",
  description: "Gives an image of one pixel.",
  effect: "read-only",
  run: () => image(DOT),
});

const giveFile = tool({
  name: "give_file",
  description: "Gives a file whose bytes count from 0 to 255 and over again.",
  effect: "read-only",
  input: object({ size: integer("The number of bytes.", { minimum: 0, maximum: 1048576 }) }),
  run: ({ size }) =>
    file(
      new Uint8Array(size).map((_byte, index) => index),
      "application/octet-stream",
      "data.bin",
    ),
});

const giveError = tool({
  name: "give_error",
  description: "Fails with a message.",
  effect: "read-only",
  input: object({ message: string("The error message.") }),
  run: ({ message }) => {
    throw new ToolError(message);
  },
});

const giveErrorJson = tool({
  name: "give_error_json",
  description: "Fails with a JSON value.",
  effect: "read-only",
  input: object({ value: any("The error message.") }),
  run: ({ value }) => errorJson(value),
});

const deny = tool({
  name: "deny",
  description: "Refuses to run.",
  effect: "read-only",
  input: object({ reason: optional(string("The reason for the refusal.")) }),
  run: ({ reason }) => denied(reason),
});

const repeat = tool({
  name: "repeat",
  description: "Repeats a text.",
  effect: "read-only",
  input: object({
    text: string("The text to repeat."),
    times: integer("The number of repetitions.", { minimum: 0, maximum: 1000000 }),
  }),
  run: ({ text, times }) => text.repeat(times),
});

const add = tool({
  name: "add",
  description: "Adds integers of 64 bits.",
  effect: "read-only",
  input: object({ numbers: array(bigint(), "The numbers to add.") }),
  output: object({
    sum: bigint("The sum."),
    count: integer("The number of numbers."),
  }),
  run: ({ numbers }) => {
    const sum = numbers.reduce((total, one) => total + one, 0n);
    if (BigInt.asIntN(64, sum) !== sum) {
      throw new ToolError("overflow");
    }
    return { sum, count: numbers.length };
  },
});

const typed = tool({
  name: "typed",
  description: "Gives its typed input back.",
  effect: "read-only",
  input: object({
    name: string("A name."),
    size: enumOf(["small", "large"], "A size."),
    ratio: optional(number("A ratio.")),
    tags: optional(array(string(), "Some tags."), []),
    place: optional(
      object(
        { x: integer("The distance to the right."), y: integer("The distance down.") },
        "A position.",
      ),
    ),
  }),
  run: ({ name, size, ratio = null, tags, place = null }) => ({ name, size, ratio, tags, place }),
});

const who = tool({
  name: "who",
  description: "Says which call this is.",
  effect: "read-only",
  run: (_input, { id, name, idempotencyKey }) => ({ id, name, idempotency_key: idempotencyKey }),
});

const report = tool({
  name: "report",
  description: "Reports each of its steps.",
  effect: "read-only",
  input: object({ steps: integer("The number of steps.", { minimum: 0, maximum: 10 }) }),
  run: ({ steps }) => {
    for (let step = 1; step <= steps; step += 1) {
      progress(`step ${step} of ${steps}`, step / steps);
    }
    return "done";
  },
});

const reportUnmeasured = tool({
  name: "report_unmeasured",
  description: "Reports that it is at work, and not how far.",
  effect: "read-only",
  run: () => {
    progress("working");
    return "done";
  },
});

const givePieces = tool({
  name: "give_pieces",
  description: "Gives its result piece by piece, with a file unless the end is `text`.",
  effect: "read-only",
  input: object({ end: string("The end: `text`, `parts`, `json` or `error`.") }),
  run: ({ end }) => {
    partial.text("one ");
    partial.text("two ");
    if (end !== "text") {
      partial.file("text/plain", "abc.txt");
      partial.bytes(new TextEncoder().encode("ab"));
      partial.bytes(new TextEncoder().encode("c"));
    }
    switch (end) {
      case "json":
        return { whole: true };
      case "error":
        return error("whole");
      default:
        return "☃";
    }
  },
});

const askUser = tool({
  name: "ask_question",
  description: "Asks the user and returns the answer.",
  effect: "read-only",
  input: object({
    prompt: string("The text of the question."),
    choices: array(string(), "The choices."),
    free_text: boolean("True if free text is allowed."),
    multiple: optional(boolean("True if several choices are allowed."), false),
  }),
  run: ({ prompt, choices, free_text: freeText, multiple }) => {
    const answer = ask(prompt, choices, { freeText, multiple });
    switch (answer.kind) {
      case "text":
        return `text: ${answer.text}`;
      case "choice":
        return `choice: ${answer.index}`;
      case "choices":
        return `choices: ${answer.indexes.join(", ")}`;
      default:
        return answer.kind;
    }
  },
});

const fillForm = tool({
  name: "fill_form",
  description: "Asks the user for the fields of a form and returns them.",
  effect: "read-only",
  input: object({
    prompt: string("The text of the form."),
    schema: record(any(), "The schema of its fields."),
  }),
  run: ({ prompt, schema }) => {
    const answer = askForm(prompt, schema);
    return answer.kind === "fields" ? json(answer.fields) : answer.kind;
  },
});

const readContext = tool({
  name: "read_context",
  description: "Gives the context of the session.",
  effect: "read-only",
  run: () => context.get(),
});

const remember = tool({
  name: "remember",
  description: "Puts a value into the shared state, and gives the state as it was before.",
  effect: "effectful",
  input: object({
    key: string("The name to remember it by."),
    value: any("The value to remember."),
  }),
  run: ({ key, value }) => {
    const before = state.get();
    state.merge({ [key]: value });
    return before;
  },
});

const changeAndEnd = tool({
  name: "change_and_end",
  description: "Changes the session in every way, and ends as it is told.",
  effect: "effectful",
  input: object({
    end: enumOf(["success", "error", "error_json", "denied"], "How the call ends."),
  }),
  run: ({ end }) =>
    withCode(() => {
      state.merge({ touched: true });
      halt("too early");
      halt("enough");
      artifacts.put("out.txt", "changed", "text/plain");
      switch (end) {
        case "error":
          return error("failed");
        case "error_json":
          return errorJson({ code: "failed" });
        case "denied":
          return denied("refused");
        default:
          return text("changed");
      }
    }),
});

const artifact = tool({
  name: "artifact",
  description: "Reads, lists, stores or deletes artifacts.",
  effect: "effectful",
  input: object({
    action: enumOf(["list", "get", "put", "delete"], "What to do."),
    name: optional(string("The name of the artifact."), ""),
    media_type: optional(string("Its media type."), ""),
    text: optional(string("Its content."), ""),
  }),
  run: ({ action, name, media_type: mediaType, text: data }) =>
    withCode(() => {
      if (action === "get") {
        return text(new TextDecoder().decode(artifacts.get(name)));
      }
      if (action === "put") {
        artifacts.put(name, data, mediaType);
      } else if (action === "delete") {
        artifacts.delete(name);
      }
      return json(artifacts.list().map((one) => [one.name, one.mediaType, one.size]));
    }),
});

/** The result of an action, or the name that the contract has for its failure. */
function withCode(action) {
  try {
    return action();
  } catch (failure) {
    if (failure instanceof ArtifactError) {
      return error(failure.code);
    }
    throw failure;
  }
}

const count = tool({
  name: "count",
  description: "Counts the calls of this instance of the component.",
  effect: "read-only",
  run: () => {
    calls += 1;
    return { count: calls };
  },
});

const spin = tool({
  name: "spin",
  description: "Never ends.",
  effect: "read-only",
  run: () => {
    for (;;) {
      // Nothing.
    }
  },
});

const crash = tool({
  name: "crash",
  description: "Throws an uncaught error.",
  effect: "read-only",
  input: object({ message: string("The error message.") }),
  run: ({ message }) => {
    throw new Error(message);
  },
});

const raise = tool({
  name: "raise",
  description: "Fails as a program with a mistake does.",
  effect: "read-only",
  input: object({ name: string("The failure: `lookup`, or another one.") }),
  run: async ({ name }) => {
    if (name === "lookup") return name.wheel.turns;
    throw "no wheel";
  },
});

const integers = tool({
  name: "integers",
  description: "Gives its integers back, as they are and as text.",
  effect: "read-only",
  input: object({
    wide: optional(bigint("An integer of any size."), 0n),
    safe: optional(integer("An integer that a number holds."), 0),
  }),
  run: ({ wide, safe }) => ({ wide, safe, list: [wide], text: `${wide} ${safe}` }),
});

const grow = tool({
  name: "grow",
  description: "Takes memory until there is none.",
  effect: "read-only",
  run: () => {
    const blocks = [];
    for (;;) {
      blocks.push(new Uint8Array(2 ** 20).fill(1));
    }
  },
});

const recurse = tool({
  name: "recurse",
  description: "Calls itself without an end.",
  effect: "read-only",
  run: () => deeper(),
});

function deeper() {
  return `${deeper()}.`;
}

const print = tool({
  name: "print",
  description: "Writes a text to stdout and to stderr.",
  effect: "read-only",
  input: object({ text: string("The text to write.") }),
  run: ({ text }) => {
    console.log(text);
    console.error(text);
    return "printed";
  },
});

export default [
  giveText,
  giveJson,
  giveContent,
  giveImage,
  giveFile,
  giveError,
  giveErrorJson,
  deny,
  repeat,
  add,
  typed,
  who,
  report,
  reportUnmeasured,
  givePieces,
  askUser,
  fillForm,
  readContext,
  remember,
  changeAndEnd,
  artifact,
  http,
  streamHttp,
  count,
  spin,
  crash,
  raise,
  integers,
  grow,
  recurse,
  print,
];
