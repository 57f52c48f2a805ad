#!/usr/bin/env node
/**
 * Makes the component of a TypeScript or JavaScript project: esbuild bundles it with this SDK, and
 * componentize-js puts the bundle into a JavaScript engine. Both are packages of the project, which
 * this SDK lies in. `agent-host build` runs it, and as `agent-tool-build` it is a program of the
 * installed package.
 *
 * Errors in the author's code are reported on stderr with their position in the author's files;
 * stacks of this script are left out.
 */

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { componentize } from "@bytecodealliance/componentize-js";
import { bundle } from "./build/bundle.mjs";
import { WORLD, writeContract } from "./build/contract.mjs";
import { BundleError, explainFailure } from "./build/failure.mjs";
import { manifestOf } from "./build/manifest.mjs";

const USAGE = `usage: agent-tool-build [--project DIR] [--out FILE] [--wit DIR] [--world NAME]

  --project DIR  the directory with tool.ts or tool.js [default: .]
  --out FILE     the component to write [default: dist/NAME.wasm in the project]
  --wit DIR      a directory with the contract and a world [default: the package's contract]
  --world NAME   the world in --wit to build for [default: ${WORLD}]`;

/** Builds, and returns the exit code. */
async function main() {
  const { help, project, wit, world, out } = options();
  if (help) {
    console.log(USAGE);
    return 0;
  }
  const tool = ["tool.ts", "tool.js"].find((name) => existsSync(join(project, name)));
  if (tool === undefined) {
    return fail(`${project} has neither a tool.ts nor a tool.js`);
  }
  const { name, uses } = await manifestOf(project);
  const component = out ?? join(project, "dist", `${name}.wasm`);
  const scratch = await mkdtemp(join(tmpdir(), "agent-tool-"));
  try {
    if (wit === undefined) {
      await writeContract(scratch, uses);
    }
    await mkdir(dirname(component), { recursive: true });
    return await build({ project, tool, uses, wit: wit ?? scratch, world, out: component });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function build({ project, tool, uses, wit, world, out }) {
  const bundled = `${out}.js`;
  const { code, origins } = await bundle(project, tool, uses, bundled);
  await writeFile(bundled, code);
  try {
    const { component } = await componentize({
      sourcePath: bundled,
      witPath: wit,
      worldName: world,
      disableFeatures: ["fetch-event", ...(uses.includes("http") ? [] : ["http"])],
    });
    await writeFile(out, component);
  } catch (failure) {
    return fail(explainFailure(failure, origins));
  } finally {
    await rm(bundled);
  }
  return 0;
}

function options() {
  const text = { type: "string" };
  const options = { project: text, wit: text, world: text, out: text, help: { type: "boolean" } };
  try {
    const { project = ".", wit, world = WORLD, out, help } = parseArgs({ options }).values;
    const absolute = (path) => (path === undefined ? undefined : resolve(path));
    return { help, project: resolve(project), wit: absolute(wit), world, out: absolute(out) };
  } catch (failure) {
    throw new BundleError(`${failure.message}\n${USAGE}`);
  }
}

function fail(why) {
  console.error(why);
  return 1;
}

process.exitCode = await main().catch((failure) => {
  if (failure instanceof BundleError) {
    return fail(failure.message);
  }
  throw failure;
});
