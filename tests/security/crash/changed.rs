//! Tests resuming after changes: the tool, its bytes, its grants, its approval setting, and the
//! program itself.

use super::{
    counter::Counter,
    held::held,
    play::Play,
    running::{configured, journaled, resumes, run},
};
use agent_host_engine::session::{Session, SessionStart};
use agent_host_journal::{JournalStore as _, SqliteOptions, SqliteStore};
use agent_host_test_support::{TestEnv, of_kind, running::Running};
use agent_host_types::id::SessionId;
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;

/// A change of `agent.toml`: the old text and its replacement.
type Change = (&'static str, &'static str);

/// A test directory whose program died while its only call, a repeatable one, ran; and the service,
/// which received it once.
fn died() -> (TestEnv, Counter) {
    let (service, arrived) = held(0);
    let counter = Counter::watched(arrived);
    let env = TestEnv::new();
    Play::batch(&["put"]).write_files(&env, counter.port);
    let running = Running::start_without_input(&mut configured(&env, &["run", "go"]));
    service.wait();
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None);
    drop(service);
    assert_eq!(counter.take().values().sum::<usize>(), 1);
    (env, counter)
}

fn change(env: &TestEnv, (from, to): Change) {
    let file = env.work().join("agent.toml");
    let config = fs::read_to_string(&file).unwrap();
    assert!(config.contains(from), "{config}");
    fs::write(file, config.replacen(from, to, 1)).unwrap();
}

/// The only result: its tag, and its value or reason.
fn result(env: &TestEnv) -> [Value; 2] {
    let events = journaled(env);
    let settled = of_kind(&events, "call-settled");
    assert_eq!(settled.len(), 1);
    let output = &settled[0]["output"];
    let value = output.get("value").or_else(|| output.get("reason"));
    [output["type"].clone(), value.unwrap().clone()]
}

/// A repeated call is checked against the present configuration like a first one.
#[test]
fn repeated_call_is_checked_by_current_policy() {
    let component = "[[tool]]\nname = \"count\"\ncomponent = \"count.wasm\"\napproval = \"never\"\naccept-idempotent = true\n";
    let unknown = "The host stopped while `put` ran. Whether the call took effect is not known, and it was not repeated. Check before you call it again.";
    let table: [(&str, Change, Value); 4] = [
        (
            "the tool is gone",
            (component, ""),
            json!(["error-json", { "code": "unknown-tool", "message": "There is no tool `put`. The tools are: fetch, http_post." }]),
        ),
        (
            "approval is needed now",
            ("\"never\"", "\"always\""),
            json!([
                "execution-denied",
                "This call needs the user's approval (rule approval.always), and no one can be asked in this run. To allow such calls, the user can set `approvals` for this tool in agent.toml."
            ]),
        ),
        (
            "it is effectful now",
            ("accept-idempotent = true", "accept-idempotent = false"),
            json!(["error-json", { "code": "interrupted-unknown", "message": unknown }]),
        ),
        (
            "the grant is gone",
            ("host = \"127.0.0.1\"", "host = \"127.0.0.2\""),
            json!("denied"),
        ),
    ];
    for (what, changed, expected) in table {
        let (env, counter) = died();
        change(&env, changed);
        // A call that lacked an approval has an exit code of its own.
        let code = if what == "approval is needed now" {
            6
        } else {
            0
        };
        let resumed = run(&env, &["run", "--resume", "latest"]);
        assert_eq!(resumed.code, Some(code), "{what}: {}", resumed.stderr);
        if expected == "denied" {
            let events = journaled(&env);
            let audit = &of_kind(&events, "call-settled")[0]["audit"];
            let verdicts: Vec<&Value> = audit
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| &entry["verdict"])
                .collect();
            assert_eq!(verdicts, ["denied"], "{what}");
        } else {
            assert_eq!(json!(result(&env)), expected, "{what}");
        }
        assert_eq!(counter.take().len(), 0, "{what}");
    }
}

/// A component with other bytes runs nothing; the session waits until the operator has accepted it.
#[test]
fn changed_component_must_be_accepted_on_resume() {
    let (env, counter) = died();
    let file = env.work().join("count.wasm");
    // A custom section, which no engine reads.
    let other = [&fs::read(&file).unwrap()[..], b"\0\x05\x04mark"].concat();
    fs::write(&file, other).unwrap();
    let before = journaled(&env);
    let refused = run(&env, &["run", "--resume", "latest"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("the component `count` has changed since it was accepted"),
        "{refused:?}"
    );
    assert_eq!(journaled(&env), before);
    assert_eq!(counter.take().len(), 0);
    assert_eq!(run(&env, &["lock", "--accept"]).code, Some(0));
    resumes(&env);
    assert_eq!(result(&env), [json!("text"), json!("put")]);
    assert_eq!(counter.take().values().sum::<usize>(), 1);
}

/// A session that another version of the program began resumes; it keeps that version's name.
#[tokio::test(flavor = "multi_thread")]
async fn session_of_another_version_resumes() {
    let env = TestEnv::new();
    let counter = Counter::start();
    Play::batch(&["put"]).write_files(&env, counter.port);
    let state = env.outside().join("state");
    let store = SqliteStore::open(&state, SqliteOptions::default()).await;
    let store = store.unwrap();
    let journal = store.create(SessionId::new()).await.unwrap();
    let start = SessionStart {
        program: "0.0.1-of-old".to_owned(),
        ..SessionStart::default()
    };
    // Dropping it writes its data.
    drop(Session::start(journal, start));
    drop(store);
    let ran = run(&env, &["run", "--resume", "latest", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let events = journaled(&env);
    assert_eq!(events[0]["event"]["program"], "0.0.1-of-old");
    assert_eq!(result(&env), [json!("text"), json!("put")]);
}

/// A journal of a newer program is refused before any change, and still works with the newer
/// program.
#[test]
fn newer_journal_format_is_refused() {
    let (env, counter) = died();
    let db = rusqlite::Connection::open(env.outside().join("state/agent-host.db")).unwrap();
    let format = |version: u32| {
        db.execute("UPDATE meta SET format_version = ?1", [version])
            .unwrap();
    };
    let ours: u32 = db
        .query_row("SELECT format_version FROM meta", [], |row| row.get(0))
        .unwrap();
    format(ours + 1);
    let refused = run(&env, &["run", "--resume", "latest"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("another version of agent-host, probably a newer one, wrote it"),
        "{refused:?}"
    );
    assert_eq!(counter.take().len(), 0);
    format(ours);
    resumes(&env);
    assert_eq!(result(&env), [json!("text"), json!("put")]);
}
