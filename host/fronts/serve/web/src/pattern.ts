// Patterns of remembered approvals: the proposed one, and a check before it is sent. The policy of
// the host decides what a stored pattern covers; the check here only spares a user a useless rule.

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

/// Returns why a pattern cannot be remembered for a call with this text; empty if it can.
export function patternFault(glob: string, text: string): string {
  if (/^[*?/.]*$/.test(glob)) return "This pattern matches every call; More has a choice for that.";
  if (!matches(glob, text)) return "This pattern does not match this call. Write it like the start of the target, without `..`, such as src/**.";
  return "";
}

/// Whether a glob matches a text, as the policy compares them: without `.` and empty names.
function matches(glob: string, text: string): boolean {
  const plain = (path: string) => path.replace(/\/(\.?\/)+/g, "/").replace(/^\.\//, "").replace(/\/$/, "");
  if (/(^|\/)\.\.(\/|$)/.test(text)) return false;
  try {
    return new RegExp(`^(?:${expression(plain(glob))})$`, "su").test(plain(text));
  } catch {
    return false;
  }
}

/// Writes a glob as a regular expression.
function expression(glob: string): string {
  return glob.replace(/\*\*\/|\*\*|\*|\?|\[(!?)([\]]?[^\]]*)\]|\{([^{}]*)\}|[\\^$.|+()[\]{}]/g, (found, not?: string, chars?: string, choices?: string) => {
    if (found === "**/") return "(?:.*/)?";
    if (found === "**") return ".*";
    if (found === "*") return "[^/]*";
    if (found === "?") return "[^/]";
    if (chars !== undefined) return `[${not ? "^" : ""}${chars.replace(/[\\\]^[]/g, "\\$&")}]`;
    if (choices !== undefined) return `(?:${choices.split(",").map(expression).join("|")})`;
    return `\\${found}`;
  });
}
