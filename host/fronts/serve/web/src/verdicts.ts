// The decisions on a call in words.

import type { Decision } from "./types";

export const VERDICTS: Record<Decision["type"], string> = {
  approve: "allowed",
  edit: "changed and allowed",
  reject: "denied",
  respond: "answered",
};
