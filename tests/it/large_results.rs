//! Results with more text than the conversation keeps: whole for the user, in pages for the model.

use agent_host_test_guests::{Body, Definition, Guest};
use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// JSON of about 109 KB.
fn long() -> Value {
    let items = (0..3_500).map(|item| json!({"item": item, "name": "a \"b\""}));
    json!({ "items": items.collect::<Vec<_>>() })
}

/// A component whose tool `dump` returns the JSON.
fn dump(env: &TestEnv) {
    let text = long().to_string();
    let guest = Guest {
        definitions: vec![Definition {
            name: "dump".into(),
            input_schema: r#"{"type":"object","properties":{}}"#.into(),
            ..Definition::default()
        }],
        ..Guest::returning(Body::Text(1, text.as_bytes()))
    };
    env.write("dump.wasm", guest.bytes());
    env.write(
        "agent.toml",
        "[[tool]]\nname = \"dump\"\ncomponent = \"dump.wasm\"\n",
    );
}

fn run(env: &TestEnv, server: &ChatServer, args: &[&str]) -> Ran {
    let ran = ask(env, server, &[&["--config", "agent.toml"], args].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran
}

fn tools(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect()
}

/// As text and as JSON, the result is the whole value.
#[test]
fn until_tool_prints_the_whole_json() {
    let env = TestEnv::new();
    dump(&env);
    let call = || ChatServer::start(vec![Answer::calls(&[("dump", json!({}))])]);
    let ran = run(&env, &call(), &["--until-tool", "dump", "go"]);
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap(), long());
    let args = ["--until-tool", "dump", "--output-format", "json", "go"];
    let ran = run(&env, &call(), &args);
    let result = json!({
        "call_id": "call_0",
        "name": "dump",
        "output": {"type": "json", "value": long()},
    });
    assert_eq!(ran.json()["outcome"]["result"], result);
}

/// The model is offered the reader with the first artifact, and gets every byte.
#[test]
fn model_reads_a_long_result_in_pages() {
    let env = TestEnv::new();
    dump(&env);
    let page = |offset: usize| {
        let input = json!({"name": "results/call_0", "offset": offset});
        Answer::calls(&[("read_artifact", input)])
    };
    let size = long().to_string().len();
    let answers = vec![
        Answer::calls(&[("dump", json!({}))]),
        page(0),
        page(40 * 1024),
        page(80 * 1024),
        Answer::text("read"),
    ];
    let server = ChatServer::start(answers);
    run(&env, &server, &["go"]);
    let requests = server.requests();
    assert_eq!(tools(&requests[0]), ["dump"]);
    assert_eq!(tools(&requests[1]), ["read_artifact", "dump"]);
    let results = |message: &Value| {
        let is_result = message["role"] == "tool";
        is_result.then(|| message["content"].as_str().unwrap().to_owned())
    };
    let messages = requests.last().unwrap()["messages"].as_array().unwrap();
    let results: Vec<String> = messages.iter().filter_map(results).collect();
    let [preview, pages @ ..] = results.as_slice() else {
        panic!("{results:?}");
    };
    assert!(preview.starts_with(r#"{"items":[{"item":0,"name":"a \"b\""},"#));
    let note = "the whole result is the artifact `results/call_0`]";
    assert!(preview.contains(note), "{preview}");
    let pages: Vec<&str> = pages
        .iter()
        .map(|page| {
            page.split_once("\n[")
                .map_or(page.as_str(), |(page, _)| page)
        })
        .collect();
    assert_eq!(pages.concat(), long().to_string());
    let listed = env.run(&[
        "sessions",
        "--config",
        "agent.toml",
        "artifacts",
        "latest",
        "--json",
    ]);
    let listed: Value = serde_json::from_str(listed.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&listed["name"], &listed["size"], &listed["media_type"]),
        (
            &json!("results/call_0"),
            &json!(size),
            &json!("application/json")
        )
    );
}

/// A file of the user that is too large for the conversation is an artifact, which the model reads
/// in pages.
#[test]
fn large_file_of_the_user_is_read_in_pages() {
    let env = TestEnv::new();
    let log: String = (0..40_000).map(|line| format!("line {line}\n")).collect();
    env.write("app.log", &log);
    let digest = hex::encode(Sha256::digest(&log));
    let name = format!("files/{}/app.log", digest.split_at(8).0);
    let page = json!({ "name": name, "offset": log.len() - 100 });
    let server = ChatServer::start(vec![
        Answer::calls(&[("read_artifact", page)]),
        Answer::text("It ends with 39999."),
    ]);
    let ran = ask(&env, &server, &["--file", "app.log", "how does it end?"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "It ends with 39999.\n"),
        "{ran:?}"
    );
    let requests = server.requests();
    assert!(tools(&requests[0]).contains(&"read_artifact"));
    let sent = requests[0]["messages"].to_string();
    assert!(
        sent.contains(&format!("the whole text is the artifact `{name}`")),
        "{sent}"
    );
    assert!(sent.len() < 100_000, "{} bytes", sent.len());
    assert!(
        server.tool_results()[0].ends_with("line 39999\n"),
        "{:?}",
        server.tool_results()
    );
    let ran = env.run(&["sessions", "artifacts", "latest", &name]);
    assert_eq!(ran.stdout, log);
}
