/**
 * Thrown errors for the author of a tool: the author's functions at the author's lines, without
 * frames of this package.
 */

/** The most frames that are shown. An endless recursion has more, without more information. */
const MAX_FRAMES = 20;

/**
 * A thrown value with its stack and its causes. The host gives the first line to the model, and all
 * of it to the author.
 *
 * @param thrown what was thrown, mostly an `Error`
 * @param origins where the lines of the bundle come from, as `build/origins.mjs` makes it
 */
export function explain(thrown, origins) {
  return `Uncaught ${told(thrown, origins)}`;
}

function told(thrown, origins) {
  if (!(thrown instanceof Error)) {
    return String(thrown);
  }
  const frames = framesOf(thrown.stack, origins);
  const lines = [
    `${thrown.name}: ${thrown.message.replace(/\s+/g, " ")}`,
    ...frames.slice(0, MAX_FRAMES),
  ];
  if (frames.length > MAX_FRAMES) {
    lines.push("    ...");
  }
  if (thrown.cause !== undefined) {
    lines.push(`Caused by ${told(thrown.cause, origins)}`);
  }
  return lines.join("\n");
}

/**
 * The frames of a stack as SpiderMonkey writes it, `function@file:line:column`, that are the
 * author's.
 */
export function framesOf(stack, origins) {
  const frames = [];
  for (const [, name, file, line] of (stack ?? "").matchAll(
    /^\s*([^\n@]*)@([^\n]*?):(\d+):\d+$/gm,
  )) {
    const place = file.endsWith(origins.bundle) ? placeOf(Number(line), origins) : undefined;
    if (place !== undefined) {
      // Asynchronous calls are marked, as in `async*run`.
      const shown = name.slice(name.lastIndexOf("*") + 1);
      frames.push(shown === "" ? `    at ${place}` : `    at ${shown} (${place})`);
    }
  }
  return frames;
}

/** The origin of a line of the bundle, if it is the author's. */
export function placeOf(line, { sources, runs }) {
  const run = runs.findLast(([start]) => start <= line);
  if (run === undefined || run[1] === null) {
    return undefined;
  }
  const [start, source, sourceLine] = run;
  return `${sources[source]}:${sourceLine + line - start}`;
}
