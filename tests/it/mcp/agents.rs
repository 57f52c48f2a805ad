//! Tests agents that are served as tools: their sessions, approvals and questions inside, progress.

use crate::conversation::held_at;
use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer},
    mcp_client::{Client, call, error, request, response, stateless, texts},
    of_kind, program,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const CONFIG: &str = r#"
model = "openai-compat:m"

[[agent]]
name = "clerk"
description = "Reads and writes files."
system = "You are the clerk."
tools = ["read_file", "write_*"]

[[agent]]
name = "chief"
description = "Has the clerk do it."
agents = ["clerk"]
tools = []

[[agent]]
name = "asked"
description = "Begins when the user says so."
tools = []
approval = "always"

[[grants.dir]]
host = "."
mode = "read-write"
"#;

const TOO_DEEP: &str = "The agent was not started: the maximum depth of agents that start agents is 2 (`agent-depth` \
    in agent.toml), counting those of other hosts. Do it without one.";

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.configure(CONFIG);
    env
}

/// A client of a server with these agents.
fn client(env: &TestEnv, server: &ChatServer, agents: &[&str], capabilities: Value) -> Client {
    silent(env, server, agents).initialized(capabilities)
}

fn silent(env: &TestEnv, server: &ChatServer, agents: &[&str]) -> Client {
    let mut args = vec!["mcp"];
    args.extend(agents.iter().flat_map(|agent| ["--agent", agent]));
    let mut command = env.command(&args);
    Client::of(command.env("OPENAI_COMPAT_BASE_URL", &server.base_url))
}

fn start(id: u64, agent: &str) -> Value {
    let input = json!({ "instructions": "write the note" });
    call(id, &format!("agent_{agent}"), input)
}

fn write() -> Answer {
    let input = json!({ "path": "note.txt", "content": "hello" });
    Answer::calls(&[("write_file", input)])
}

fn answers(last: &str) -> Vec<Answer> {
    vec![write(), Answer::text(last)]
}

fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

/// Answers an elicitation, and returns its message.
fn reply(client: &mut Client, content: &Value) -> String {
    let asked = client.next();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let result = json!({ "action": "accept", "content": content });
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }));
    asked["params"]["message"].as_str().unwrap().to_owned()
}

/// An agent is listed with the strongest effect of its tools, where it is named.
#[test]
fn agents_are_listed_if_named() {
    let server = ChatServer::start(Vec::new());
    let listed = |agents: &[&str]| {
        let mut client = client(&env(), &server, agents, json!({}));
        let tools = client.ask(request(1, "tools/list", json!({})));
        let tools = tools["result"]["tools"].as_array().unwrap().clone();
        assert_eq!(client.close().code, Some(0));
        let agents = tools.into_iter().filter(|tool| {
            let name = tool["name"].as_str().unwrap();
            name.starts_with("agent_")
        });
        agents.collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]), Vec::<Value>::new());
    let tools = listed(&["clerk", "asked", "clerk"]);
    let shown = |tool: &Value| {
        let fields = ["name", "description"].map(|field| tool[field].clone());
        (fields, tool["annotations"]["readOnlyHint"].clone())
    };
    assert_eq!(
        tools.iter().map(shown).collect::<Vec<_>>(),
        [
            (
                ["agent_asked", "Begins when the user says so."].map(Value::from),
                json!(true)
            ),
            (
                ["agent_clerk", "Reads and writes files."].map(Value::from),
                json!(false)
            ),
        ]
    );
    assert_eq!(tools[1]["inputSchema"]["required"], json!(["instructions"]));
}

/// The user of the client decides on the agent's calls, also those of agents below it, and the
/// result is the agent's answer. Its session belongs to that of the client.
#[test]
fn user_decides_about_calls_of_an_agent() {
    let of_chief = |last: &str| {
        let started = Answer::calls(&[("agent_clerk", json!({ "instructions": "write" }))]);
        let mut all = vec![started];
        all.extend(answers("It is written."));
        all.push(Answer::text(last));
        all
    };
    for (agent, waits, models) in [
        (
            "clerk",
            "The agent clerk is waiting.\n",
            answers("All done."),
        ),
        (
            "chief",
            "The agent clerk is waiting.\n",
            of_chief("All done."),
        ),
    ] {
        let (env, server) = (env(), ChatServer::start(models));
        let mut client = client(&env, &server, &[agent], forms());
        client.send(&start(1, agent));
        let message = reply(&mut client, &json!({ "decision": "approve" }));
        assert!(
            message.starts_with(&format!("{waits}write_file note.txt  may change things\n")),
            "{message}"
        );
        assert_eq!(client.next(), response(1, texts("text", &["All done."])));
        assert_eq!(client.close().code, Some(0));
        let written = std::fs::read_to_string(env.work().join("note.txt"));
        assert_eq!(written.unwrap(), "hello");

        let listed = env.run(&["sessions", "list", "--json"]).stdout;
        let sessions: Vec<Value> = listed
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let of_client = &sessions[0];
        assert_eq!(sessions[1]["parent"], of_client["session"], "{listed}");
        let shown = env.run(&["sessions", "show", "latest", "--json"]).stdout;
        let events: Vec<Value> = shown
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let spawned = of_kind(&events, "agent-spawned");
        assert_eq!(spawned.len(), 1, "{shown}");
        assert_eq!(spawned[0]["agent"], agent);
        let settled = of_kind(&events, "call-settled");
        assert_eq!(settled.len(), 1, "{shown}");
        assert_eq!(settled[0]["child"]["agent"], agent);
    }
}

