//! `undo`: the files that an answer changed are as they were, whatever could not be is listed, and
//! the model is told.

use crate::conversation::{WIDTHS, begin};
use agent_host_test_support::{
    Ran, TestEnv,
    api::{ApiServer, TOKEN},
    chat::{Answer, ChatServer, ask},
    of_kind, program,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;

const CONFIG: &str = r#"
agents = ["clerk"]
permission-prompts = "none"

[[agent]]
name = "clerk"
description = "Writes files."

[[tool]]
name = "files"
component = "builtin:files"
approval = "never"

[[grants.dir]]
host = "."
mode = "read-write"
"#;

/// A directory with a note, in which tools may write without asking.
fn env() -> TestEnv {
    let env = TestEnv::new();
    env.configure(CONFIG);
    env.write("note.txt", "one");
    env
}

fn write(path: &str, content: &str) -> Answer {
    Answer::calls(&[("write_file", json!({"path": path, "content": content}))])
}

fn undo(env: &TestEnv, more: &[&str]) -> Ran {
    env.run(&[&["undo", "latest"], more].concat())
}

/// The files of the directory with their texts; absent ones have none.
fn texts(env: &TestEnv, names: &[&str]) -> Vec<Option<String>> {
    let read = |name: &&str| fs::read_to_string(env.work().join(name)).ok();
    names.iter().map(read).collect()
}

fn kept(env: &TestEnv, session: &str) -> bool {
    let state = env.outside().join("home/.local/state/agent-host");
    assert!(state.is_dir());
    state.join("files").join(session).exists()
}

/// Each undoing restores one answer, from the newest on; the model is told once, with the next
/// message.
#[test]
fn answers_are_undone_one_after_the_other() {
    let env = env();
    let first = ChatServer::start(vec![
        write("note.txt", "two"),
        write("new/\u{202e}txt.exe", "new"),
        Answer::text("Done."),
    ]);
    assert_eq!(ask(&env, &first, &["first"]).code, Some(0));
    let second = ChatServer::start(vec![write("note.txt", "three"), Answer::text("Done.")]);
    assert_eq!(
        ask(&env, &second, &["--resume", "latest", "second"]).code,
        Some(0)
    );
    let names = ["note.txt", "new/\u{202e}txt.exe"];

    let undone = undo(&env, &[]);
    let expected = "The answer to: second\n  written back  note.txt\n";
    assert_eq!(
        (undone.code, undone.stdout.as_str()),
        (Some(0), expected),
        "{undone:?}"
    );
    assert_eq!(
        texts(&env, &names),
        [Some("two".to_owned()), Some("new".to_owned())]
    );

    let undone = undo(&env, &["--json"]).json();
    assert_eq!(
        undone,
        json!({
            "message": "first",
            "restored": [
                {"path": env.work().join("new"), "done": "removed"},
                {"path": env.work().join(names[1]), "done": "removed"},
                {"path": env.work().join("note.txt"), "done": "written-back"},
            ],
            "left": [],
            "outside": [],
        })
    );
    assert_eq!(texts(&env, &names), [Some("one".to_owned()), None]);
    assert!(!env.work().join("new").exists());

    let nothing = undo(&env, &[]);
    let expected = "No answer of this session has changed files that can be undone.\n";
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), expected));

    let third = ChatServer::start(vec![Answer::text("I see."), Answer::text("Yes.")]);
    assert_eq!(
        ask(&env, &third, &["--resume", "latest", "third"]).code,
        Some(0)
    );
    assert_eq!(
        ask(&env, &third, &["--resume", "latest", "fourth"]).code,
        Some(0)
    );
    let messages = third.requests()[1]["messages"].as_array().unwrap().clone();
    let users = messages.iter().filter(|message| message["role"] == "user");
    let users: Vec<String> = users
        .map(|message| message["content"].to_string())
        .collect();
    let told = "[The user has undone changes of your calls. These paths are as they were before: \
                [\\\"/workspace/note.txt\\\",\\\"/workspace/new\\\",\\\"/workspace/new/\\\\u202etxt.exe\\\",\\\"/workspace/note.txt\\\"]. \
                Read a file again before you change it.]";
    assert_eq!(users.len(), 4, "{users:?}");
    assert!(
        users[2].contains(told) && users[2].contains("third"),
        "{}",
        users[2]
    );
    assert!(!users[3].contains("undone"), "{}", users[3]);
}

