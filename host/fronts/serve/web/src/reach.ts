// The lines about what a tool can access, without what its target already says.

import type { FileChange } from "./types";

/// Returns the grants of a tool beyond the target of a call. A comparison shows the one file that the
/// call writes, and the host of an URL is in the URL.
export function beyondTarget(grants: string[], about: string, change: FileChange | undefined): string[] {
  const host = URL.canParse(about) ? new URL(about).host : "";
  return grants.filter((line) => {
    if (line === "no files" || line === "no network") return false;
    if (change && / as \/\S*, read-(only|write)/.test(line)) return false;
    return host === "" || !isHost(line, host);
  });
}

function isHost(line: string, host: string): boolean {
  const target = line.split(", only ")[0]!;
  const found = URL.canParse(target) && target.includes("://") ? new URL(target).host : target;
  return found === host;
}
