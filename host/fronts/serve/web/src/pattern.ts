// Patterns of remembered approvals: the proposed one, and a check before it is sent. The host refuses
// one that does not match the call.

import { visible } from "./format";

/// Returns a glob that matches this text alone. A class stands for each character that a glob reads.
function literal(text: string): string {
  return text.replace(/\\/g, "?").replace(/[*?[\]{}]/g, (char) => `[${char}]`);
}

/// Proposes a pattern for calls like this one: the directory of a path, or the host of an URL.
/// Empty for a text with characters that a field would not show.
export function proposePattern(text: string): string {
  if (visible(text) !== text || text.includes("\n")) return "";
  if (/^https?:\/\//.test(text)) {
    const origin = URL.canParse(text) ? new URL(text).origin : "";
    return origin && text.startsWith(`${origin}/`) ? `${literal(origin)}/**` : literal(text);
  }
  const directory = text.slice(0, Math.max(0, text.lastIndexOf("/")));
  const isPath = directory !== "" && directory !== "." && !/\s|(^|\/)\.\.(\/|$)/.test(text);
  return isPath ? `${literal(directory)}/**` : literal(text);
}

/// Returns why a pattern cannot be remembered; empty if it can.
export function patternFault(glob: string): string {
  return /^[*?/.]*$/.test(glob) ? "This pattern matches every call; More has a choice for that." : "";
}
