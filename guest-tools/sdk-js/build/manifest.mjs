/** What the `package.json` of a project says to the build. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BundleError } from "./failure.mjs";

/**
 * Reads the name of a project and what it declares to use.
 *
 * @param project the project's directory
 * @throws BundleError where there is no such manifest
 */
export async function manifestOf(project) {
  const path = join(project, "package.json");
  const manifest = await readFile(path, "utf8")
    .then(JSON.parse)
    .catch((why) => {
      throw new BundleError(`${path} is not the manifest of a tool project: ${why.message}`);
    });
  const name = String(manifest?.name ?? "").replace(/^.*\//, "");
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new BundleError(
      `${path}: the project's name has to be 1 to 64 letters, digits, _ and -, after its scope`,
    );
  }
  const uses = manifest["agent-host"]?.uses ?? [];
  if (!Array.isArray(uses)) {
    throw new BundleError(`${path}: "uses" of "agent-host" is not a list of names`);
  }
  return { name, uses };
}
