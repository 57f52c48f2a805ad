//! Tests the program against an OpenAI-compatible server, with the real tools.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
    pictures::png,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn last(requests: &[Value], index: usize, from_end: usize) -> &Value {
    let messages = requests[index]["messages"].as_array().unwrap();
    &messages[messages.len() - from_end]
}

#[test]
fn run_calls_tools_and_answers() {
    let env = TestEnv::new();
    env.write("a.txt", "alpha\n");
    let server = ChatServer::start(vec![
        Answer::calls(&[
            ("read_file", json!({ "path": "a.txt" })),
            ("read_file", json!({ "path": "gone.txt" })),
        ]),
        Answer::text("The file says alpha."),
    ]);
    let ran = ask(&env, &server, &["what does a.txt say?"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "The file says alpha.\n"),
        "{}",
        ran.stderr
    );

    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0]["model"], "m");
    assert_eq!(
        last(&requests, 0, 1),
        &json!({ "role": "user", "content": "what does a.txt say?" })
    );
    let offered: Vec<&str> = requests[0]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        offered,
        [
            "list_directory",
            "read_file",
            "search_files",
            "write_file",
            "edit_file",
            "fetch",
            "http_post",
            "image_info",
            "image_thumbnail"
        ]
    );
    assert_eq!(
        last(&requests, 1, 3)["tool_calls"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        last(&requests, 1, 2),
        &json!({ "role": "tool", "tool_call_id": "call_0", "content": "alpha\n" })
    );
    let missing = last(&requests, 1, 1);
    assert_eq!(missing["tool_call_id"], "call_1");
    assert!(
        missing["content"].as_str().unwrap().contains("gone.txt"),
        "{missing}"
    );
}

#[test]
fn image_reaches_a_vision_model() {
    let env = TestEnv::new();
    env.write("p.png", png(9, 4));
    let server = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({ "path": "p.png" }))]),
        Answer::text("Grey."),
    ]);
    let ran = ask(&env, &server, &["look at p.png"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let requests = server.requests();
    assert_eq!(last(&requests, 1, 2)["role"], "tool");
    let shown = last(&requests, 1, 1);
    assert_eq!(shown["role"], "user");
    let url = shown["content"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|part| part["image_url"]["url"].as_str())
        .unwrap_or_else(|| panic!("no image in {shown}"));
    assert!(
        url.starts_with("data:image/png;base64,iVBORw0KGgo"),
        "{url}"
    );
}

#[test]
fn wrong_calls_are_answered_and_the_run_continues() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![
        Answer::calls(&[
            ("no_such_tool", json!({})),
            ("read_file", json!({ "path": 7 })),
        ]),
        Answer::text("I give up."),
    ]);
    let ran = ask(&env, &server, &["go"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "I give up.\n"),
        "{}",
        ran.stderr
    );
    let events = env.events();
    let codes: Vec<&Value> = of_kind(&events, "call-settled")
        .iter()
        .map(|event| &event["output"]["value"]["code"])
        .collect();
    assert_eq!(codes, ["unknown-tool", "invalid-input"]);
    assert_eq!(of_kind(&events, "call-intended").len(), 0);
}

#[test]
fn max_turns_ends_in_a_budget_that_can_be_raised() {
    let env = TestEnv::new();
    let list = || Answer::calls(&[("list_directory", json!({ "path": "." }))]);
    let server = ChatServer::start(vec![list(), list(), Answer::text("Done.")]);
    let ran = ask(&env, &server, &["--max-turns", "2", "go"]);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains("max-turns"), "{}", ran.stderr);
    let more = ask(&env, &server, &["--max-turns", "3", "--resume", "latest"]);
    assert_eq!(
        (more.code, more.stdout.as_str()),
        (Some(0), "Done.\n"),
        "{}",
        more.stderr
    );
}

