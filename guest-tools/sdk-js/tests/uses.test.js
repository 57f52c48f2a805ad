/** Interfaces that a bundle needs, and that its project does not declare. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { undeclaredUses } from "../build/uses.mjs";

const ORIGINS = {
  bundle: "a.wasm.js",
  sources: ["tool.ts"],
  runs: [
    [1, null, 0],
    [3, 0, 7],
    [5, null, 0],
  ],
};

test("undeclared interfaces are named with what to add", () => {
  const code = [
    "function fetchUndeclared() {}",
    'declared("state").get(); declared("control").halt(message);',
    "const prefetchUndeclared = 1;",
    "fetchUndeclared(url);",
    'fetchUndeclared(url); declared("ask").ask(question); declared("context").get();',
    'declared("artifacts").list(); declared("progress").report(message); declared("partial").text(text);',
  ].join("\n");
  const add = (use) => `add "${use}" to "uses" of "agent-host" in package.json, and build again`;
  const not = "which is not declared";
  const all = [
    `the tools use progress(), ${not}: ${add("progress")}`,
    `the tools use partial, ${not}: ${add("partial")}`,
    `the tools use state, ${not}: ${add("state")}`,
    `the tools use ask() or askForm(), ${not}: ${add("ask")}`,
    `the tools use context, ${not}: ${add("context")}`,
    `the tools use halt(), ${not}: ${add("control")}`,
    `the tools use artifacts, ${not}: ${add("artifacts")}`,
    `tool.ts:8: fetch() is not declared: ${add("http")}`,
  ];
  const uses = ["progress", "partial", "state", "ask", "context", "control", "artifacts", "http"];
  assert.deepEqual(undeclaredUses(code, ORIGINS, []), all);
  assert.deepEqual(undeclaredUses(code, ORIGINS, uses.slice(1)), all.slice(0, 1));
  assert.deepEqual(undeclaredUses(code, ORIGINS, uses.slice(0, 7)), all.slice(7));
  assert.deepEqual(undeclaredUses(code, ORIGINS, uses), []);
});

test("fetch of a package alone is no problem of the author's", () => {
  const code = "fetchUndeclared(url);\n\n\n\nfetchUndeclared(url);";
  assert.deepEqual(undeclaredUses(code, ORIGINS, []), []);
});
