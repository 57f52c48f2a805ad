// Compiles http_server.mjs to a component.
//
// usage: node build_http.mjs COMPILER_MODULES OUT

import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const [modules, out] = process.argv.slice(2);
const compiler = `${modules}/@bytecodealliance/componentize-js/src/componentize.js`;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const { componentize } = await import(compiler);

const { component } = await componentize({
  sourcePath: here("http_server.mjs"),
  witPath: here("http.wit"),
  worldName: "server",
});
await writeFile(out, component);
