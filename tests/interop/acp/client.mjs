// The official client of the Agent Client Protocol drives `agent-host acp`. What it saw is printed
// as one JSON document: the answers, the updates, the permission requests, and every line of the
// wire. Arguments: the directory of the packages, a scenario, the working directory, the program and
// its arguments.
import { spawn } from "node:child_process";
import { cases } from "./cases.mjs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Readable, Writable } from "node:stream";

const [packages, scenario, cwd, program, ...args] = process.argv.slice(2);
const entry = createRequire(`${packages}/package.json`).resolve("@agentclientprotocol/sdk");
const acp = await import(pathToFileURL(entry));

const wire = [];
const agent = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });

/** Passes bytes on, and keeps their lines. */
function tap(from) {
  let rest = "";
  const decoder = new TextDecoder();
  return new TransformStream({
    transform(chunk, controller) {
      rest += decoder.decode(chunk, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop();
      for (const line of lines) wire.push({ from, message: JSON.parse(line) });
      controller.enqueue(chunk);
    },
  });
}

const fromAgent = Readable.toWeb(agent.stdout).pipeThrough(tap("agent"));
const toAgent = tap("client");
toAgent.readable.pipeTo(Writable.toWeb(agent.stdin)).catch(() => {});
const stream = acp.ndJsonStream(toAgent.writable, fromAgent);

const updates = [];
const permissions = [];
const questions = [];
const seen = { updates, permissions, questions, wire };
/** The options that the user chooses, in turn. */
const choices = [];
let asked = () => {};

const client = acp
  .client({ name: "test" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    // Not a part of the update, and not of its JSON.
    Object.defineProperty(params.update, "of", { value: params.sessionId });
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    permissions.push(params);
    asked();
    const kind = choices.shift();
    if (kind === "wait") return new Promise(() => {});
    const option = params.options.find((option) => option.kind === kind);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onRequest(acp.methods.client.elicitation.create, ({ params }) => {
    questions.push(params);
    return { action: "accept", content: { choice: params.requestedSchema.properties.choice.enum[1] } };
  });

const { session, initialize } = acp.methods.agent;
const text = (text) => [{ type: "text", text }];

const scenarios = {
  /** A prompt with an image that a tool returns; list, load, delete. */
  async conversation(ctx, sessionId) {
    seen.stop = (await ctx.request(session.prompt, { sessionId, prompt: text("Look.") })).stopReason;
    seen.listed = (await ctx.request(session.list, {})).sessions.map((row) => row.sessionId);
    await ctx.request(session.close, { sessionId });
    seen.live = updates.splice(0);
    await ctx.request(session.load, { sessionId, cwd, mcpServers: [] });
    seen.loaded = updates.splice(0);
    await ctx.request(session.resume, { sessionId, cwd });
    await ctx.request(session.delete, { sessionId });
    seen.left = (await ctx.request(session.list, {})).sessions.length;
  },
  /** Two calls: one is rejected, one allowed. */
  async permissions(ctx, sessionId) {
    choices.push("reject_once", "allow_once");
    seen.stop = (await ctx.request(session.prompt, { sessionId, prompt: text("Write.") })).stopReason;
  },
  /** A question of the model, as a form. */
  async question(ctx, sessionId) {
    seen.stop = (await ctx.request(session.prompt, { sessionId, prompt: text("Ask.") })).stopReason;
  },
  /** The cases of a conformance suite. */
  async cases(ctx, sessionId) {
    const untilAsked = () => new Promise((resolve) => (asked = resolve));
    seen.cases = await cases({ ctx, methods: acp.methods.agent, seen, cwd, sessionId, choices, untilAsked });
  },
  /** A configured MCP server is named by the client, and another one refused. */
  async servers(ctx, sessionId) {
    const servers = JSON.parse(process.env.ACP_SERVERS);
    const offer = (server) => ctx.request(session.new, { cwd, mcpServers: [server] });
    seen.offered = [];
    for (const server of servers) {
      const made = offer(server).then(({ sessionId }) => sessionId.length > 0);
      seen.offered.push(await made.catch(({ code, data }) => ({ code, data })));
    }
    seen.stop = (await ctx.request(session.prompt, { sessionId, prompt: text("Act.") })).stopReason;
  },
  /** The turn is cancelled while a permission waits; errors have codes. */
  async cancel(ctx, sessionId) {
    choices.push("wait");
    const waits = new Promise((resolve) => (asked = resolve));
    const prompt = ctx.request(session.prompt, { sessionId, prompt: text("Write.") });
    await waits;
    await ctx.notify(session.cancel, { sessionId });
    seen.stop = (await prompt).stopReason;
    const refused = ctx.request(session.new, { cwd: "/", mcpServers: [] });
    seen.refused = await refused.catch((error) => ({ code: error.code, data: error.data }));
  },
};

await client.connectWith(stream, async (ctx) => {
  const early = ctx.request(session.new, { cwd, mcpServers: [] });
  seen.early = await early.catch((error) => error.data ?? String(error));
  seen.initialized = await ctx.request(initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { elicitation: { form: {} } },
    clientInfo: { name: "test", version: "1.0.0" },
  });
  const { sessionId } = await ctx.request(session.new, { cwd, mcpServers: [] });
  seen.session = sessionId;
  await scenarios[scenario](ctx, sessionId);
});
agent.stdin.end();
const code = await new Promise((resolve) => agent.on("exit", resolve));
console.log(JSON.stringify({ ...seen, code }));
