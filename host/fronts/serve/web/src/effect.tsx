// The effect of a tool in plain words.

import type { Effect } from "./types";

const WORDS: Record<Effect, [string, string]> = {
  "read-only": ["declared read-only", "The tool declares that it changes nothing."],
  idempotent: ["may change things, safe to repeat", "It may change things, and repeating it changes nothing more."],
  effectful: ["may change things", "It may change things, and is never repeated automatically."],
};

export function EffectBadge({ effect }: { effect: string }) {
  const [word, meaning] = WORDS[effect as Effect] ?? [effect, ""];
  return (
    <span class={`badge ${effect}`} title={meaning}>
      {word}
    </span>
  );
}
