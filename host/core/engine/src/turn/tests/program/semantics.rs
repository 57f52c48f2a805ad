//! The cases of turn outcomes (T) and modes (M) of the specification, inside of programs. Those of
//! decisions, questions, external results, restarts and state are in the files beside this one.

use super::{waiting::*, *};
use crate::policy::{CallRule, NameGlob, RuleDecision};
use agent_host_types::{
    approval::Decision,
    failure::{ToolErrorCode, ToolFailure},
    tool::DecisionKind,
    turn::{AgentInput, SubmittedResult},
};
use pretty_assertions::assert_eq;

/// Calls everything at once.
fn at_once(
    calls: &'static [(&'static str, &'static str)],
) -> impl Fn(ToolCaller) -> BoxFuture<'static, ToolResultOutput> + Send + Sync + 'static {
    move |tools| Box::pin(async move { json_of(&call(&tools, calls).await) })
}

const TWO: &[(&str, &str)] = &[
    ("send", r#"{"n": 1}"#),
    ("look", ""),
    ("send", r#"{"n": 2}"#),
];

/// M1, M3, M6: only the listed calls are asked about, too few decisions change nothing, and the
/// unlisted one runs once with the batch. M14: a resumed session asks the same again.
#[tokio::test]
async fn batch_of_a_program_is_decided_as_a_whole() {
    let mut coder = Coder::new(at_once(TWO));
    let outcome = coder.bench.say("go").await;
    let waiting = only(&outcome);
    let asked: Vec<&str> = waiting
        .continuation
        .calls()
        .iter()
        .map(|call| call.call_id.0.as_str())
        .collect();
    assert_eq!(asked, ["call-1", "call-3"]);
    let decide = |ids: &[&str]| AgentInput::Resume {
        continuation: waiting.continuation.clone(),
        decisions: ids
            .iter()
            .map(|id| Decision::approve(call_id(id)))
            .collect(),
    };
    let cases: [(&[&str], &str); 2] = [
        (
            &["call-1"],
            "2 calls are pending but 1 decisions were given; give one for each, in order",
        ),
        (
            &["call-3", "call-1"],
            "the decision is for call call-3, but one for call call-1 is expected",
        ),
    ];
    for (ids, why) in cases {
        let refused = refusal(coder.give(&outcome, decide(ids)).await);
        assert!(refused.starts_with(why), "{refused}");
    }
    assert_eq!(coder.bench.ran(), Vec::<String>::new());
    let again = coder.bench.turn(AgentInput::Continue).await;
    assert_eq!(only(&again), waiting);
    coder.give(&outcome, decide(&["call-1", "call-3"])).await;
    let mut ran = coder.bench.ran();
    ran.sort();
    assert_eq!(ran, ids(&["call-1", "call-2", "call-3"]));
    let expected = [
        text(r#"send {"n":1}"#),
        text("look {}"),
        text(r#"send {"n":2}"#),
    ];
    assert_eq!(coder.result(), json_of(&expected));
}

/// M4, M5 and T17: a decision of another kind, arguments that do not fit, and an answer where a
/// decision is due are refused, and the right one still works.
#[tokio::test]
async fn refused_decision_leaves_a_program_waiting() {
    let tools = || {
        let decisions = [DecisionKind::Approve, DecisionKind::Reject];
        vec![tool("send", Effect::Effectful, Approval::Always).allowing(&decisions)]
    };
    let mut coder = Coder::with(tools(), 8, at_once(&[("send", "")]));
    let outcome = coder.bench.say("go").await;
    let wrong = [
        Decision::Edit {
            call_id: call_id("call-1"),
            input: Map::new().into(),
        },
        Decision::Respond {
            call_id: call_id("call-1"),
            text: "no".into(),
        },
    ];
    for decision in wrong {
        let refused = refusal(coder.decide(&outcome, decision).await);
        assert!(refused.contains("call-1"), "{refused}");
    }
    let other_kind = AgentInput::SubmitToolResults {
        continuation: only(&outcome).continuation,
        results: Vec::new(),
    };
    let refused = refusal(coder.give(&outcome, other_kind).await);
    assert!(refused.contains("kind `confirm`"), "{refused}");
    coder
        .decide(&outcome, Decision::approve(call_id("call-1")))
        .await;
    assert_eq!(coder.result(), json_of(&[text("send {}")]));
    let mut coder = Coder::new(at_once(&[("send", "")]));
    let outcome = coder.bench.say("go").await;
    let misfit = Decision::Edit {
        call_id: call_id("call-1"),
        input: Map::from_iter([("n".to_owned(), json!("x"))]).into(),
    };
    let refused = refusal(coder.decide(&outcome, misfit).await);
    assert!(refused.contains("call-1"), "{refused}");
    assert_eq!(coder.bench.ran(), Vec::<String>::new());
}

/// T7: what the policy denies by now does not run, whatever was approved.
#[tokio::test]
async fn approved_call_of_a_program_passes_the_policy_again() {
    let mut coder = Coder::new(at_once(&[("send", "")]));
    let outcome = coder.bench.say("go").await;
    coder.bench.agent.settings.rules = Arc::new([CallRule {
        name: "strict".into(),
        decision: RuleDecision::Deny,
        tools: vec![NameGlob::new("send").unwrap()],
        agent: None,
        arguments: Vec::new(),
        condition: None,
        reason: Some("not any more".into()),
    }]);
    coder
        .decide(&outcome, Decision::approve(call_id("call-1")))
        .await;
    assert_eq!(coder.bench.ran(), Vec::<String>::new());
    let result = json!(coder.result()).to_string();
    assert!(
        result.contains("execution-denied") && result.contains("not any more"),
        "{result}"
    );
}

/// T9 and T16: each pending id gets one result, and a result has to be one of the union.
#[tokio::test]
async fn external_results_of_a_program_are_checked() {
    let outside = || vec![tool("remote", Effect::Effectful, Approval::Never).outside()];
    let mut coder = Coder::with(
        outside(),
        8,
        at_once(&[("remote", ""), ("remote", r#"{"n": 2}"#)]),
    );
    let outcome = coder.bench.say("go").await;
    let result = |id: &str| SubmittedResult {
        call_id: call_id(id),
        output: text(id),
    };
    let submit = |results| AgentInput::SubmitToolResults {
        continuation: only(&outcome).continuation,
        results,
    };
    let cases: [(&[&str], &str); 3] = [
        (&["call-1"], "call-2"),
        (&["call-1", "call-9"], "call-9"),
        (&["call-1", "call-1", "call-2"], "call-1"),
    ];
    for (ids, named) in cases {
        let results = ids.iter().map(|id| result(id)).collect();
        let refused = refusal(coder.give(&outcome, submit(results)).await);
        assert!(refused.contains(named), "{refused}");
    }
    let right = vec![result("call-2"), result("call-1")];
    coder.give(&outcome, submit(right)).await;
    assert_eq!(coder.result(), json_of(&[text("call-1"), text("call-2")]));
}

/// T11: a failure of a tool, of the sandbox and an invalid result are three values of the program.
#[tokio::test]
async fn failures_of_calls_are_told_apart_in_a_program() {
    let fails = |name, output: ToolResultOutput| {
        tool(name, Effect::ReadOnly, Approval::Never).body(move |_| {
            let output = output.clone();
            async move { output }
        })
    };
    let timeout = ToolFailure::new(ToolErrorCode::Timeout, "too slow");
    let error = ToolResultOutput::ErrorText("no such page".into());
    let tools = vec![
        fails("slow", timeout.clone().into()),
        fails("broken", error.clone()),
        fails(
            "forges",
            image(FileData::Blob(agent_host_types::output::BlobRef {
                digest: Digest::of(b"x"),
                size: 1,
            })),
        ),
    ];
    let mut coder = Coder::with(
        tools,
        8,
        at_once(&[("slow", ""), ("broken", ""), ("forges", "")]),
    );
    coder.bench.say("go").await;
    let results: Vec<Value> = match coder.result() {
        ToolResultOutput::Json(json) => serde_json::from_value(json.to_value()).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(results[0], json!(ToolResultOutput::from(timeout)));
    assert_eq!(results[1], json!(error));
    assert_eq!(results[2]["value"]["code"], "invalid-output");
}
