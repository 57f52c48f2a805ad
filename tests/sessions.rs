//! Sessions as a whole: going on with one, copying it, taking it elsewhere, removing it. A copy has what was said, and nothing
//! of what waited or was allowed.

use crate::support::{
    Place, Ran,
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

/// A place with agent.toml and a session of one answered question; its id.
fn answered(place: &Place) -> String {
    place.configure(TOML);
    let server = ChatServer::start(vec![Answer::text("Four.")]);
    id(&ask(
        place,
        &server,
        &["--output-format", "json", "2 and 2?"],
    ))
}

/// A place with a session in which `write_file` waits for a decision; the server and the session's id.
fn waiting(answers: usize) -> (Place, ChatServer, String) {
    let place = Place::new();
    place.configure(TOML);
    let answers = std::iter::repeat_with(|| Answer::text("That is all.")).take(answers);
    let server = ChatServer::start(std::iter::once(write("note.txt")).chain(answers).collect());
    let later = ["--permission-prompts", "later", "--output-format", "json"];
    let ran = ask(&place, &server, &[&later[..], &["go"]].concat());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let id = id(&ran);
    (place, server, id)
}

fn id(ran: &Ran) -> String {
    ran.json()["session"].as_str().unwrap().to_owned()
}

/// `agent-host sessions ...`
fn sessions(place: &Place, args: &[&str]) -> Ran {
    place.run(&[&["sessions"], args].concat())
}

/// What such a command prints when it succeeds.
fn printed(ran: &Ran) -> String {
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.trim_end().to_owned()
}

fn shown(place: &Place, session: &str) -> Vec<Value> {
    let ran = sessions(place, &["show", session, "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.json_lines()
}

fn listed(place: &Place) -> Vec<String> {
    let rows = sessions(place, &["list", "--json"]).json_lines();
    let ids = rows.iter().map(|row| row["session"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

fn state_dir(place: &Place) -> PathBuf {
    place.outside().join("home/.local/state/agent-host")
}

/// Writes a session to a file in a place's working folder, and gives its path.
fn export(place: &Place, session: &str) -> PathBuf {
    let file = place.work().join("session.jsonl");
    let ran = sessions(place, &["export", session, "--output", "session.jsonl"]);
    assert_eq!(printed(&ran), "");
    file
}

#[test]
fn resume_is_run_with_a_session() {
    let place = Place::new();
    let id = answered(&place);
    let server = ChatServer::start(vec![Answer::text("Five.")]);
    let ran: Ran = place
        .command(&["sessions", "resume", &id[..13], "and 1?"])
        .args(["--model", "openai-compat:m"])
        .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
        .output()
        .unwrap()
        .into();
    assert_eq!(printed(&ran), "Five.");
    assert_eq!(listed(&place), std::slice::from_ref(&id));
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
    let (place, server, id) = waiting(1);
    let ran: Ran = place
        .command(&["sessions", "resume", &id, "--decide", "call_0=approve"])
        .args(["--model", "openai-compat:m"])
        .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
        .output()
        .unwrap()
        .into();
    assert_eq!(printed(&ran), "That is all.");
    assert!(place.work().join("note.txt").exists());
    for (args, why) in [
        (&["resume"][..], "<SESSION>"),
        (&["resume", "latest", "--resume", "latest"], "--resume"),
        (
            &["resume", "latest", "hello", "--decide", "call_0=approve"],
            "cannot be used with",
        ),
        (&["resume", "nobody"], "there is no session"),
    ] {
        let ran = sessions(&place, args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(why), "{args:?}: {}", ran.stderr);
    }
}

/// However a session is copied, a call that waits in it does not wait in the copy, and still waits in the original.
#[test]
fn a_copy_inherits_no_authority() {
    for way in ["fork", "import --as-new", "import elsewhere"] {
        // Two messages to the copy, and then the original goes on.
        let (place, server, id) = waiting(3);
        let elsewhere = Place::new();
        elsewhere.configure(TOML);
        let (there, copy) = match way {
            "fork" => (&place, printed(&sessions(&place, &["fork", &id]))),
            "import --as-new" => {
                export(&place, &id);
                let args = ["import", "session.jsonl", "--as-new"];
                (&place, printed(&sessions(&place, &args)))
            }
            _ => {
                let file = export(&place, &id);
                let args = ["import", file.to_str().unwrap()];
                (&elsewhere, printed(&sessions(&elsewhere, &args)))
            }
        };
        let decide = |place, id| {
            let decision = ["--resume", id, "--decide", "call_0=approve"];
            ask(place, &server, &decision)
        };
        let refused = decide(there, copy.as_str());
        assert_eq!(refused.code, Some(2), "{way}: {refused:?}");
        assert!(
            refused.stderr.contains("nothing waits in this session"),
            "{way}: {}",
            refused.stderr
        );
        let goes_on = ask(there, &server, &["--resume", &copy, "go on"]);
        assert_eq!(printed(&goes_on), "That is all.", "{way}");
        let copied = shown(there, &copy);
        assert_eq!(
            of_kind(&copied, "session-forked"),
            [&json!({ "kind": "session-forked", "from": id, "at": 5 })],
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
        for place in [&place, &elsewhere] {
            assert!(!place.work().join("note.txt").exists(), "{way}");
        }
        assert_eq!(printed(&decide(&place, &id)), "That is all.", "{way}");
        assert!(place.work().join("note.txt").exists(), "{way}");
    }
}

#[test]
fn a_fork_begins_where_a_turn_ended() {
    let place = Place::new();
    let id = answered(&place);
    let original = shown(&place, &id);
    assert_eq!(original[4]["event"]["kind"], "turn-ended");
    let fork = printed(&sessions(&place, &["fork", &id, "--at", "4"]));
    let copied = shown(&place, &fork);
    let events = |records: &[Value]| -> Vec<Value> {
        records
            .iter()
            .map(|record| record["event"].clone())
            .collect()
    };
    assert_eq!(events(&copied[..5]), events(&original));
    assert_eq!(copied.len(), 6);
    for (args, why) in [
        (&["fork", &id, "--at", "3"][..], "no turn of session"),
        (&["fork", "nobody"], "there is no session"),
    ] {
        let ran = sessions(&place, args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(listed(&place).len(), 2);
    let text = sessions(&place, &["show", &fork]);
    let line = format!("copied from session {id} up to its event 4");
    assert!(text.stdout.contains(&line), "{}", text.stdout);
}

#[test]
fn an_export_is_a_private_file_or_stdout() {
    let place = Place::new();
    let id = answered(&place);
    let file = export(&place, &id);
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let content = fs::read_to_string(&file).unwrap();
    assert_eq!(sessions(&place, &["export", &id]).stdout, content);
    for (output, why) in [("session.jsonl", "exists"), ("gone/x", "No such file")] {
        let ran = sessions(&place, &["export", &id, "--output", output]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), content);
    let ran = sessions(&place, &["export", &id, "--output", "/dev/full"]);
    assert_eq!(
        ran.code,
        Some(2),
        "an existing device is not written: {ran:?}"
    );
}

/// A place with a session that has one blob, a thumbnail; its id.
fn with_blob() -> (Place, String) {
    let place = Place::new();
    place.write("pictures/lamp.png", png(640, 400));
    assert_eq!(place.run(&["run", "What is in this folder?"]).code, Some(0));
    let id = listed(&place).remove(0);
    (place, id)
}

/// Whichever part of a blob is missing, nothing is written: not to stdout, and no file.
#[test]
fn export_without_all_blobs_is_refused() {
    for statement in [
        "DELETE FROM blob_references",
        "PRAGMA foreign_keys = OFF; DELETE FROM blobs",
    ] {
        let (place, id) = with_blob();
        let db = Connection::open(state_dir(&place).join("agent-host.db")).unwrap();
        let missing: String = db
            .query_row("SELECT digest FROM blobs", [], |row| row.get(0))
            .unwrap();
        db.execute_batch(statement).unwrap();
        for args in [&["export", &id][..], &["export", &id, "-o", "out.jsonl"]] {
            let ran = sessions(&place, args);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
            let why = format!("has not all blobs that it refers to ({missing})");
            assert!(ran.stderr.contains(&why), "{statement}: {}", ran.stderr);
            assert!(!place.work().join("out.jsonl").exists(), "{statement}");
        }
    }
}

/// A journal replaced by an older copy is detected; `recover` continues the session with the events that are left.
#[test]
fn lost_events_are_told_until_the_session_is_recovered() {
    let place = Place::new();
    let [first, second] = [(); 2].map(|()| answered(&place));
    let file = state_dir(&place).join("agent-host.db");
    let older = fs::read(&file).unwrap();
    let server = ChatServer::start(vec![Answer::text("Five.")]);
    let ran = ask(&place, &server, &["--resume", &first, "and 1?"]);
    assert_eq!(printed(&ran), "Five.");
    fs::write(&file, older).unwrap();

    let ran = sessions(&place, &["list", "--json"]);
    assert_eq!((ran.code, ran.json_lines().len()), (Some(0), 2));
    let warning = format!("the last 4 events of session {first} are missing, and 5 are left");
    assert!(ran.stderr.contains(&warning), "{}", ran.stderr);
    for args in [
        &["show", &first][..],
        &["export", &first],
        &["fork", &first],
        &["resume", &first, "and 1?"],
        &["show", "latest"],
    ] {
        let ran = sessions(&place, args);
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        let hint = format!("`agent-host sessions recover {first}`");
        assert!(ran.stderr.contains(&hint), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(shown(&place, &second).len(), 5);
    assert_eq!(printed(&sessions(&place, &["recover", &first])), first);
    assert_eq!(shown(&place, &first).len(), 5);
    let ran = sessions(&place, &["list"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn prune_keeps_what_waits_and_says_so() {
    let (place, _server, waiting) = waiting(0);
    let done = answered(&place);
    let ran = sessions(&place, &["prune", "--older-than", "0"]);
    assert_eq!(printed(&ran), done);
    let said = format!(
        "session {waiting} stays: it waits for a decision, an answer or a result; to remove it: agent-host sessions delete \
         {waiting}\n"
    );
    assert_eq!(ran.stderr, said);
    // Without a bound of its own it is that of agent.toml, within which all this is.
    assert_eq!(printed(&sessions(&place, &["prune"])), "");
    assert_eq!(listed(&place), [waiting]);
}

#[test]
fn what_is_no_export_is_not_imported() {
    let place = Place::new();
    let id = answered(&place);
    let content = fs::read_to_string(export(&place, &id)).unwrap();
    let elsewhere = Place::new();
    let changed = content.replace("Four.", "Five.");
    let half = &content[..content.len() / 2];
    let newer = content.replacen("\"version\":1", "\"version\":9", 1);
    let table = [
        (changed.as_str(), 1, "they were changed"),
        (half, 1, "the file was cut off there"),
        (&newer, 1, "says that the file is `agent-host-session` 9"),
        ("", 1, "line 1 is missing"),
        ("{}\n", 1, "line 1 is not what is expected there"),
    ];
    for (text, code, why) in table {
        let file = elsewhere.write("session.jsonl", text);
        let ran = sessions(&elsewhere, &["import", file.to_str().unwrap()]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{ran:?}");
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
        assert_eq!(listed(&elsewhere), [""; 0], "{why}");
    }
    for (file, why) in [
        ("gone.jsonl", "No such file"),
        (".", "it is not a regular file"),
        ("/dev/stdin", "it is not a regular file"),
    ] {
        let ran = sessions(&elsewhere, &["import", file]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(why), "{why}: {}", ran.stderr);
    }
    let again = sessions(&place, &["import", "session.jsonl"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(
        again.stderr.contains("there is a session of this id"),
        "{}",
        again.stderr
    );
    assert_eq!(listed(&place), [id]);
}

#[test]
fn delete_removes_what_is_named_or_nothing() {
    let place = Place::new();
    let [first, second, third] = [(); 3].map(|()| answered(&place));
    let wrong = sessions(&place, &["delete", &first, "nobody"]);
    assert_eq!(
        (wrong.code, wrong.stdout.as_str()),
        (Some(2), ""),
        "{wrong:?}"
    );
    assert_eq!(listed(&place).len(), 3);
    let lock = fs::File::open(state_dir(&place).join(format!("locks/{first}.lock"))).unwrap();
    lock.lock().unwrap();
    let busy = sessions(&place, &["delete", &first]);
    assert_eq!(busy.code, Some(1), "{busy:?}");
    assert!(busy.stderr.contains("is in use"), "{}", busy.stderr);
    let ran = sessions(&place, &["delete", &second, &second]);
    assert_eq!(printed(&ran), second);
    assert_eq!(listed(&place), [third.clone(), first.clone()]);
    let none = sessions(&place, &["prune", "--older-than", "1"]);
    assert_eq!(printed(&none), "");
    // A session that somebody goes on with stays.
    let ran = sessions(&place, &["prune", "--older-than", "0"]);
    assert_eq!(printed(&ran), third);
    assert!(ran.stderr.contains("is in use"), "{}", ran.stderr);
    drop(lock);
    assert_eq!(printed(&sessions(&place, &["delete", "latest"])), first);
    assert_eq!(listed(&place), [""; 0]);
    let bytes = fs::read(state_dir(&place).join("agent-host.db")).unwrap();
    let said = b"2 and 2?";
    assert!(
        !bytes.windows(said.len()).any(|window| window == said),
        "what was said is still in the file"
    );
}

/// The tour makes a thumbnail, which has a name. It is there by that name, in the original and in a copy.
#[test]
fn artifacts_are_listed_and_written_out() {
    let place = Place::new();
    place.write("pictures/lamp.png", png(640, 400));
    assert_eq!(place.run(&["run", "What is in this folder?"]).code, Some(0));
    let original = listed(&place).remove(0);
    let fork = printed(&sessions(&place, &["fork", &original]));
    let mut contents = Vec::new();
    for session in [&original, &fork] {
        let rows = sessions(&place, &["artifacts", session, "--json"]).json_lines();
        let kept: Vec<[&Value; 3]> = rows
            .iter()
            .map(|row| [&row["name"], &row["media_type"], &row["tool"]])
            .collect();
        let thumbnail = ["lamp-thumbnail.png", "image/png", "image_thumbnail"].map(Value::from);
        assert_eq!(kept, [thumbnail.each_ref()]);
        let content = place
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
        (
            "../lamp.png",
            "is no name of an artifact: it has `.` or `..`",
        ),
        ("/etc/passwd", "is no name of an artifact: it is absolute"),
    ] {
        let ran = sessions(&place, &["artifacts", &original, name]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
}
