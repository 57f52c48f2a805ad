/**
 * The origins of a bundle's lines: a source map by lines, small enough to be a part of the bundle.
 */

import { SourceMap } from "node:module";
import { basename, dirname, relative, resolve, sep } from "node:path";

/**
 * The name of the bundle, the author's sources, and runs of lines that follow each other in the
 * bundle as they do in a source, as `[line, source, line in the source]` with lines from 1. The
 * source of what is not the author's is `null`.
 *
 * @param code the bundle
 * @param map its source map, as esbuild writes it
 * @param out the bundle's file, which the map's sources are relative to
 * @param project the author's directory; what is in it is theirs, except below `excluded`
 * @param excluded directories in it that are not
 */
export function originsOf(code, map, out, project, excluded) {
  const lookup = new SourceMap(map);
  const sources = [];
  const runs = [];
  let expected = [undefined, 0];
  code.split("\n").forEach((text, index) => {
    const column = text.length - text.trimStart().length;
    const { originalSource, originalLine } = lookup.findEntry(index, column);
    const source = indexOf(sources, own(originalSource, dirname(out), project, excluded));
    const line = source === null ? 0 : originalLine + 1;
    if (source !== expected[0] || (source !== null && line !== expected[1])) {
      runs.push([index + 1, source, line]);
    }
    expected = [source, line + 1];
  });
  return { bundle: basename(out), sources, runs };
}

/** The path of an author's source as they know it; `undefined` for another's. */
function own(source, directory, project, excluded) {
  if (source === undefined) {
    return undefined;
  }
  const path = resolve(directory, source);
  const inside = (above) => path.startsWith(above + sep);
  return inside(project) && !excluded.some(inside) ? relative(project, path) : undefined;
}

function indexOf(sources, source) {
  if (source === undefined) {
    return null;
  }
  const found = sources.indexOf(source);
  return found === -1 ? sources.push(source) - 1 : found;
}
