// What the calls of a session asked for, what was denied by which rule, and the smallest change of
// agent.toml that would allow it. The page shows that change and makes none.

import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import { count } from "./format";
import { Most } from "./most";

/// The calls, suggestions and requests that are shown at first.
const STEP = 100;

interface Asked {
  request: string;
  verdict: string;
  rule: string;
  count: number;
}

interface ExplainedCall {
  call_id: string;
  tool: string;
  outcome: string;
  rule?: string;
  remedy?: string;
  asked: Asked[];
}

interface Explanation {
  calls: ExplainedCall[];
  suggestions: { toml: string; change: boolean; argument: string | null }[];
}

export function Explained({ session, version }: { session: string; version: number }) {
  const [explained, setExplained] = useState<Explanation | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    get<Explanation>(`/sessions/${session}/explain`)
      .then(setExplained)
      .catch((error: Error) => setProblem(error.message));
  }, [session, version]);
  const calls = explained?.calls.filter(({ rule, asked }) => rule !== undefined || asked.length > 0);
  return (
    <div class="items access" role="region" aria-label="Access" tabIndex={0}>
      {problem && <p class="error" role="alert">{problem}</p>}
      {calls?.length === 0 && <p class="quiet">No call of this session asked for files, hosts or secrets.</p>}
      {explained && explained.suggestions.length > 0 && (
        <section>
          <h2>What would allow what was denied</h2>
          <Most items={explained.suggestions} step={STEP} show={({ toml, change, argument }, index) => (
            <div key={index}>
              <p class="quiet">{change ? "These lines of agent.toml in place of the grant:" : "These lines in agent.toml:"}</p>
              <pre tabIndex={0}>{toml}</pre>
              {argument && (
                <p>
                  or, for one run: <code>--grant {argument}</code>
                </p>
              )}
            </div>
          )} />
        </section>
      )}
      {calls && <Most items={calls} step={STEP} show={(call) => (
        <section key={call.call_id}>
          <h3>
            <code>{call.tool}</code> <span class="quiet">{call.outcome}</span>
          </h3>
          {call.rule !== undefined && (
            <p class="warning">
              The call was denied by {call.rule}. {call.remedy}
            </p>
          )}
          <ul class="plain">
            <Most items={call.asked} step={STEP} show={({ request, verdict, rule, count: times }) => (
              <li key={request + rule}>
                <span class={verdict === "denied" ? "error" : "quiet"}>{verdict}</span> <code>{request}</code>{" "}
                <span class="quiet">
                  by {rule}
                  {times > 1 && `, ${count(times)} times`}
                </span>
              </li>
            )} />
          </ul>
        </section>
      )} />}
    </div>
  );
}
