// A new session.

import { useEffect, useRef, useState } from "preact/hooks";
import { get, post } from "./api";
import { Composer } from "./composer";

interface Named {
  name: string;
  description: string;
}

interface AgentRow extends Named {
  /// The models that its sessions may choose; without a choice they have the first.
  models: string[];
}

/// Messages to begin with, which a user changes before they are sent.
const EXAMPLES = [
  "Describe this directory: what it contains and how it is organised.",
  "Find the longest source files and say how each could be split.",
  "Propose a correction of the first spelling mistake in the README.",
];

export function NewSession({ refresh }: { refresh: () => Promise<void> }) {
  const [agents, setAgents] = useState<AgentRow[]>([]);
  const [ofDefault, setOfDefault] = useState<string[]>([]);
  const [workflows, setWorkflows] = useState<(Named & { faults: string[] })[]>([]);
  const [model, setModel] = useState("");
  const [chosen, setChosen] = useState("");
  const [fill, setFill] = useState<{ text: string } | null>(null);
  const tried = useRef({ text: "", key: "" });
  useEffect(() => {
    void get<{ agents: AgentRow[]; models: string[] }>("/agents")
      .then(({ agents, models }) => {
        setAgents(agents);
        setOfDefault(models);
      })
      .catch(() => {});
    void get<{ workflows: (Named & { faults: string[] })[] }>("/workflows").then(({ workflows }) => setWorkflows(workflows)).catch(() => {});
  }, []);
  const [kind, name] = chosen === "" ? ["", ""] : [chosen.slice(0, chosen.indexOf(":")), chosen.slice(chosen.indexOf(":") + 1)];
  const offered = kind === "workflow" ? [] : kind === "agent" ? (agents.find((agent) => agent.name === name)?.models ?? []) : ofDefault;
  // What another agent was chosen with may not be offered with this one.
  const asked = offered.includes(model) ? model : (offered[0] ?? "");
  const about = [...agents, ...workflows].find((known) => known.name === name);
  return (
    <div class="new">
      <h1>What should the agent do?</h1>
      <Composer
        label="Message"
        button="Start"
        fill={fill}
        send={async (draft) => {
          const body = { ...draft, ...(kind ? { [kind]: name } : {}), ...(asked !== offered[0] ? { model: asked } : {}) };
          // A second try of the same request, whose answer was lost, makes no second session.
          const text = JSON.stringify(body);
          if (tried.current.text !== text) tried.current = { text, key: randomKey() };
          const made = await post<{ session: string }>("/sessions", body, tried.current.key);
          tried.current = { text: "", key: "" };
          await refresh();
          location.hash = `#/s/${made.session}`;
        }}
      >
        <div class="row pickers">
          <label>
            Agent
            <select value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
              <option value="">default</option>
              {agents.map((agent) => (
                <option key={agent.name} value={`agent:${agent.name}`}>
                  {agent.name}
                </option>
              ))}
              {workflows.map((workflow) => (
                <option key={workflow.name} value={`workflow:${workflow.name}`} disabled={workflow.faults.length > 0}>
                  workflow {workflow.name}
                </option>
              ))}
            </select>
          </label>
          {offered.length > 1 ? (
            <label>
              Model
              <select value={asked} onChange={(event) => setModel(event.currentTarget.value)}>
                {offered.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </select>
            </label>
          ) : (
            asked && <span class="quiet">Model {asked}</span>
          )}
          {about && <span class="quiet">{about.description}</span>}
        </div>
      </Composer>
      <section aria-label="Examples">
        <p class="quiet">For example</p>
        <ul class="examples">
          {EXAMPLES.map((text) => (
            <li key={text}>
              <button type="button" onClick={() => setFill({ text })}>
                {text}
              </button>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

/// Works without TLS, too, where `crypto.randomUUID` is missing.
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
