//! Secrets in a guest's output. Readers of the result see none. What the guest can read back is
//! redacted of its own tool's secrets only, so that it cannot test guesses of others.

use super::{code, input, sandbox};
use crate::{
    Call, CallContext, ToolComponent,
    guests::{ASK, Definition, Guest, STATE_GET, STATE_MERGE},
    secrets::tests::secrets,
};
use agent_host_engine::{
    policy::{Grants, SecretGrant},
    tool::{RunEnd, SessionChange},
};
use agent_host_types::{
    id::CallId,
    limits::Limits,
    output::ToolResultOutput,
    question::{Answer, AnsweredQuestion, Question},
    tool::Effect,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;

/// Whether the secret is granted to the tool.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Granted {
    Yes,
    No,
}

/// Calls a tool with a secret `s`.
async fn run(
    tool: &ToolComponent,
    granted: Granted,
    value: &str,
    arguments: &Value,
    context: CallContext,
) -> RunEnd {
    let grants = Grants {
        secrets: vec![SecretGrant {
            name: "s".to_owned(),
            scheme: "https".to_owned(),
            host: "example.com".to_owned(),
            port: 443,
            in_query: false,
        }],
        ..Grants::default()
    };
    let grants = if granted == Granted::Yes {
        grants
    } else {
        Grants::default()
    };
    tool.call(Call {
        tool: "echo",
        call_id: &CallId("c".to_owned()),
        input: &input(arguments).into(),
        idempotency_key: "k",
        effect: Effect::Effectful,
        grants: Arc::new(grants),
        secrets: secrets(&[("s", value)]),
        limits: &Limits::default(),
        context,
        progress: &|_| {},
    })
    .await
}

/// A guest that returns its arguments, with an output schema.
fn promising(schema: &Value) -> Vec<u8> {
    let definition = Definition {
        output_schema: Some(schema.to_string()),
        ..Definition::default()
    };
    Guest {
        definitions: vec![definition],
        ..Guest::default()
    }
    .bytes()
}

#[tokio::test]
async fn output_schema_sees_redacted_secrets() {
    let schema = json!({ "properties": { "n": { "pattern": r"^\[secret:s\]$" } } });
    let tool = sandbox().load(promising(&schema)).await.unwrap();
    let arguments = json!({ "n": "correct-horse" });
    let context = CallContext::default();
    let report = run(&tool, Granted::Yes, "correct-horse", &arguments, context).await;
    assert_eq!(
        report.settled().unwrap().output,
        ToolResultOutput::json(json!({ "n": "[secret:s]" }))
    );
}

/// A call with an invalid result merges nothing, which the next call can see.
#[tokio::test]
async fn guessed_secret_in_a_result_does_not_decide_its_validity() {
    let schema = json!({ "properties": { "n": { "maxLength": 10 } } });
    let tool = sandbox().load(promising(&schema)).await.unwrap();
    let table = [
        // The guess is too long; its mark would not be.
        ("correct-horse", "invalid-output"),
        ("wrong-horse-1", "invalid-output"),
    ];
    for (guess, expected) in table {
        let arguments = json!({ "n": guess });
        let context = CallContext::default();
        let report = run(&tool, Granted::No, "correct-horse", &arguments, context).await;
        let report = report.settled().unwrap();
        assert_eq!(code(&report).0, expected, "{guess}");
        assert!(!code(&report).1.contains("correct"), "{guess}");
    }
    let schema = json!({ "properties": { "n": { "maxLength": 9 } } });
    let tool = sandbox().load(promising(&schema)).await.unwrap();
    for (guess, shown) in [("12345678", "[secret:s]"), ("12345679", "12345679")] {
        let arguments = json!({ "n": guess });
        let context = CallContext::default();
        let report = run(&tool, Granted::No, "12345678", &arguments, context).await;
        assert_eq!(
            report.settled().unwrap().output,
            ToolResultOutput::json(json!({ "n": shown }))
        );
    }
}

