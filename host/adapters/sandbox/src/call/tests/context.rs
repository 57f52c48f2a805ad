//! The context of a call: shared state, questions and answers.

use super::sandbox;
use crate::{
    Call, CallContext,
    guests::{ASK, ASK_FORM, ASKS, CONTEXT_GET, Guest, HALT, STATE_GET, STATE_MERGE},
};
use agent_host_engine::{
    flow::SHARED_STATE,
    tool::{RunEnd, SessionChange},
};
use agent_host_types::{
    form::Form,
    id::CallId,
    limits::Limits,
    output::ToolResultOutput,
    question::{Answer, AnsweredBy, AnsweredQuestion, Question},
    tool::Effect,
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::sync::Arc;

async fn run(guest: &Guest<'_>, context: CallContext) -> RunEnd {
    let tool = sandbox().load(&guest.bytes()).await.unwrap();
    tool.call(Call {
        tool: "echo",
        call_id: &CallId("c".to_owned()),
        input: &Map::new().into(),
        idempotency_key: "k",
        effect: Effect::Effectful,
        grants: Arc::default(),
        secrets: Arc::default(),
        limits: &Limits::default(),
        context,
        progress: &|_| {},
    })
    .await
}

fn which() -> Question {
    Question {
        prompt: "Which?".to_owned(),
        choices: Vec::new(),
        free_text: true,
        multiple: false,
        form: None,
    }
}

/// A question ends the guest; with the answer, the guest runs to its end. A changed question is an
/// error of the tool. Without a user, the guest continues without an answer.
#[tokio::test]
async fn question_ends_the_call_and_the_rerun_gets_the_answer() {
    let guest = Guest {
        imports: &[ASK],
        ..Guest::running(ASKS)
    };
    let context = |can_ask, answers: &[(&str, &str)]| CallContext {
        can_ask,
        answers: answers
            .iter()
            .map(|(prompt, text)| AnsweredQuestion {
                question: Question {
                    prompt: (*prompt).to_owned(),
                    ..which()
                },
                answer: Answer::Text {
                    text: (*text).to_owned(),
                },
            })
            .collect(),
        ..CallContext::default()
    };
    let RunEnd::Asked(asked) = run(&guest, context(true, &[])).await else {
        panic!("it asks");
    };
    assert_eq!(
        (asked.question, asked.answered_by),
        (which(), AnsweredBy::Rerun)
    );
    let changed = "The tool was run again with the user's answer and asked a different question than before; a tool \
        that asks must ask the same question again.";
    let table = [
        (context(true, &[("Which?", "red")]), text("red")),
        // An answer is replayed even if the user can no longer be asked.
        (context(false, &[("Which?", "red")]), text("red")),
        (
            context(true, &[("What?", "red")]),
            ToolResultOutput::error_json(json!({"code": "invalid-output", "message": changed})),
        ),
        (context(false, &[]), text("")),
    ];
    for (context, expected) in table {
        let report = run(&guest, context).await.settled().unwrap();
        assert_eq!(report.output, expected);
    }
}

/// Asks `Who?` with a schema of a length, and returns the kind of the answer and its fields.
fn asks_form(schema: &str) -> String {
    format!(
        "(i32.store8 (i32.const 512) (i32.const 87)) (i32.store8 (i32.const 513) (i32.const 104))
        (i32.store8 (i32.const 514) (i32.const 111)) (i32.store8 (i32.const 515) (i32.const 63))
        (call $ask-form (i32.const 512) (i32.const 4) (i32.const 600) (i32.const {})
            (i32.const 32))
        (i32.store (i32.const 16) (i32.const 0))
        (if (i32.load8_u (i32.const 32)) (then
            (i32.store8 (i32.const 516) (i32.add (i32.const 48) (i32.load8_u (i32.const 32))))
            (i32.store (i32.const 36) (i32.const 516)) (i32.store (i32.const 40) (i32.const 1))))
        (i32.store (i32.const 20) (i32.load (i32.const 36)))
        (i32.store (i32.const 24) (i32.load (i32.const 40)))
        (i32.const 16)",
        schema.len()
    )
}

/// A form takes the way of a question. One that cannot be shown is an error of the tool, whether or
/// not the user can be asked.
#[tokio::test]
async fn form_ends_the_call_and_the_rerun_gets_the_fields() {
    let schema = r#"{"type":"object","properties":{"age":{"type":"integer"}}}"#;
    let question = Question {
        prompt: "Who?".to_owned(),
        form: Form::parse(schema).ok(),
        ..Question::default()
    };
    let fields = json!({ "age": 7 }).as_object().cloned().unwrap_or_default();
    let context = |can_ask, answer: Option<&Answer>| CallContext {
        can_ask,
        answers: Vec::from_iter(answer.map(|answer| AnsweredQuestion {
            question: question.clone(),
            answer: answer.clone(),
        })),
        ..CallContext::default()
    };
    let call = |schema: &'static str, context| async move {
        let code = asks_form(schema);
        let data = schema.replace('"', "\\22");
        let core = format!("(data (i32.const 600) \"{data}\")");
        let guest = Guest {
            imports: &[ASK_FORM],
            core: &core,
            ..Guest::running(&code)
        };
        run(&guest, context).await
    };
    let RunEnd::Asked(asked) = call(schema, context(true, None)).await else {
        panic!("it asks");
    };
    assert_eq!(
        (&asked.question, asked.answered_by),
        (&question, AnsweredBy::Rerun)
    );
    let refused = "The tool asked with an invalid form: its field `a` is not a string, number, integer or boolean; a \
        form is a JSON Schema of one object with flat fields.";
    let refused =
        ToolResultOutput::error_json(json!({"code": "invalid-output", "message": refused}));
    let changed = "The tool was run again with the user's answer and asked a different question than before; a tool \
        that asks must ask the same question again.";
    let changed =
        ToolResultOutput::error_json(json!({"code": "invalid-output", "message": changed}));
    let nested = r#"{"type":"object","properties":{"a":{"type":"object"}}}"#;
    let other = r#"{"type":"object","properties":{"age":{"type":"number"}}}"#;
    let given = Answer::Fields { fields };
    let table = [
        (schema, context(true, Some(&given)), text("{\"age\":7}")),
        (schema, context(true, Some(&Answer::Cancelled)), text("1")),
        (schema, context(false, None), text("2")),
        (other, context(true, Some(&given)), changed),
        (nested, context(true, None), refused.clone()),
        (nested, context(false, None), refused),
    ];
    for (schema, context, expected) in table {
        let report = call(schema, context).await.settled().unwrap();
        assert_eq!(report.output, expected, "{schema}");
    }
}

