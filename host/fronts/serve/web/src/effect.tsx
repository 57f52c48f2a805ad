// The effect of a tool in plain words.

import type { Effect } from "./types";

const WORDS: Record<Effect, [string, string]> = {
  "read-only": ["declared read-only", "The tool declares that it changes nothing."],
  idempotent: ["may change things, safe to repeat", "It may change things, and repeating it changes nothing more."],
  effectful: ["may change things", "It may change things, and is never repeated automatically."],
};

/// `words` in place of the usual ones are the server's, for one call.
export function EffectBadge({ effect, words }: { effect: string; words?: string | undefined }) {
  const [word, meaning] = WORDS[effect as Effect] ?? [effect, ""];
  return (
    <span class={`badge ${effect}`} title={meaning}>
      {words ?? word}
    </span>
  );
}
