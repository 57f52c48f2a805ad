// The usage as bars: one for each day, or for each model, tool or agent. The table below has the
// figures.

import { cost, count } from "./format";

/// The most bars, those of the last days or of the first rows.
const MOST_BARS = 60;

const DAY_MS = 24 * 60 * 60 * 1000;

/// The height of the highest bar, in units of the drawing; each bar is one unit wide.
const HEIGHT = 40;

interface Row {
  name: string;
  cost_micros: number;
  input_tokens: number;
  output_tokens: number;
  tool_calls: number;
}

/// The measures of the bars; the first one that is not 0 everywhere counts.
const MEASURES: [string, (row: Row) => number, (value: number) => string][] = [
  ["cost", (row) => row.cost_micros, cost],
  ["tokens", (row) => row.input_tokens + row.output_tokens, count],
  ["calls", (row) => row.tool_calls, count],
];

/// The days from the first row to the last one, also those without use.
function days(rows: Row[]): string[] {
  const times = rows.map(({ name }) => Date.parse(name)).filter((time) => !Number.isNaN(time));
  if (times.length === 0) return [];
  const last = times.reduce((one, other) => Math.max(one, other));
  const first = Math.max(times.reduce((one, other) => Math.min(one, other)), last - (MOST_BARS - 1) * DAY_MS);
  return Array.from({ length: (last - first) / DAY_MS + 1 }, (_, index) => new Date(first + index * DAY_MS).toISOString().slice(0, 10));
}

/// The chart of at least two bars; nothing for fewer.
export function Chart({ rows, by }: { rows: Row[]; by: string }) {
  const measure = MEASURES.find(([, value]) => rows.some((row) => value(row) > 0));
  const names = by === "day" ? days(rows) : rows.slice(0, MOST_BARS).map(({ name }) => name);
  if (!measure || names.length < 2) return null;
  const [word, value, format] = measure;
  const values = new Map(rows.map((row) => [row.name, value(row)]));
  const bars = names.map((name) => ({ name, value: values.get(name) ?? 0 }));
  const most = bars.reduce((one, other) => (other.value > one.value ? other : one));
  const about = `${word} by ${by}, at most ${format(most.value)} (${most.name})`;
  return (
    <figure class="chart">
      <svg viewBox={`0 0 ${bars.length} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={about}>
        {bars.map(({ name, value }, index) => {
          const height = most.value > 0 ? (value / most.value) * HEIGHT : 0;
          return (
            <rect key={name} x={index + 0.1} y={HEIGHT - height} width={0.8} height={height}>
              <title>{`${name}: ${format(value)}`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption aria-hidden="true">
        <span>{names[0]}</span>
        <span>{about}</span>
        <span>{names[names.length - 1]}</span>
      </figcaption>
    </figure>
  );
}