/// A file that the user has changed since stays, and everything else is restored.
#[test]
fn file_that_was_changed_since_is_restored_by_force_alone() {
    let env = env();
    let model = ChatServer::start(vec![
        write("note.txt", "two"),
        write("new.txt", "new"),
        Answer::text("Done."),
    ]);
    assert_eq!(ask(&env, &model, &["go"]).code, Some(0));
    env.write("note.txt", "mine");
    let undone = undo(&env, &[]);
    let expected = "The answer to: go\n  removed       new.txt\nNot restored (--force also restores files that have \
        changed since)\n\u{20} note.txt: it has changed since\n";
    assert_eq!(
        (undone.code, undone.stdout.as_str()),
        (Some(1), expected),
        "{undone:?}"
    );
    assert_eq!(
        texts(&env, &["note.txt", "new.txt"]),
        [Some("mine".to_owned()), None]
    );

    let forced = undo(&env, &["--force"]);
    let expected = "The answer to: go\n  written back  note.txt\n";
    assert_eq!(
        (forced.code, forced.stdout.as_str()),
        (Some(0), expected),
        "{forced:?}"
    );
    assert_eq!(texts(&env, &["note.txt"]), [Some("one".to_owned())]);
    let restored = env.events();
    let restored = of_kind(&restored, "files-restored");
    let paths: Vec<&Value> = restored.iter().map(|event| &event["paths"]).collect();
    assert_eq!(
        paths,
        [
            &json!(["/workspace/new.txt"]),
            &json!(["/workspace/note.txt"])
        ]
    );
}

/// Calls of agents are undone with the answer that started them.
#[test]
fn changes_of_an_agent_are_undone() {
    let env = env();
    let model = ChatServer::start(vec![
        write("note.txt", "two"),
        Answer::calls(&[("agent_clerk", json!({"instructions": "see to the note"}))]),
        write("note.txt", "three"),
        Answer::text("Written."),
        write("note.txt", "four"),
        Answer::text("Done."),
    ]);
    assert_eq!(ask(&env, &model, &["go"]).code, Some(0));
    assert_eq!(texts(&env, &["note.txt"]), [Some("four".to_owned())]);
    let undone = undo(&env, &[]);
    assert_eq!(
        undone.stdout, "The answer to: go\n  written back  note.txt\n",
        "{undone:?}"
    );
    assert_eq!(texts(&env, &["note.txt"]), [Some("one".to_owned())]);
}

