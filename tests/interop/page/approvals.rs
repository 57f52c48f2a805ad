//! Calls that wait for approval: what is shown of them, the choices, and who may choose.

use super::*;
use pretty_assertions::assert_eq;

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

/// Keys decide on the call that has the focus and no other, and a screen reader is told what
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

/// All calls are approved at once; then one is remembered for the session, and one for the project.
#[test]
fn remembered_approvals() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let write = |path: &str| ("write_file", json!({"path": path, "content": "new"}));
    let model = ChatServer::start(vec![
        Answer::calls(&[write("a.txt"), write("b.txt")]),
        Answer::calls(&[write("c.txt")]),
        Answer::calls(&[
            write("d.txt"),
            (
                "edit_file",
                json!({"path": "a.txt", "old": "new", "new": "newer"}),
            ),
        ]),
        Answer::text("Written."),
    ]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    browser.run(&server, "remember", "");
    let read = |name: &str| fs::read_to_string(env.work().join(name)).unwrap();
    let written = ["a.txt", "b.txt", "c.txt", "d.txt"].map(read);
    assert_eq!(written, ["newer", "new", "new", "new"]);
    let events = env.events();
    let remembered = of_kind(&events, "approval-remembered").into_iter();
    let remembered: Vec<Value> = remembered
        .map(|event| json!([event["rule"]["tool"], event["scope"]]))
        .collect();
    assert_eq!(
        remembered,
        [
            json!(["write_file", "session"]),
            json!(["edit_file", "project"])
        ]
    );
}

/// A pattern for the target of a call is proposed, checked and remembered for the project; a call
/// is answered in place of its tool.
#[test]
fn remembered_pattern() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    fs::create_dir(env.work().join("notes")).unwrap();
    let write =
        |path: &str| Answer::calls(&[("write_file", json!({"path": path, "content": "new"}))]);
    let model = ChatServer::start(vec![
        write("notes/a.txt"),
        write("notes/b.txt"),
        write("other.txt"),
        Answer::text("Written."),
    ]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    browser.run(&server, "remember-pattern", "");
    let exists = |name: &str| env.work().join(name).exists();
    assert_eq!(
        ["notes/a.txt", "notes/b.txt", "other.txt"].map(exists),
        [true, true, false]
    );
    assert_eq!(model.tool_results(), ["It is there."]);
    let events = env.events();
    let remembered = of_kind(&events, "approval-remembered");
    assert_eq!(
        remembered[0]["rule"]["pattern"],
        json!({"pointer": "/path", "glob": "notes/*.txt"})
    );
}

/// A long change is cut at 20 rows until all are asked for; a batch is a list that is denied at
/// once.
#[test]
fn long_approvals() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let lines = |word: &str, count: usize| -> String {
        (1..=count).map(|n| format!("{word} {n}\n")).collect()
    };
    env.write("a.txt", lines("old", 20));
    let write = |path: &str, content: &str| {
        let input = json!({"path": path, "content": content.trim_end()});
        ("write_file", input)
    };
    let model = ChatServer::start(vec![
        Answer::calls(&[write("a.txt", &lines("line", 20))]),
        Answer::calls(&[write("b.txt", "new"), write("c.txt", &lines("line", 30))]),
        Answer::text("As you wish."),
    ]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    browser.run(&server, "long-approval", "");
    assert_eq!(of_kind(&env.events(), "decision-recorded").len(), 2);
}

/// Each role is offered what it may do: a decision for the project is the operator's.
#[test]
fn roles() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::calls(&[(
        "write_file",
        json!({"path": "a.txt", "content": "new"}),
    )])]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    let session = server.create("Write.");
    server.events(&session, None).until("turn-ended");
    let create = |role: &str| {
        let made = env.run(&[
            "serve",
            "token",
            "create",
            &format!("a-{role}"),
            "--role",
            role,
            "--sessions",
            "project",
        ]);
        assert_eq!(made.code, Some(0), "{made:?}");
        made.stdout.trim().to_owned()
    };
    let tokens: serde_json::Map<String, Value> = ["viewer", "user", "approver", "operator"]
        .into_iter()
        .map(|role| (role.to_owned(), create(role).into()))
        .collect();
    let argument = json!({"session": session, "tokens": tokens});
    browser.run(&server, "roles", &argument.to_string());
}

/// An agent's session is nested in its call, and its approval is in that of the one that started
/// it.
#[test]
fn agents() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let env = TestEnv::new();
    env.configure(
        r#"
agents = ["clerk"]
[[agent]]
name = "clerk"
description = "Reads and writes files."
tools = ["read_file", "write_*"]
[[grants.dir]]
host = "."
mode = "read-write"
"#,
    );
    let model = ChatServer::start(vec![
        Answer::calls(&[("agent_clerk", json!({"instructions": "see to the list"}))]),
        Answer::calls(&[(
            "write_file",
            json!({"path": "note.txt", "content": "hello"}),
        )]),
        Answer::text("Seen to."),
        Answer::text("It is done."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    browser.run(&server, "agents", "");
    let written = fs::read_to_string(env.work().join("note.txt")).unwrap();
    assert_eq!(written, "hello");
}
