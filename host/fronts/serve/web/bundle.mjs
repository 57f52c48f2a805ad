// Bundles the page into the directory of the first argument (default: dist).
import { build } from "esbuild";
import { mkdir } from "node:fs/promises";

const out = process.argv[2] ?? "dist";
await mkdir(out, { recursive: true });
await build({
  entryPoints: { app: "src/main.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  logLevel: "warning",
});
await build({
  entryPoints: { app: "src/app.css" },
  outdir: out,
  minify: true,
  target: "es2022",
  logLevel: "warning",
});
