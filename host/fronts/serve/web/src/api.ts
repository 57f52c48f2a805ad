// Requests to the API. The token comes with the address, and stays in this tab.

import { createParser } from "eventsource-parser";
import type { Line } from "./types";

const API = "/api/v1";
const JSON_TYPE = "application/json";
const TOKEN = "agent-host-token";
const LINK = "agent-host-link";

/// Heartbeats come every 15 s; a stream that misses two of them is dead.
const SILENCE_MS = 35_000;
const MIN_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 15_000;

/// A long session arrives faster than it is drawn: it is read in pieces of this many characters,
/// and the page gets its turn at this interval.
const PIECE = 32 * 1024;
const BREATH_MS = 8;

/// Is told of each answer, so that a lost stream is opened again as soon as the server is back.
const server = new EventTarget();

/// Takes the token out of the address, so that it is neither in the history nor in a bookmark.
/// Returns whether there was one.
export function takeToken(): boolean {
  const found = /^#(token|link)=([^&]+)/.exec(location.hash);
  if (!found?.[2]) return false;
  setToken(decodeURIComponent(found[2]));
  if (found[1] === "link") sessionStorage.setItem(LINK, "");
  else sessionStorage.removeItem(LINK);
  history.replaceState(null, "", "#/");
  return true;
}

/// Whether the token is that of a link to one session.
export function isLink(): boolean {
  return sessionStorage.getItem(LINK) !== null;
}

export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

export function hasToken(): boolean {
  return sessionStorage.getItem(TOKEN) !== null;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

async function send(
  method: string,
  path: string,
  body?: unknown,
  { signal, more = {}, answers = "" }: { signal?: AbortSignal; more?: Record<string, string>; answers?: string } = {},
): Promise<Response> {
  const headers: Record<string, string> = {
    ...more,
    Authorization: `Bearer ${sessionStorage.getItem(TOKEN) ?? ""}`,
  };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const init: RequestInit = { method, headers, cache: "no-store" };
  if (body !== undefined) init.body = JSON.stringify(body);
  if (signal) init.signal = signal;
  let response: Response;
  try {
    response = await fetch(API + path, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, "unreachable", "The server does not answer. Is `agent-host serve` still running?");
  }
  if (!response.ok) throw await problem(response);
  if (answers && !(response.headers.get("content-type") ?? "").startsWith(answers)) throw foreign(response);
  return response;
}

/// Something else than agent-host answered: a proxy's page of an error or for signing in.
function foreign(response: Response): ApiError {
  const type = (response.headers.get("content-type") ?? "nothing").split(";")[0];
  return new ApiError(
    response.status,
    "foreign-answer",
    `Not agent-host answered, but something before it, such as a proxy: ${type ?? ""} with the status ${response.status}.`,
  );
}

async function problem(response: Response): Promise<ApiError> {
  const type = response.headers.get("content-type") ?? "";
  if (response.status === 401 && !type.startsWith("text/html")) {
    return new ApiError(401, "unauthorized", "The token is missing or wrong; a server that was started again may have another one. Open the link that `agent-host serve` printed.");
  }
  if (type.startsWith("text/html")) return foreign(response);
  const text = await response.text();
  if (type.startsWith("application/problem+json")) {
    const { code, detail } = JSON.parse(text);
    return new ApiError(response.status, code, detail);
  }
  return new ApiError(response.status, "refused", `${response.status}: ${text.slice(0, 300)}`);
}

export async function get<T>(path: string): Promise<T> {
  const response = await send("GET", path, undefined, { answers: JSON_TYPE });
  server.dispatchEvent(new Event("answer"));
  return response.json() as Promise<T>;
}

/// Posts a body. A request with a key is carried out once, however often it is sent.
export async function post<T>(path: string, body: unknown = {}, key?: string): Promise<T> {
  const more: Record<string, string> = key ? { "Idempotency-Key": key } : {};
  const response = await send("POST", path, body, { more });
  if (response.headers.get("content-type") === null) return undefined as T;
  if (!response.headers.get("content-type")!.startsWith(JSON_TYPE)) throw foreign(response);
  return response.json() as Promise<T>;
}

export async function change(method: "PATCH" | "DELETE", path: string, body?: unknown): Promise<void> {
  await send(method, path, body);
}

export async function bytes(path: string): Promise<ArrayBuffer> {
  return (await send("GET", path)).arrayBuffer();
}

/// Saves bytes under a name, of which only plain characters are kept.
export function save(name: string, data: ArrayBuffer): void {
  const url = URL.createObjectURL(new Blob([data], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, "_").slice(0, 100) || "file";
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/// The state of a stream: one that is lost is opened again, and one that is refused is not.
export type Connection = "connecting" | "open" | "lost" | "refused";

/// Waits for an answer to another request, at most this long.
function answerWithin(ms: number): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      server.removeEventListener("answer", end);
      done();
    };
    const timer = setTimeout(end, ms);
    server.addEventListener("answer", end);
  });
}

/// Reads the stream of a session until it is stopped. A connection that ends or falls silent is
/// opened again behind the last event that was seen.
export function watch(
  session: string,
  onLines: (lines: Line[]) => void,
  onState: (state: Connection, error?: ApiError) => void,
): () => void {
  const stopped = new AbortController();
  let from = 0;
  let failures = 0;
  const run = async () => {
    while (!stopped.signal.aborted) {
      onState(failures === 0 ? "connecting" : "lost");
      const attempt = new AbortController();
      const stop = () => attempt.abort();
      stopped.signal.addEventListener("abort", stop);
      let watchdog = setTimeout(stop, SILENCE_MS);
      try {
        const response = await send("GET", `/sessions/${session}/events?from=${from}`, undefined, {
          signal: attempt.signal,
          answers: "text/event-stream",
        });
        onState("open");
        failures = 0;
        let lines: Line[] = [];
        const parser = createParser({
          onEvent(message) {
            if (message.event === "heartbeat") return;
            const line = JSON.parse(message.data) as Line;
            if (message.id !== undefined) from = Number(message.id) + 1;
            lines.push(line);
          },
        });
        let since = performance.now();
        const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          clearTimeout(watchdog);
          watchdog = setTimeout(stop, SILENCE_MS);
          for (let at = 0; at < value.length; at += PIECE) {
            parser.feed(value.slice(at, at + PIECE));
            if (lines.length > 0) {
              onLines(lines);
              lines = [];
            }
            if (performance.now() - since > BREATH_MS) {
              await new Promise((done) => setTimeout(done));
              since = performance.now();
            }
          }
        }
      } catch (error) {
        const refused = error instanceof ApiError && error.code !== "foreign-answer" && [401, 403, 404].includes(error.status);
        if (refused) {
          onState("refused", error);
          return;
        }
      } finally {
        clearTimeout(watchdog);
        stopped.signal.removeEventListener("abort", stop);
      }
      failures += 1;
      const wait = Math.min(MAX_BACKOFF_MS, MIN_BACKOFF_MS * 2 ** failures) * (0.5 + Math.random() / 2);
      if (stopped.signal.aborted) return;
      await new Promise((done) => setTimeout(done, MIN_BACKOFF_MS));
      await answerWithin(wait - MIN_BACKOFF_MS);
    }
  };
  void run();
  return () => stopped.abort();
}
