// Compiles official_server.mjs to a component.
//
// usage: node build_official.mjs COMPILER_MODULES SDK_MODULES OUT

import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const [compiler, sdk, out] = process.argv.slice(2);
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const { build } = await import(`${compiler}/esbuild/lib/main.js`);
const { componentize } = await import(
  `${compiler}/@bytecodealliance/componentize-js/src/componentize.js`
);

await build({
  entryPoints: [here("official_server.mjs")],
  bundle: true,
  format: "esm",
  platform: "browser",
  conditions: ["browser", "import"],
  nodePaths: [sdk],
  // A library reads the address of the page when it is loaded.
  banner: { js: "delete globalThis.location;" },
  outfile: `${out}.js`,
});
const { component } = await componentize({
  sourcePath: `${out}.js`,
  witPath: here("http.wit"),
  worldName: "server",
});
await writeFile(out, component);
