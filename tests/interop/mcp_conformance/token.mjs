// Loaded before the conformance suite (`node --import`), which has no option for a token: adds it to every request by
// `fetch`, undici or `node:http`, and changes nothing else.

import { subscribe } from "node:diagnostics_channel";

const token = ["authorization", `Bearer ${process.env.AGENT_HOST_MCP_TOKEN}`];

subscribe("undici:request:create", ({ request }) => request.addHeader(...token));
subscribe("http.client.request.created", ({ request }) => request.setHeader(...token));