#[test]
fn server_and_key_come_from_agent_toml() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![Answer::text("Hello.")]);
    env.write("key.txt", "from-a-file\n");
    env.write(
        "agent.toml",
        format!(
            "model = \"openai-compat:m\"\nsystem = \"Be brief.\"\n[openai-compat]\nbase-url = \"{}\"\napi-key = \"file:key.txt\"\n",
            server.base_url
        ),
    );
    let ran = env.run(&["run", "--config", "agent.toml", "hi"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Hello.\n"),
        "{}",
        ran.stderr
    );
    let requests = server.requests();
    assert_eq!(
        requests[0]["messages"][0],
        json!({ "role": "system", "content": "Be brief." })
    );
    let shown = env.run(&[
        "sessions",
        "show",
        "latest",
        "--json",
        "--config",
        "agent.toml",
    ]);
    assert_eq!(of_kind(&shown.json_lines(), "model-replied").len(), 1);
    assert!(!shown.stdout.contains("from-a-file"), "{}", shown.stdout);
}

/// The journal and `sessions show` have the reasoning of a reply, and the next request does not;
/// a setting leaves it out.
#[test]
fn reasoning_is_recorded_and_not_sent_back() {
    let reply = |env: &TestEnv, index: usize| {
        of_kind(&env.events(), "model-replied")[index]["reply"]["reasoning"].clone()
    };
    let env = TestEnv::new();
    let server = ChatServer::start(vec![
        Answer::reasoned("Greetings are\u{1b}[31m safe.", "Hello."),
        Answer::text("Yes."),
    ]);
    ask(&env, &server, &["hi"]);
    assert_eq!(reply(&env, 0), "Greetings are\u{1b}[31m safe.");
    ask(&env, &server, &["--resume", "latest", "sure?"]);
    let sent = json!(server.requests()[1]["messages"]).to_string();
    assert!(!sent.contains("Greetings are"), "{sent}");
    let shown = env.run(&["sessions", "show", "--events", "latest"]).stdout;
    assert!(
        shown.contains("reasoning:\n         Greetings are\\u{1b}[31m safe.\n         Hello."),
        "{shown}"
    );

    let env = TestEnv::new();
    env.configure("[settings]\nreasoning-summary = false\n");
    let server = ChatServer::start(vec![Answer::reasoned("Hm.", "Hello.")]);
    ask(&env, &server, &["hi"]);
    assert_eq!(reply(&env, 0), Value::Null);
}

/// Each row: the answer of a server that no repetition would change, and what the run says of it.
#[test]
fn failure_that_stays_says_what_to_do() {
    let list =
        json!({ "data": [{ "id": "gpt-5" }, { "id": "gpt-5-mini" }, { "id": "other\u{1b}[2J" }] });
    let list = || Answer::status("200 OK", &list);
    let error =
        |code: &str, message: &str| json!({ "error": { "code": code, "message": message } });
    let table = [
        (
            "gpt5",
            vec![
                Answer::status("404 Not Found", &error("model_not_found", "none")),
                list(),
            ],
            "It has: gpt-5, gpt-5-mini.",
        ),
        (
            "mistral",
            vec![
                Answer::status("404 Not Found", &error("model_not_found", "none")),
                list(),
            ],
            "It has 3 other models: `agent-host models` lists them.",
        ),
        (
            "gpt-5",
            vec![Answer::status(
                "429 Too Many Requests",
                &error("insufficient_quota", "You exceeded your current quota"),
            )],
            "has no credit left (429). Add credit there, or choose a model of another provider.",
        ),
        (
            "gpt-5",
            vec![Answer::status(
                "403 Forbidden",
                &error("unsupported_country_region_territory", "Not here"),
            )],
            "does not serve the country that the request came from (403).",
        ),
    ];
    for (model, answers, says) in table {
        let (env, count) = (TestEnv::new(), answers.len());
        let server = ChatServer::start(answers);
        let ran = env
            .command(&["run", "--model", &format!("openai-compat:{model}"), "hello"])
            .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
            .output()
            .unwrap();
        let stderr = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(says), "no {says:?} in {stderr}");
        assert_eq!(server.received().len(), count, "{stderr}");
    }
}
