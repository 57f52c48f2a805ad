//! The official TypeScript client of the Agent Client Protocol drives `agent-host acp`. Every line
//! of the wire is held to the protocol's JSON Schema, which comes with that client.

use agent_host_test_support::{
    TestEnv,
    acp::text_of,
    chat::{Answer, ChatServer},
    installed::{acp_client, here},
    pictures::png,
    program,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{collections::HashMap, fs, path::Path, process::Command};

/// The client's packages, and the schema of the protocol.
struct Client {
    packages: std::path::PathBuf,
    schema: Value,
}

impl Client {
    fn find() -> Option<Self> {
        let packages = acp_client()?;
        let schema = "node_modules/@agentclientprotocol/sdk/schema/v1/schema.json";
        let schema = fs::read_to_string(packages.join(schema)).unwrap();
        let schema = serde_json::from_str(&schema).unwrap();
        Some(Self { packages, schema })
    }

    /// Runs a scenario of the script, checks every line, and returns what the client saw.
    fn run(&self, env: &TestEnv, model: &ChatServer, scenario: &str, args: &[&str]) -> Value {
        self.run_with(env, model, scenario, args, &json!([]))
    }

    /// Runs a scenario of the script with MCP servers that the client sends.
    fn run_with(
        &self,
        env: &TestEnv,
        model: &ChatServer,
        scenario: &str,
        args: &[&str],
        servers: &Value,
    ) -> Value {
        let work = env.work().canonicalize().unwrap();
        let mut command = Command::new("node");
        env.prepare(&mut command)
            .arg(here("interop/acp/client.mjs"))
            .args([&self.packages, Path::new(scenario), &work])
            .args([program(), "acp", "--model", "openai-compat:m"])
            .args(args)
            .env("OPENAI_COMPAT_BASE_URL", &model.base_url)
            .env("ACP_SERVERS", servers.to_string());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{scenario}: {said}");
        let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(seen["code"], 0, "{said}");
        assert_eq!(seen["early"], json!({"code": "not-initialized"}));
        let wire = seen["wire"].as_array().unwrap();
        assert!(wire.len() >= 8, "{wire:?}");
        self.check(wire);
        seen
    }

    /// Checks lines of the wire: parameters and results by the definitions of their methods. The
    /// client's parameters that the agent refuses as invalid are so on purpose.
    fn check(&self, wire: &[Value]) {
        let refused: Vec<&Value> = wire
            .iter()
            .filter(|line| line["message"]["error"]["code"] == -32602)
            .map(|line| &line["message"]["id"])
            .collect();
        let mut asked = HashMap::new();
        for line in wire {
            let (from, message) = (&line["from"], &line["message"]);
            assert_eq!(message["jsonrpc"], "2.0");
            let to = match from.as_str().unwrap() {
                "agent" => "client",
                _ => "agent",
            };
            if let Some(method) = message["method"].as_str() {
                if message.get("id").is_some() {
                    asked.insert((to, message["id"].to_string()), method.to_owned());
                }
                if from == "agent" || !refused.contains(&&message["id"]) {
                    self.valid(method, &["Request", "Notification"], &message["params"]);
                }
                continue;
            }
            let side = match to {
                "client" => "agent",
                _ => "client",
            };
            let method = &asked[&(side, message["id"].to_string())];
            match message.get("error") {
                None => self.valid(method, &["Response"], &message["result"]),
                Some(error) => self.valid_as("Error", error),
            }
        }
    }

    fn valid(&self, method: &str, endings: &[&str], value: &Value) {
        let definitions = self.schema["$defs"].as_object().unwrap();
        let of_method = definitions.iter().find(|(name, definition)| {
            definition["x-method"] == method && endings.iter().any(|end| name.ends_with(end))
        });
        let (name, _) = of_method.unwrap_or_else(|| panic!("no {endings:?} of {method}"));
        self.valid_as(name, value);
    }

    fn valid_as(&self, name: &str, value: &Value) {
        let schema = json!({
            "$ref": format!("#/$defs/{name}"),
            "$defs": self.schema["$defs"],
        });
        let validator = jsonschema::validator_for(&schema).unwrap();
        let faults: Vec<String> = validator
            .iter_errors(value)
            .map(|fault| format!("{}: {fault}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{name}: {faults:#?}\n{value}");
    }
}

fn write(path: &str) -> (&str, Value) {
    let input = json!({"path": path, "content": "hello\n"});
    ("write_file", input)
}

fn updates(seen: &Value, name: &str) -> Vec<Value> {
    seen[name].as_array().unwrap().clone()
}

/// A call with an image and a streamed text; list, close, load, resume and delete.
#[test]
fn conversation() {
    let Some(client) = Client::find() else {
        return;
    };
    let env = TestEnv::new();
    env.write("p.png", png(2, 2));
    let model = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({"path": "p.png"}))]),
        Answer::reasoned("It is small.", "A grey image."),
    ]);
    let seen = client.run(&env, &model, "conversation", &[]);
    assert_eq!(seen["stop"], "end_turn");
    assert_eq!(seen["listed"], json!([seen["session"]]));
    assert_eq!(seen["left"], 0);
    for name in ["live", "loaded"] {
        let updates = updates(&seen, name);
        let text = text_of(&updates, "agent_message_chunk");
        assert_eq!(text, "A grey image.", "{name}");
        let settled = updates
            .iter()
            .find(|update| update["status"] == "completed");
        let content = settled.unwrap()["content"].to_string();
        assert!(content.contains("\"mimeType\":\"image/png\""), "{content}");
    }
    let loaded = updates(&seen, "loaded");
    assert_eq!(text_of(&loaded, "user_message_chunk"), "Look.");
}

