//! The page of `agent-host serve` in a browser. `page/page.mjs` has what a user does there; the
//! tests here have the model, the server and the end of it.

use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer},
    installed::{browser_packages, here},
    of_kind,
    pictures::png,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{fs, path::PathBuf, process::Command};

/// A browser, and the packages that drive it.
struct Browser {
    packages: PathBuf,
}

impl Browser {
    fn find() -> Option<Self> {
        let packages = browser_packages()?;
        Some(Self { packages })
    }

    /// Does what the script has under a name, and fails where it fails.
    fn run(&self, server: &ApiServer, name: &str, argument: &str) {
        let output = Command::new("node")
            .arg(here("interop/page/page.mjs"))
            .args([name, &format!("http://{}", server.address), TOKEN, argument])
            .env("PAGE_PACKAGES", &self.packages)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
    }
}

/// Text that would run, load or deceive if any part of it were taken for markup.
const HOSTILE: &str = "# Done <img src=x onerror=alert(1)>\n\n<script>alert(2)</script>\n\n\
    [a](javascript:alert(3)) [b](https://example.com/b) ![c](https://example.com/c.png) \
    \u{202e}reversed\u{200b}\u{7}\n\n| a | b |\n|---|---|\n| <b>x</b> | `y` |\n";

/// A message is sent, the answer streams, a lost connection loses nothing, its Markdown is elements and nothing of it runs, and the
/// page has no serious fault of accessibility in either theme.
#[test]
fn conversation() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.write("note.txt", "<script>alert(4)</script>");
    let model = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({"path": "note.txt"}))]),
        Answer::text(HOSTILE),
        Answer::text("You are welcome."),
        Answer::text("Yes."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "conversation", "");
    assert_eq!(of_kind(&env.events(), "input-received").len(), 3);
}

/// An approval is shown with what it changes, answered in one window and closed in both; the second
/// is denied with a reason, the third edited.
#[test]
fn approvals() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.write("a.txt", "one\ntwo\n");
    let write = |path: &str| {
        let input = json!({"path": path, "content": "one\nthree\n"});
        Answer::calls(&[("write_file", input)])
    };
    let model = ChatServer::start(vec![
        write("a.txt"),
        write("b.txt"),
        write("c.txt"),
        Answer::text("Written."),
    ]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    browser.run(&server, "approvals", "");
    let read = |name: &str| fs::read_to_string(env.work().join(name)).ok();
    assert_eq!(read("a.txt").as_deref(), Some("one\nthree\n"));
    assert_eq!(read("b.txt"), None);
    assert_eq!(read("c.txt").as_deref(), Some("edited"));
    let events = env.events();
    let decisions = of_kind(&events, "decision-recorded");
    assert_eq!(
        decisions[1]["decisions"][0],
        json!({"type": "reject", "call_id": "call-2", "reason": "not there"})
    );
}

/// Keys decide about the call that has the focus and no other, and a screen reader is told what
/// waits and what ended.
#[test]
fn keys_and_news() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let write =
        |path: &str| Answer::calls(&[("write_file", json!({"path": path, "content": "new"}))]);
    let model = ChatServer::start(vec![write("a.txt"), write("b.txt"), Answer::text("Done.")]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    browser.run(&server, "keys", "");
    let exists = ["a.txt", "b.txt"].map(|name| env.work().join(name).exists());
    assert_eq!(exists, [false, true]);
    let events = env.events();
    let decisions = of_kind(&events, "decision-recorded");
    assert_eq!(decisions[0]["decisions"][0]["reason"], "a bad day");
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

/// A question of the model is answered by several of its choices.
#[test]
fn question() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let question =
        json!({"question": "Which?", "choices": ["red", "green", "blue"], "multiple": true});
    let model = ChatServer::start(vec![
        Answer::calls(&[("ask_user", json!({"questions": [question]}))]),
        Answer::text("Noted."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "question", "");
    let events = env.events();
    let answers = of_kind(&events, "answer-received");
    assert_eq!(
        answers[0]["answer"],
        json!({"type": "choices", "indexes": [0, 2]})
    );
}

/// The form of a tool is filled in, with a default and a choice that is typed as one.
#[test]
fn form() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let guest = here("guests/dist/conformance.wasm");
    env.write("suite.wasm", fs::read(guest).unwrap());
    env.configure("[[tool]]\nname = \"suite\"\ncomponent = \"suite.wasm\"\n");
    let schema = json!({
        "type": "object",
        "properties": {
            "count": {"type": "integer", "title": "How many", "minimum": 1, "maximum": 9},
            "note": {"type": "string", "default": "none"},
            "gift": {"type": "boolean"},
        },
        "required": ["count"],
    });
    let input = json!({"prompt": "Your order?", "schema": schema});
    let model = ChatServer::start(vec![
        Answer::calls(&[("fill_form", input)]),
        Answer::text("Ordered."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "form", "");
    let events = env.events();
    assert_eq!(
        of_kind(&events, "answer-received")[0]["answer"],
        json!({"type": "fields", "fields": {"count": 3, "note": "none", "gift": true}})
    );
}

/// The files of an answer are restored; one that was changed since after a second click.
#[test]
fn undo() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.configure(
        "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\napproval = \"never\"\n\
         [[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n",
    );
    let note = env.write("note.txt", "one");
    let model = ChatServer::start(vec![
        Answer::calls(&[("write_file", json!({"path": "note.txt", "content": "two"}))]),
        Answer::text("Written."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "undo", note.to_str().unwrap());
    assert_eq!(of_kind(&env.events(), "files-restored").len(), 1);
}

/// The files that calls returned, and what was denied, by which rule, with the grant that would allow
/// it.
#[test]
fn files_and_access() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.write("photo.png", png(64, 32));
    env.write(
        "photo.svg",
        "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(5)'/>",
    );
    let model = ChatServer::start(vec![
        Answer::calls(&[
            ("image_thumbnail", json!({"path": "photo.png"})),
            ("read_file", json!({"path": "photo.svg"})),
            ("fetch", json!({"url": "https://example.com/<b>"})),
        ]),
        Answer::text("Done."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "files-and-access", "");
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

/// A session of 10,000 calls shows its end first; the script prints the longest task of the
/// main thread.
#[test]
fn long_session() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let mut messages = vec![json!({"role": "user", "content": "Count."})];
    for number in 0..10_000 {
        let id = format!("call_{number}");
        let call = json!({"id": id, "type": "function",
            "function": {"name": "count", "arguments": format!("{{\"n\":{number}}}")}});
        messages.push(json!({"role": "assistant", "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": number.to_string()}));
    }
    messages.push(json!({"role": "assistant", "content": "The end."}));
    env.write("messages.json", json!(messages).to_string());
    let imported = env.run(&["sessions", "import", "messages.json"]);
    let session = imported.stdout.trim().to_owned();
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let model = ChatServer::start(Vec::new());
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "long-session", &session);
}
