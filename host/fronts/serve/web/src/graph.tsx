// The runs of workflows in a session: nodes in layers, with their states. Every label becomes a text
// node of the drawing.

import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import { visible } from "./format";

interface Node {
  id: string;
  details: string;
  state?: string;
  layer: number;
  place: number;
}

interface Edge {
  from: number;
  to: number;
  when?: string;
}

interface Layout {
  workflow: string;
  nodes: Node[];
  edges: Edge[];
}

interface Graphs {
  drawings: string[];
  layouts: Layout[];
}

/// Larger workflows are shown as text alone.
const MOST_NODES = 300;

/// The size of a node and the space around it, in units of the drawing.
const NODE = { width: 190, height: 52 };
const GAP = { across: 26, down: 46 };
const LABEL_CHARS = 26;

export function Graph({ session, version }: { session: string; version: number }) {
  const [graphs, setGraphs] = useState<Graphs | null>(null);
  useEffect(() => {
    get<Graphs>(`/sessions/${session}/graph`)
      .then(setGraphs)
      .catch(() => setGraphs({ drawings: [], layouts: [] }));
  }, [session, version]);
  return (
    <div class="items" tabIndex={0} role="region" aria-label="Graph">
      {graphs?.layouts.length === 0 && <p class="quiet">No workflow ran in this session.</p>}
      {graphs?.layouts.map((layout, index) => (
        <section key={index}>
          <h2>{layout.workflow}</h2>
          {layout.nodes.length <= MOST_NODES && <Drawing layout={layout} />}
          <details open={layout.nodes.length > MOST_NODES}>
            <summary>As text</summary>
            <pre class="drawing" tabIndex={0}>
              {graphs.drawings[index] ?? ""}
            </pre>
          </details>
        </section>
      ))}
    </div>
  );
}

/// Returns text of at most `most` characters.
function cut(text: string, most: number): string {
  const characters = [...visible(text)];
  return characters.length > most ? `${characters.slice(0, most - 1).join("")}…` : characters.join("");
}

function Drawing({ layout }: { layout: Layout }) {
  const wide = Math.max(0, ...layout.nodes.map((node) => node.place)) + 1;
  const deep = Math.max(0, ...layout.nodes.map((node) => node.layer)) + 1;
  const width = wide * (NODE.width + GAP.across);
  const height = deep * (NODE.height + GAP.down) - GAP.down + 8;
  const inLayer = (layer: number) => layout.nodes.filter((node) => node.layer === layer).length;
  const at = (node: Node): [number, number] => {
    // A layer is in the middle of the drawing.
    const left = (width - inLayer(node.layer) * (NODE.width + GAP.across)) / 2;
    return [left + GAP.across / 2 + node.place * (NODE.width + GAP.across), 4 + node.layer * (NODE.height + GAP.down)];
  };
  const states = layout.nodes.map((node) => `${node.id} ${node.state ?? ""}`).join(", ");
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Drawing of ${layout.workflow}`}>
      <svg class="graph" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={states}>
        {layout.edges.map((edge, index) => {
          const [from, to] = [layout.nodes[edge.from], layout.nodes[edge.to]];
          if (!from || !to) return null;
          const [x1, y1] = [at(from)[0] + NODE.width / 2, at(from)[1] + NODE.height];
          const [x2, y2] = [at(to)[0] + NODE.width / 2, at(to)[1]];
          const bend = (y1 + y2) / 2;
          return (
            <g key={index} class={from.state === "done" && to.state !== "skipped" ? "edge fired" : "edge"}>
              <path d={`M${x1} ${y1}C${x1} ${bend} ${x2} ${bend} ${x2} ${y2}`} />
              {edge.when !== undefined && (
                <text x={(x1 + x2) / 2} y={bend + 4}>
                  <title>{edge.when}</title>
                  {cut(edge.when, LABEL_CHARS)}
                </text>
              )}
            </g>
          );
        })}
        {layout.nodes.map((node) => {
          const [x, y] = at(node);
          return (
            <g key={node.id} class={`node ${node.state ?? "pending"}`} transform={`translate(${x} ${y})`}>
              <title>{`${node.id}: ${node.details}`}</title>
              <rect width={NODE.width} height={NODE.height} rx="8" />
              <text x={NODE.width / 2} y="21" class="id">
                {cut(node.id, LABEL_CHARS - 4)}
              </text>
              <text x={NODE.width / 2} y="40">
                {cut(`${node.state ?? ""} · ${node.details}`, LABEL_CHARS + 2)}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}