/// Without a user to ask, in either lifecycle, calls that need one are denied, and the agent
/// continues.
#[test]
fn agent_without_a_user_goes_on() {
    for is_stateless in [false, true] {
        let (env, server) = (env(), ChatServer::start(answers("I may not.")));
        let answer = if is_stateless {
            silent(&env, &server, &["clerk"]).ask(stateless(start(1, "clerk")))
        } else {
            client(&env, &server, &["clerk"], json!({})).ask(start(1, "clerk"))
        };
        assert_eq!(answer["result"]["content"][0]["text"], "I may not.");
        assert!(!env.work().join("note.txt").exists());
        let requests = server.requests();
        let told = requests[1]["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(
            told["content"],
            "This call needs the user's approval (rule effect.effectful), and no one can be asked in this run. To allow such calls, the user can set `approvals` for this tool in agent.toml."
        );
    }
}

/// A rejected call does not run, and an agent that needs approval does not begin without it.
#[test]
fn rejected_calls_and_agents_do_not_run() {
    let (env, server) = (env(), ChatServer::start(answers("Then not.")));
    let mut client = client(&env, &server, &["clerk", "asked"], forms());
    client.send(&start(1, "clerk"));
    reply(&mut client, &json!({ "decision": "reject" }));
    assert_eq!(client.next(), response(1, texts("text", &["Then not."])));
    assert!(!env.work().join("note.txt").exists());
    client.send(&start(2, "asked"));
    let message = reply(&mut client, &json!({ "decision": "reject" }));
    assert!(
        message.starts_with("agent_asked  declared read-only; the model sees the result\n"),
        "{message}"
    );
    let denied = "Tool call execution denied. This call needs the user's approval (rule approval.always), and the client's user rejected it.";
    assert_eq!(
        client.next(),
        response(2, texts("execution-denied", &[denied]))
    );
    assert_eq!(server.requests().len(), 2);
}

/// A question of the agent's model goes to the client's user.
#[test]
fn question_of_an_agent_goes_to_the_user() {
    let question = json!({ "questions": [{ "question": "Which note?" }] });
    let (env, server) = (
        env(),
        ChatServer::start(vec![
            Answer::calls(&[("ask_user", question)]),
            Answer::text("That one, then."),
        ]),
    );
    let mut client = client(&env, &server, &["clerk"], forms());
    client.send(&start(1, "clerk"));
    let message = reply(&mut client, &json!({ "text": "the first" }));
    assert!(
        message.starts_with("The agent clerk is waiting.\n") && message.contains("Which note?"),
        "{message}"
    );
    assert_eq!(
        client.next(),
        response(1, texts("text", &["That one, then."]))
    );
    let requests = server.requests();
    let told = requests[1]["messages"].as_array().unwrap().last().unwrap();
    assert!(told["content"].as_str().unwrap().contains("the first"));
}

/// The calls of an agent are its progress.
#[test]
fn calls_of_an_agent_are_progress() {
    let env = env();
    env.write("list.txt", "bread");
    let read = Answer::calls(&[("read_file", json!({ "path": "list.txt" }))]);
    let server = ChatServer::start(vec![read, Answer::text("Bread.")]);
    let mut client = client(&env, &server, &["clerk"], json!({}));
    let mut asked = start(1, "clerk");
    asked["params"]["_meta"] = json!({ "progressToken": "p" });
    let progress = client.ask(asked);
    assert_eq!(
        progress["params"],
        json!({ "progressToken": "p", "progress": 1.0, "message": "clerk: read_file" })
    );
    assert_eq!(client.next(), response(1, texts("text", &["Bread."])));
}

/// A cancelled request stops the agent, whose session says so.
#[test]
fn cancelled_request_stops_the_agent() {
    let (server, arrived, release) = held_at(0, vec![Answer::text("too late")]);
    let env = env();
    let mut client = client(&env, &server, &["clerk"], json!({}));
    client.send(&start(1, "clerk"));
    arrived();
    client.send(&json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
    }));
    // A server that has read this has read the notification.
    assert_eq!(
        client.ask(request(2, "ping", json!({}))),
        response(2, json!({}))
    );
    assert_eq!(client.close().code, Some(0));
    drop(release);
    let shown = env.run(&["sessions", "show", "latest", "--json"]).stdout;
    let events: Vec<Value> = shown
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let settled = of_kind(&events, "call-settled");
    assert_eq!(settled.len(), 1, "{shown}");
    assert_eq!(
        settled[0]["output"]["value"]["code"], "cancelled",
        "{shown}"
    );
}