/// One call is rejected and one allowed; the request shows both with their changes.
#[test]
fn permissions() {
    let Some(client) = Client::find() else {
        return;
    };
    let env = TestEnv::new();
    let model = ChatServer::start(vec![
        Answer::calls(&[write("a.txt"), write("b.txt")]),
        Answer::text("Written."),
    ]);
    let seen = client.run(&env, &model, "permissions", &["--write"]);
    assert_eq!(seen["stop"], "end_turn");
    assert_eq!(seen["permissions"].as_array().unwrap().len(), 2);
    assert!(!env.work().join("a.txt").exists());
    let written = fs::read_to_string(env.work().join("b.txt")).unwrap();
    assert_eq!(written, "hello\n");
}

/// A question of the model is a form of the client.
#[test]
fn question() {
    let Some(client) = Client::find() else {
        return;
    };
    let env = TestEnv::new();
    let question = json!({"question": "Which?", "choices": ["red", "green"]});
    let model = ChatServer::start(vec![
        Answer::calls(&[("ask_user", json!({"questions": [question]}))]),
        Answer::text("Noted."),
    ]);
    let seen = client.run(&env, &model, "question", &[]);
    assert_eq!(seen["stop"], "end_turn");
    assert_eq!(seen["questions"].as_array().unwrap().len(), 1);
    assert!(model.tool_results().concat().contains("green"));
}

/// A cancelled turn ends while its permission waits, and nothing runs.
#[test]
fn cancel() {
    let Some(client) = Client::find() else {
        return;
    };
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::calls(&[write("a.txt")])]);
    let seen = client.run(&env, &model, "cancel", &["--write"]);
    assert_eq!(seen["stop"], "cancelled");
    let refused = json!({"code": -32602, "data": {"code": "directory-not-granted"}});
    assert_eq!(seen["refused"], refused);
    assert!(!env.work().join("a.txt").exists());
}

