//! Tests `[[rule]]` with counts, sums and times: over sessions and processes, of each way to call a
//! tool, and what `explain` and `sessions replay` tell of them.

use crate::roles::create_seeing;
use agent_host_test_support::{
    Ran, TestEnv,
    api::ApiServer,
    chat::{Answer, ChatServer},
    mcp_client::{Client, call},
    of_kind,
    postgres::database,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::thread;

/// `files`, whose calls of `write_file` need approval, and a rule that allows some.
fn env(condition: &str) -> TestEnv {
    let env = TestEnv::new();
    env.configure(config("allow", condition));
    env
}

fn config(decision: &str, condition: &str) -> String {
    format!(
        "[[tool]]\nname = \"files\"\ncomponent = \"builtin:files\"\n\
         [[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\n\
         [[rule]]\nname = \"few\"\ndecision = \"{decision}\"\ntool = \"write_file\"\nwhere = {condition:?}\n"
    )
}

fn write(path: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": "x" }))
}

/// Runs a session whose model writes these files in one reply, where no one can be asked.
fn run(env: &TestEnv, paths: &[&str]) -> Ran {
    run_on(env, None, paths)
}

/// Runs such a session on a database.
fn run_on(env: &TestEnv, url: Option<&str>, paths: &[&str]) -> Ran {
    let calls: Vec<_> = paths.iter().map(|path| write(path)).collect();
    let server = ChatServer::start(vec![Answer::calls(&calls), Answer::text("That is all.")]);
    let args = [
        "run",
        "--model",
        "openai-compat:m",
        "--permission-prompts",
        "none",
        "go",
    ];
    let mut command = env.command(&args);
    command.env("OPENAI_COMPAT_BASE_URL", &server.base_url);
    command.envs(url.map(|url| ("DATABASE_URL", url)));
    command.output().unwrap().into()
}

/// The number of files that were written.
fn written(env: &TestEnv) -> usize {
    let entries = std::fs::read_dir(env.work()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("out")).count()
}

fn shows(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

/// A day's calls are those of all sessions, and a copy of one counts none of them again.
#[test]
fn rule_counts_calls_over_sessions() {
    let env = env("count(1d) < 3");
    assert_eq!(run(&env, &["out1", "out2"]).code, Some(0));
    let copied = env.run(&["sessions", "fork", "latest"]);
    assert_eq!(copied.code, Some(0), "{copied:?}");
    // The first one still has a place.
    let ran = run(&env, &["out3", "out4"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert_eq!(written(&env), 3);
    let explained = env.run(&["explain", "latest"]).stdout;
    shows(&explained, &["count(1d) was 2", "count(1d) was 3"]);
    let json = env.run(&["explain", "latest", "--json"]).json();
    assert_eq!(json["calls"][0]["facts"], json!(["count(1d) was 2"]));
    let events = env.events();
    let read = of_kind(&events, "facts-read");
    let counts: Vec<_> = read
        .iter()
        .map(|event| &event["facts"]["windows"][0]["count"])
        .collect();
    assert_eq!(counts, [2, 2, 3]);
    assert_eq!(read[0]["facts"]["caller"], "operator");
    let replayed = env.run(&["sessions", "replay", "latest"]);
    assert_eq!(replayed.code, Some(0), "{replayed:?}");
    // Other rules decide with the facts that were recorded.
    for (condition, code) in [
        ("count(1d) < 3", 0),
        ("count(1d) < 2", 1),
        ("count(1d) < 4", 1),
    ] {
        env.write("other.toml", config("allow", condition));
        let decided = env.run(&["sessions", "replay", "latest", "--policy", "other.toml"]);
        assert_eq!(decided.code, Some(code), "{condition}: {decided:?}");
    }
    // Removed sessions stay counted.
    env.run(&["sessions", "delete", "latest", "--yes"]);
    assert_eq!(run(&env, &["out5"]).code, Some(6));
    assert_eq!(written(&env), 3);
}

/// Processes that call at once take no place twice, whichever store they share.
#[test]
fn processes_at_once_take_each_place_once() {
    for url in std::iter::once(None).chain(database().map(Some)) {
        let env = env("count(1h) < 5");
        if url.is_some() {
            let config = config("allow", "count(1h) < 5");
            env.configure(format!("{config}[store]\nurl = \"env:DATABASE_URL\"\n"));
            // Makes the tables.
            assert_eq!(run_on(&env, url.as_deref(), &["out"]).code, Some(0));
        }
        thread::scope(|scope| {
            for process in 0..3 {
                let (env, url) = (&env, url.as_deref());
                scope.spawn(move || {
                    let paths: Vec<String> = (0..3).map(|n| format!("out{process}{n}")).collect();
                    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
                    let ran = run_on(env, url, &paths);
                    assert!([Some(0), Some(6)].contains(&ran.code), "{ran:?}");
                });
            }
        });
        assert_eq!(written(&env), 5);
    }
}

/// The places are of the owner of a session, and the caller is the one who sent the message.
#[test]
fn each_token_has_its_own_places() {
    let env = env("caller() in ['ann', 'bob'] and count(1d) < 1");
    let [ann, bob, eve] = ["ann", "bob", "eve"].map(|name| create_seeing(&env, name, "user", &[]));
    let call = |path: &str| Answer::calls(&[write(path)]);
    let done = || Answer::text("Done.");
    let ran = [call("out1"), done(), call("out2"), done()];
    let answers = ran.into_iter().chain([call("out3"), call("out4")]);
    let model = ChatServer::start(answers.collect());
    let server = ApiServer::start(&env, &model, &[]);
    // The facts of a session's call, which runs, or else waits.
    let facts = |token: &str, runs: bool| {
        let created = server.request(token, "POST /sessions", Some(r#"{"message": "go"}"#));
        let session = created.json()["session"].as_str().unwrap().to_owned();
        let mut stream = server.events(&session, None);
        let events = stream.until("turn-ended");
        if runs {
            stream.until("turn-ended");
        }
        let events = events.iter().map(|event| &event.data["event"]);
        let mut read = events.filter(|event| event["kind"] == "facts-read");
        let facts = &read.next().unwrap()["facts"];
        (
            facts["caller"].clone(),
            facts["windows"][0]["count"].clone(),
        )
    };
    assert_eq!(facts(&ann, true), (json!("ann"), json!(0)));
    assert_eq!(facts(&bob, true), (json!("bob"), json!(0)));
    assert_eq!(facts(&eve, false), (json!("eve"), json!(0)));
    assert_eq!(facts(&ann, false), (json!("ann"), json!(1)));
    assert_eq!(written(&env), 2);
}

/// Calls of MCP clients and of runs share the places, and `call` counts nothing.
#[test]
fn clients_and_runs_share_a_count() {
    let env = TestEnv::new();
    let allow = "[[rule]]\ndecision = \"allow\"\ntool = \"write_*\"\n";
    env.configure(config("deny", "count(1d) >= 2") + allow);
    let mut client = Client::start(&env, &[], json!({}));
    let mut send = |id, path: &str| {
        let (tool, input) = write(path);
        let response = client.ask(call(id, tool, input));
        response["result"]["isError"].clone()
    };
    assert_eq!(send(1, "out1"), false);
    assert_eq!(client.close().code, Some(0));
    assert_eq!(run(&env, &["out2", "out3"]).code, Some(0));
    assert_eq!(written(&env), 2);
    // What is not known lets a denial hold.
    let (tool, input) = write("out4");
    let ran = env.run(&["call", "files", tool, &input.to_string()]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
}

/// Times and the caller decide without counts.
#[test]
fn rule_knows_the_time_and_the_caller() {
    for (condition, code) in [
        ("time() >= '00:00' and caller() == 'operator'", 0),
        (
            "weekday() in ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']",
            0,
        ),
        ("time('+05:30') < '00:00'", 6),
        ("caller() != 'operator'", 6),
    ] {
        let env = env(condition);
        assert_eq!(run(&env, &["out1"]).code, Some(code), "{condition}");
        let replayed = env.run(&["sessions", "replay", "latest"]);
        assert_eq!(replayed.code, Some(0), "{replayed:?}");
    }
}

#[test]
fn condition_that_means_nothing_is_refused() {
    for (condition, why) in [
        (
            "count(1d) < '3'",
            "`where` of rule.few is malformed: expected a number beside `count` and `sum` at column 1",
        ),
        (
            "sum(content, 1d) < 3",
            "`where` of rule.few adds or sums up `content`, or compares it with a number, but its type in `write_file` is string",
        ),
        (
            "sum(size, 1d) < 3",
            "`where` of rule.few is about `size`, which `write_file` does not have",
        ),
    ] {
        let ran = env(condition).run(&["run", "--model", "script:tour", "go"]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        shows(&ran.stderr, &[why]);
    }
}
