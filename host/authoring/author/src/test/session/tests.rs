//! Calls of a session that become cases, and their file.

mod skipped;

use super::{SessionCases, WrittenCases};
use crate::test::{TestedComponent, file};
use agent_host_app::Environment;
use agent_host_types::{
    accounting::{Accounting, AuditEntry, AuditVerdict},
    audit::AuditRequest,
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    id::{CallId, Digest},
    output::{BlobRef, ContentPart, FileData, FilePart, ToolResultOutput},
    question::{Answer, AnsweredBy, Question},
    tool::Effect,
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, path::Path};

/// The directory of the session.
const DIRECTORY: &str = "/home/ann/weather";

fn object(value: Value) -> Map<String, Value> {
    serde_json::from_value(value).unwrap()
}

fn id(call: &str) -> CallId {
    CallId(call.to_owned())
}

fn intended(call: &str, tool: &str, input: Value) -> Event {
    Event::CallIntended {
        call_id: id(call),
        tool: tool.to_owned(),
        input: object(input).into(),
        input_digest: Digest::of(b""),
        effect: Effect::ReadOnly,
        idempotency_key: "key".to_owned(),
        rule: None,
        path: Vec::new(),
    }
}

/// The end of a call with the requests that it made.
fn settled(call: &str, tool: &str, output: ToolResultOutput, requests: &[&str]) -> Event {
    let audit = requests.iter().map(|request| AuditEntry {
        request: AuditRequest::from_text(request),
        verdict: AuditVerdict::Allowed,
        rule: "grants.dir[0]".to_owned(),
        count: 1,
        grant: None,
        status: None,
    });
    Event::CallSettled {
        call_id: id(call),
        tool: tool.to_owned(),
        output,
        whole: None,
        child: None,
        accounting: Accounting::default(),
        audit: audit.collect(),
        rule: None,
        path: Vec::new(),
        labels: Vec::new(),
        reference: None,
        tape: None,
    }
}

fn text(text: &str) -> ToolResultOutput {
    ToolResultOutput::Text(text.to_owned())
}

/// A question of a call.
fn asked(call: &str, prompt: &str) -> Event {
    Event::QuestionAsked {
        request: "r".to_owned(),
        turn: 1,
        call_id: id(call),
        tool: "say".to_owned(),
        question: Question {
            prompt: prompt.to_owned(),
            free_text: true,
            ..Question::default()
        },
        answered_by: AnsweredBy::Rerun,
        accounting: Accounting::default(),
        audit: Vec::new(),
    }
}

/// A call of the tool `say` that only computes.
fn call(call: &str, input: Value, output: ToolResultOutput) -> [Event; 2] {
    [
        intended(call, "say", input),
        settled(call, "say", output, &[]),
    ]
}

fn component() -> TestedComponent {
    TestedComponent {
        tools: BTreeSet::from(["say".to_owned()]),
        reads_state: true,
        reads_context: true,
    }
}

/// The cases of these events, after the start of a session.
fn cases(events: impl IntoIterator<Item = Event>) -> WrittenCases {
    let mut cases = SessionCases::new(component(), ["/home/ann".to_owned(), "/".to_owned()]);
    cases.add(Event::SessionStarted {
        program: "0".to_owned(),
        system: None,
        directory: Some(DIRECTORY.to_owned()),
        client: None,
        parent: None,
        labels: Vec::new(),
    });
    for event in events {
        cases.add(event);
    }
    cases.finish("session 1")
}

/// The written text without the lines that all cases have.
fn lines(written: &WrittenCases) -> Vec<&str> {
    let common = ["[[case]]", "tool = \"say\"", "[case.expect]", ""];
    let lines = written.text.lines();
    let lines = lines.filter(|line| !common.contains(line) && !line.starts_with("name = "));
    lines.collect()
}

/// Asserts that `agent-host test` reads the file.
fn assert_is_readable(written: &WrittenCases) {
    let dir = tempfile::tempdir().unwrap();
    let environment = Environment {
        cwd: dir.path().to_owned(),
        variables: [("HOME".to_owned(), dir.path().display().to_string())].into(),
    };
    let path = written
        .write(dir.path(), "session.toml", &environment)
        .unwrap();
    let read = file::read(&path, &environment).unwrap();
    assert_eq!(read.len(), written.cases);
}

