//! Tests sessions: resume, fork, export, import and delete. A copy has the conversation, without
//! waiting calls and approvals.

mod imports;

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
    of_kind,
    pictures::{png, png_size},
};
use pretty_assertions::assert_eq;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

const TOML: &str = "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n";

fn write(path: &str) -> Answer {
    Answer::calls(&[("write_file", json!({ "path": path, "content": "hello" }))])
}

/// A test directory with `agent.toml` and a session with one answered question; returns the
/// session's id.
fn answered(env: &TestEnv) -> String {
    env.configure(TOML);
    let server = ChatServer::start(vec![Answer::text("Four.")]);
    id(&ask(env, &server, &["--output-format", "json", "2 and 2?"]))
}

/// A test directory with a session in which `write_file` waits for a decision; returns the server
/// and the session's id.
fn waiting(answers: usize) -> (TestEnv, ChatServer, String) {
    let env = TestEnv::new();
    env.configure(TOML);
    let answers = std::iter::repeat_with(|| Answer::text("That is all.")).take(answers);
    let server = ChatServer::start(std::iter::once(write("note.txt")).chain(answers).collect());
    let later = ["--permission-prompts", "later", "--output-format", "json"];
    let ran = ask(&env, &server, &[&later[..], &["go"]].concat());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let id = id(&ran);
    (env, server, id)
}

fn id(ran: &Ran) -> String {
    ran.json()["session"].as_str().unwrap().to_owned()
}

/// `agent-host sessions ...`
fn sessions(env: &TestEnv, args: &[&str]) -> Ran {
    env.run(&[&["sessions"], args].concat())
}

