// The client that the conformance suite tests: `agent-host run`, with a scripted model that makes the calls of a scenario.
//
// usage: client.mjs AGENT_HOST URL
//
// The suite passes the URL of its server, the scenario's name as MCP_CONFORMANCE_SCENARIO, and for some scenarios the calls to
// make in MCP_CONFORMANCE_CONTEXT.

import { spawnSync } from "node:child_process";
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
  "http-invalid-tool-headers": [
    { name: "valid_tool", arguments: { region: "us-west1" } },
  ],
};

/** A file that is only found may not name servers. */
const CONFIG = ["--config", "agent.toml"];

const [, , program, url] = process.argv;
const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const place = mkdtempSync(join(tmpdir(), "conformance-client-"));

/** Runs the program in its own directory, and gives what it printed. */
function run(...words) {
  const { status, stdout } = spawnSync(program, words, {
    cwd: place,
    stdio: ["ignore", "pipe", "inherit"],
    encoding: "utf8",
  });
  return { status, stdout };
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
  const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
  return context.toolCalls ?? CALLS[scenario] ?? [];
}

writeFileSync(
  join(place, "agent.toml"),
  `model = "script:script.toml"\n[[mcp]]\nname = "suite"\nurl = ${JSON.stringify(url)}\napproval = "never"\n`,
);
writeFileSync(join(place, "script.toml"), script(calls()));
const { status, stdout } = run("run", ...CONFIG, "go");
process.stdout.write(stdout);
rmSync(place, { recursive: true });
process.exitCode = status;
