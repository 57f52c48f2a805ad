//! External calls: dispatched once, and answered exactly once by the caller of the loop.

use super::harness::*;
use agent_host_types::{
    approval::Decision,
    continuation::{Awaiting, Continuation},
    id::CallId,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::{Approval, Effect, ToolRuntime},
    turn::{AgentInput, SubmittedResult, TurnEnd, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

fn tools() -> Vec<Tool> {
    let mut tools = standard();
    tools.extend([
        tool("pay", Effect::Effectful, Approval::Never).outside(),
        tool("measure", Effect::ReadOnly, Approval::ByEffect).outside(),
        tool("launch", Effect::Effectful, Approval::Always).outside(),
    ]);
    tools
}

fn bench(batch: &[(&str, &str, &str)]) -> Bench {
    Bench::with(vec![calls(batch), says("done")], tools())
}

fn pending(outcome: TurnReport) -> Continuation {
    match outcome.end {
        TurnEnd::PendingToolCalls { continuation, .. } => continuation,
        other => panic!("no calls are pending: {other:?}"),
    }
}

fn result(call: &str, output: ToolResultOutput) -> SubmittedResult {
    SubmittedResult {
        call_id: CallId(call.into()),
        output,
    }
}

impl Bench {
    async fn submit(
        &mut self,
        continuation: &Continuation,
        results: Vec<SubmittedResult>,
    ) -> TurnReport {
        let continuation = continuation.clone();
        self.turn(AgentInput::SubmitToolResults {
            continuation,
            results,
        })
        .await
    }
}

/// T8: the calls are returned at once, durably intended, and no tool code ran. Results come back in
/// any order, also after a restart.
#[tokio::test]
async fn external_calls_are_dispatched_and_answered() {
    let mut bench = bench(&[("a", "pay", r#"{"n": 1}"#), ("b", "measure", "")]);
    let outcome = bench.say("go").await;
    assert_eq!(outcome.summary.tool_runtime, ToolRuntime::External);
    let continuation = pending(outcome);
    let calls: Vec<(&str, &str)> = continuation
        .calls()
        .iter()
        .map(|call| (call.call_id.0.as_str(), call.rule.as_str()))
        .collect();
    assert_eq!(calls, [("a", "approval.never"), ("b", "effect.read-only")]);
    assert!(matches!(continuation.awaiting, Awaiting::External { .. }));
    let kinds = [
        "call-intended",
        "call-intended",
        "calls-dispatched",
        "turn-ended",
    ];
    assert_eq!(bench.kinds()[4..], kinds);

    let mut bench = Bench::resume(&bench.journal, vec![says("done")], tools()).await;
    assert_eq!(
        pending(bench.turn(AgentInput::Continue).await),
        continuation
    );
    let results = vec![
        result("b", text("12 m")),
        result("a", ToolResultOutput::json(json!(7))),
    ];
    assert_eq!(
        kind(&bench.submit(&continuation, results).await),
        "needs-more-turns"
    );
    let expected = [("a", ToolResultOutput::json(json!(7))), ("b", text("12 m"))];
    assert_eq!(bench.results(), pairs(expected));
    assert_eq!(bench.ran(), Vec::<String>::new());
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
    // T10: a second submission changes nothing.
    let before = bench.session.state().clone();
    let again = bench
        .submit(
            &continuation,
            vec![result("a", text("x")), result("b", text("y"))],
        )
        .await;
    assert_eq!(
        refusal(again),
        "nothing is pending in this session; the continuation was already used, or its calls were answered"
    );
    assert_eq!(*bench.session.state(), before);
}

/// The host's calls run first; the continuation has their results.
#[tokio::test]
async fn host_calls_run_before_external_ones() {
    let mut bench = bench(&[("a", "pay", ""), ("b", "act", ""), ("c", "look", "")]);
    let continuation = pending(bench.say("go").await);
    let completed: Vec<&str> = continuation
        .completed
        .iter()
        .map(|result| result.call_id.0.as_str())
        .collect();
    assert_eq!(completed, ["b", "c"]);
    let outcome = bench
        .submit(&continuation, vec![result("a", text("paid"))])
        .await;
    assert_eq!(kind(&outcome), "needs-more-turns");
    let expected = [
        ("a", text("paid")),
        ("b", text("act {}")),
        ("c", text("look {}")),
    ];
    assert_eq!(bench.results(), pairs(expected));
    assert_eq!(bench.ran(), ["b", "c"]);
}

/// An external call is approved like any other; edited arguments are the ones dispatched.
#[tokio::test]
async fn external_call_needs_approval_like_any_other() {
    let mut bench = bench(&[("a", "launch", r#"{"n": 1}"#)]);
    let continuation = bench.ask().await;
    let input = Arc::new(json!({"n": 2}).as_object().cloned().unwrap());
    let call_id = CallId("a".into());
    let decisions = vec![Decision::Edit {
        call_id,
        input: input.clone(),
    }];
    let handed = pending(bench.decide(&continuation, decisions).await);
    assert_eq!(handed.calls()[0].input, input);
    let outcome = bench.submit(&handed, vec![result("a", text("up"))]).await;
    assert_eq!(kind(&outcome), "needs-more-turns");
}

/// T9 and T16: each invalid submission has its own refusal, and a valid one still works.
#[tokio::test]
async fn invalid_submission_is_refused() {
    let mut bench = bench(&[("a", "pay", ""), ("b", "measure", "")]);
    let continuation = pending(bench.say("go").await);
    let before = bench.session.state().clone();
    let no_image = ToolResultOutput::Content(vec![ContentPart::File(FilePart {
        media_type: "image/png".into(),
        data: FileData::Bytes(b"not a picture".to_vec()),
        filename: None,
    })]);
    let table = [
        (
            vec![result("a", text("1"))],
            "no result was given for call b; submit one for each pending call",
        ),
        (
            vec![
                result("a", text("1")),
                result("b", text("2")),
                result("c", text("3")),
            ],
            "a result was submitted for call c, which is not waiting for one",
        ),
        (
            vec![
                result("a", text("1")),
                result("b", text("2")),
                result("a", text("3")),
            ],
            "call a was given two results",
        ),
        (
            vec![result("a", no_image), result("b", text("2"))],
            "invalid result for call a: ",
        ),
    ];
    for (results, expected) in table {
        let message = refusal(bench.submit(&continuation, results).await);
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(*bench.session.state(), before);
    }
    let results = vec![result("a", text("1")), result("b", text("2"))];
    assert_eq!(
        kind(&bench.submit(&continuation, results).await),
        "needs-more-turns"
    );
}

/// After a message instead of results, it is unknown whether the calls took effect.
#[tokio::test]
async fn message_supersedes_external_calls() {
    let mut bench = bench(&[("a", "pay", "")]);
    pending(bench.say("go").await);
    assert_eq!(kind(&bench.say("never mind").await), "done");
    let told = "The user sent a new message before this call's result came. Whether it took effect is not known.";
    let shown = &bench.requests()[1].messages[2].tool_results[0].output;
    assert_eq!(*shown, failure("interrupted-unknown", told));
}

/// T16: a result is given as the union or as any other value, and in no other form.
#[test]
fn submitted_result_has_two_json_forms() {
    let given = |value| serde_json::from_value::<SubmittedResult>(value);
    let table = [
        (
            json!({"call_id": "a", "output": {"type": "text", "value": "x"}}),
            text("x"),
        ),
        (json!({"call_id": "a", "value": "x"}), text("x")),
        // A value that looks like the union stays a value.
        (
            json!({"call_id": "a", "value": {"type": "text", "value": "x"}}),
            ToolResultOutput::json(json!({"type": "text", "value": "x"})),
        ),
        (
            json!({"call_id": "a", "value": [1]}),
            ToolResultOutput::json(json!([1])),
        ),
        // `null` is a value.
        (
            json!({"call_id": "a", "value": null}),
            ToolResultOutput::json(json!(null)),
        ),
    ];
    for (value, output) in table {
        assert_eq!(given(value).unwrap(), result("a", output));
    }
    for (value, why) in [
        (
            json!({"call_id": "a"}),
            "needs exactly one of `output` and `value`",
        ),
        (
            json!({"call_id": "a", "value": null, "output": {"type": "text", "value": "x"}}),
            "needs exactly one of `output` and `value`",
        ),
        (
            json!({"call_id": "a", "output": {"type": "words", "value": "x"}}),
            "unknown variant `words`",
        ),
    ] {
        let error = given(value).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
