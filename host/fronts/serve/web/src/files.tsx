// The artifacts of a session: named files that its calls returned or stored.

import { useEffect, useState } from "preact/hooks";
import { get } from "./api";
import { BlobFile, isShown } from "./media";
import { Most } from "./most";

/// The files that are shown at first.
const STEP = 50;

interface Artifact {
  name: string;
  media_type: string;
  digest: string;
  size: number;
  tool: string | null;
}

export function Files({ session, version }: { session: string; version: number }) {
  const [artifacts, setArtifacts] = useState<Artifact[] | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    get<{ artifacts: Artifact[] }>(`/sessions/${session}/artifacts`)
      .then(({ artifacts }) => setArtifacts(artifacts))
      .catch((error: Error) => setProblem(error.message));
  }, [session, version]);
  return (
    <div class="items" role="region" aria-label="Files" tabIndex={0}>
      {problem && <p class="error" role="alert">{problem}</p>}
      {artifacts?.length === 0 && <p class="quiet">No call of this session returned or stored a file.</p>}
      <Most items={artifacts ?? []} step={STEP} within={(items) => <ul class="plain">{items}</ul>} show={({ name, media_type, digest, size, tool }) => (
          <li key={name}>
            <BlobFile
              session={session}
              digest={digest}
              bytes={size}
              label={name}
              wanted={isShown(media_type)}
            />
            <span class="quiet">
              {media_type}
              {tool && `, by ${tool}`}
            </span>
          </li>
        )} />
    </div>
  );
}
