//! The sessions as a whole: their list, names, copies, usage and graphs, and the page itself.

use super::*;
use agent_host_test_support::http::page;
use pretty_assertions::assert_eq;
use std::sync::mpsc;

/// The start page has the agents and three examples; the list has the days of the sessions.
#[test]
fn start_page() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.configure("[[agent]]\nname = \"clerk\"\ndescription = \"Sorts letters.\"\n");
    let model = ChatServer::start(vec![Answer::text("Sorted.")]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "start-page", "");
}

/// Conversations are found by words of their texts, which are no markup.
#[test]
fn search_in_texts() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let model = ChatServer::start(vec![
        Answer::text("The heron <b>stands</b> \u{202e}still."),
        Answer::text("Nothing."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "search", "");
}

/// A session is shared by links, which are read, opened once and revoked.
#[test]
fn share_by_link() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.configure("session-links = true\n");
    let input = json!({"path": "a.txt", "content": "new"});
    let model = ChatServer::start(vec![Answer::calls(&[("write_file", input)])]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    browser.run(&server, "share", "");
}

/// The memory of agents is searched, and items are trusted and removed; an answer has the values of
/// its references.
#[test]
fn memory() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let port = page("text/plain", "Herons <b>stand</b> still.");
    let env = TestEnv::new();
    env.configure(format!(
        "memory.enabled = true\nflow.mode = \"quarantine\"\n[[tool]]\nname = \"fetch\"\n\
         component = \"builtin:fetch\"\n[[tool.http]]\nhost = \"127.0.0.1\"\nport = {port}\n\
         scheme = \"http\"\n"
    ));
    let url = format!("http://127.0.0.1:{port}/");
    let model = ChatServer::start(vec![
        Answer::calls(&[("remember", json!({ "text": "The user likes birds." }))]),
        Answer::calls(&[("fetch", json!({ "url": url }))]),
        Answer::calls(&[("remember", json!({ "text": { "$ref": "@r1" } }))]),
        Answer::text("It says: {\"$ref\": \"@r1\"}"),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "memory", "");
}

/// The usage of all sessions, as `stats` has it.
#[test]
fn usage() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.configure("[prices.\"openai-compat:m\"]\ninput = 100\noutput = 1000\n");
    let model = ChatServer::start(vec![Answer::text("Hello.")]);
    let server = ApiServer::start(&env, &model, &[]);
    // 11 tokens for 100 dollars a million, and 7 for 1,000.
    let total = json!(["1", "1", "11", "7", "$0.0081", "0", "0", "0", "0 ms"]);
    browser.run(&server, "usage", &total.to_string());
}

/// The graph of a workflow that waits: nodes with their states, and a condition that is no markup.
#[test]
fn workflow() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.configure(
        r#"
[[agent]]
name = "writer"
description = "Writes."
tools = []

[[workflow]]
name = "flow"
[[workflow.node]]
id = "draft"
agent = "writer"
next = ["publish", { to = "never", when = "draft.text == '<img src=x onerror=alert(1)>'" }]
[[workflow.node]]
id = "publish"
tool = "write_file"
input = { path = "'out.md'", content = "draft.text" }
[[workflow.node]]
id = "never"
tool = "write_file"
input = { path = "'never.md'", content = "draft.text" }

[[grants.dir]]
host = "."
mode = "read-write"
"#,
    );
    let model = ChatServer::start(vec![Answer::text("Bees hum.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let body = json!({"workflow": "flow", "message": "go"});
    let created = server.post("/sessions", &body).json();
    let session = created["session"].as_str().unwrap();
    server.events(session, None).until("turn-ended");
    browser.run(&server, "workflow", session);
}

/// A session is named, copied, exported and deleted.
#[test]
fn management() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("Hello.")]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "management", "");
    let rows = server.get("/sessions").json();
    let names: Vec<_> = rows["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].clone())
        .collect();
    assert_eq!(names, [json!(null)]);
}

/// Sessions are found by their text, and by their state.
#[test]
fn list() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let (go_on, waits) = mpsc::channel::<()>();
    let refusal = json!({"error": {"message": "no such key", "type": "invalid_request_error"}});
    let answers = vec![
        Answer::text("Done."),
        Answer::calls(&[("write_file", json!({"path": "a.txt", "content": "new"}))]),
        Answer::status("401 Unauthorized", &refusal),
        Answer::text("Late."),
    ];
    // The last answer is held until the page has seen the session run.
    let model = ChatServer::watched(answers, move |point| {
        if point == 6 {
            let _ = waits.recv();
        }
    });
    let server = ApiServer::start(&env, &model, &["--write"]);
    for message in [
        "<img src=x onerror=alert(6)> is done",
        "waits for approval",
        "fails at once",
    ] {
        let session = server.create(message);
        server.events(&session, None).until("turn-ended");
    }
    server.create("runs for long");
    browser.run(&server, "list", "");
    drop(go_on);
}

/// Every session can be reached: the list grows beyond what one answer has.
#[test]
fn many_sessions() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("Hello.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("hello");
    server.events(&session, None).until("turn-ended");
    let name = json!({"name": "needle"}).to_string();
    let named = server.request(TOKEN, &format!("PATCH /sessions/{session}"), Some(&name));
    assert_eq!(named.status, 204, "{named:?}");
    for _ in 0..600 {
        let copied = server.post(&format!("/sessions/{session}/fork"), &json!({}));
        assert_eq!(copied.status, 201, "{copied:?}");
    }
    browser.run(&server, "many-sessions", "601");
}

/// The palette goes to sessions and runs commands.
#[test]
fn palette() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("Done.")]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "palette", "");
}

/// Settings stay in the browser; one of them tells the desktop of a session that waits.
#[test]
fn settings() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::calls(&[(
        "write_file",
        json!({"path": "a.txt", "content": "new"}),
    )])]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    browser.run(&server, "settings", "");
}

/// The theme follows the system until the user chooses one; the first paint is told.
#[test]
fn theme_and_first_paint() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let model = ChatServer::start(Vec::new());
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "theme", "");
    browser.run(&server, "first-paint", "");
}

/// The timeline has the used share of limits, the deciding rules, and a denied call its smallest
/// grant.
#[test]
fn steps() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.configure("[prices.\"openai-compat:m\"]\ninput = 100\noutput = 1000\n");
    env.write("a.txt", "hello");
    let model = ChatServer::start(vec![
        Answer::calls(&[
            ("read_file", json!({"path": "a.txt"})),
            ("fetch", json!({"url": "https://example.com/"})),
        ]),
        Answer::text("Done."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "steps", "");
}
