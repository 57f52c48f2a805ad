// The rows that a text takes on the screen, nearly: a long line takes several.

/// The rows that are shown of what waits for a decision; the rest follows on request.
export const MOST_ROWS = 20;

/// The characters of a row.
const ROW = 100;

export function rowsOf(text: string): number {
  return text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / ROW)), 0);
}

/// The start of a text that takes at most this many rows.
export function firstRows(text: string, most: number): string {
  const shown: string[] = [];
  let left = most;
  for (const line of text.split("\n")) {
    if (left <= 0) break;
    shown.push(line.slice(0, left * ROW));
    left -= Math.max(1, Math.ceil(line.length / ROW));
  }
  return shown.join("\n");
}
