/**
 * `fetch` where the project does not declare `http`. A package that calls it fails with this
 * message; the author's own use of it ends the build (`build/uses.mjs`).
 */

export function fetchUndeclared() {
  throw new Error(
    'the component was built without `http`: add "http" to "uses" of "agent-host" in package.json, and build again',
  );
}

export { fetchUndeclared as fetch, fetchUndeclared as "globalThis.fetch" };