/// Kept files are removed with the session, and `undo-bytes = 0` keeps none.
#[test]
fn kept_files_are_removed_with_their_session() {
    let env = env();
    let run = |env: &TestEnv| {
        let model = ChatServer::start(vec![write("note.txt", "two"), Answer::text("Done.")]);
        assert_eq!(ask(env, &model, &["go"]).code, Some(0));
        env.run(&["sessions", "list", "--json"]).json_lines()[0]["session"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let session = run(&env);
    assert!(kept(&env, &session));
    // A copy has changed nothing.
    let copy = env.run(&["sessions", "fork", &session]);
    let copy = copy.stdout.trim().to_owned();
    assert!(
        env.run(&["undo", &copy]).stdout.starts_with("No answer"),
        "{copy}"
    );
    assert_eq!(env.run(&["sessions", "delete", &session]).code, Some(0));
    assert!(!kept(&env, &session));

    env.configure(format!("{CONFIG}\n[session]\nundo-bytes = 0\n"));
    let session = run(&env);
    assert!(!kept(&env, &session));
    assert!(undo(&env, &[]).stdout.starts_with("No answer"));
}

/// A tool of an MCP server may have done anything, and is named.
#[test]
fn effects_outside_of_the_sandbox_are_listed() {
    let env = env();
    env.write(
        "served/agent.toml",
        "permission-prompts = \"none\"\n[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\napproval = \"never\"\n\
         [[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n",
    );
    let command = json!([program(), "mcp", "--config", "served/agent.toml"]);
    env.configure(format!(
        "{CONFIG}\n[[mcp]]\nname = \"s\"\ncommand = {command}\napproval = \"never\"\n\
         [[mcp.env]]\nname = \"HOME\"\nfrom-host = true\n[[mcp.env]]\nname = \"XDG_CACHE_HOME\"\nfrom-host = true\n"
    ));
    let model = ChatServer::start(vec![
        write("note.txt", "two"),
        Answer::calls(&[(
            "s_write_file",
            json!({"path": "note.txt", "content": "out"}),
        )]),
        Answer::text("Done."),
    ]);
    let ran = ask(&env, &model, &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let undone = undo(&env, &[]);
    let expected = "The answer to: go\n  written back  note.txt\nCannot be undone\n  s_write_file: its effects \
                    outside of the sandbox\n";
    assert_eq!(undone.stdout, expected, "{ran:?}");
    assert_eq!(texts(&env, &["served/note.txt"]), [Some("out".to_owned())]);
}

/// `/undo` in a conversation.
#[test]
fn conversation_undoes_its_last_answer() {
    for columns in WIDTHS {
        let env = env();
        let server = ChatServer::start(vec![write("note.txt", "two"), Answer::text("Done.")]);
        let mut screen = begin(&env, &server, columns);
        screen.types("go\r");
        screen.until_row("Done.");
        screen.until_last_row(">");
        env.write("note.txt", "mine");
        screen.types("/undo\r");
        screen
            .until_text("Not restored (/undo --force also restores files that have changed since)");
        screen.until_last_row(">");
        screen.types("/undo now\r");
        screen.until_text("use /undo, or /undo --force");
        screen.until_last_row(">");
        screen.types("/undo --force\r");
        screen.until_text("written back  note.txt");
        screen.until_last_row(">");
        assert_eq!(texts(&env, &["note.txt"]), [Some("one".to_owned())]);
        screen.types("/quit\r");
        assert_eq!(screen.end(), Some(0));
    }
}

/// Undoing belongs to no run: one under an idempotency key stays ended, and the last response of
/// OpenAI's API stays the last.
#[test]
fn undone_run_stays_ended() {
    let env = env();
    let model = ChatServer::start(vec![
        write("note.txt", "two"),
        Answer::text("Written."),
        Answer::text("It is as it was."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let create = || {
        let key = "Idempotency-Key: k\r\n";
        let body = json!({"model": "agent-host", "input": "go"}).to_string();
        let created = server.raw(TOKEN, "POST /v1/responses", key, Some(&body));
        assert_eq!(created.status, 200, "{created:?}");
        created.json()
    };
    let response = create();
    let session = response["agent_host"]["session"].as_str().unwrap();
    let undone = server.post(&format!("/sessions/{session}/undo"), &json!({}));
    assert_eq!(undone.status, 200, "{undone:?}");
    assert_eq!(texts(&env, &["note.txt"]), [Some("one".to_owned())]);
    let events = env.events();
    assert_eq!(create(), response);
    assert_eq!(env.events(), events);

    let next = json!({
        "model": "agent-host",
        "input": "and now?",
        "previous_response_id": response["id"],
    });
    let next = server.raw(TOKEN, "POST /v1/responses", "", Some(&next.to_string()));
    assert_eq!(next.status, 200, "{next:?}");
    let text = &next.json()["output"][0]["content"][0]["text"];
    assert_eq!(text, "It is as it was.");
    let asked = model.requests()[2]["messages"].to_string();
    assert!(asked.contains("The user has undone"), "{asked}");
    assert_eq!(server.end().code, Some(0));
}

/// The API undoes a session that does not run, and an approval that waits stays open.
#[test]
fn api_undoes_an_answer() {
    let env = env();
    let ask = CONFIG.replace("approval = \"never\"", "approval = \"always\"");
    let ask = ask.replace("permission-prompts = \"none\"\n", "");
    env.configure(ask);
    let model = ChatServer::start(vec![write("note.txt", "two"), write("note.txt", "three")]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    server.events(&session, None).until("turn-ended");
    let requests = || server.get(&format!("/sessions/{session}/requests")).json();
    let first = requests()["requests"][0].clone();
    let (_, name) = first["request"].as_str().unwrap().split_once('/').unwrap();
    let body =
        json!({"continuation": first, "decisions": [{"type": "approve", "call_id": "call_0"}]});
    let seq = env.events().len() as u64;
    let answered = server.post(
        &format!("/sessions/{session}/requests/{name}/answer"),
        &body,
    );
    assert_eq!(answered.status, 202, "{answered:?}");
    // The first turn ends, and the second waits.
    let mut stream = server.events(&session, Some(seq - 1));
    stream.until("turn-ended");
    stream.until("turn-ended");
    assert_eq!(texts(&env, &["note.txt"]), [Some("two".to_owned())]);
    let waiting = requests();
    let path = format!("/sessions/{session}/undo");
    let undone = server.post(&path, &json!({}));
    let file = env.work().join("note.txt");
    let expected = json!({"undone": {
        "message": "go",
        "restored": [{"path": file, "done": "written-back"}],
        "left": [],
        "outside": [],
    }});
    assert_eq!((undone.status, undone.json()), (200, expected));
    assert_eq!(texts(&env, &["note.txt"]), [Some("one".to_owned())]);
    assert_eq!(requests(), waiting);
    assert_eq!(server.post(&path, &json!({})).json(), json!({}));
    let bad = server.post(&path, &json!({"force": "yes"}));
    assert_eq!(bad.problem(), (400, "invalid-request".to_owned()));
    assert_eq!(server.end().code, Some(0));
}
