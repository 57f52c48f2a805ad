// Checks that the page tells calls in the words of the program: the cases are those of
// `core/engine/src/call_summary/tests.rs`. Run by `build`.
import { deepStrictEqual } from "node:assert";
import { readFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL(".", import.meta.url);
const built = await build({
  entryPoints: [new URL("../src/summary.ts", here).pathname],
  bundle: true,
  format: "esm",
  target: "es2022",
  write: false,
});
const { summary } = await import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString("base64")}`);
const cases = JSON.parse(readFileSync(new URL("../../../../core/engine/src/call_summary/cases.json", here), "utf8"));
for (const { tool, template, own = false, schema, input, output, whole, line } of cases) {
  const known = schema || template ? { input_schema: schema ?? {}, ...(template && { summary: { text: template, own } }) } : undefined;
  const told = summary(tool, known, input, output, whole?.size);
  deepStrictEqual(told.tool === undefined ? told.words : `${told.words}  (${told.tool})`, line);
}
console.log(`${cases.length} summaries agree`);
