/** The contract in an installed package, with the world of a project. */

import { existsSync } from "node:fs";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { BundleError } from "./failure.mjs";

const CONTRACT = fileURLToPath(new URL("../wit", import.meta.url));

export const WORLD = "project";

/** The interfaces of the contract, by the names in `uses`; componentize-js brings that of `http`. */
const INTERFACES = {
  progress: "progress",
  partial: "partial",
  state: "state",
  ask: "human",
  context: "context",
  control: "control",
  artifacts: "artifacts",
  http: undefined,
};

/**
 * Writes the contract into a directory, with a world that imports what a project uses.
 *
 * @throws BundleError where this copy of the package has no contract, or `uses` an unknown name
 */
export async function writeContract(directory, uses) {
  if (!existsSync(CONTRACT)) {
    throw new BundleError(
      "this copy of agent-tool has no contract; name one with --wit, or install the package",
    );
  }
  const text = world(uses);
  await cp(CONTRACT, directory, { recursive: true });
  await writeFile(join(directory, `${WORLD}.wit`), text);
}

/**
 * The WIT of a world that imports what a project uses, and exports its tools.
 *
 * @throws BundleError where `uses` has an unknown name
 */
export function world(uses) {
  const known = Object.keys(INTERFACES);
  const unknown = uses.find((use) => !known.includes(use));
  if (unknown !== undefined) {
    throw new BundleError(
      `"uses" of "agent-host" in package.json has ${JSON.stringify(unknown)}; there are ` +
        known.map((name) => `"${name}"`).join(", "),
    );
  }
  const imports = known
    .filter((use) => uses.includes(use) && INTERFACES[use] !== undefined)
    .map((use) => `    import ${INTERFACES[use]};\n`)
    .join("");
  return `package agent:tool@0.1.0;\n\nworld ${WORLD} {\n${imports}    export tool;\n}\n`;
}
