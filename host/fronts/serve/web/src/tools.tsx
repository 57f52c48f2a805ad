// The tools, and what they can access.

import { useEffect, useState } from "preact/hooks";
import { type ApiError, get } from "./api";
import { Back } from "./back";
import { EffectBadge } from "./effect";
import { Most } from "./most";
import type { Tool } from "./types";

/// The tools and components that are shown at first.
const STEP = 200;

interface Grants {
  reach: string[];
  components: { component: string; grants: string[] }[];
}

export function Tools() {
  const [tools, setTools] = useState<Tool[]>([]);
  const [grants, setGrants] = useState<Grants>({ reach: [], components: [] });
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const failed = (error: Error) => setProblem(error.message);
    get<{ tools: Tool[] }>("/tools").then(({ tools }) => setTools(tools)).catch(failed);
    // Those are for operators alone; the list of tools is whole without them.
    get<Grants>("/grants").then(setGrants).catch((error: ApiError) => error.code === "operator-required" || failed(error));
  }, []);
  return (
    <div class="tools" tabIndex={0} role="region" aria-label="Tools">
      <Back />
      <h1>Tools</h1>
      {problem && <p class="error" role="alert">{problem}</p>}
      <h2>Access</h2>
      <ul class="plain">
        <Most items={grants.components} step={STEP} show={({ component, grants }) => (
          <li key={component}>
            <code>{component}</code> {grants.join("; ")}
          </li>
        )} />
      </ul>
      <h2>{tools.length} tools</h2>
      <ul class="plain">
        <Most items={tools} step={STEP} show={(tool) => (
          <li key={tool.name}>
            <strong>{tool.title ?? tool.name}</strong> {tool.title && <code>{tool.name}</code>}{" "}
            <EffectBadge effect={tool.effect} />
            <p class="description">{tool.description}</p>
          </li>
        )} />
      </ul>
    </div>
  );
}
