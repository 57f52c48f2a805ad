// What the page's token may do. The server checks it again with every request; the page offers what
// is not refused.

import { createContext } from "preact";
import type { Role } from "./types";

export interface Rights {
  /// Send messages, answer questions, and manage sessions.
  send: boolean;
  /// Decide about calls that wait for approval.
  decide: boolean;
  /// Have a decision remembered for the project.
  operate: boolean;
  /// Make links to sessions, if the operator allows them.
  share: boolean;
  /// Read one session alone, by a link to it.
  isLink: boolean;
}

export function rightsOf(role: Role, { links = false, isLink = false } = {}): Rights {
  const level = ["viewer", "user", "approver", "operator"].indexOf(role);
  return { send: level >= 1, decide: level >= 2, operate: level >= 3, share: links && level >= 1, isLink };
}

export const RightsContext = createContext<Rights>(rightsOf("viewer"));
