// An MCP server in JavaScript, as a handler of HTTP requests.

const TOOLS = [
  {
    name: "add",
    description: "Adds two numbers.",
    inputSchema: {
      type: "object",
      properties: { a: { type: "number" }, b: { type: "number" } },
      required: ["a", "b"],
    },
  },
  { name: "count", description: "Counts its calls.", inputSchema: { type: "object" } },
];

let calls = 0;

/** Returns the text of the result of a call. */
function call({ name, arguments: { a, b } }) {
  calls += 1;
  return String(name === "add" ? a + b : calls);
}

/** Returns the result of a request; undefined for an unknown method. */
function result(method, params) {
  switch (method) {
    case "initialize": {
      const serverInfo = { name: "javascript", version: "1" };
      return { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo };
    }
    case "tools/list":
      return { tools: TOOLS };
    case "tools/call":
      return { content: [{ type: "text", text: call(params) }] };
    default:
      return undefined;
  }
}

async function answer(request) {
  const { id, method, params } = await request.json();
  if (id === undefined) {
    return new Response(null, { status: 202 });
  }
  const found = result(method, params);
  const error = { code: -32601, message: "no such method" };
  const message = { jsonrpc: "2.0", id, ...(found ? { result: found } : { error }) };
  const headers = { "content-type": "text/event-stream" };
  return new Response(`data: ${JSON.stringify(message)}\n\n`, { headers });
}

addEventListener("fetch", (event) => event.respondWith(answer(event.request)));
