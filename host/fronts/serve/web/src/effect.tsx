// The effect of a tool in plain words.

import type { Effect } from "./types";

const WORDS: Record<Effect, [string, string]> = {
  "read-only": ["read-only", "It changes nothing."],
  idempotent: ["changes things, safe to repeat", "It changes things, and repeating it changes nothing more."],
  effectful: ["changes things", "It changes things, and is never repeated automatically."],
};

export function EffectBadge({ effect }: { effect: string }) {
  const [word, meaning] = WORDS[effect as Effect] ?? [effect, ""];
  return (
    <span class={`badge ${effect}`} title={meaning}>
      {word}
    </span>
  );
}