fn text(text: &str) -> ToolResultOutput {
    ToolResultOutput::Text(text.to_owned())
}

/// Merges `{"n":1}` and returns the state.
const MERGES: &str = "(i64.store (i32.const 512) (i64.const 0x7d313a226e227b))
    (call $merge (i32.const 512) (i32.const 7))
    (i32.store (i32.const 16) (i32.const 0)) (call $get (i32.const 20)) (i32.const 16)";

/// A call sees the state of its start and reports its merges. A failed call merges nothing.
#[tokio::test]
async fn state_is_read_and_merged() {
    let object = |value: Value| value.as_object().cloned().unwrap();
    let trapping = format!("{MERGES} drop unreachable");
    for (code, output, merges) in [
        (
            MERGES,
            "text",
            vec![SessionChange::Merge(object(json!({"n": 1})))],
        ),
        (trapping.as_str(), "error-json", Vec::new()),
    ] {
        let guest = Guest {
            imports: &[STATE_GET, STATE_MERGE],
            ..Guest::running(code)
        };
        let context = CallContext {
            shared: Arc::new(object(json!({"k": true}))),
            ..CallContext::default()
        };
        let report = run(&guest, context).await.settled().unwrap();
        assert_eq!((report.output.tag(), report.changes), (output, merges));
        assert_eq!(report.sources, [SHARED_STATE]);
        if let ToolResultOutput::Text(seen) = report.output {
            assert_eq!(seen, r#"{"k":true}"#);
        }
    }
}

/// A call reads the custom context of its session.
#[tokio::test]
async fn context_is_read() {
    let guest = Guest {
        imports: &[CONTEXT_GET],
        ..Guest::running(
            "(i32.store (i32.const 16) (i32.const 0)) (call $context (i32.const 20)) (i32.const 16)",
        )
    };
    for custom in ["{}", r#"{"user":"ada"}"#] {
        let context = CallContext {
            custom: Arc::new(custom.parse().unwrap()),
            ..CallContext::default()
        };
        let report = run(&guest, context).await.settled().unwrap();
        assert_eq!(report.output, text(custom));
    }
}

/// A call ends the run with its last message, of at most 4 KiB, and a failed call ends nothing.
#[tokio::test]
async fn halt_is_reported_with_its_last_message() {
    let stop = "(i64.store (i32.const 512) (i64.const 0x21706f7473))
        (call $halt (i32.const 600) (i32.const 4096)) (call $halt (i32.const 512) (i32.const 5))
        (i32.store (i32.const 16) (i32.const 0)) (i32.store (i32.const 20) (i32.const 512))
        (i32.store (i32.const 24) (i32.const 5)) (i32.const 16)";
    let trapping = format!("{stop} drop unreachable");
    let too_long = format!("(call $halt (i32.const 512) (i32.const 4097)) {stop}");
    let stopped = ToolResultOutput::error_json(json!({
        "code": "resource-limit",
        "message": "The tool was stopped: its message at the end of the run has more than 4096 bytes.",
    }));
    let crashed = ToolResultOutput::error_json(json!({
        "code": "trap",
        "message": "The tool crashed: wasm trap: wasm `unreachable` instruction executed.",
    }));
    let halt = vec![SessionChange::Halt("stop!".to_owned())];
    for (code, output, changes) in [
        (stop, text("stop!"), halt),
        (trapping.as_str(), crashed, Vec::new()),
        (too_long.as_str(), stopped, Vec::new()),
    ] {
        let guest = Guest {
            imports: &[HALT],
            ..Guest::running(code)
        };
        let report = run(&guest, CallContext::default()).await.settled().unwrap();
        assert_eq!((report.output, report.changes), (output, changes));
    }
}
