/** The tools as functions, without WebAssembly. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { call, prepare } from "#agent-tool/testing";
import tools, { parse } from "./tool.js";

test("colour parses six digits only", () => {
  assert.deepEqual(parse("#1e90ff"), Uint8Array.of(0x1e, 0x90, 0xff));
  for (const wrong of [
    "",
    "#",
    "1e90ff",
    "#1e90f",
    "#1e90fff",
    "#+e90ff",
    "#1e90fg",
    "#1e90ff\n",
  ]) {
    assert.throws(() => parse(wrong), { name: "ToolError" }, wrong);
  }
});

test("note is merged into the state", async () => {
  const recorded = prepare();
  const keepNote = tools.find(({ name }) => name === "keep_note");
  const kept = await call(keepNote, { title: "tea", text: "no sugar" });
  assert.deepEqual(kept, { kind: "text", value: "Kept the note on tea." });
  assert.deepEqual(recorded.deltas, [{ notes: { tea: "no sugar" } }]);
});