/// Arguments that do not fit, and agents that are not configured or not served.
#[test]
fn other_calls_are_refused() {
    let (env, server) = (env(), ChatServer::start(Vec::new()));
    let mut client = client(&env, &server, &["clerk"], json!({}));
    let answer = client.ask(call(1, "agent_clerk", json!({ "instructions": "" })));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert_eq!(
        client.ask(start(2, "chief")),
        error(2, -32602, "unknown tool `agent_chief`")
    );
    assert_eq!(client.close().code, Some(0));
    for command in [&["mcp"] as &[&str], &["mcp", "config"]] {
        let ran = env.run(&[command, &["--agent", "boss"]].concat());
        assert_eq!(
            (ran.code, ran.stderr.lines().last()),
            (
                Some(2),
                Some(
                    "error: unknown agent `boss`; the agents are clerk, chief, asked, general-purpose"
                )
            ),
            "{ran:?}"
        );
    }
    let entry = env.run(&["mcp", "config", "--agent", "clerk", "--quiet"]);
    let entry: Value = serde_json::from_str(&entry.stdout).unwrap();
    let args = entry["mcpServers"]["agent-host"]["args"]
        .as_array()
        .unwrap();
    assert!(
        args.windows(2).any(|pair| pair == ["--agent", "clerk"]),
        "{entry}"
    );
}

/// The result of an agent that was not started.
fn too_deep() -> Value {
    let failure = json!({ "code": "agent-failed", "message": TOO_DEEP });
    texts("error-json", &[&failure.to_string()])
}

/// The depth of agents counts on from that of the agent that calls.
#[test]
fn depth_of_the_caller_counts() {
    let done = || Answer::text("Done.");
    let (env, server) = (env(), ChatServer::start(vec![done(), done()]));
    let mut client = client(&env, &server, &["clerk"], json!({}));
    for (depth, expected) in [
        (json!(0), texts("text", &["Done."])),
        (json!(1), texts("text", &["Done."])),
        (json!(2), too_deep()),
        (json!(1000), too_deep()),
    ] {
        let mut asked = start(1, "clerk");
        asked["params"]["_meta"] = json!({ "agent-host/agent-depth": depth });
        assert_eq!(client.ask(asked), response(1, expected), "{depth}");
    }
}

/// An agent starts one of another host, and that one none of a third.
#[test]
fn agents_of_other_hosts_count() {
    const SERVED: &str = "[[agent]]\nname = \"far\"\ndescription = \"Is far.\"\n";
    let env = TestEnv::new();
    let host = |name: &str, next: Option<&str>| {
        let Some(next) = next else {
            env.write("third.script", "[[turn]]\ntext = \"I am the third.\"\n");
            return "tool = []\nmodel = \"script:third.script\"\n".to_owned();
        };
        env.write(
            &format!("{name}.script"),
            format!(
                "[[turn]]\n[[turn.call]]\ntool = \"{next}_agent_far\"\ninput = {{ instructions = \"go\" }}\n\
                 [[turn]]\ntext = \"That is all.\"\n"
            ),
        );
        let (file, state) = (format!("{next}.toml"), format!("state-{next}"));
        let state = env.work().join(state).display().to_string();
        let args = [
            "mcp",
            "--config",
            &file,
            "--agent",
            "far",
            "--state-dir",
            &state,
        ];
        let command = json!([&[program()], &args[..]].concat());
        format!(
            "tool = []\nmodel = \"script:{name}.script\"\n\
             [[mcp]]\nname = \"{next}\"\napproval = \"never\"\ncommand = {command}\n\
             [[mcp.env]]\nname = \"HOME\"\nfrom-host = true\n\
             [[mcp.env]]\nname = \"XDG_CACHE_HOME\"\nfrom-host = true\n"
        )
    };
    for (name, next) in [
        ("first", Some("second")),
        ("second", Some("third")),
        ("third", None),
    ] {
        env.write(&format!("{name}.toml"), host(name, next) + SERVED);
    }
    let ran = env.run(&["run", "--config", "first.toml", "go"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "That is all.\n"),
        "{ran:?}"
    );
    // The second host's agent ran, and was told why the third's did not.
    let refused =
        json!({ "type": "error-json", "value": { "code": "agent-failed", "message": TOO_DEEP } });
    for (name, expected) in [
        ("second", json!({ "type": "text", "value": "That is all." })),
        ("third", refused),
    ] {
        let (file, state) = (format!("{name}.toml"), format!("state-{name}"));
        let shared = ["--config", &file, "--state-dir", &state, "--json"];
        let shown = env.run(&[&["sessions", "show", "latest"], &shared[..]].concat());
        let events: Vec<Value> = shown
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let settled = of_kind(&events, "call-settled");
        assert_eq!(settled.len(), 1, "{name}: {shown:?}");
        assert_eq!(settled[0]["output"], expected, "{name}");
    }
}
