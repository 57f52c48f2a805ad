// What a session waits for: approvals, questions, and those of its agents.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { get } from "./api";
import { Approvals } from "./approvals";
import { type Found, type Preview, previews, Previews } from "./previews";
import { QuestionView } from "./question";
import type { AnswerForm, Awaiting, Continuation } from "./types";

export { Arguments, target } from "./arguments";

type Send = (form: AnswerForm) => Promise<void>;

export function RequestView({ continuation, send }: { continuation: Continuation; send: Send }) {
  const [found, setFound] = useState<Map<string, Preview> | null>(null);
  const { session } = continuation;
  const section = useRef<HTMLElement>(null);
  // Who decided by keys is not sent back to the start of the page.
  useLayoutEffect(
    () => () => {
      const { current } = section;
      if (current?.contains(document.activeElement)) current.closest<HTMLElement>(".items")?.focus();
    },
    [],
  );
  useEffect(() => {
    get<Found>(`/sessions/${session}/changes`)
      .then((found) => setFound(previews(found)))
      // The arguments are shown in any case.
      .catch(() => setFound(new Map()));
  }, [session]);
  return (
    <section ref={section} class="request" aria-label="Waiting for you" aria-busy={found === null} data-request={continuation.request}>
      <Previews.Provider value={found}>
        <Waiting awaiting={continuation.awaiting} send={send} />
      </Previews.Provider>
    </section>
  );
}

function Waiting({ awaiting, send }: { awaiting: Awaiting; send: Send }) {
  switch (awaiting.kind) {
    case "confirm":
      return <Approvals calls={awaiting.calls} send={send} />;
    case "answer":
      return <QuestionView tool={awaiting.tool} question={awaiting.question} send={send} />;
    case "external":
      return (
        <p>
          {awaiting.calls.length === 1 ? "A call runs" : `${awaiting.calls.length} calls run`} outside of this host. Its
          result comes over the API.
        </p>
      );
    case "children":
      return (
        <>
          {awaiting.children.map((child) => (
            <fieldset key={child.call_id}>
              <legend>{child.program === undefined ? `Agent ${child.agent}` : "Program"}</legend>
              {child.program !== undefined && <pre>{child.program}</pre>}
              <Waiting
                awaiting={child.continuation.awaiting}
                send={(form) => send({ children: [{ call_id: child.call_id, ...form }] })}
              />
            </fieldset>
          ))}
        </>
      );
  }
}
