//! Tests `agent-host stats`: exact figures by day, model, tool and agent.

use agent_host_test_support::{
    Ran, TestEnv,
    chat::{Answer, ChatServer, ask},
};
use pretty_assertions::assert_eq;
use rusqlite::Connection;
use serde_json::{Map, Value, json};

/// Each reply of the server has 11 tokens in and 7 out: 11 * 100 + 7 * 1000 = 8100 millionths.
const CONFIG: &str = r#"
agents = ["clerk"]

[[agent]]
name = "clerk"
description = "Reads files."
tools = ["read_file"]

[prices."openai-compat:m"]
input = 100
output = 1000
"#;

const REPLY: u64 = 8_100;

/// The columns of the expected figures; a figure that is not named is 0.
const COLUMNS: [&str; 11] = [
    "cached_input_tokens",
    "cache_write_tokens",
    "cost_micros",
    "denied",
    "failed",
    "input_tokens",
    "model_calls",
    "output_tokens",
    "sessions",
    "tool_calls",
    "unpriced_model_calls",
];

fn figures(set: &[(&str, u64)]) -> Value {
    let mut all: Map<String, Value> = COLUMNS.iter().map(|c| ((*c).into(), json!(0))).collect();
    for (column, value) in set {
        assert!(COLUMNS.contains(column), "{column}");
        all.insert((*column).into(), json!(value));
    }
    Value::Object(all)
}

/// Figures of `calls` replies in `sessions` sessions, and others.
fn replies(sessions: u64, calls: u64, others: &[(&str, u64)]) -> Value {
    let mut all = figures(others);
    for (column, value) in [
        ("sessions", sessions),
        ("model_calls", calls),
        ("input_tokens", 11 * calls),
        ("output_tokens", 7 * calls),
        ("cost_micros", REPLY * calls),
    ] {
        all[column] = json!(value);
    }
    all
}

