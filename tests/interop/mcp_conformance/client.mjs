// The client that the conformance suite tests: `agent-host run`, with a scripted model that makes the calls of a scenario.
//
// usage: client.mjs AGENT_HOST URL
//
// The suite passes the URL of its server, the scenario's name as MCP_CONFORMANCE_SCENARIO, and for some scenarios the calls to
// make or a registered client in MCP_CONFORMANCE_CONTEXT.
//
// It also is the user: at a terminal it takes the defaults of a form, and where the program says that the server wants a login,
// it logs in as a browser would, which the suite's authorization server redirects at once.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The calls of a scenario that names none itself. All others only want a client that reads the list of tools. */
const CALLS = {
  tools_call: [{ name: "add_numbers", arguments: { a: 2, b: 3 } }],
  "elicitation-sep1034-client-defaults": [
    { name: "test_client_elicitation_defaults", arguments: {} },
  ],
  "sse-retry": [{ name: "test_reconnection", arguments: {} }],
  "sep-2322-client-request-state": [
    { name: "test_mrtr_echo_state", arguments: {} },
    { name: "test_mrtr_unrelated", arguments: {} },
    { name: "test_mrtr_no_state", arguments: {} },
    { name: "test_mrtr_no_result_type", arguments: {} },
  ],
  "http-standard-headers": [{ name: "test_headers", arguments: {} }],
  "auth/scope-step-up": [{ name: "test-tool", arguments: {} }],
  "auth/authorization-server-migration": [{ name: "test-tool", arguments: {} }],
  "http-invalid-tool-headers": [
    { name: "valid_tool", arguments: { region: "us-west1" } },
  ],
};

/** A file that is only found may not name servers. */
const CONFIG = ["--config", "agent.toml"];

/** The scenarios whose server asks the user. */
const ASKING = ["elicitation-sep1034-client-defaults", "sep-2322-client-request-state"];

/** The logins of one scenario. One whose server wants more and more is to end. */
const MAX_LOGINS = 3;

/** The document that the suite knows (https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization). */
const CLIENT_DOCUMENT = "https://conformance-test.local/client-metadata.json";

const [, , program, url] = process.argv;
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const place = mkdtempSync(join(tmpdir(), "conformance-client-"));

/** Runs the program in its own directory, and gives what it printed. */
function run(...words) {
  const { status, stdout, stderr } = spawnSync(program, words, {
    cwd: place,
    stdio: ["ignore", "pipe", "pipe"],
    encoding: "utf8",
  });
  process.stderr.write(stderr);
  return { status, stdout, stderr };
}

/** Runs the program on a pseudo-terminal (`script`, from util-linux), and answers each prompt: agrees to fill in a form, takes
 * what a field has for nothing typed, and sends it. */
function runAtTerminal(...words) {
  const line = [program, ...words].map((word) => `'${word}'`).join(" ");
  const child = spawn("script", ["-qec", line, "/dev/null"], { cwd: place });
  let shown = "";
  let answered = 0;
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text) => {
    shown += text;
    process.stderr.write(text);
    const prompts = shown.split("\r\n> ");
    for (; answered < prompts.length - 1; answered += 1) {
      const prompt = prompts[answered];
      const agrees = prompt.endsWith("[c] cancel\u001b[0m") || prompt.endsWith("[c] cancel");
      const sends = prompt.includes("[s] send");
      child.stdin.write(sends ? "s\n" : agrees ? "a\n" : "\n");
    }
  });
  return new Promise((done) => child.on("close", (status) => done({ status, stdout: "", stderr: shown })));
}

/** Logs in to the server as the user's browser would. */
async function login() {
  const child = spawn(program, ["mcp", "login", "suite", ...CONFIG], {
    cwd: place,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((done) => child.on("close", done));
  for await (const address of child.stdout.setEncoding("utf8")) {
    await fetch(address.trim());
  }
  return ended;
}

/** Whether the program says that the server wants a login. */
function wantsLogin({ stdout, stderr }) {
  return `${stdout}${stderr}`.includes("agent-host mcp login suite");
}

/** The script of a model that makes these calls at once, and has nothing to say then. */
function script(calls) {
  const call = ({ name, arguments: input }) =>
    `[[turn.call]]\ntool = ${JSON.stringify(`suite_${name}`)}\ninput = ${JSON.stringify(JSON.stringify(input))}\n`;
  const turn = calls.length > 0 ? `[[turn]]\n${calls.map(call).join("")}` : "";
  return `${turn}[[turn]]\ntext = "done"\n`;
}

/** The schema of a tool's input, as our client has it from the server. */
function schemaOf(tool) {
  const { stdout } = run("inspect", "suite", ...CONFIG, "--json");
  const { tools } = JSON.parse(stdout);
  return tools.find(({ name }) => name.endsWith(tool)).input_schema;
}

function calls() {
  if (scenario === "json-schema-2020-12-preservation") {
    const schema = schemaOf("json_schema_2020_12_tool");
    return [{ name: "json_schema_echo", arguments: { schema } }];
  }
  return context.toolCalls ?? CALLS[scenario] ?? [];
}

/** How the client is known to the authorization server. */
function client() {
  if (context.client_id === undefined) {
    return `client-metadata-url = ${JSON.stringify(CLIENT_DOCUMENT)}\n`;
  }
  writeFileSync(join(place, "secret"), context.client_secret);
  return `client-id = ${JSON.stringify(context.client_id)}\nclient-secret = "file:secret"\n`;
}

function runScenario() {
  if (ASKING.includes(scenario)) {
    return runAtTerminal("run", ...CONFIG, "go");
  }
  // Structured, so that the result of a call is in it.
  return run("run", ...CONFIG, "--output-format", "stream-json", "go");
}

writeFileSync(
  join(place, "agent.toml"),
  `model = "script:script.toml"\nstate-dir = "state"\n[[mcp]]\nname = "suite"\nurl = ${JSON.stringify(url)}\napproval = "never"\n[mcp.oauth]\n${client()}`,
);
writeFileSync(join(place, "script.toml"), script(calls()));
let ran = await runScenario();
for (let logins = 0; logins < MAX_LOGINS && wantsLogin(ran); logins += 1) {
  if ((await login()) !== 0) {
    break;
  }
  ran = await runScenario();
}
process.stdout.write(ran.stdout);
rmSync(place, { recursive: true });
process.exitCode = ran.status;
