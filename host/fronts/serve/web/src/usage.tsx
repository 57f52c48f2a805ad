// What all sessions used: the figures of `agent-host stats`.

import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import { Back } from "./back";
import { Chart } from "./chart";
import { cost, count, duration } from "./format";

interface Figures {
  sessions: number;
  model_calls: number;
  input_tokens: number;
  cached_input_tokens: number;
  output_tokens: number;
  cost_micros: number;
  unpriced_model_calls: number;
  tool_calls: number;
  failed: number;
  denied: number;
  tool_us: number;
}

interface Stats {
  /// The subject of the rows, as it was asked for.
  by: string;
  rows: ({ name: string } & Figures)[];
  total: Figures;
  unreadable: string[];
}

const SUBJECTS: [string, string][] = [
  ["day", "Day"],
  ["model", "Model"],
  ["tool", "Tool"],
  ["agent", "Agent"],
];

const PERIODS: [string, string][] = [
  ["1d", "today"],
  ["7d", "7 days"],
  ["30d", "30 days"],
  ["", "all time"],
];

export function Usage() {
  const [by, setBy] = useState("day");
  const [since, setSince] = useState("30d");
  const [stats, setStats] = useState<Stats | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    let stale = false;
    get<Omit<Stats, "by">>(`/stats?by=${by}${since && `&since=${since}`}`)
      .then((read) => {
        if (!stale) setStats({ ...read, by });
      })
      .catch((error: Error) => setProblem(error.message));
    return () => {
      stale = true;
    };
  }, [by, since]);
  const subject = SUBJECTS.find(([value]) => value === stats?.by)?.[1];
  return (
    <div class="tools" tabIndex={0} role="region" aria-label="Usage">
      <Back />
      <h1>Usage</h1>
      <div class="row">
        <Choice label="By" value={by} choices={SUBJECTS} set={setBy} />
        <Choice label="Since" value={since} choices={PERIODS} set={setSince} />
      </div>
      {problem && <p class="error" role="alert">{problem}</p>}
      {stats && <Chart rows={stats.rows} by={stats.by} />}
      {stats && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Figures">
          <table class="usage">
            <thead>
              <tr>
                <th scope="col">{subject}</th>
                {["Sessions", "Requests", "Tokens read", "Written", "Cost", "Calls", "Failed", "Denied", "Time of calls"].map((name) => (
                  <th scope="col" key={name}>
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {stats.rows.map((row) => (
                <tr key={row.name}>
                  <th scope="row">{row.name}</th>
                  <Cells figures={row} />
                </tr>
              ))}
            </tbody>
            <tfoot>
              <tr>
                <th scope="row">Total</th>
                <Cells figures={stats.total} />
              </tr>
            </tfoot>
          </table>
        </div>
      )}
      {stats && stats.total.unpriced_model_calls > 0 && (
        <p class="quiet">The price of {count(stats.total.unpriced_model_calls)} requests is not known.</p>
      )}
      {stats && stats.unreadable.length > 0 && <p class="warning">{stats.unreadable.length} sessions cannot be read.</p>}
    </div>
  );
}

function Choice({ label, value, choices, set }: { label: string; value: string; choices: [string, string][]; set: (value: string) => void }) {
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => set(event.currentTarget.value)}>
        {choices.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Cells({ figures }: { figures: Figures }) {
  const cells = [
    count(figures.sessions),
    count(figures.model_calls),
    count(figures.input_tokens),
    count(figures.output_tokens),
    cost(figures.cost_micros),
    count(figures.tool_calls),
    count(figures.failed),
    count(figures.denied),
    duration(figures.tool_us / 1000),
  ];
  return (
    <>
      {cells.map((cell, index) => (
        <td key={index} class="align-right">
          {cell}
        </td>
      ))}
    </>
  );
}