fn stats(env: &TestEnv, args: &[&str]) -> Ran {
    let ran = env.run(&[&["stats"], args].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

/// The document without the times of calls, which differ from run to run.
fn document(ran: &Ran) -> Value {
    let mut document = ran.json();
    let take = |figures: &mut Value| {
        let time = figures.as_object_mut().unwrap().remove("tool_us");
        assert!(time.is_some_and(|time| time.is_u64()), "{figures}");
    };
    take(&mut document["total"]);
    document["rows"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .for_each(take);
    document
}

/// A row.
fn row(name: &str, mut figures: Value) -> Value {
    figures["name"] = json!(name);
    figures
}

/// A session with an agent: it reads one file, and fails to read another one; then one that writes
/// without approval.
fn used() -> TestEnv {
    let env = TestEnv::new();
    env.configure(CONFIG);
    env.write("list.txt", "bread");
    let read = |path: &str| Answer::calls(&[("read_file", json!({ "path": path }))]);
    let server = ChatServer::start(vec![
        Answer::calls(&[("agent_clerk", json!({ "instructions": "see to the list" }))]),
        read("list.txt"),
        read("missing.txt"),
        Answer::text("There is bread on it."),
        Answer::text("The list is seen to."),
    ]);
    let ran = ask(&env, &server, &["go"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let write = json!({ "path": "note.txt", "content": "hello" });
    let server = ChatServer::start(vec![
        Answer::calls(&[("write_file", write)]),
        Answer::text("It was denied."),
    ]);
    let denied = ["--permission-prompts", "none", "--write", "write"];
    let ran = ask(&env, &server, &denied);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    env
}

/// The tokens of an agent count once, although the session that started it has them, too.
#[test]
fn stats_count_each_use_once() {
    let env = used();
    let today = first_day(&env);
    let calls = [("tool_calls", 4), ("failed", 1), ("denied", 1)];
    let total = replies(3, 7, &calls);
    let by = |by: &str, rows: &[Value]| {
        let printed = document(&stats(&env, &["--by", by, "--json"]));
        let expected = json!({ "by": by, "rows": rows, "total": total, "unreadable": [] });
        assert_eq!(printed, expected);
    };
    by("day", &[row(&today, total.clone())]);
    by("model", &[row("openai-compat:m", total.clone())]);
    let tool = |name, sessions, calls, other| {
        let set = [("sessions", sessions), ("tool_calls", calls), other];
        row(name, figures(&set))
    };
    by(
        "tool",
        &[
            tool("read_file", 1, 2, ("failed", 1)),
            tool("agent_clerk", 1, 1, ("failed", 0)),
            tool("write_file", 1, 1, ("denied", 1)),
        ],
    );
    by(
        "agent",
        &[
            row(
                "(top level)",
                replies(2, 4, &[("tool_calls", 2), ("denied", 1)]),
            ),
            row("clerk", replies(1, 3, &[("tool_calls", 2), ("failed", 1)])),
        ],
    );
    // The costs of the sessions of the top level have those of their agents.
    let listed = env.run(&["sessions", "list", "--json"]).json_lines();
    let own = listed.iter().filter(|session| session["parent"].is_null());
    let cost: u64 = own
        .map(|session| session["cost_micros"].as_u64().unwrap())
        .sum();
    assert_eq!(cost, 7 * REPLY);
}

/// The first day with any use.
fn first_day(env: &TestEnv) -> String {
    let ran = env.run(&["stats", "--json"]);
    ran.json()["rows"][0]["name"].as_str().unwrap().to_owned()
}

/// A copy has the turns of the original, which are not used again.
#[test]
fn stats_of_a_copy_count_what_it_did_itself() {
    let env = TestEnv::new();
    env.configure(CONFIG);
    let server = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    assert_eq!(ask(&env, &server, &["go"]).code, Some(0));
    let copy = env.run(&["sessions", "fork", "latest"]).stdout;
    assert_eq!(
        document(&stats(&env, &["--json"]))["total"],
        replies(1, 1, &[])
    );
    let ran = ask(&env, &server, &["--resume", copy.trim(), "more"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(
        document(&stats(&env, &["--json"]))["total"],
        replies(2, 2, &[])
    );
}

#[test]
fn stats_without_sessions_are_empty() {
    let env = TestEnv::new();
    let ran = stats(&env, &[]);
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("", "No usage in this period.\n")
    );
    let expected = json!({ "by": "day", "rows": [], "total": figures(&[]), "unreadable": [] });
    assert_eq!(document(&stats(&env, &["--json"])), expected);
}

/// A session whose figures cannot be read is named, and the others are counted.
#[test]
fn stats_name_sessions_that_cannot_be_read() {
    let env = TestEnv::new();
    env.configure(CONFIG);
    let server = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    let ids = [(); 2].map(|()| {
        let ran = ask(&env, &server, &["--output-format", "json", "go"]);
        ran.json()["session"].as_str().unwrap().to_owned()
    });
    let file = env
        .outside()
        .join("home/.local/state/agent-host/agent-host.db");
    // As a file of before the sums, with an event of a session that is damaged.
    let db = Connection::open(file).unwrap();
    let back = "DROP TABLE tallies; DROP TABLE memory_words; DROP TABLE memory; DROP TABLE links; DROP TABLE sums; DROP INDEX sessions_uncounted;
        ALTER TABLE sessions DROP COLUMN stats; ALTER TABLE sessions DROP COLUMN uncounted;
        UPDATE meta SET format_version = 3;";
    db.execute_batch(back).unwrap();
    let broken = "UPDATE events SET json = '{}' WHERE session = ?1 AND kind = 'model-replied'";
    assert_eq!(db.execute(broken, [&ids[0]]), Ok(1));
    drop(db);
    let ran = stats(&env, &["--json"]);
    let printed = document(&ran);
    assert_eq!(printed["total"], replies(1, 1, &[]));
    assert_eq!(printed["unreadable"], json!([ids[0]]));
    assert_eq!(
        ran.stderr,
        format!(
            "warning: session {0} cannot be read and is not counted; see why: agent-host sessions show {0}\n",
            ids[0]
        )
    );
}

#[test]
fn stats_count_from_a_day_on() {
    let env = used();
    let today = first_day(&env);
    let total =
        |since: &str| document(&stats(&env, &["--since", since, "--json"]))["total"].clone();
    let all = replies(3, 7, &[("tool_calls", 4), ("failed", 1), ("denied", 1)]);
    for since in [today.as_str(), "2000-01-01", "3", "30d"] {
        assert_eq!(total(since), all, "{since}");
    }
    assert_eq!(total("9999-01-01"), figures(&[]));
    for (since, why) in [
        ("2026-02-30", "or a date, YYYY-MM-DD"),
        ("2026-02-03T10:00", "or a date, YYYY-MM-DD"),
        ("soon", "or a date, YYYY-MM-DD"),
    ] {
        let ran = env.run(&["stats", "--since", since]);
        assert_eq!(ran.code, Some(2), "{since}: {ran:?}");
        assert!(ran.stderr.contains(why), "{since}: {}", ran.stderr);
    }
}

/// The table has the columns that have anything, and says which cost is missing.
#[test]
fn stats_table_has_a_sum_and_what_it_lacks() {
    let env = TestEnv::new();
    env.configure(CONFIG);
    let server = ChatServer::start(vec![Answer::text("One.").counting(12_345)]);
    assert_eq!(ask(&env, &server, &["go"]).code, Some(0));
    let ran = stats(&env, &["--by", "model"]);
    assert_eq!(
        ran.stdout,
        "MODEL                  COST      IN  OUT  MODEL CALLS\n\
         openai-compat:m  1.2415 USD  12,345    7            1\n\
         total            1.2415 USD  12,345    7            1\n"
    );
    env.configure("");
    let server = ChatServer::start(vec![Answer::text("Two.")]);
    assert_eq!(ask(&env, &server, &["go"]).code, Some(0));
    let ran = stats(&env, &["--by", "agent"]);
    assert_eq!(
        ran.stdout,
        "AGENT              COST      IN  OUT  MODEL CALLS\n\
         (top level)  1.2415 USD  12,356   14            2\n\
         total        1.2415 USD  12,356   14            2\n"
    );
    assert_eq!(
        ran.stderr,
        "The cost excludes model calls without a known price (1); set the price for later ones in [prices] of \
         agent.toml.\n"
    );
}
