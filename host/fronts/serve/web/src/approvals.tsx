// The calls of a request that wait for approval: one frame, or a list of them.

import { useContext, useState } from "preact/hooks";
import { ApprovalView } from "./approval";
import { target } from "./arguments";
import { EffectBadge } from "./effect";
import { Most } from "./most";
import { RightsContext } from "./rights";
import type { AnswerForm, Decision, PendingCall } from "./types";
import { VERDICTS } from "./verdicts";

/// The calls that are shown at first.
const STEP = 50;

interface Props {
  calls: PendingCall[];
  send: (form: AnswerForm) => Promise<void>;
}

export function Approvals({ calls, send }: Props) {
  const [decided, setDecided] = useState<Map<string, Decision>>(new Map());
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (all: Map<string, Decision>) => {
    setDecided(all);
    const decisions = calls.flatMap((call) => all.get(call.call_id) ?? []);
    if (decisions.length < calls.length) return;
    setBusy(true);
    try {
      await send({ decisions });
    } catch (error) {
      setProblem((error as Error).message);
      setDecided(new Map());
    } finally {
      setBusy(false);
    }
  };
  const decide = (decision: Decision) => submit(new Map(decided).set(decision.call_id, decision));
  const all = (type: "approve" | "reject") => () => void submit(new Map(calls.map(({ call_id }) => [call_id, { type, call_id }])));
  const isBatch = calls.length > 1;
  return (
    <>
      {isBatch && <Batch calls={calls} decided={decided} busy={busy} approve={all("approve")} deny={all("reject")} />}
      <Most items={calls} step={STEP} show={(call, index) => (
        <ApprovalView
          key={call.call_id}
          call={call}
          place={isBatch ? `${index + 1} of ${calls.length}` : ""}
          decision={decided.get(call.call_id)}
          busy={busy}
          decide={decide}
          again={() => {
            const rest = new Map(decided);
            rest.delete(call.call_id);
            setDecided(rest);
          }}
        />
      )} />
      {problem && <p class="error" role="alert">{problem}</p>}
    </>
  );
}

interface BatchProps {
  calls: PendingCall[];
  decided: Map<string, Decision>;
  busy: boolean;
  approve: () => void;
  deny: () => void;
}

/// All calls of a batch, each in a line that leads to its frame, and one decision for all.
function Batch({ calls, decided, busy, approve, deny }: BatchProps) {
  const { decide } = useContext(RightsContext);
  const may = (kind: string) => decide && calls.every(({ decisions }) => decisions.includes(kind));
  const left = calls.length - decided.size;
  return (
    <div class="batch">
      <p>
        <strong>{calls.length} calls</strong> wait for approval{decided.size > 0 && `, ${left} left to decide`}.
      </p>
      <ol aria-label="Waiting calls">
        <Most items={calls} step={STEP} show={(call) => {
          const about = target(call.input);
          const decision = decided.get(call.call_id);
          return (
            <li key={call.call_id}>
              <button
                type="button"
                class="quiet"
                onClick={(event) => {
                  const frames = event.currentTarget.closest(".request")!.querySelectorAll<HTMLElement>(".approval");
                  [...frames].find(({ dataset }) => dataset["call"] === call.call_id)?.focus();
                }}
              >
                <code>{call.tool}</code> {about && <span class="about">{String(call.input[about])}</span>}
                <EffectBadge effect={call.effect} />
                {decision && <span class="verdict">{VERDICTS[decision.type]}</span>}
              </button>
            </li>
          );
        }} />
      </ol>
      <div class="actions">
        {may("approve") && (
          <button type="button" disabled={busy} onClick={approve}>
            Approve all
          </button>
        )}
        {may("reject") && (
          <button type="button" disabled={busy} onClick={deny}>
            Deny all
          </button>
        )}
      </div>
    </div>
  );
}