/// A result of several parts, and its expectation.
fn parts() -> (ToolResultOutput, String) {
    let file = |data| {
        ContentPart::File(FilePart {
            media_type: "image/png".to_owned(),
            data,
            filename: None,
        })
    };
    let blob = BlobRef {
        digest: Digest::of(b"dot"),
        size: 3,
    };
    let sha256 = hex::encode(Digest::of(b"dot").into_bytes());
    let output = ToolResultOutput::Content(vec![
        ContentPart::Text {
            text: "before".to_owned(),
        },
        file(FileData::Blob(blob)),
        file(FileData::Url("https://example.com/a.png".to_owned())),
    ]);
    let expected = format!(
        "content = [{{ text = \"before\" }}, {{ media-type = \"image/png\", sha256 = \"{sha256}\", size = 3 }}, \
         {{ media-type = \"image/png\", url = \"https://example.com/a.png\" }}]"
    );
    (output, expected)
}

/// Inputs and results of every kind, each with the lines of its case.
fn kinds() -> Vec<(Value, ToolResultOutput, Vec<String>)> {
    let (parts, content) = parts();
    let crash = ToolFailure::new(ToolErrorCode::Trap, "The tool crashed: (no)");
    let table = [
        (json!({}), text("one"), ["input = {}", "text = \"one\""]),
        (
            json!({"n": 1, "f": 1.0, "list": [true, {"a": "b"}]}),
            ToolResultOutput::json(json!({"n": i64::MAX})),
            [
                "input = { f = 1.0, list = [true, { a = \"b\" }], n = 1 }",
                "json = { n = 9223372036854775807 }",
            ],
        ),
        (
            json!({"a": null}),
            ToolResultOutput::json(json!({"n": u64::MAX})),
            [
                "input-json = '{\"a\":null}'",
                "json-text = '{\"n\":18446744073709551615}'",
            ],
        ),
        (
            json!({"a": 1}),
            ToolResultOutput::ErrorText("no\n[[tool]]\n\u{1b}[1m'''\"\"\"\\".to_owned()),
            [
                "input = { a = 1 }",
                "error-text = \"\"\"\nno\n[[tool]]\n\\u001B[1m'''\"\"\\\"\\\\\"\"\"",
            ],
        ),
        (
            json!({"a": 2}),
            ToolResultOutput::error_json(json!({"code": 7})),
            ["input = { a = 2 }", "error-json = { code = 7 }"],
        ),
        (
            json!({"a": 3}),
            parts,
            ["input = { a = 3 }", content.as_str()],
        ),
        (
            json!({"a": 4}),
            ToolResultOutput::ExecutionDenied(Some("not now".to_owned())),
            ["input = { a = 4 }", "denied = \"not now\""],
        ),
        (
            json!({"a": 5}),
            ToolResultOutput::ExecutionDenied(None),
            ["input = { a = 5 }", "denied-without-reason = true"],
        ),
        (
            json!({"a": 6}),
            crash.into(),
            ["input = { a = 6 }", "code = \"trap\""],
        ),
    ];
    let rows = table.into_iter();
    let rows = rows.map(|(input, output, lines)| {
        let lines = lines.iter().flat_map(|line| line.lines());
        (input, output, lines.map(str::to_owned).collect())
    });
    rows.collect()
}

#[test]
fn case_has_input_and_result_of_every_kind() {
    let kinds = kinds();
    let events = kinds.iter().enumerate().flat_map(|(index, row)| {
        let (input, output, _) = row;
        call(&format!("c{index}"), input.clone(), output.clone())
    });
    let written = cases(events);
    assert_eq!((written.cases, &written.skipped[..]), (9, &[][..]));
    let expected = kinds.iter().flat_map(|(_, _, lines)| lines);
    let mut expected: Vec<&str> = expected.map(String::as_str).collect();
    expected.push(r"matches = '^The tool crashed: \(no\)$'");
    assert_eq!(lines(&written), expected);
    assert_is_readable(&written);
}