/// The stdout of a command that succeeds.
fn printed(ran: &Ran) -> String {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

fn shown(env: &TestEnv, session: &str) -> Vec<Value> {
    let ran = sessions(env, &["show", session, "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json_lines()
}

fn listed(env: &TestEnv) -> Vec<String> {
    let rows = sessions(env, &["list", "--json"]).json_lines();
    let ids = rows.iter().map(|row| row["session"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

fn state_dir(env: &TestEnv) -> PathBuf {
    env.outside().join("home/.local/state/agent-host")
}

/// Exports a session to a file in the working directory, and returns its path.
fn export(env: &TestEnv, session: &str) -> PathBuf {
    let file = env.work().join("session.jsonl");
    let ran = sessions(env, &["export", session, "--output", "session.jsonl"]);
    assert_eq!(printed(&ran), "");
    file
}

#[test]
fn resume_is_run_with_a_session() {
    let env = TestEnv::new();
    let id = answered(&env);
    let server = ChatServer::start(vec![Answer::text("Five.")]);
    let ran: Ran = env
        .command(&["sessions", "resume", &id[..13], "and 1?"])
        .args(["--model", "openai-compat:m"])
        .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
        .output()
        .unwrap()
        .into();
    assert_eq!(printed(&ran), "Five.");
    assert_eq!(listed(&env), std::slice::from_ref(&id));
    let said: Vec<Value> = server.requests()[0]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] != "system")
        .map(|message| message["content"].clone())
        .collect();
    assert_eq!(said, ["2 and 2?", "Four.", "and 1?"]);
}

#[test]
fn resume_takes_the_flags_of_run() {
    let (env, server, id) = waiting(1);
    let ran: Ran = env
        .command(&["sessions", "resume", &id, "--decide", "call_0=approve"])
        .args(["--model", "openai-compat:m"])
        .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
        .output()
        .unwrap()
        .into();
    assert_eq!(printed(&ran), "That is all.");
    assert!(env.work().join("note.txt").exists());
    for (args, why) in [
        (&["resume"][..], "<SESSION>"),
        (&["resume", "latest", "--resume", "latest"], "--resume"),
        (
            &["resume", "latest", "hello", "--decide", "call_0=approve"],
            "cannot be used with",
        ),
        (&["resume", "missing"], "no session is named `missing`"),
    ] {
        let ran = sessions(&env, args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(why), "{args:?}: {}", ran.stderr);
    }
}

/// In each kind of copy, a waiting call no longer waits, and it still waits in the original.
#[test]
fn copy_inherits_no_authority() {
    for way in ["fork", "import --as-new", "import elsewhere"] {
        // Two messages to the copy, and then one to the original.
        let (env, server, id) = waiting(3);
        let elsewhere = TestEnv::new();
        elsewhere.configure(TOML);
        let (there, copy) = match way {
            "fork" => (&env, printed(&sessions(&env, &["fork", &id]))),
            "import --as-new" => {
                export(&env, &id);
                let args = ["import", "session.jsonl", "--as-new"];
                (&env, printed(&sessions(&env, &args)))
            }
            _ => {
                let file = export(&env, &id);
                let args = ["import", file.to_str().unwrap()];
                (&elsewhere, printed(&sessions(&elsewhere, &args)))
            }
        };
        let decide = |env, id| {
            let decision = ["--resume", id, "--decide", "call_0=approve"];
            ask(env, &server, &decision)
        };
        let refused = decide(there, copy.as_str());
        assert_eq!(refused.code, Some(2), "{way}: {refused:?}");
        assert!(
            refused
                .stderr
                .contains("nothing is pending in this session"),
            "{way}: {}",
            refused.stderr
        );
        let resumes = ask(there, &server, &["--resume", &copy, "go on"]);
        assert_eq!(printed(&resumes), "That is all.", "{way}");
        let copied = shown(there, &copy);
        assert_eq!(
            of_kind(&copied, "session-forked"),
            [&json!({ "kind": "session-forked", "from": id, "at": 7 })],
            "{way}"
        );
        assert_eq!(
            of_kind(&copied, "call-settled")[0]["output"],
            json!({
                "type": "execution-denied",
                "reason": "This call did not run: the conversation was copied before it did, and continues without it.",
            }),
            "{way}"
        );
        for env in [&env, &elsewhere] {
            assert!(!env.work().join("note.txt").exists(), "{way}");
        }
        assert_eq!(printed(&decide(&env, &id)), "That is all.", "{way}");
        assert!(env.work().join("note.txt").exists(), "{way}");
    }
}

#[test]
fn fork_starts_at_the_end_of_a_turn() {
    let env = TestEnv::new();
    let id = answered(&env);
    let original = shown(&env, &id);
    assert_eq!(original[6]["event"]["kind"], "turn-ended");
    let fork = printed(&sessions(&env, &["fork", &id, "--at", "6"]));
    let copied = shown(&env, &fork);
    let events = |records: &[Value]| -> Vec<Value> {
        records
            .iter()
            .map(|record| record["event"].clone())
            .collect()
    };
    let mut expected = events(&original);
    // The report is that of the copy.
    expected[6]["outcome"]["summary"]["session"] = json!(fork);
    assert_eq!(events(&copied[..7]), expected);
    assert_eq!(copied.len(), 8);
    for (args, why) in [
        (&["fork", &id, "--at", "3"][..], "no turn of session"),
        (&["fork", "missing"], "no session is named `missing`"),
    ] {
        let ran = sessions(&env, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(listed(&env).len(), 2);
    let text = sessions(&env, &["show", &fork]);
    let line = format!("copied from session {id} up to its event 6");
    assert!(text.stdout.contains(&line), "{}", text.stdout);
}

#[test]
fn export_goes_to_a_private_file_or_stdout() {
    let env = TestEnv::new();
    let id = answered(&env);
    let file = export(&env, &id);
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let content = fs::read_to_string(&file).unwrap();
    assert_eq!(sessions(&env, &["export", &id]).stdout, content);
    for (output, why) in [("session.jsonl", "exists"), ("gone/x", "No such file")] {
        let ran = sessions(&env, &["export", &id, "--output", output]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), content);
    let ran = sessions(&env, &["export", &id, "--output", "/dev/full"]);
    assert_eq!(
        ran.code,
        Some(2),
        "an existing device is not written: {ran:?}"
    );
}

/// A test directory with a session that has one blob, a thumbnail; returns its id.
fn with_blob() -> (TestEnv, String) {
    let env = TestEnv::new();
    env.write("pictures/lamp.png", png(640, 400));
    // A system prompt would be a blob, too.
    let ran = env.run(&["run", "--system", "", "What is in this directory?"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let id = listed(&env).remove(0);
    (env, id)
}

/// If any part of a blob is missing, nothing is written, to stdout or to a file.
#[test]
fn export_without_all_blobs_is_refused() {
    for statement in [
        "DELETE FROM blob_references",
        "PRAGMA foreign_keys = OFF; DELETE FROM blobs",
    ] {
        let (env, id) = with_blob();
        let db = Connection::open(state_dir(&env).join("agent-host.db")).unwrap();
        let missing: String = db
            .query_row(
                "SELECT group_concat(digest, ', ') FROM (SELECT digest FROM blobs ORDER BY digest)",
                [],
                |row| row.get(0),
            )
            .unwrap();
        db.execute_batch(statement).unwrap();
        for args in [&["export", &id][..], &["export", &id, "-o", "out.jsonl"]] {
            let ran = sessions(&env, args);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
            let why = format!("lacks some of its blobs ({missing})");
            assert!(ran.stderr.contains(&why), "{statement}: {}", ran.stderr);
            assert!(!env.work().join("out.jsonl").exists(), "{statement}");
        }
    }
}

/// A journal replaced by an older copy is detected; `recover` continues the session with the
/// remaining events.
#[test]
fn lost_events_are_reported_until_recovery() {
    let env = TestEnv::new();
    let [first, second] = [(); 2].map(|()| answered(&env));
    let file = state_dir(&env).join("agent-host.db");
    let older = fs::read(&file).unwrap();
    let server = ChatServer::start(vec![Answer::text("Five.")]);
    let ran = ask(&env, &server, &["--resume", &first, "and 1?"]);
    assert_eq!(printed(&ran), "Five.");
    fs::write(&file, older).unwrap();

    let ran = sessions(&env, &["list", "--json"]);
    assert_eq!((ran.code, ran.json_lines().len()), (Some(0), 2));
    let warning = format!("the last 4 events of session {first} are missing, and 7 are left");
    assert!(ran.stderr.contains(&warning), "{}", ran.stderr);
    for args in [
        &["show", &first][..],
        &["export", &first],
        &["fork", &first],
        &["resume", &first, "and 1?"],
        &["show", "latest"],
    ] {
        let ran = sessions(&env, args);
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        let hint = format!("`agent-host sessions recover {first}`");
        assert!(ran.stderr.contains(&hint), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(shown(&env, &second).len(), 7);
    assert_eq!(printed(&sessions(&env, &["recover", &first])), first);
    assert_eq!(shown(&env, &first).len(), 7);
    let ran = sessions(&env, &["list"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn prune_keeps_waiting_sessions_with_note() {
    let (env, _server, waiting) = waiting(0);
    let done = answered(&env);
    let ran = sessions(&env, &["prune", "--older-than", "0"]);
    assert_eq!(printed(&ran), done);
    let said = format!(
        "session {waiting} is kept: it waits for a decision, an answer or a result; to remove it: agent-host \
         sessions delete {waiting}\n"
    );
    assert_eq!(ran.stderr, said);
    // Without `--older-than` the bound of `agent.toml` applies, which covers all of them.
    assert_eq!(printed(&sessions(&env, &["prune"])), "");
    assert_eq!(listed(&env), [waiting]);
}

#[test]
fn delete_removes_all_named_or_nothing() {
    let env = TestEnv::new();
    let [first, second, third] = [(); 3].map(|()| answered(&env));
    let wrong = sessions(&env, &["delete", &first, "missing"]);
    assert_eq!(
        (wrong.code, wrong.stdout.as_str()),
        (Some(2), ""),
        "{wrong:?}"
    );
    assert_eq!(listed(&env).len(), 3);
    let lock = fs::File::open(state_dir(&env).join(format!("locks/{first}.lock"))).unwrap();
    lock.lock().unwrap();
    let busy = sessions(&env, &["delete", &first]);
    assert_eq!(busy.code, Some(1), "{busy:?}");
    assert!(busy.stderr.contains("is in use"), "{}", busy.stderr);
    let ran = sessions(&env, &["delete", &second, &second]);
    assert_eq!(printed(&ran), second);
    assert_eq!(listed(&env), [third.clone(), first.clone()]);
    let none = sessions(&env, &["prune", "--older-than", "1"]);
    assert_eq!(printed(&none), "");
    // A session that is being resumed is kept.
    let ran = sessions(&env, &["prune", "--older-than", "0"]);
    assert_eq!(printed(&ran), third);
    assert!(ran.stderr.contains("is in use"), "{}", ran.stderr);
    drop(lock);
    assert_eq!(printed(&sessions(&env, &["delete", "latest"])), first);
    assert_eq!(listed(&env), [""; 0]);
    let bytes = fs::read(state_dir(&env).join("agent-host.db")).unwrap();
    let said = b"2 and 2?";
    assert!(
        !bytes.windows(said.len()).any(|window| window == said),
        "what was said is still in the file"
    );
}

/// The demo's thumbnail has a name, by which it is found in the original and in a copy.
#[test]
fn artifacts_are_listed_and_written_out() {
    let env = TestEnv::new();
    env.write("pictures/lamp.png", png(640, 400));
    assert_eq!(
        env.run(&["run", "What is in this directory?"]).code,
        Some(0)
    );
    let original = listed(&env).remove(0);
    let fork = printed(&sessions(&env, &["fork", &original]));
    let mut contents = Vec::new();
    for session in [&original, &fork] {
        let rows = sessions(&env, &["artifacts", session, "--json"]).json_lines();
        let kept: Vec<[&Value; 3]> = rows
            .iter()
            .map(|row| [&row["name"], &row["media_type"], &row["tool"]])
            .collect();
        let thumbnail = ["lamp-thumbnail.png", "image/png", "image_thumbnail"].map(Value::from);
        assert_eq!(kept, [thumbnail.each_ref()]);
        let content = env
            .command(&["sessions", "artifacts", session, "lamp-thumbnail.png"])
            .output()
            .unwrap();
        assert_eq!(content.status.code(), Some(0), "{content:?}");
        let size = u64::try_from(content.stdout.len()).unwrap();
        assert_eq!(rows[0]["size"], size);
        assert!(png_size(&content.stdout).0 < 640);
        contents.push(content.stdout);
    }
    assert_eq!(contents[0], contents[1]);
    for (name, why) in [
        ("gone.png", "has no artifact `gone.png`"),
        ("../lamp.png", "it contains `.` or `..`"),
        (
            "/etc/passwd",
            "invalid artifact name `/etc/passwd`: it is absolute",
        ),
    ] {
        let ran = sessions(&env, &["artifacts", &original, name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
}
