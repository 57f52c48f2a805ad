/** The world of a project, and its manifest. */

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { world } from "../build/contract.mjs";
import { manifestOf } from "../build/manifest.mjs";

test("world imports what is used", () => {
  for (const [uses, imports] of [
    [[], ""],
    [["state", "ask", "state"], "    import state;\n    import human;\n"],
    [["http"], ""],
  ]) {
    const expected = `package agent:tool@0.1.0;\n\nworld project {\n${imports}    export tool;\n}\n`;
    assert.equal(world(uses), expected, `${uses}`);
  }
});

test("unknown use is refused", () => {
  for (const [unknown, shown] of [
    ["sockets", '"sockets"'],
    ["constructor", '"constructor"'],
    [7, "7"],
  ]) {
    assert.throws(() => world(["state", unknown]), {
      message:
        `"uses" of "agent-host" in package.json has ${shown}; there are ` +
        '"progress", "partial", "state", "ask", "context", "control", "artifacts", "http"',
    });
  }
});

test("manifest gives the name without its scope, and the uses", async (t) => {
  const project = await mkdtemp(join(tmpdir(), "agent-tool-test-"));
  t.after(() => rm(project, { recursive: true }));
  const path = join(project, "package.json");
  const named = "the project's name has to be 1 to 64 letters, digits, _ and -, after its scope";
  for (const [text, expected] of [
    [
      '{"name": "@me/a-tool", "agent-host": {"uses": ["http"]}}',
      { name: "a-tool", uses: ["http"] },
    ],
    ['{"name": "a"}', { name: "a", uses: [] }],
    ['{"name": "@me/"}', `PATH: ${named}`],
    ['{"name": ".."}', `PATH: ${named}`],
    ["null", `PATH: ${named}`],
    [
      '{"name": "a", "agent-host": {"uses": "http"}}',
      'PATH: "uses" of "agent-host" is not a list of names',
    ],
    ["{", "PATH is not the manifest of a tool project: MESSAGE"],
  ]) {
    await writeFile(path, text);
    const found = await manifestOf(project).catch(({ message }) =>
      message.replace(path, "PATH").replace(/(project: ).*/, "$1MESSAGE"),
    );
    assert.deepEqual(found, expected, text);
  }
});
