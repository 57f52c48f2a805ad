/** The conformance tools for HTTP. */

import { array, boolean, error, integer, json, object, optional, string, tool } from "#agent-tool";

/** A byte of a streamed body says in which block of this size it is. */
const BLOCK_BYTES = 4096;
const PIECE_BYTES = 16 * BLOCK_BYTES;

export const http = tool({
  name: "http",
  description: "Sends a request and gives the response.",
  effect: "effectful",
  input: object({
    method: string("The method."),
    url: string("The URL."),
    name: optional(string("The name of header fields."), ""),
    values: optional(array(string(), "Their values."), []),
    body: optional(string("The body.")),
  }),
  run: ({ method, url, name, values, body }) =>
    withMessage(async () => {
      const headers = new Headers(values.map((value) => [name, value]));
      const response = await fetch(url, { method, headers, body });
      const answer = response.headers.get("x-answer");
      return { status: response.status, answer, body: await response.text() };
    }),
});

export const streamHttp = tool({
  name: "stream_http",
  description: "Sends and receives a body in pieces, and counts what it receives.",
  effect: "effectful",
  input: object({
    url: string("The URL."),
    size: optional(integer("The size of a body to send, in bytes.", { minimum: 0 }), 0),
    whole: optional(boolean("True if the response is to be held as a whole."), false),
  }),
  run: ({ url, size, whole }) =>
    withMessage(async () => {
      const options = size > 0 ? { method: "POST", body: made(size), duplex: "half" } : {};
      const response = await fetch(url, options);
      const pieces = whole
        ? [new Uint8Array(await response.arrayBuffer())]
        : piecesOf(response.body);
      const { bytes, sum } = await measured(pieces);
      return { bytes, sum, answer: response.headers.get("x-answer") };
    }),
});

/** The result of an action, or the message of its failure: `fetch` has no kinds of failures. */
async function withMessage(action) {
  try {
    return json(await action());
  } catch (failure) {
    return error(failure.message);
  }
}

/** A body of this size. */
function made(size) {
  let start = 0;
  return new ReadableStream({
    pull(controller) {
      const piece = new Uint8Array(Math.min(PIECE_BYTES, size - start));
      for (let at = 0; at < piece.length; at += BLOCK_BYTES) {
        piece.fill(((start + at) / BLOCK_BYTES) % 251, at, at + BLOCK_BYTES);
      }
      start += piece.length;
      controller.enqueue(piece);
      if (start === size) {
        controller.close();
      }
    },
  });
}

async function* piecesOf(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) {
      return;
    }
    yield value;
  }
}

/** The size of a body, and the sum of the first bytes of its blocks, each times its number. */
async function measured(pieces) {
  let bytes = 0;
  let sum = 0;
  for await (const piece of pieces) {
    const first = (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
    for (let at = first; at < piece.length; at += BLOCK_BYTES) {
      sum += piece[at] * ((bytes + at) / BLOCK_BYTES + 1);
    }
    bytes += piece.length;
  }
  return { bytes, sum };
}