#[test]
fn case_has_state_changes_and_answers_of_the_call() {
    let answered = |answer| Event::AnswerReceived {
        request: "r".to_owned(),
        call_id: id("two"),
        answer,
        by: None,
    };
    let merged = |call: &str, delta: Value| Event::StateMerged {
        call_id: id(call),
        delta: object(delta),
        labels: Vec::new(),
    };
    let fields = object(json!({"age": 7}));
    let written = cases([
        intended("one", "say", json!({})),
        settled("one", "say", text("one"), &[]),
        merged("one", json!({"notes": {"a": 1}})),
        merged("one", json!({"notes": {"b": 2}})),
        intended("two", "say", json!({})),
        asked("two", "Who?"),
        answered(Answer::Text {
            text: "Ann".to_owned(),
        }),
        intended("two", "say", json!({})),
        asked("two", "Which?"),
        answered(Answer::Choices {
            indexes: vec![0, 2],
        }),
        asked("two", "More?"),
        answered(Answer::Fields { fields }),
        asked("two", "Sure?"),
        answered(Answer::Cancelled),
        settled("two", "say", text("two"), &[]),
        Event::RunHalted {
            call_id: id("two"),
            message: "enough".to_owned(),
        },
    ]);
    assert_eq!(
        lines(&written),
        [
            "input = {}",
            "text = \"one\"",
            "merges = [{ notes = { a = 1 } }, { notes = { b = 2 } }]",
            "input = {}",
            "answers = [\"Ann\", [0, 2], { fields = { age = 7 } }, { cancelled = true }]",
            "state = { notes = { a = 1, b = 2 } }",
            "text = \"two\"",
            "halt = \"enough\"",
            "asked = [\"Who?\", \"Which?\", \"More?\", \"Sure?\"]",
        ]
    );
    assert_is_readable(&written);
}

#[test]
fn repeated_call_is_one_case_and_call_of_other_tools_none() {
    let mut events = Vec::new();
    events.extend(call("one", json!({"a": 1}), text("a")));
    events.extend(call("two", json!({"a": 1}), text("a")));
    events.extend(call("three", json!({"a": 1}), text("b")));
    events.extend([
        intended("four", "other", json!({})),
        settled("four", "other", text("a"), &[]),
        settled("five", "other", text("a"), &[]),
    ]);
    let written = cases(events);
    let skipped: Vec<_> = written
        .skipped
        .iter()
        .map(|call| (call.call.0.as_str(), call.reason.as_str()))
        .collect();
    assert_eq!(
        (written.cases, skipped),
        (
            1,
            vec![
                ("two", "the same call is already a case"),
                (
                    "three",
                    "the same call had a different result before, so it depends on more than its input"
                ),
            ]
        )
    );
}

#[test]
fn number_of_cases_is_bounded() {
    let events = (0..=100).flat_map(|n| call(&format!("c{n}"), json!({ "n": n }), text("a")));
    let written = cases(events);
    assert_eq!(written.cases, 100);
    assert_eq!(written.skipped.len(), 1);
    assert_eq!(
        written.skipped[0].reason,
        "the maximum of 100 cases is reached"
    );
}

#[test]
fn file_is_never_overwritten_or_written_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let environment = Environment {
        cwd: dir.path().to_owned(),
        variables: [("HOME".to_owned(), dir.path().display().to_string())].into(),
    };
    let written = cases(call("c", json!({}), text("a")));
    let write = |project: &Path| {
        let written = written.write(project, "session.toml", &environment);
        written.map_err(|error| error.to_string())
    };
    let project = dir.path().join("project");
    let path = project.join("tests/session.toml");
    assert_eq!(write(&project), Ok(path.clone()));
    std::fs::write(&path, "mine").unwrap();
    assert_eq!(
        write(&project),
        Err(format!(
            "{} already exists, and is not overwritten; remove it, or move it",
            path.display()
        ))
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");

    let linked = dir.path().join("linked");
    std::fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(project.join("tests"), linked.join("tests")).unwrap();
    assert_eq!(
        write(&linked),
        Err(format!(
            "{} is a link out of the project, so nothing is written there; replace it with a directory",
            linked.join("tests").display()
        ))
    );
}
