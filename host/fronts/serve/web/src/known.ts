// The tools of the host, for the words of their calls: read once, when a call is first shown.

import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import type { KnownTool } from "./summary";

type KnownTools = Map<string, KnownTool>;

let known: KnownTools = new Map();
let reading: Promise<KnownTools> | undefined;

async function read(): Promise<KnownTools> {
  const { tools } = await get<{ tools: (KnownTool & { name: string })[] }>("/tools");
  known = new Map(tools.map((tool) => [tool.name, tool]));
  return known;
}

/// The tools by name; none until the list is read, and none if it cannot be.
export function useKnownTools(): KnownTools {
  const [tools, setTools] = useState(known);
  useEffect(() => {
    reading ??= read();
    reading.then(setTools).catch(() => {
      reading = undefined;
    });
  }, []);
  return tools;
}
