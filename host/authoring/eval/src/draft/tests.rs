//! Tests drafts of cases.

use super::*;
use crate::EvaluationForm;
use agent_host_types::{
    accounting::{Accounting, AuditEntry},
    id::{CallId, Digest, SessionId},
    message::Message,
    model::{Provenance, Usage},
    output::ToolResultOutput,
    tool::{Effect, ToolRuntime},
    turn::{Durability, TurnReport, TurnSummary},
};
use pretty_assertions::assert_eq;
use std::{fs, path::Path, sync::Arc};

const HOME: &str = "/home/ann";

fn says(text: &str) -> Event {
    Event::InputReceived {
        message: Message::text(Role::User, text),
        labels: Vec::new(),
        by: None,
    }
}

fn begins(tool: &str, input: Value) -> Event {
    let Value::Object(input) = input else {
        panic!("{input}")
    };
    Event::CallIntended {
        call_id: CallId("c".into()),
        tool: tool.into(),
        input: Arc::new(input),
        input_digest: Digest::of(b""),
        effect: Effect::ReadOnly,
        idempotency_key: String::new(),
        rule: None,
        path: Vec::new(),
    }
}

fn ends(path: &str, verdict: AuditVerdict) -> Event {
    Event::CallSettled {
        call_id: CallId("c".into()),
        tool: "read_file".into(),
        output: ToolResultOutput::Text("alpha".into()),
        whole: None,
        child: None,
        accounting: Accounting::default(),
        audit: vec![AuditEntry {
            request: AuditRequest::file(FileAction::Read, path.into()),
            verdict,
            rule: "grants.dir[0]".into(),
            count: 1,
            grant: None,
            status: None,
        }],
        rule: None,
        path: Vec::new(),
        labels: Vec::new(),
        reference: None,
        tape: None,
    }
}

fn answers(text: &str) -> Event {
    Event::TurnEnded {
        outcome: TurnReport {
            end: TurnEnd::Done {
                text: text.into(),
                output: None,
                result: None,
            },
            summary: TurnSummary {
                session: SessionId::new(),
                turn: 1,
                total_turns: 1,
                turn_usage: Usage::default(),
                total_usage: Usage::default(),
                provenance: Provenance {
                    provider: "p".into(),
                    model: "m".into(),
                },
                response_id: None,
                stop_reason: None,
                tool_calls: 0,
                duration_ms: 1,
                tool_runtime: ToolRuntime::Host,
                durability: Durability::default(),
                children: Vec::new(),
                workflow: None,
            },
        },
        by: None,
    }
}

fn draft(message: usize, events: &[Event]) -> Result<DraftedCase, String> {
    let mut draft = CaseDraft::new(message);
    events.iter().for_each(|event| draft.add(event));
    draft.finish(&[HOME.to_owned(), "/home/ann/project".to_owned()])
}

#[test]
fn message_becomes_a_case_with_what_happened() {
    let events = [
        says("How much honey, in /home/ann/project/a.txt?"),
        begins(
            "read_file",
            json!({"path": "a.txt", "content": "x".repeat(300), "n": 2}),
        ),
        ends("/workspace/a.txt", AuditVerdict::Allowed),
        begins("read_file", json!({"path": "a.txt", "n": 2})),
        ends("/workspace/a.txt", AuditVerdict::Allowed),
        begins("list", json!({"path": "/home/ann/x"})),
        answers("{\"kg\": 140}"),
        says("And now?"),
        answers("Nothing."),
    ];
    let case = draft(1, &events).unwrap();
    let expected = r#"[[case]]
name = "how-much-honey-in-a"
prompt = "How much honey, in ./a.txt?"

[case.expect]
no-denial = true

[case.expect.answer-schema]
required = ["kg"]
type = "object"

[[case.expect.call]]
tool = "read_file"

[case.expect.call.input]
n = 2
path = "a.txt"

[[case.expect.call]]
tool = "list"
"#;
    assert_eq!(case.to_toml().unwrap(), expected);
    assert_eq!(Vec::from_iter(&case.read), ["/workspace/a.txt"]);
    assert!(case.lacks.is_empty());
    let case = draft(2, &events).unwrap();
    assert_eq!((case.answer.as_str(), case.lacks.len()), ("Nothing.", 1));
}

#[test]
fn session_without_an_answer_is_no_case() {
    let denied = [
        says("go"),
        begins("read_file", json!({})),
        ends("/etc/x", AuditVerdict::Denied),
        answers("I could not."),
    ];
    let case = draft(1, &denied).unwrap();
    assert!(case.read.is_empty() && !case.expects_nothing());
    assert!(!case.to_toml().unwrap().contains("no-denial"));
    let cases: [(usize, &[Event], &str); 4] = [
        (1, &[], "it has no message of the user"),
        (2, &denied, "it has 1 messages of the user"),
        (1, &[says("  ")], "the message has no text"),
        (1, &[says("go")], "the message was not answered"),
    ];
    for (message, events, expected) in cases {
        assert_eq!(draft(message, events).unwrap_err(), expected);
    }
}

#[test]
fn name_is_the_first_words_of_the_prompt() {
    let cases = [
        ("Übung: 3 Äpfel?", "bung-3-pfel"),
        ("???", "case"),
        ("a b c d e f g", "a-b-c-d-e"),
        (&"x".repeat(60), "case"),
    ];
    for (prompt, expected) in cases {
        assert_eq!(name_of(prompt), expected);
    }
}

/// Each answered session of the corpus becomes a case that can be read again, without the names of
/// directories and without secrets.
#[test]
fn recorded_sessions_become_cases() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/corpus");
    let (mut cases, mut others) = (0, 0);
    for entry in fs::read_dir(corpus).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "jsonl")
        {
            continue;
        }
        let (mut draft, mut private, mut root) = (CaseDraft::new(1), Vec::new(), None);
        for line in fs::read_to_string(&path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let session = line["session"].as_str().map(str::to_owned);
            if line.get("event").is_none() || session != *root.get_or_insert(session.clone()) {
                continue;
            }
            let v = u32::try_from(line["v"].as_u64().unwrap()).unwrap();
            let event = Event::from_stored(v, line["event"].to_string().as_bytes()).unwrap();
            if let Event::SessionStarted { directory, .. } = &event {
                private.extend(directory.clone());
            }
            draft.add(&event);
        }
        let Ok(case) = draft.finish(&private) else {
            others += 1;
            continue;
        };
        let toml = case.to_toml().unwrap();
        let form: EvaluationForm = toml::from_str(&toml).unwrap();
        if !case.expects_nothing() {
            form.check().unwrap();
        }
        let told = [private, vec!["s3cret".to_owned(), "sk-".to_owned()]].concat();
        assert!(!has_any(&toml, &told), "{}: {toml}", path.display());
        cases += 1;
    }
    // The others have no message of a user that was answered.
    assert_eq!((cases, others), (94, 45));
}
