// An MCP server of the official TypeScript SDK, as a handler of HTTP requests.

import { McpServer, createMcpHandler } from "@modelcontextprotocol/server";
import * as z from "zod/v4";

const text = (text) => ({ content: [{ type: "text", text }] });

let calls = 0;

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "official", version: "1" });
  const numbers = z.object({ a: z.number(), b: z.number() });
  server.registerTool("add", { description: "Adds two numbers.", inputSchema: numbers }, ({ a, b }) =>
    text(String(a + b)),
  );
  server.registerTool("count", { description: "Counts its calls." }, () => {
    calls += 1;
    return text(String(calls));
  });
  server.registerTool("fail", { description: "Fails." }, () => {
    throw new Error("out of order");
  });
  return server;
});

addEventListener("fetch", (event) => event.respondWith(handler.fetch(event.request)));
