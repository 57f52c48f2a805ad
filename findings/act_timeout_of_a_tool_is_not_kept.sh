#!/usr/bin/env bash
# act-cli 0.14.6: a tool that was made with act-sdk 0.14.2 and declares `timeout_ms = 300`.
#
# Guess: a call that takes longer than the timeout that its tool declares ends by then with an error,
# or the client that makes the call is told the timeout, so that it can end the call itself.
# Behaviour: `act info` shows the timeout, and nothing keeps it: a call of 2 s succeeds, with `act call`
# and over MCP, and the definition that MCP's clients are given does not have it. Calls that compute
# run one after the other, so one that hangs holds up all others, and no option sets a deadline.
# Seen:
#   info: Timeout: 300ms
#   call: slept 2 s
#   MCP: error False, slept 2 s
#   definition over MCP has `timeout`: False
#
# Needs Rust with the target wasm32-wasip2, and Python 3 with venv. Fails if the behaviour changes.
set -euo pipefail
self=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check act-cli==0.14.6
mkdir -p src wit/deps
cat > Cargo.toml <<'TOML'
[package]
name = "seen"
version = "0.0.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[dependencies]
act-sdk = "=0.14.2"
TOML
cat > src/lib.rs <<'RS'
use act_sdk::prelude::*;

#[act_component]
mod component {
    use super::*;

    #[act_tool(description = "Sleeps", timeout_ms = 300)]
    fn nap() -> ActResult<String> {
        let started = std::time::Instant::now();
        std::thread::sleep(std::time::Duration::from_secs(2));
        Ok(format!("slept {} s", started.elapsed().as_secs()))
    }
}
RS
cat > wit/world.wit <<'WIT'
package component:seen;

world component-world {
  export act:tools/tool-provider@0.2.0;
}
WIT
cat > wit/deps/core.wit <<'WIT'
package act:core@0.4.0;

interface types {
  variant localized-string { plain(string), localized(list<tuple<string, string>>) }
  type cbor = list<u8>;
  type metadata = list<tuple<string, cbor>>;
  record error { kind: string, message: localized-string, metadata: metadata }
}
WIT
cat > wit/deps/tools.wit <<'WIT'
package act:tools@0.2.0;

interface types {
  use act:core/types@0.4.0.{localized-string, metadata, error};
  record tool-definition {
    name: string,
    description: localized-string,
    parameters-schema: string,
    metadata: metadata,
  }
  record content-part { data: list<u8>, mime-type: option<string>, metadata: metadata }
  variant tool-event { content(content-part), error(error) }
  record list-tools-response { metadata: metadata, tools: list<tool-definition> }
}

interface tool-provider {
  use act:core/types@0.4.0.{cbor, metadata, error};
  use types.{tool-event, list-tools-response};
  variant tool-result { immediate(list<tool-event>), streaming(stream<tool-event>) }
  list-tools: async func(metadata: metadata) -> result<list-tools-response, error>;
  call-tool: async func(name: string, arguments: cbor, metadata: metadata) -> tool-result;
}
WIT
cargo build --quiet --release --target wasm32-wasip2 --target-dir target
component=target/wasm32-wasip2/release/seen.wasm
cat > mcp.py <<'PY'
import json
import subprocess
import sys

command = ["python/bin/act", "run", "--mcp", "--no-audit", sys.argv[1]]
pipe = subprocess.PIPE
server = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)


def send(message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def request(number, method, params):
    send({"id": number, "method": method, "params": params})
    return json.loads(server.stdout.readline())["result"]


client = {"name": "seen", "version": "0"}
hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
request(1, "initialize", hello)
send({"method": "notifications/initialized"})
listed = request(2, "tools/list", {})
called = request(3, "tools/call", {"name": "nap", "arguments": {}})
print(f"MCP: error {called['isError']}, {called['content'][0]['text']}")
print(f"definition over MCP has `timeout`: {'timeout' in json.dumps(listed)}")
server.kill()
PY
{
    python/bin/act info --tools "$component" 2> info.log | sed -n 's/^ *\(Timeout: .*\)/info: \1/p'
    printf 'call: %s\n' "$(python/bin/act call --no-audit "$component" nap 2> call.log)"
    python/bin/python mcp.py "$component"
} > seen.txt
cat seen.txt
# What is seen is what the head of this file says.
sed -n 's/^#   //p' "$self" | diff - seen.txt
