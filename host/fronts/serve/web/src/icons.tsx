// What a call does, as the host knows it from the tool's runtime, effect and grants.

/// The kinds of calls in words, and the paths of their icons on a grid of 16.
const KINDS: Record<string, [string, string]> = {
  read: ["read", "M4 1.5h5l3 3v10H4zM9 1.5v3h3M6 8h4M6 11h4"],
  edit: ["edit", "M11 2.5l2.5 2.5L6 12.5 2.5 13.5 3.5 10zM9.5 4l2.5 2.5"],
  search: ["search", "M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 1 0 0-9M10.5 10.5l3.5 3.5"],
  network: ["network", "M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 1 0 0-13M1.5 8h13M8 1.5c4 4 4 9 0 13M8 1.5c-4 4-4 9 0 13"],
  code: ["code", "M5.5 4L1.5 8l4 4M10.5 4l4 4-4 4"],
  agent: ["agent", "M3 6h10v7H3zM8 6V2.5M6 9v1.5M10 9v1.5"],
  other: ["other", "M8 2.5L13.5 8 8 13.5 2.5 8z"],
};

function known(kind: string | undefined): [string, string] {
  return KINDS[kind ?? ""] ?? KINDS["other"]!;
}

export function kindWord(kind: string | undefined): string {
  return known(kind)[0];
}

export function KindIcon({ kind }: { kind: string | undefined }) {
  const [word, path] = known(kind);
  return (
    <svg class="kind" viewBox="0 0 16 16" aria-hidden="true" data-kind={word}>
      <path d={path} />
    </svg>
  );
}
