//! Tests agents of agent.toml that another one starts: their tools, approvals inside, sessions.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
    terminal::on_a_terminal,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const CONFIG: &str = r#"
agents = ["clerk"]

[[agent]]
name = "clerk"
description = "Reads and writes files."
system = "You are the clerk."
tools = ["read_file", "write_*"]

[[grants.dir]]
host = "."
mode = "read-write"
"#;

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.configure(CONFIG);
    env.write("list.txt", "bread");
    env
}

fn start() -> Answer {
    let input = json!({ "instructions": "see to the list" });
    Answer::calls(&[("agent_clerk", input)])
}

fn write() -> Answer {
    let input = json!({ "path": "note.txt", "content": "hello" });
    Answer::calls(&[("write_file", input)])
}

/// The names of the tools in a request.
fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["function"]["name"].as_str());
    names.map(Option::unwrap).collect()
}

fn sessions(env: &TestEnv) -> Vec<Value> {
    let ran = env.run(&["sessions", "list", "--json"]);
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn done(ran: &Ran) {
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "The list is seen to.\n"),
        "{ran:?}"
    );
}

/// The child has its own prompt, its tools and a session of its own; the parent has its answer.
#[test]
fn agent_runs_as_a_child_session() {
    let env = env();
    let read = Answer::calls(&[("read_file", json!({ "path": "list.txt" }))]);
    let server = ChatServer::start(vec![
        start(),
        read,
        Answer::text("There is bread on it."),
        Answer::text("The list is seen to."),
    ]);
    let ran = ask(&env, &server, &["go"]);
    done(&ran);
    assert!(
        ran.stderr.contains("the agent clerk is working"),
        "{}",
        ran.stderr
    );
    let requests = server.requests();
    assert_eq!(offered(&requests[1]), ["read_file", "write_file"]);
    assert!(offered(&requests[0]).starts_with(&["agent_clerk"]));
    let messages = requests[1]["messages"].as_array().unwrap();
    let texts: Vec<&str> = messages
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["You are the clerk.", "see to the list"]);
    let result = requests[3]["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(result["content"], "There is bread on it.");

    let sessions = sessions(&env);
    assert_eq!(sessions.len(), 2);
    let (parent, child) = (&sessions[0], &sessions[1]);
    assert_eq!(
        (&parent["parent"], &child["parent"]),
        (&json!(null), &parent["session"])
    );
    let listed = env.run(&["sessions", "list"]).stdout;
    assert_eq!(listed.lines().count(), 1, "{listed}");
    let child = child["session"].as_str().unwrap();
    let shown = env.run(&["sessions", "show", "latest"]).stdout;
    assert!(
        shown.contains(&format!("clerk (session {child})")),
        "{shown}"
    );
    let resumed = env.run(&["run", "--resume", child, "more"]);
    let why = format!(
        "error: session {child} belongs to an agent; resume the one that started it: agent-host run --resume {}",
        parent["session"].as_str().unwrap()
    );
    assert_eq!(resumed.code, Some(2), "{resumed:?}");
    assert!(resumed.stderr.contains(&why), "{}", resumed.stderr);
}

