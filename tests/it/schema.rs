//! `agent-host schema`: the JSON Schemas of the documents that programs read, checked against what
//! the program prints.

use agent_host_test_support::{
    TestEnv,
    chat::{Answer, ChatServer, ask},
    repository,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};

/// Returns the validator of a document, by the program's own schema.
fn schema(env: &TestEnv, document: &str) -> jsonschema::Validator {
    let schema = env.run(&["schema", document]).json();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    jsonschema::validator_for(&schema).unwrap()
}

/// Fails for a line that does not fit.
fn assert_fit(validator: &jsonschema::Validator, lines: &[Value]) {
    assert!(!lines.is_empty());
    for line in lines {
        let errors: Vec<_> = validator.iter_errors(line).map(|e| e.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}\n{line:#}");
    }
}

/// Returns the values of the `live` key, or `record`.
fn kinds(lines: &[Value]) -> BTreeSet<&str> {
    let kind = |line: &'_ Value| -> &str {
        match &line["live"] {
            Value::String(_) => "live",
            _ => "record",
        }
    };
    lines
        .iter()
        .map(|line| line["live"].as_str().unwrap_or_else(|| kind(line)))
        .collect()
}

/// A test directory with the example workflows.
fn with_workflows() -> TestEnv {
    let env = TestEnv::new();
    let examples = repository().join("guest-tools/examples/workflows");
    env.write("agent.toml", fs::read(examples.join("agent.toml")).unwrap());
    for directory in ["notes", "scripts"] {
        for entry in fs::read_dir(examples.join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            env.write(&format!("{directory}/{name}"), fs::read(&path).unwrap());
        }
    }
    env
}

/// A run that calls tools, one with agents and nodes, and one that waits for the user.
#[test]
fn stream_lines_and_events_fit_their_schemas() {
    let env = with_workflows();
    let stream = schema(&env, "stream-line");
    let event = schema(&env, "event");
    let step = schema(&env, "turn-step");
    let runs: [&[&str]; 3] = [
        &["run", "What is here?"],
        &["run", "--workflow", "panel", "city bees"],
        &[
            "run",
            "--workflow",
            "publish",
            "--permission-prompts",
            "later",
            "go",
        ],
    ];
    let mut seen = BTreeSet::new();
    for run in runs {
        let flags = ["--config", "agent.toml", "--output-format", "stream-json"];
        let lines = env.run(&[run, &flags].concat()).json_lines();
        assert_fit(&stream, &lines);
        let first = &lines[0];
        assert_eq!(
            (&first["live"], &first["version"]),
            (&json!("session"), &json!(1))
        );
        seen.extend(kinds(&lines).into_iter().map(str::to_owned));
        let show = ["sessions", "show", "latest", "--config", "agent.toml"];
        assert_fit(
            &event,
            &env.run(&[&show[..], &["--json"]].concat()).json_lines(),
        );
        assert_fit(
            &step,
            &env.run(&[&show[..], &["--steps"]].concat()).json_lines(),
        );
    }
    let expected = [
        "agent-started",
        "call-ended",
        "call-started",
        "model-asked",
        "record",
        "session",
        "step",
        "text",
    ];
    let missing: Vec<_> = expected
        .iter()
        .filter(|kind| !seen.contains(**kind))
        .collect();
    assert_eq!(missing, Vec::<&&str>::new(), "{seen:?}");
}

/// The first line names the session of the events, and the last one is the end of the turn.
#[test]
fn stream_names_the_session_first() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![Answer::text("Hello.")]);
    let ran = ask(&env, &server, &["--output-format", "stream-json", "hi"]);
    let lines = ran.json_lines();
    let session = env.events()[0]["session"].clone();
    assert_eq!(
        lines[0],
        json!({
            "live": "session", "version": 1, "session": session,
            "program": env!("CARGO_PKG_VERSION"),
        })
    );
    let steps: Vec<_> = lines.iter().filter(|line| line["live"] == "step").collect();
    assert_eq!(
        json!(steps),
        json!([
            {"live": "step", "step": "check-budgets", "next_step": "call-model"},
            {"live": "step", "step": "call-model", "end": "done"},
        ])
    );
}

#[test]
fn reports_results_and_continuations_fit_their_schemas() {
    let env = TestEnv::new();
    let server = ChatServer::start(vec![Answer::calls(&[(
        "write_file",
        json!({"path": "a.txt", "content": "a"}),
    )])]);
    let flags = [
        "--write",
        "--permission-prompts",
        "later",
        "--output-format",
        "json",
        "go",
    ];
    let ran = ask(&env, &server, &flags);
    let report = &ran.json()["outcome"];
    assert_eq!(report["type"], "awaiting-confirmation");
    assert_fit(&schema(&env, "turn-report"), std::slice::from_ref(report));
    let continuation = report["continuation"].clone();
    assert_fit(&schema(&env, "continuation"), &[continuation]);

    let results = schema(&env, "tool-result-output");
    for input in [r#"{"path": "."}"#, r#"{"path": "nothing"}"#] {
        let ran = env.run(&["call", "builtin:files", "list_directory", input, "--json"]);
        assert_fit(&results, &[ran.json()]);
    }
    assert!(!results.is_valid(&json!({"type": "text"})));
    let submitted = schema(&env, "submitted-result");
    assert!(submitted.is_valid(&json!({"call_id": "a", "value": null})));
    assert!(!submitted.is_valid(&json!({"value": null})));
}

#[test]
fn documents_are_listed_and_unknown_ones_refused() {
    let env = TestEnv::new();
    let listed = env.run(&["schema"]).stdout;
    let names: Vec<_> = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(
        names,
        [
            "continuation",
            "event",
            "node-output",
            "stream-line",
            "submitted-result",
            "tool-result-output",
            "turn-report",
            "turn-step",
        ]
    );
    for name in names {
        schema(&env, name);
    }
    let refused = env.run(&["schema", "events"]);
    assert_eq!(refused.code, Some(2));
    assert_eq!(
        refused.stderr,
        "error: unknown document `events`; the documents are continuation, event, node-output, stream-line, \
         submitted-result, tool-result-output, turn-report, turn-step\n"
    );
}
