// What was undone of an answer, and what was not.

import { post } from "./api";

export interface Undone {
  message?: string;
  restored: { path: string; done: "written-back" | "recreated" | "removed" }[];
  left: { path: string; reason: string }[];
  outside: { tool: string; hosts: string[] }[];
}

const NOTHING: Undone = { restored: [], left: [], outside: [] };

/// Restores the files that the newest answer changed.
export async function undo(session: string, force: boolean): Promise<Undone> {
  const { undone } = await post<{ undone?: Undone }>(`/sessions/${session}/undo`, { force });
  return undone ?? NOTHING;
}

interface Props {
  undone: Undone;
  force: () => void;
  close: () => void;
}

export function UndoReport({ undone: { message, restored, left, outside }, force, close }: Props) {
  const isNothing = restored.length + left.length + outside.length === 0;
  return (
    <section class="report" aria-label="Undone" role="status">
      {message !== undefined && <p class="quiet">The answer to: {message}</p>}
      {isNothing && <p>No answer of this session has changed files that are kept for undoing.</p>}
      <ul>
        {restored.map(({ path, done }) => (
          <li key={path}>
            <code>{path}</code> {done.replace("-", " ")}
          </li>
        ))}
        {left.map(({ path, reason }) => (
          <li key={path}>
            <code>{path}</code> <span class="warning">not restored: {reason}</span>
          </li>
        ))}
        {outside.map(({ tool, hosts }, index) => (
          <li key={index}>
            <span class="warning">cannot be undone:</span> {tool}, {hosts.length > 0 ? `which reached ${hosts.join(", ")}` : "outside of the sandbox"}
          </li>
        ))}
      </ul>
      {left.length > 0 && (
        <button type="button" class="danger" onClick={force}>
          Restore what was changed since, too
        </button>
      )}
      <button type="button" onClick={close}>
        Close
      </button>
    </section>
  );
}
