//! A value that a guest came by is taken out of what it says before anything else is made of that.

use super::{code, input, sandbox};
use crate::{
    Call, Talk, ToolComponent,
    guests::{ASK, Definition, Guest, STATE_GET, STATE_MERGE},
    secrets::tests::secrets,
};
use agent_host_core::{
    id::CallId,
    limits::Limits,
    output::ToolResultOutput,
    question::{Answer, Exchange, Question},
    tool::{Effect, RunEnd},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Calls a tool beside the secret `s` with this value.
async fn run(tool: &ToolComponent, value: &str, arguments: &Value, talk: Talk) -> RunEnd {
    tool.call(Call {
        tool: "echo",
        call_id: &CallId("c".to_owned()),
        input: &input(arguments),
        idempotency_key: "k",
        effect: Effect::Effectful,
        grants: std::sync::Arc::default(),
        secrets: secrets(&[("s", value)]),
        limits: &Limits::default(),
        talk,
        progress: &|_, _| {},
    })
    .await
}

/// A guest that returns its arguments, with this schema for what it returns.
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
async fn the_schema_of_a_result_sees_no_value() {
    let schema = json!({ "properties": { "n": { "pattern": r"^\[secret:s\]$" } } });
    let tool = sandbox().load(promising(&schema)).await.unwrap();
    let arguments = json!({ "n": "correct-horse" });
    let report = run(&tool, "correct-horse", &arguments, Talk::default()).await;
    assert_eq!(
        report.settled().unwrap().output,
        ToolResultOutput::Json(json!({ "n": "[secret:s]" }))
    );
}

/// A message is cut to its bound. Wherever the cut is, it leaves no piece of a value.
#[tokio::test]
async fn a_message_about_a_result_holds_no_piece_of_a_value() {
    let schema = json!({ "properties": { "n": { "type": "integer" } } });
    let tool = sandbox().load(promising(&schema)).await.unwrap();
    let mut cut = 0;
    for before in 1_900..2_048 {
        let arguments = json!({ "n": format!("{}correct-horse", "x".repeat(before)) });
        let report = run(&tool, "correct-horse", &arguments, Talk::default()).await;
        let report = report.settled().unwrap();
        let (code, message) = code(&report);
        assert_eq!(code, "invalid-output");
        assert!(!message.contains("corr"), "{message}");
        cut += usize::from(message.ends_with("[cut]") && message.contains("[secret"));
    }
    assert!(cut > 1, "the cut was never within the value");
}

/// What is journaled has no value in it, and the guest says the same again when it runs for the second time.
#[tokio::test]
async fn a_question_is_redacted_before_it_is_compared() {
    let guest = Guest {
        imports: &[ASK],
        // Asks `Which??!`, and returns the text of the answer.
        ..Guest::running(
            "(i64.store (i32.const 512) (i64.const 0x213f3f6863696857))
            (call $ask (i32.const 512) (i32.const 8) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 32))
            (i32.store (i32.const 16) (i32.const 0))
            (i32.store (i32.const 20) (i32.load (i32.const 36)))
            (i32.store (i32.const 24) (i32.load (i32.const 40)))
            (i32.const 16)",
        )
    };
    let tool = sandbox().load(guest.bytes()).await.unwrap();
    let talk = |answers| Talk {
        can_ask: true,
        answers,
        ..Talk::default()
    };
    let ended = run(&tool, "Which??!", &json!({}), talk(Vec::new())).await;
    let RunEnd::Asked(asked) = ended else {
        panic!("it asks: {ended:?}");
    };
    let question = Question {
        prompt: "[secret:s]".to_owned(),
        choices: Vec::new(),
        free_text: true,
    };
    assert_eq!(asked.question, question);
    let answer = Answer::Text {
        text: "red".to_owned(),
    };
    let again = talk(vec![Exchange { question, answer }]);
    let report = run(&tool, "Which??!", &json!({}), again).await;
    assert_eq!(
        report.settled().unwrap().output,
        ToolResultOutput::Text("red".to_owned())
    );
}

#[tokio::test]
async fn shared_state_gets_no_value() {
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
    let report = run(&tool, "correct-horse", &arguments, Talk::default()).await;
    assert_eq!(
        report.settled().unwrap().merges,
        [input(&json!({ "[secret:s]": [{ "n": "a [secret:s]" }] }))]
    );
}
