/**
 * Makes the component of a TypeScript or JavaScript project: esbuild bundles it with this SDK, and
 * componentize-js puts the bundle into a JavaScript engine. `agent-host build` runs it; both are
 * packages of the project, which this SDK lies in.
 *
 * Errors in the author's code are reported on stderr with their position in the author's files;
 * stacks of this script are left out.
 */

import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { componentize } from "@bytecodealliance/componentize-js";
import { BundleError, bundle } from "./build/bundle.mjs";
import { explainFailure } from "./build/failure.mjs";

const USAGE = "usage: build.mjs --project DIR --wit DIR [--world NAME] --out FILE";

/** Builds, and returns the exit code. */
async function main() {
  const { project, wit, world, out } = options();
  const tool = ["tool.ts", "tool.js"].find((name) => existsSync(join(project, name)));
  if (tool === undefined) {
    return fail(`${project} has neither a tool.ts nor a tool.js`);
  }
  const manifest = JSON.parse(await readFile(join(project, "package.json"), "utf8"));
  const uses = manifest["agent-host"]?.uses ?? [];
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
  }
  return 0;
}

function options() {
  const text = { type: "string" };
  const { values } = parseArgs({ options: { project: text, wit: text, world: text, out: text } });
  const { project, wit, world = "declared", out } = values;
  if (project === undefined || wit === undefined || out === undefined) {
    throw new BundleError(USAGE);
  }
  return { project: resolve(project), wit: resolve(wit), world, out: resolve(out) };
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
