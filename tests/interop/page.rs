//! The page of `agent-host serve` in a browser. `page/*.mjs` have what a user does there; the tests
//! here have the model, the server and the end of it.

mod approvals;
mod connection;
mod hostile;
mod sessions;

use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer},
    has_python,
    installed::{browser_packages, chromium, here},
    of_kind,
    pictures::png,
    running::Running,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
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
        let output = self.command(server, name, argument).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
    }

    /// Starts what the script has under a name; it says words, and waits for lines.
    fn start(&self, server: &ApiServer, name: &str) -> Running {
        Running::start(&mut self.command(server, name, ""))
    }

    fn command(&self, server: &ApiServer, name: &str, argument: &str) -> Command {
        let mut command = Command::new("node");
        command
            .arg(here("interop/page/page.mjs"))
            .args([name, &format!("http://{}", server.address), TOKEN, argument])
            .env("PAGE_PACKAGES", &self.packages);
        command
    }
}

/// Imports messages in the form of OpenAI as a session, and returns its id.
fn import(env: &TestEnv, messages: &Value) -> String {
    env.write("messages.json", messages.to_string());
    let imported = env.run(&["sessions", "import", "messages.json"]);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    imported.stdout.trim().to_owned()
}

/// A call of a tool, and its result, as messages.
fn call_messages(number: usize, tool: &str, arguments: &Value, result: &str) -> [Value; 2] {
    let id = format!("call_{number}");
    let call = json!({"id": id, "type": "function",
        "function": {"name": tool, "arguments": arguments.to_string()}});
    [
        json!({"role": "assistant", "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": result}),
    ]
}

/// Gives a tool of the conformance component to a test directory.
fn add_suite(env: &TestEnv, more: &str) {
    let guest = here("guests/dist/conformance.wasm");
    env.write("suite.wasm", fs::read(guest).unwrap());
    env.configure(format!(
        "[[tool]]\nname = \"suite\"\ncomponent = \"suite.wasm\"\n{more}"
    ));
}

/// Text that would run, load or deceive if any part of it were taken for markup.
const HOSTILE: &str = "# Done <img src=x onerror=alert(1)>\n\n<script>alert(2)</script>\n\n\
    [a](javascript:alert(3)) [b](https://example.com/b) ![c](https://example.com/c.png) \
    \u{202e}reversed\u{200b}\u{7}\n\n| a | b |\n|---|---|\n| <b>x</b> | `y` |\n";

/// A message is sent, the answer streams, a lost connection loses nothing, its Markdown is elements
/// and nothing of it runs, and the page has no serious fault of accessibility in either theme.
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

/// The model of a session is chosen by keys among those that are offered, and is in its head.
#[test]
fn model_of_a_session() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.configure("model-choices = [\"openai-compat:big\"]\n");
    let model = ChatServer::start(vec![Answer::text("Hello.")]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "model", "");
    assert_eq!(model.requests()[0]["model"], "big");
}

/// The calls of one reply are folded into a line with their kinds.
#[test]
fn calls_of_a_step() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.write("a.txt", "hello");
    env.write("b.txt", "world");
    let model = ChatServer::start(vec![
        Answer::calls(&[
            ("read_file", json!({"path": "a.txt"})),
            ("read_file", json!({"path": "b.txt"})),
            ("search_files", json!({"pattern": "h"})),
        ]),
        Answer::text("Seen."),
        Answer::calls_with_ids(&[
            ("missing", ("read_file", json!({"path": "c.txt"}))),
            (
                "written",
                ("write_file", json!({"path": "d.txt", "content": "new"})),
            ),
        ]),
        Answer::text("Written."),
    ]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    browser.run(&server, "folded-steps", "");
    assert!(env.work().join("d.txt").exists());
}

/// Code is coloured by its language and copied as it is shown, and a long unchanged run of a change
/// is folded.
#[test]
fn code_and_changes() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.configure(
        "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\napproval = \"never\"\n\
         [[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n",
    );
    let same: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    env.write("a.txt", format!("{same}one"));
    let edit = json!({"path": "a.txt", "old": format!("{same}one"), "new": format!("{same}two")});
    let model = ChatServer::start(vec![
        Answer::calls(&[("edit_file", edit)]),
        Answer::text(
            "```rust\nfn main() {} // \u{202e}<b>\n```\n\n```diff\n-one\n+two\n```\n\n\
             ```unknown\nfn main() {}\n```\n",
        ),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "code", "");
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
    add_suite(&env, "");
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

/// The files that calls returned, and what was denied, by which rule, with the grant that would
/// allow it.
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

/// A question is answered in one window and closed in the other.
#[test]
fn question_in_two_windows() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let question = json!({"question": "Which?", "choices": ["red", "green"]});
    let model = ChatServer::start(vec![
        Answer::calls(&[("ask_user", json!({"questions": [question]}))]),
        Answer::text("Noted."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "question-in-two-windows", "");
    let events = env.events();
    let answers = of_kind(&events, "answer-received");
    assert_eq!(answers[0]["answer"], json!({"type": "choice", "index": 1}));
    assert_eq!(answers.len(), 1);
}

/// Files of the dialog, the clipboard and of drag and drop reach the model.
#[test]
fn attachments() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let image = env.write("p.png", png(20, 10));
    let model = ChatServer::start(vec![Answer::text("Seen.")]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "attachments", image.to_str().unwrap());
    let request = model.requests().remove(0).to_string();
    let image = STANDARD.encode(png(20, 10));
    assert_eq!(request.matches(&image).count(), 2);
    assert!(request.contains("from the dialog"), "{request}");
}

/// A picture of a result is shown without a click and zoomed by keys; sounds have a player, a
/// document a link, and what only claims to be one of them is saved.
#[test]
fn media() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.write("photo.png", png(64, 32));
    let model = ChatServer::start(vec![
        Answer::calls(&[("image_thumbnail", json!({"path": "photo.png"}))]),
        Answer::text("Seen."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "media", "");
}

/// A PDF is shown in the page by the viewer of the whole browser, which is tested with hostile ones.
#[test]
fn pdf_viewer() {
    let Some(browser) = Browser::find().filter(|_| chromium().is_some()) else {
        return;
    };
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("Seen.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let mut command = browser.command(&server, "pdf", "");
    let output = command.env("PAGE_BROWSER", chromium().unwrap()).output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// The main task of a user by keys alone.
#[test]
fn keyboard_alone() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let input = json!({"path": "a.txt", "content": "new"});
    let model = ChatServer::start(vec![
        Answer::calls(&[("write_file", input)]),
        Answer::text("Written."),
    ]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    browser.run(&server, "by-keyboard", "");
    assert!(env.work().join("a.txt").exists());
}
