// What the host found out about the waiting calls: the changes of files, the reach of the tools, and
// words that may look like others.

import { createContext } from "preact";
import type { FileChange } from "./types";

/// The reach of a tool.
export interface Reach {
  /// The argument with the path or URL that the call is about.
  target?: string;
  /// The declared effect, in words.
  effect: string;
  /// Where a path with `..` leads, unless a part of it is a link.
  leads_to?: string;
  origin: string;
  /// A sentence about what the call may reach beyond its target.
  beyond?: string;
  is_outside: boolean;
}

export interface Preview {
  change?: FileChange;
  reach?: Reach;
  /// Its words that mix the letters of several scripts.
  words?: string[];
}

/// The previews by the ids of the calls; null until they have come.
export const Previews = createContext<Map<string, Preview> | null>(null);

/// The answer of `/changes`.
export interface Found {
  changes: { call_id: string; change: FileChange }[];
  reach: (Reach & { call_id: string })[];
  mixed: { call_id: string; words: string[] }[];
}

export function previews({ changes, reach, mixed }: Found): Map<string, Preview> {
  const all = new Map<string, Preview>(reach.map(({ call_id, ...reach }) => [call_id, { reach }]));
  for (const { call_id, change } of changes) all.set(call_id, { ...all.get(call_id), change });
  for (const { call_id, words } of mixed) all.set(call_id, { ...all.get(call_id), words });
  return all;
}