/// Events of the child have its path in `stream-json`, and their own session.
#[test]
fn events_of_an_agent_have_its_path() {
    let env = env();
    let server = ChatServer::start(vec![
        start(),
        Answer::text("There is bread on it."),
        Answer::text("The list is seen to."),
    ]);
    let ran = ask(&env, &server, &["--output-format", "stream-json", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of_child: Vec<&Value> = lines
        .iter()
        .filter(|line| line.get("path").is_some())
        .collect();
    assert!(
        of_child
            .iter()
            .all(|line| line["path"] == json!(["call_0"]))
    );
    let kinds: Vec<&Value> = of_child
        .iter()
        .map(|line| &line["event"]["kind"])
        .filter(|kind| !kind.is_null())
        .collect();
    let expected = [
        "session-started",
        "loop-configured",
        "input-received",
        "model-requested",
        "model-replied",
        "turn-ended",
    ];
    assert_eq!(kinds, expected);
    let own: Vec<&Value> = lines
        .iter()
        .filter(|line| line.get("path").is_none())
        .collect();
    assert!(
        own.iter()
            .any(|line| line["event"]["kind"] == "agent-spawned")
    );
}

/// The introduction of a run names the agents that can be started, and only those.
#[test]
fn introduction_names_agents_that_can_be_started() {
    for (flags, row) in [
        (&["go"][..], Some("agents   clerk")),
        (&["--agent", "clerk", "go"], None),
    ] {
        let env = env();
        let server = ChatServer::start(vec![Answer::text("The list is seen to.")]);
        let ran = ask(&env, &server, flags);
        done(&ran);
        let shown = ran.stderr.lines().find(|line| line.starts_with("agents "));
        assert_eq!(shown, row, "{}", ran.stderr);
    }
}

/// A call inside waits for the user, and another process brings the decision.
#[test]
fn approval_inside_an_agent_is_decided_elsewhere() {
    let env = env();
    let server = ChatServer::start(vec![
        start(),
        write(),
        Answer::text("It is written."),
        Answer::text("The list is seen to."),
    ]);
    let ran = ask(&env, &server, &["--permission-prompts", "later", "go"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr
            .contains("The agent clerk of call call_0 is waiting."),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("  call_0/call_0  write_file"),
        "{}",
        ran.stderr
    );
    // No one is asked, so that it is said once.
    assert_eq!(
        ran.stderr.matches("is waiting").count(),
        1,
        "{}",
        ran.stderr
    );
    let decide = |decision| ask(&env, &server, &["--resume", "latest", "--decide", decision]);
    let ran = decide("call_0=approve");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains(
            "call call_0 is not pending. The pending calls are:\n  call_0/call_0  write_file"
        ),
        "{}",
        ran.stderr
    );
    done(&decide("call_0/call_0=approve"));
    let note = std::fs::read_to_string(env.work().join("note.txt")).unwrap();
    assert_eq!(note, "hello");
    assert_eq!(of_kind(&env.events(), "children-waiting").len(), 1);
}

/// `explain` covers the calls of agents, by their paths.
#[test]
fn requests_of_an_agent_are_explained() {
    let env = env();
    let server = ChatServer::start(vec![
        start(),
        Answer::calls(&[("read_file", json!({ "path": "list.txt" }))]),
        Answer::text("There is bread on it."),
        Answer::text("The list is seen to."),
    ]);
    done(&ask(&env, &server, &["go"]));
    let explained = env.run(&["explain", "latest", "--json"]).json();
    let calls = explained["calls"].as_array().unwrap();
    let ids: Vec<&Value> = calls.iter().map(|call| &call["call_id"]).collect();
    assert_eq!(ids, ["call_0", "call_0/call_0"]);
    assert_eq!(calls[1]["tool"], "read_file");
    let asked = calls[1]["asked"].to_string();
    assert!(asked.contains("/workspace/list.txt"), "{asked}");
}

#[test]
fn approval_inside_an_agent_is_asked_on_the_terminal() {
    let env = env();
    let server = ChatServer::start(vec![
        start(),
        write(),
        Answer::text("It is not written."),
        Answer::text("The list is seen to."),
    ]);
    let ran = on_a_terminal(
        &env,
        &server,
        "run --model openai-compat:m go",
        "n not now\n",
    );
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("The agent clerk of call call_0 waits:"),
        "{}",
        ran.stdout
    );
    assert!(!env.work().join("note.txt").exists());
    let told = server.requests()[2]["messages"]
        .as_array()
        .unwrap()
        .last()
        .cloned();
    assert_eq!(told.unwrap()["content"], "not now");
    assert_eq!(server.tool_results(), ["It is not written."]);
}

/// An agent runs alone, with its prompt and its tools.
#[test]
fn named_agent_is_run_alone() {
    let env = env();
    let server = ChatServer::start(vec![Answer::text("The list is seen to.")]);
    done(&ask(&env, &server, &["--agent", "clerk", "go"]));
    assert_eq!(offered(&server.requests()[0]), ["read_file", "write_file"]);
    assert_eq!(
        server.requests()[0]["messages"][0]["content"],
        "You are the clerk."
    );
    let ran = ask(&env, &server, &["--agent", "cleric", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let why = "error: unknown agent `cleric`; the agents are clerk, general-purpose";
    assert!(ran.stderr.starts_with(why), "{}", ran.stderr);
}

/// A copy of a session has copies of the sessions of its agents, here and on another host.
#[test]
fn copies_take_the_sessions_of_agents_along() {
    let env = env();
    let server = ChatServer::start(vec![
        start(),
        Answer::text("There is bread on it."),
        Answer::text("The list is seen to."),
    ]);
    done(&ask(&env, &server, &["go"]));
    let file = env.run(&["sessions", "export", "latest"]).stdout;
    assert_eq!(env.run(&["sessions", "fork", "latest"]).code, Some(0));
    let elsewhere = TestEnv::new();
    elsewhere.write("session.jsonl", file);
    let imported = elsewhere.run(&["sessions", "import", "session.jsonl"]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    for (env, count) in [(&env, 4), (&elsewhere, 2)] {
        let all = sessions(env);
        assert_eq!(all.len(), count);
        let agents: Vec<&Value> = all
            .iter()
            .filter(|session| !session["parent"].is_null())
            .collect();
        assert_eq!(agents.len(), count / 2);
        for agent in agents {
            let parent = agent["parent"].as_str().unwrap();
            let shown = env.run(&["sessions", "show", parent]).stdout;
            let id = agent["session"].as_str().unwrap();
            assert!(shown.contains(&format!("clerk (session {id})")), "{shown}");
        }
    }
}

/// A tool in the hands of an agent does what both its own grants and those of the agent allow.
#[test]
fn agent_with_grants_of_its_own_gets_no_more() {
    let env = env();
    let grants = "\n[[agent.grants.dir]]\nhost = \"docs\"\nmode = \"read-write\"\n";
    env.configure(CONFIG.replace(
        "tools = [\"read_file\", \"write_*\"]\n",
        &format!("tools = [\"read_file\", \"write_*\"]\n{grants}"),
    ));
    env.write("docs/a.txt", "an a");
    let write = |path: &str| {
        let input = json!({ "path": path, "content": "hello" });
        ("write_file", input)
    };
    let server = ChatServer::start(vec![
        start(),
        Answer::calls(&[
            ("read_file", json!({ "path": "list.txt" })),
            ("read_file", json!({ "path": "docs/a.txt" })),
            write("note.txt"),
            write("docs/note.txt"),
        ]),
        Answer::text("Done."),
        Answer::calls(&[write("mine.txt")]),
        Answer::text("The list is seen to."),
    ]);
    done(&ask(&env, &server, &["--allow", "write_file", "go"]));
    // The request of the agent after its calls.
    let messages = server.requests()[2]["messages"].clone();
    let results: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(results[1], "an a");
    for denied in [results[0], results[2]] {
        assert!(
            denied.contains("the grants of the agent do not reach so far"),
            "{denied}"
        );
    }
    let exists = |path: &str| env.work().join(path).exists();
    // The one that started it keeps the grants of its tools.
    assert_eq!(
        [
            exists("note.txt"),
            exists("docs/note.txt"),
            exists("mine.txt")
        ],
        [false, true, true]
    );
}

#[test]
fn agent_with_more_than_its_tools_is_refused() {
    let env = env();
    let grants = "\n[[agent.grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n";
    let config = CONFIG.replace("mode = \"read-write\"", "mode = \"read-only\"");
    env.configure(config.replace("tools = [\"read_file\", \"write_*\"]\n", grants));
    let ran = env.run(&["run", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    for part in [
        "the agent `clerk` is granted more access to",
        "than any tool has, and would not get it",
    ] {
        assert!(ran.stderr.contains(part), "{}", ran.stderr);
    }
}

/// The answer of an agent with a schema is its result as JSON.
#[test]
fn agent_with_a_schema_returns_json() {
    let env = env();
    let schema = "output-schema = { type = \"object\", required = [\"count\"], properties = { count = { type = \"integer\" } } }\n";
    env.configure(CONFIG.replace("tools = [\"read_file\", \"write_*\"]\n", schema));
    let server = ChatServer::start(vec![
        start(),
        Answer::text("There are two."),
        Answer::text("{\"count\": 2}"),
        Answer::text("The list is seen to."),
    ]);
    done(&ask(&env, &server, &["go"]));
    assert_eq!(server.tool_results(), [r#"{"count":2}"#]);
    let settled = of_kind(&env.events(), "call-settled")[0]["output"].clone();
    assert_eq!(settled, json!({ "type": "json", "value": { "count": 2 } }));

    let both = format!("until-tool = [\"read_file\"]\n{schema}");
    env.configure(CONFIG.replace("tools = [\"read_file\", \"write_*\"]\n", &both));
    let ran = env.run(&["run", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("its run can end in only one way"),
        "{}",
        ran.stderr
    );
}
