// Loaded before the conformance suite (`node --import`), which has no option for a token: adds it to every request that is
// made, by `fetch` and undici or by `node:http`, and changes nothing else of them.

import { subscribe } from "node:diagnostics_channel";

const token = ["authorization", `Bearer ${process.env.AGENT_HOST_MCP_TOKEN}`];

subscribe("undici:request:create", ({ request }) => request.addHeader(...token));
subscribe("http.client.request.created", ({ request }) => request.setHeader(...token));
