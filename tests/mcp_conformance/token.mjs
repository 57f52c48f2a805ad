// Loaded before the conformance suite (`node --import`), which has no option for a token: adds it to every request and
// changes nothing else of them.

import { getGlobalDispatcher, setGlobalDispatcher } from "undici";

const token = ["authorization", `Bearer ${process.env.AGENT_HOST_MCP_TOKEN}`];

/** The header fields of a request, in either form that undici has for them, and the token. */
function withToken(headers) {
  return Array.isArray(headers)
    ? [...headers, ...token]
    : { ...headers, [token[0]]: token[1] };
}

setGlobalDispatcher(
  getGlobalDispatcher().compose((dispatch) => (options, handler) =>
    dispatch({ ...options, headers: withToken(options.headers) }, handler),
  ),
);
