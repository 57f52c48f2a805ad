/** `tool()`: what it makes of a definition, which definitions it refuses, and a call from JSON to the result. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ToolError,
  content,
  denied,
  error,
  errorJson,
  file,
  fileUrl,
  image,
  integer,
  json,
  object,
  string,
  text,
  tool,
} from "../index.js";
import { byName } from "../src/tool.js";
import { call } from "../testing.js";

const BASE = { name: "a", description: "Does a thing.", effect: "read-only", run: () => "done" };

test("definition becomes a tool", () => {
  const made = tool({ ...BASE, title: "A", description: "Does\n  a thing.\n\n  - one\n  - two\n" });
  assert.equal(made.description, "Does a thing.\n\n- one\n- two");
  assert.deepEqual(made.input.schema, {
    type: "object",
    properties: {},
    additionalProperties: false,
  });
  const plain = tool({ ...BASE, input: { type: "object" }, output: { type: "array" } });
  assert.deepEqual(
    [plain.input.schema, plain.output.schema],
    [{ type: "object" }, { type: "array" }],
  );
});

test("invalid definition error gives the reason", () => {
  const cases = [
    [undefined, "the tool `undefined`: its name must be 1 to 64 letters, digits, `_` and `-`"],
    [
      { ...BASE, name: "a b" },
      "the tool `a b`: its name must be 1 to 64 letters, digits, `_` and `-`",
    ],
    [{ ...BASE, title: 1 }, "the tool `a`: `title` must be a string"],
    [
      { ...BASE, effects: "read-only" },
      /the tool `a`: there is no `effects`; a tool has name, title, /,
    ],
    [{ ...BASE, description: " " }, /the tool `a`: `description` is missing; /],
    [
      { ...BASE, effect: undefined },
      "the tool `a`: `effect` is missing; it is one of read-only, idempotent, effectful",
    ],
    [
      { ...BASE, effect: "none" },
      'the tool `a`: `effect` is "none"; it is one of read-only, idempotent, effectful',
    ],
    [{ ...BASE, run: "x" }, "the tool `a`: `run` must be a function of the input and the call"],
    [{ ...BASE, input: string() }, /the tool `a`: `input` must be an object/],
    [{ ...BASE, output: "string" }, /the tool `a`: `output` is neither a shape/],
  ];
  for (const [definition, message] of cases) {
    assert.throws(() => tool(definition), { name: "DefinitionError", message });
  }
});

test("module exports tools with unique names", () => {
  const made = tool(BASE);
  assert.deepEqual([...byName([made])], [["a", made]]);
  const cases = [
    [undefined, /the module exports no tools/],
    [[], /the module exports no tools/],
    [[BASE], /an exported value is no tool/],
    [[made, tool(BASE)], "there are two tools `a`; rename one of them"],
  ];
  for (const [exported, message] of cases) {
    assert.throws(() => byName(exported), { name: "DefinitionError", message });
  }
});

test("return value becomes a variant", async () => {
  const bytes = new Uint8Array([1, 2]);
  const dot = { mediaType: "image/png", data: { tag: "bytes", val: bytes }, filename: undefined };
  const cases = [
    ["a ☃", "text", "a ☃"],
    [text("a"), "text", "a"],
    [{ a: [1, 2.5, null] }, "json", { a: [1, 2.5, null] }],
    [null, "json", null],
    [json("a"), "json", "a"],
    [error("no"), "error-text", "no"],
    [errorJson({ code: 1 }), "error-json", { code: 1 }],
    [denied(), "execution-denied", undefined],
    [denied("no"), "execution-denied", "no"],
    [image(bytes), "content", [{ tag: "file", val: dot }]],
    [image(bytes.buffer), "content", [{ tag: "file", val: dot }]],
    [
      content([
        "a",
        file("b", "text/plain", "b.txt"),
        fileUrl("https://example.com/", "text/html"),
      ]),
      "content",
      [
        { tag: "text", val: "a" },
        {
          tag: "file",
          val: { mediaType: "text/plain", data: { tag: "text", val: "b" }, filename: "b.txt" },
        },
        {
          tag: "file",
          val: {
            mediaType: "text/html",
            data: { tag: "url", val: "https://example.com/" },
            filename: undefined,
          },
        },
      ],
    ],
  ];
  for (const [returned, kind, value] of cases) {
    const result = await call(tool({ ...BASE, run: async () => returned }));
    assert.deepEqual(
      JSON.parse(JSON.stringify(result)),
      JSON.parse(JSON.stringify({ kind, value })),
    );
  }
});

test("return value without a variant is thrown", async () => {
  const cases = [
    [() => undefined, /the tool returned nothing/],
    [() => ({ a: NaN }), "NaN at `a` has no JSON form"],
    [() => new Map(), "a value of type Map has no JSON form"],
    [() => ({ a: new Uint8Array(1) }), "a value of type Uint8Array at `a` has no JSON form"],
    [() => "\ud800", /half of a surrogate pair/],
    [() => image("a"), "image() takes a Uint8Array and not string"],
    [() => content([1]), "content() takes a string and not number"],
  ];
  for (const [run, message] of cases) {
    await assert.rejects(call(tool({ ...BASE, run })), { name: "TypeError", message });
  }
});

test("ToolError is a failure, other errors pass through", async () => {
  const halve = tool({
    ...BASE,
    input: object({ number: integer() }),
    run: ({ number }) => {
      if (number % 2 !== 0) {
        throw new ToolError(`${number} is odd; give an even number`);
      }
      return number === 0 ? number.missing.deeper : number / 2;
    },
  });
  assert.deepEqual(await call(halve, { number: 4 }), { kind: "json", value: 2 });
  assert.deepEqual(await call(halve, { number: 3 }), {
    kind: "error-text",
    value: "3 is odd; give an even number",
  });
  await assert.rejects(call(halve, { number: 0 }), TypeError);
});
