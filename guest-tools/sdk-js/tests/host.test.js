/** Calls to the host, as its stand-in records and answers them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ArtifactError,
  ToolError,
  array,
  artifacts,
  ask,
  askForm,
  bigint,
  boolean,
  context,
  denied,
  enumOf,
  halt,
  integer,
  number,
  object,
  optional,
  partial,
  progress,
  state,
  string,
  tool,
} from "../index.js";
import { connect } from "../src/host.js";
import { call, prepare } from "../testing.js";

const BASE = { name: "a", description: "Does a thing.", effect: "effectful" };
const bytes = (text) => new TextEncoder().encode(text);

test("host calls are recorded", async () => {
  const greet = tool({
    ...BASE,
    run: (_input, { id }) => {
      progress("asking");
      const answers = [
        ask("Who?"),
        ask("Which?", ["small", "large"]),
        ask("Which ones?", ["a", "b", "c"], { multiple: true }),
        ask("Sure?", ["yes"], { freeText: true }),
        ask("More?"),
      ];
      progress("done", 1);
      const before = state.get();
      state.merge({ greeted: [answers[0].text] });
      halt("first");
      halt("done for today");
      return { id, answers, before, user: context.get().user };
    },
  });
  const recorded = prepare({
    state: { old: 1 },
    context: { user: 7 },
    answers: ["Ann", 1, [2, 0], { kind: "cancelled" }],
  });
  assert.deepEqual((await call(greet)).value, {
    id: "test",
    answers: [
      { kind: "text", text: "Ann" },
      { kind: "choice", index: 1 },
      { kind: "choices", indexes: [0, 2] },
      { kind: "cancelled" },
      { kind: "unavailable" },
    ],
    before: { old: 1 },
    user: 7,
  });
  const question = { choices: [], freeText: true, multiple: false };
  assert.deepEqual(recorded, {
    partial: [],
    progress: [
      { message: "asking", fraction: undefined },
      { message: "done", fraction: 1 },
    ],
    deltas: [{ greeted: ["Ann"] }],
    questions: [
      { ...question, prompt: "Who?" },
      { ...question, prompt: "Which?", choices: ["small", "large"], freeText: false },
      {
        prompt: "Which ones?",
        choices: ["a", "b", "c"],
        freeText: false,
        multiple: true,
      },
      { ...question, prompt: "Sure?", choices: ["yes"] },
      { ...question, prompt: "More?" },
    ],
    halt: "done for today",
    artifacts: new Map(),
  });
});

test("form has its shape's schema and gives its values", () => {
  const booking = object({
    city: string("Where to."),
    nights: integer("How long.", { minimum: 1, maximum: 30 }),
    miles: bigint(),
    way: optional(enumOf(["train", "bus"])),
    breakfast: optional(boolean(), true),
  });
  const filled = { city: "Graz", nights: 2, miles: 5 };
  const recorded = prepare({
    answers: [{ kind: "fields", fields: filled }, { kind: "cancelled" }],
  });
  assert.deepEqual(
    [askForm("Your trip?", booking), askForm("Another?", booking), askForm("More?", booking)],
    [
      { kind: "fields", fields: { ...filled, miles: 5n, breakfast: true } },
      { kind: "cancelled" },
      { kind: "unavailable" },
    ],
  );
  const schema = {
    type: "object",
    properties: {
      city: { type: "string", description: "Where to." },
      nights: { type: "integer", minimum: 1, maximum: 30, description: "How long." },
      miles: { type: "integer" },
      way: { type: "string", enum: ["train", "bus"] },
      breakfast: { type: "boolean", default: true },
    },
    required: ["city", "nights", "miles"],
  };
  assert.deepEqual(recorded.questions, [
    { prompt: "Your trip?", schema },
    { prompt: "Another?", schema },
    { prompt: "More?", schema },
  ]);
});

test("form may be a schema and must be flat", () => {
  const schema = { type: "object", properties: { n: { type: "number" } } };
  const recorded = prepare({ answers: [{ kind: "fields", fields: { n: 1.5 } }] });
  assert.deepEqual(askForm("How much?", schema), { kind: "fields", fields: { n: 1.5 } });
  assert.deepEqual(recorded.questions, [{ prompt: "How much?", schema }]);
  const cases = [
    [string(), "a form must be `object({...})`"],
    ["name", "a form is neither a shape like `string()` nor a JSON Schema"],
    [object({ names: array(string()) }), /^the field `names` of the form is not flat: /],
    [object({ place: object({ x: number() }) }), /^the field `place` of the form is not flat: /],
    [object({ size: enumOf([1, 2]) }), /^the field `size` of the form is not flat: /],
  ];
  for (const [form, message] of cases) {
    assert.throws(() => askForm("What?", form), { name: "DefinitionError", message });
  }
  assert.equal(recorded.questions.length, 1);
});

test("prepared answer of another kind fails the test", () => {
  prepare({ answers: [{ kind: "fields", fields: {} }, "Ann"] });
  assert.throws(() => ask("Who?"), /the next prepared answer is one to a form/);
  assert.throws(() => askForm("Who?", object({})), /is `text`, which is none to a form/);
});

test("artifacts are stored, listed and deleted", () => {
  const recorded = prepare({
    artifacts: { "z.csv": { mediaType: "text/csv", data: bytes("a,b\n") } },
  });
  artifacts.put("plots/one.txt", "größer", "text/plain");
  artifacts.put("b.bin", new Uint8Array([0, 255]).buffer, "application/octet-stream");
  assert.deepEqual(artifacts.list(), [
    { name: "b.bin", mediaType: "application/octet-stream", size: 2 },
    { name: "plots/one.txt", mediaType: "text/plain", size: 8 },
    { name: "z.csv", mediaType: "text/csv", size: 4 },
  ]);
  assert.deepEqual(artifacts.get("plots/one.txt"), bytes("größer"));
  artifacts.delete("z.csv");
  assert.deepEqual(
    recorded.artifacts,
    new Map([
      ["plots/one.txt", { mediaType: "text/plain", data: bytes("größer") }],
      ["b.bin", { mediaType: "application/octet-stream", data: new Uint8Array([0, 255]) }],
    ]),
  );
  assert.throws(() => artifacts.put("a", 1, "text/plain"), /put\(\) takes a Uint8Array/);
});

test("artifact failures have a code and a message", async () => {
  const thrown = (action) => {
    try {
      action();
    } catch (failure) {
      assert.ok(failure instanceof ArtifactError && failure instanceof ToolError);
      return [failure.code, failure.message];
    }
    return assert.fail("nothing was thrown");
  };
  prepare({ artifacts: {} });
  const missing = ["not-found", "there is no artifact `a`"];
  assert.deepEqual(
    thrown(() => artifacts.get("a")),
    missing,
  );
  assert.deepEqual(
    thrown(() => artifacts.delete("a")),
    missing,
  );
  for (const name of ["", "/a", "a/../b", "a//b", "results/1"]) {
    assert.deepEqual(
      thrown(() => artifacts.put(name, "", "text/plain")),
      [
        "invalid-name",
        `\`${name}\` cannot be the name of an artifact: it must be a relative path such as \`plots/one.png\`, and not in \`results/\``,
      ],
    );
  }
  prepare();
  const refused = "is denied: the tool has no grant for artifacts, or only one to read";
  const cases = [
    [() => artifacts.list(), `\`artifacts\` ${refused}`],
    [() => artifacts.get("a"), `\`a\` ${refused}`],
    [() => artifacts.put("a", "", "text/plain"), `\`a\` ${refused}`],
    [() => artifacts.delete("a"), `\`a\` ${refused}`],
  ];
  for (const [action, message] of cases) {
    assert.deepEqual(thrown(action), ["denied", message]);
  }
  const uncaught = await call(tool({ ...BASE, run: () => artifacts.get("a") }));
  assert.deepEqual(uncaught, { kind: "error-text", value: `\`a\` ${refused}` });
});

test("failed or denied call changes nothing", async () => {
  const ends = {
    fail: () => {
      throw new ToolError("no");
    },
    refuse: () => denied(),
    crash: () => undefined.missing,
    succeed: () => "done",
  };
  const tools = Object.entries(ends).map(([name, end]) =>
    tool({
      ...BASE,
      name,
      run: () => {
        state.merge({ n: 1 });
        artifacts.put("a", "new", "text/plain");
        artifacts.delete("b");
        halt("over");
        return end();
      },
    }),
  );
  const old = { mediaType: "text/plain", data: bytes("old") };
  const recorded = prepare({ artifacts: { b: old } });
  await call(tools[0]);
  await call(tools[1]);
  await assert.rejects(call(tools[2]), TypeError);
  const untouched = {
    progress: [],
    partial: [],
    deltas: [],
    questions: [],
    halt: undefined,
  };
  assert.deepEqual(recorded, { ...untouched, artifacts: new Map([["b", old]]) });
  await call(tools[3]);
  const kept = new Map([["a", { mediaType: "text/plain", data: bytes("new") }]]);
  assert.deepEqual(recorded, { ...untouched, deltas: [{ n: 1 }], halt: "over", artifacts: kept });
});

test("pieces of a result are recorded as parts", () => {
  const { partial: parts } = prepare();
  partial.text("one ");
  partial.text("two");
  partial.file("text/plain", "a.txt");
  partial.bytes(bytes("a"));
  partial.bytes(bytes("b"));
  partial.text("three");
  partial.bytes(bytes("c"));
  assert.deepEqual(parts, [
    { text: "one two" },
    { mediaType: "text/plain", filename: "a.txt", data: bytes("ab") },
    { text: "three" },
    { mediaType: "application/octet-stream", filename: undefined, data: bytes("c") },
  ]);
  assert.throws(() => partial.text(1), TypeError);
});

test("undeclared import error names the setting", () => {
  connect({});
  const cases = [
    [() => ask("Who?"), "ask"],
    [() => askForm("Who?", object({})), "ask"],
    [() => progress("half"), "progress"],
    [() => partial.text("half"), "partial"],
    [() => state.get(), "state"],
    [() => context.get(), "context"],
    [() => halt("over"), "control"],
    [() => artifacts.list(), "artifacts"],
  ];
  for (const [action, use] of cases) {
    assert.throws(action, {
      message: `the component was built without \`${use}\`: add "${use}" to "uses" of "agent-host" in package.json, and build again`,
    });
  }
});
