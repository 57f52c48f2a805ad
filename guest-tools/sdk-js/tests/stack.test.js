/** Lines of a bundle as lines of the author, and errors as they read them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { explainFailure } from "../build/failure.mjs";
import { originsOf } from "../build/origins.mjs";
import { explain } from "../src/stack.js";

const ORIGINS = {
  bundle: "a.wasm.js",
  sources: ["tool.ts", "lib/b.ts"],
  runs: [
    [1, null, 0],
    [10, 0, 3],
    [20, null, 0],
    [30, 1, 1],
  ],
};

test("bundle lines map to their sources", () => {
  // Four lines: one of a package, two that follow each other in the project, and one further down.
  const map = {
    version: 3,
    sources: ["../node_modules/x/x.js", "../tool.ts"],
    names: [],
    mappings: "AAAA;ACAA;EACE;AAOA",
  };
  const code = ["x();", "a(", "  b);", "c();"].join("\n");
  const origins = originsOf(code, map, "/p/out/a.wasm.js", "/p", ["/p/node_modules"]);
  assert.deepEqual(origins, {
    bundle: "a.wasm.js",
    sources: ["tool.ts"],
    runs: [
      [1, null, 0],
      [2, 0, 1],
      [4, 0, 9],
    ],
  });
});

test("error stack has the author's frames only", () => {
  const cause = new RangeError("inner");
  cause.stack = "";
  const error = new TypeError("boom ☃\n  bang", { cause });
  error.stack = [
    "run@out/a.wasm.js:12:30",
    "answer@out/a.wasm.js:25:3",
    "async*helper@out/a.wasm.js:31:1",
    "@out/a.wasm.js:10:1",
    "call@/tmp/1/sources/initializer.js:12:15",
  ].join("\n");
  assert.equal(
    explain(error, ORIGINS),
    [
      "Uncaught TypeError: boom ☃ bang",
      "    at run (tool.ts:5)",
      "    at helper (lib/b.ts:2)",
      "    at tool.ts:3",
      "Caused by RangeError: inner",
    ].join("\n"),
  );
  assert.equal(explain("words", ORIGINS), "Uncaught words");
  error.stack = "run@a.wasm.js:12:30\n".repeat(30);
  assert.deepEqual(explain(error, ORIGINS).split("\n").slice(19, 23), [
    "    at run (tool.ts:5)",
    "    at run (tool.ts:5)",
    "    ...",
    "Caused by RangeError: inner",
  ]);
});

test("load error is explained in the author's terms", () => {
  const cases = [
    [
      [
        "Failed to initialize component (wizer):",
        "Exception while evaluating top-level script",
        "out/a.wasm.js:12:30 TypeError: bad",
        "Additionally, some promises were rejected, but the rejection never handled:",
        "Promise rejected but never handled: bad",
        "Stack:",
        "  tool@out/a.wasm.js:2:9",
        "  @out/a.wasm.js:12:30",
      ].join("\n"),
      "TypeError: bad\n    at tool.ts:5",
    ],
    [
      "1: Error: attempted to call an unknown imported function: 'wasi:random/random@0.2.10' 'get-random-u64'",
      /^a module calls get-random-u64 of wasi:random\/random@0\.2\.10 while it is loaded/,
    ],
    ["something else", "something else"],
  ];
  for (const [message, expected] of cases) {
    const told = explainFailure(new Error(message), ORIGINS);
    assert[typeof expected === "string" ? "equal" : "match"](told, expected);
  }
});
