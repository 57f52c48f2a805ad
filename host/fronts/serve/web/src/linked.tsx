// The page of a link: one session, to be read.

import { useCallback, useEffect, useState } from "preact/hooks";
import { type ApiError, get, post, setToken } from "./api";
import { Conversation } from "./conversation";
import { RightsContext, rightsOf } from "./rights";
import type { SessionRow } from "./types";

interface Target {
  session: string;
  expires_at_ms: number;
  must_open: boolean;
}

const UNTIL = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/// Another reading has begun meanwhile, or the first one ended.
let opening: Promise<Target> | undefined;

/// Asks what the link shows. The token of one for a single use is exchanged, once.
async function openLink(): Promise<Target> {
  const target = await get<Target>("/link");
  if (target.must_open) setToken((await post<{ token: string }>("/link/open")).token);
  return target;
}

export function LinkedSession() {
  const [target, setTarget] = useState<Target | null>(null);
  const [row, setRow] = useState<SessionRow | undefined>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    opening ??= openLink();
    opening.then(setTarget).catch((error: ApiError) => {
      opening = undefined;
      setProblem([401, 404].includes(error.status) ? "This link shows nothing any more: it was revoked or opened before, or has expired." : error.message);
    });
  }, []);
  const session = target?.session;
  const refresh = useCallback(async () => {
    if (!session) return;
    // The conversation tells what is wrong with its stream.
    await get<SessionRow>(`/sessions/${session}`).then(setRow, () => {});
  }, [session]);
  useEffect(() => void refresh(), [refresh]);
  if (problem) {
    return (
      <main class="sign-in">
        <h1>agent-host</h1>
        <p class="error" role="alert">
          {problem}
        </p>
      </main>
    );
  }
  if (!target) return <div class="linked" aria-busy="true" />;
  return (
    <RightsContext.Provider value={rightsOf("viewer", { isLink: true })}>
      <main class="linked">
        <p class="banner quiet">A read-only link to one session, until {UNTIL.format(target.expires_at_ms)}.</p>
        <Conversation session={target.session} row={row} refresh={refresh} />
      </main>
    </RightsContext.Provider>
  );
}
