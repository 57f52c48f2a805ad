/** The project, its packages and the SDK as one module, with esbuild. */

import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { BundleError } from "./failure.mjs";
import { originsOf } from "./origins.mjs";
import { undeclaredUses } from "./uses.mjs";

const SDK = dirname(dirname(fileURLToPath(import.meta.url)));

/** The interfaces of the contract behind the names in `uses`. */
const INTERFACES = {
  progress: "agent:tool/progress@0.1.0",
  partial: "agent:tool/partial@0.1.0",
  state: "agent:tool/state@0.1.0",
  ask: "agent:tool/human@0.1.0",
  context: "agent:tool/context@0.1.0",
  control: "agent:tool/control@0.1.0",
  artifacts: "agent:tool/artifacts@0.1.0",
};

/** Stands in the bundle until it is known where the lines of the bundle come from. */
const ORIGINS = "@origins@";

/**
 * Bundles a project.
 *
 * @param project the project's directory
 * @param tool the file in it that exports the tools
 * @param uses what the project declares to use
 * @param out the file to write the bundle to
 * @returns the code, and where its lines come from
 * @throws BundleError where the project has an error, or uses what it does not declare
 */
export async function bundle(project, tool, uses, out) {
  const made = await esbuild
    .build({
      stdin: {
        contents: entry(tool, uses),
        resolveDir: project,
        sourcefile: join(SDK, "entry.js"),
      },
      absWorkingDir: project,
      outfile: out,
      bundle: true,
      write: false,
      format: "esm",
      platform: "neutral",
      mainFields: ["module", "main"],
      conditions: ["import", "module"],
      target: "es2022",
      charset: "utf8",
      // Names are kept: the author reads them in stacks.
      minify: false,
      inject: uses.includes("http") ? [] : [join(SDK, "src", "fetch.js")],
      sourcemap: "external",
      external: ["agent:*"],
      logLevel: "silent",
    })
    .catch((failure) => {
      throw new BundleError(told(failure));
    });
  const map = JSON.parse(made.outputFiles.find(({ path }) => path.endsWith(".map")).text);
  const code = made.outputFiles.find(({ path }) => !path.endsWith(".map")).text;
  const foreign = [SDK, join(project, ".agent-host"), join(project, "node_modules")];
  const origins = originsOf(code, map, out, project, foreign);
  const problems = undeclaredUses(code, origins, uses);
  if (problems.length > 0) {
    throw new BundleError(problems.join("\n"));
  }
  // The replacement stays on one line, so that the lines still match the map.
  return { code: code.replace(`"${ORIGINS}"`, () => JSON.stringify(origins)), origins };
}

/** The module that joins the project's tools, the imports that it declares and the SDK. */
function entry(tool, uses) {
  const declared = Object.keys(INTERFACES).filter((use) => uses.includes(use));
  const imports = declared.map(
    (use) => `import * as ${use} from ${JSON.stringify(INTERFACES[use])};`,
  );
  return [
    ...imports,
    `import tools from ${JSON.stringify(`./${tool}`)};`,
    `import { serve } from ${JSON.stringify(join(SDK, "src", "component.js"))};`,
    `export const tool = serve(tools, { ${declared.join(", ")} }, "${ORIGINS}");`,
  ].join("\n");
}

/** The errors of esbuild, each with its place as compilers write it. */
function told(failure) {
  const errors = failure.errors ?? [{ text: String(failure) }];
  return errors
    .map(({ text, location }) => {
      const place = location ? `${location.file}:${location.line}:${location.column + 1}: ` : "";
      const line = location?.lineText ? `\n  ${location.lineText.trim()}` : "";
      return `${place}${text}${line}`;
    })
    .join("\n");
}
