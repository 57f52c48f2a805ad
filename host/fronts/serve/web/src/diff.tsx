// Changes of files in rows, with long unchanged runs folded.

import { useMemo, useState } from "preact/hooks";
import { count } from "./format";
import { firstRows, MOST_ROWS, rowsOf } from "./rows";
import type { DiffRow } from "./types";

const SIGNS = { hunk: "", same: " ", removed: "-", added: "+" };

/// The unchanged rows that stay at each end of a folded run.
const CONTEXT = 3;

/// A row, or the unchanged rows that a button stands for.
type Piece = DiffRow | { kind: "fold"; rows: DiffRow[] };

function folded(rows: DiffRow[]): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < rows.length; ) {
    let end = at;
    while (rows[end]?.kind === "same") end += 1;
    if (end - at > 2 * CONTEXT + 2) {
      pieces.push(...rows.slice(at, at + CONTEXT), { kind: "fold", rows: rows.slice(at + CONTEXT, end - CONTEXT) });
      at = end - CONTEXT;
    }
    pieces.push(...rows.slice(at, Math.max(end, at + 1)));
    at = Math.max(end, at + 1);
  }
  return pieces;
}

/// The rows that a comparison adds and removes, as `+1 -1`.
export function changeSize({ rows, is_new }: { rows: DiffRow[]; is_new: boolean }): string {
  const of = (kind: string) => count(rows.filter((row) => row.kind === kind).length);
  if (rows.length === 0) return "no change";
  return is_new ? `new file +${of("added")}` : `+${of("added")} -${of("removed")}`;
}

/// A comparison; at first at most `MOST_ROWS` rows of it.
export function Diff({ rows, whole = false }: { rows: DiffRow[]; whole?: boolean }) {
  const [all, setAll] = useState(whole);
  const pieces = useMemo(() => folded(rows), [rows]);
  const heights = pieces.map((piece) => (piece.kind === "fold" ? 1 : rowsOf(piece.text.replace(/\n$/, ""))));
  const total = heights.reduce((sum, height) => sum + height, 0);
  let left = all ? Infinity : MOST_ROWS;
  const shown = pieces.flatMap((piece, index) => {
    if (left <= 0) return [];
    const text = piece.kind === "fold" || heights[index]! <= left ? piece : { ...piece, text: firstRows(piece.text, left) };
    left -= heights[index]!;
    return [text];
  });
  return (
    <>
      <pre class="diff" tabIndex={0} aria-label="Change of the file">
        {shown.map((piece, index) => (piece.kind === "fold" ? <Fold key={index} rows={piece.rows} /> : <Row key={index} row={piece} />))}
      </pre>
      {total > MOST_ROWS && !all && (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          Show all {count(total)} rows
        </button>
      )}
    </>
  );
}

function Row({ row }: { row: DiffRow }) {
  return (
    <span class={row.kind}>
      {SIGNS[row.kind]}
      {row.text.replace(/\n$/, "")}
      {"\n"}
    </span>
  );
}

function Fold({ rows }: { rows: DiffRow[] }) {
  const [open, setOpen] = useState(false);
  if (open) return <>{rows.map((row, index) => <Row key={index} row={row} />)}</>;
  return (
    <button type="button" class="fold" onClick={() => setOpen(true)}>
      Show {count(rows.length)} unchanged lines
    </button>
  );
}

/// Compares two texts by their lines: what they have in common at their ends is unchanged. Linear,
/// for texts of any length.
export function compare(before: string, after: string): DiffRow[] {
  const [old, changed] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < Math.min(old.length, changed.length) && old[start] === changed[start]) start += 1;
  let end = 0;
  while (end < Math.min(old.length, changed.length) - start && old.at(-1 - end) === changed.at(-1 - end)) end += 1;
  const rows = (lines: string[], kind: DiffRow["kind"]) => lines.map((text): DiffRow => ({ kind, text }));
  return [
    ...rows(old.slice(0, start), "same"),
    ...rows(old.slice(start, old.length - end), "removed"),
    ...rows(changed.slice(start, changed.length - end), "added"),
    ...rows(old.slice(old.length - end), "same"),
  ];
}