/// The facts of the conformance cases of `openclaw/acpx`.
#[test]
fn acpx_cases() {
    let Some(client) = Client::find() else {
        return;
    };
    let env = TestEnv::new();
    env.configure(
        "[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n\
         [[rule]]\ndecision = \"ask\"\ntool = \"read_file\"\n",
    );
    env.write("README.md", "hello");
    let read = || Answer::calls(&[("read_file", json!({"path": "README.md"}))]);
    let say = Answer::text;
    let model = ChatServer::start(vec![
        say("One."),
        say("Two."),
        say("Three."),
        say("There is nothing to echo."),
        say("I do not know that."),
        say("Seen."),
        Answer::calls(&[write("cancelled.txt")]),
        say("Here."),
        say("Here."),
        say("Done."),
        read(),
        say("It was not read."),
        Answer::calls(&[write("denied.txt")]),
        say("It was not written."),
        read(),
        say("It says hello."),
        Answer::calls(&[write("allowed.txt")]),
        say("It is written."),
    ]);
    let seen = client.run(&env, &model, "cases", &[]);
    let ended = json!({"stop": "end_turn", "updates": true, "own": true});
    let refused = |code: i64, name: &str| json!({"code": code, "data": {"code": name}});
    let denied = |kind: &str| {
        let failures = ["The user rejected this call."];
        json!({"stop": "end_turn", "asked": [kind], "failures": failures})
    };
    let allowed = |kind: &str| json!({"stop": "end_turn", "asked": [kind], "failures": []});
    let mut background = ended.clone();
    background["listed"] = json!(true);
    assert_eq!(
        seen["cases"],
        json!({
            "initialize.handshake": "number",
            "session.new.basic": true,
            "session.prompt.single_turn": ended,
            "session.update.termination": ended,
            "session.prompt.multi_turn": ended,
            "session.prompt.echo_empty": ended,
            "session.prompt.unrecognized": ended,
            "session.prompt.structured_blocks": ended,
            "session.cancel.in_flight": {"stop": "cancelled", "updates": true, "own": true},
            "session.cancel.followup_prompt": ended,
            "session.cancel.idle": ended,
            "session.prompt.background_completion": background,
            "errors.invalid_params": refused(-32602, "invalid-params"),
            "errors.invalid_params.cwd_null": refused(-32602, "invalid-params"),
            "errors.invalid_prompt_session_type": refused(-32602, "invalid-params"),
            "errors.unknown_session": refused(-32002, "not-found"),
            "errors.permission_denied": denied("read"),
            "errors.permission_denied.write": denied("edit"),
            "permissions.read.approved": allowed("read"),
            "permissions.write.approved": allowed("edit"),
        })
    );
    let written = ["cancelled.txt", "denied.txt", "allowed.txt"];
    let written = written.map(|name| env.work().join(name).exists());
    assert_eq!(written, [false, false, true]);
    let sent = model.requests()[5].to_string();
    assert!(
        sent.contains("link.rs") && sent.contains("fn inside() {}"),
        "{sent}"
    );
}

/// A client names a server of the configuration by its exact command; any other is refused, and
/// what the client would start it with is not used.
#[test]
fn mcp_servers() {
    let Some(client) = Client::find() else {
        return;
    };
    let env = TestEnv::new();
    let script = here("it/mcp_client/server.py");
    let command = json!(["python3", script, "behaves"]);
    env.configure(format!(
        "[[mcp]]\nname = \"s\"\ncommand = {command}\nread-only = [\"act\"]\n"
    ));
    let model = ChatServer::start(vec![
        Answer::calls(&[("s_act", json!({}))]),
        Answer::text("Acted."),
    ]);
    let offer = |command: &str, args: Value, env: Value| json!({"name": "any", "command": command, "args": args, "env": env});
    let none = json!([]);
    let refused = json!({"code": -32602, "data": {"code": "mcp-servers-refused"}});
    let offered = [
        (
            offer("python3", json!([script, "behaves"]), none.clone()),
            json!(true),
        ),
        (
            offer(
                "python3",
                json!([script, "behaves"]),
                json!([{"name": "LD_PRELOAD", "value": "/x.so"}]),
            ),
            json!(true),
        ),
        (
            offer("python3", json!([script, "other"]), none.clone()),
            refused.clone(),
        ),
        (
            offer("/usr/bin/python3", json!([script, "behaves"]), none),
            refused.clone(),
        ),
        (
            json!({"type": "http", "name": "h", "url": "https://example.com/mcp", "headers": []}),
            refused,
        ),
    ];
    let (servers, expected): (Vec<Value>, Vec<Value>) = offered.into_iter().unzip();
    let seen = client.run_with(&env, &model, "servers", &[], &json!(servers));
    assert_eq!(seen["offered"], json!(expected));
    assert_eq!(seen["stop"], "end_turn");
    assert_eq!(model.tool_results(), ["did it"]);
}