/// A message is truncated at its bound; no truncation leaves a part of a secret.
#[tokio::test]
async fn failure_message_contains_no_part_of_a_secret() {
    let schema = json!({ "properties": { "n": { "type": "integer" } } });
    let tool = sandbox().load(promising(&schema)).await.unwrap();
    let mut cut = 0;
    for before in 1_900..2_048 {
        let arguments = json!({ "n": format!("{}correct-horse", "x".repeat(before)) });
        for granted in [Granted::Yes, Granted::No] {
            let context = CallContext::default();
            let report = run(&tool, granted, "correct-horse", &arguments, context).await;
            let report = report.settled().unwrap();
            let (code, message) = code(&report);
            assert_eq!(code, "invalid-output");
            assert!(!message.contains("corr"), "{message}");
            cut += usize::from(message.ends_with("[cut]") && message.contains("[secret"));
        }
    }
    assert!(cut > 1, "the cut was never within the value");
}

/// A guest that asks `Which??!`, and returns the text of the answer.
fn asking() -> Vec<u8> {
    Guest {
        imports: &[ASK],
        ..Guest::running(
            "(i64.store (i32.const 512) (i64.const 0x213f3f6863696857))
            (call $ask (i32.const 512) (i32.const 8) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 32))
            (i32.store (i32.const 16) (i32.const 0))
            (i32.store (i32.const 20) (i32.load (i32.const 36)))
            (i32.store (i32.const 24) (i32.load (i32.const 40)))
            (i32.const 16)",
        )
    }
    .bytes()
}

fn question(prompt: &str) -> Question {
    Question {
        prompt: prompt.to_owned(),
        choices: Vec::new(),
        free_text: true,
        multiple: false,
        form: None,
    }
}

fn context(answers: Vec<AnsweredQuestion>) -> CallContext {
    CallContext {
        can_ask: true,
        answers,
        ..CallContext::default()
    }
}

/// Answers a question.
fn red(question: Question) -> CallContext {
    let answer = Answer::Text {
        text: "red".to_owned(),
    };
    context(vec![AnsweredQuestion { question, answer }])
}

/// The journaled question has no secret in it, and the guest asks the same in its second run.
#[tokio::test]
async fn question_is_redacted_before_it_is_compared() {
    let tool = sandbox().load(asking()).await.unwrap();
    for (granted, shown) in [(Granted::Yes, "[secret:s]"), (Granted::No, "Which??!")] {
        let context = context(Vec::new());
        let ended = run(&tool, granted, "Which??!", &json!({}), context).await;
        let RunEnd::Asked(asked) = ended else {
            panic!("it asks: {ended:?}");
        };
        assert_eq!(asked.question, question(shown), "{granted:?}");
        let again = red(asked.question);
        let report = run(&tool, granted, "Which??!", &json!({}), again).await;
        assert_eq!(
            report.settled().unwrap().output,
            ToolResultOutput::Text("red".to_owned()),
            "{granted:?}"
        );
    }
}

/// The first run asks with a mark, or in capitals, and the second with a guess. If the guess were
/// redacted, a right one would make the two equal.
#[tokio::test]
async fn guessed_secret_in_a_question_never_equals_its_mark() {
    let tool = sandbox().load(asking()).await.unwrap();
    for earlier in ["[secret:s]", "WHICH??!"] {
        for value in ["Which??!", "Another value"] {
            let context = red(question(earlier));
            let report = run(&tool, Granted::No, value, &json!({}), context).await;
            let report = report.settled().unwrap();
            assert_eq!(code(&report).0, "invalid-output", "{earlier} {value}");
        }
    }
}

#[tokio::test]
async fn shared_state_is_redacted_of_granted_secrets_only() {
    let guest = Guest {
        imports: &[STATE_GET, STATE_MERGE],
        // Merges its arguments, and returns the state.
        ..Guest::running(
            "(call $merge (local.get $input) (local.get $input-len))
            (i32.store (i32.const 16) (i32.const 0)) (call $get (i32.const 20)) (i32.const 16)",
        )
    };
    let tool = sandbox().load(guest.bytes()).await.unwrap();
    let arguments = json!({ "correct-horse": [{ "n": "a correct-horse" }] });
    let redacted = json!({ "[secret:s]": [{ "n": "a [secret:s]" }] });
    for (granted, merged) in [(Granted::Yes, &redacted), (Granted::No, &arguments)] {
        let context = CallContext::default();
        let report = run(&tool, granted, "correct-horse", &arguments, context).await;
        assert_eq!(
            report.settled().unwrap().changes,
            [SessionChange::Merge(input(merged))]
        );
    }
}
