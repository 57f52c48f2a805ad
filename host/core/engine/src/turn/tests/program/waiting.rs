//! Calls of programs that wait for the user.

use super::*;
use crate::turn::tests::children::{approve, children};
use agent_host_types::{
    approval::{Decision, Remember, RememberScope, RememberWhat},
    continuation::WaitingChild,
    id::CallId,
    question::{Answer, AnsweredBy, PendingQuestion, Question},
    turn::{AgentInput, ChildInput, SubmittedResult},
};
use pretty_assertions::assert_eq;

/// A program with an effect before and one after the call that waits.
fn sends(tools: ToolCaller) -> BoxFuture<'static, ToolResultOutput> {
    Box::pin(async move {
        let mut all = call(&tools, &[("act", r#"{"n": 1}"#)]).await;
        all.extend(call(&tools, &[("look", ""), ("send", r#"{"n": 2}"#)]).await);
        all.extend(call(&tools, &[("act", r#"{"n": 3}"#)]).await);
        json_of(&all)
    })
}

impl Coder {
    /// Gives an input to the only program that waits.
    pub(super) async fn give(&mut self, outcome: &TurnReport, input: AgentInput) -> TurnReport {
        let (continuation, waiting) = children(outcome);
        let inputs = vec![ChildInput {
            call_id: waiting[0].call_id.clone(),
            input,
        }];
        self.bench
            .turn(AgentInput::Children {
                continuation,
                inputs,
            })
            .await
    }

    pub(super) async fn decide(&mut self, outcome: &TurnReport, decision: Decision) -> TurnReport {
        let waiting = only(outcome);
        let input = AgentInput::Resume {
            continuation: waiting.continuation,
            decisions: vec![decision],
        };
        self.give(outcome, input).await
    }
}

pub(super) fn only(outcome: &TurnReport) -> WaitingChild {
    let (_, mut waiting) = children(outcome);
    assert_eq!(waiting.len(), 1);
    waiting.remove(0)
}

pub(super) fn call_id(id: &str) -> CallId {
    CallId(id.into())
}

/// Each decision counts, the program runs again with the recorded results, and nothing that had an
/// effect runs twice.
#[tokio::test]
async fn decision_inside_a_program_continues_it() {
    let edited = Map::from_iter([("n".to_owned(), json!(7))]).into();
    let cases = [
        (
            Decision::approve(call_id("call-3")),
            text(r#"send {"n":2}"#),
        ),
        (
            Decision::Edit {
                call_id: call_id("call-3"),
                input: edited,
            },
            text(r#"send {"n":7}"#),
        ),
        (
            Decision::Reject {
                call_id: call_id("call-3"),
                reason: Some("not now".into()),
            },
            denied("not now"),
        ),
        (
            Decision::Respond {
                call_id: call_id("call-3"),
                text: "sent by hand".into(),
            },
            text("sent by hand"),
        ),
    ];
    for (decision, third) in cases {
        let mut coder = Coder::new(sends);
        let outcome = coder.bench.say("go").await;
        let waiting = only(&outcome);
        assert_eq!(waiting.continuation.calls().len(), 1);
        assert_eq!(waiting.continuation.calls()[0].tool, "send");
        // With `batch` timing nothing of the batch ran.
        assert_eq!(coder.bench.ran(), ids(&["call-1"]));
        let outcome = coder.decide(&outcome, decision).await;
        assert_eq!(kind(&outcome), "needs-more-turns", "{outcome:?}");
        let expected = [
            text(r#"act {"n":1}"#),
            text("look {}"),
            third,
            text(r#"act {"n":3}"#),
        ];
        assert_eq!(coder.result(), json_of(&expected));
        let effects = coder.bench.ran();
        let count = |id: &str| effects.iter().filter(|ran| *ran == id).count();
        assert_eq!((count("call-1"), count("call-4")), (1, 1));
        assert_eq!(coder.runs(), 2);
        let sources = coder.program.sources.lock().unwrap();
        assert_eq!(
            sources[0], sources[1],
            "both runs have one seed and one clock"
        );
    }
}

/// A used continuation does nothing, and a forged one leaves the right one usable.
#[tokio::test]
async fn decision_inside_a_program_counts_once() {
    let mut coder = Coder::new(sends);
    let outcome = coder.bench.say("go").await;
    let wrong = coder
        .decide(&outcome, Decision::approve(call_id("call-9")))
        .await;
    assert!(refusal(wrong).contains("call-9"));
    let first = coder
        .decide(&outcome, Decision::approve(call_id("call-3")))
        .await;
    assert_eq!(kind(&first), "needs-more-turns");
    let again = coder
        .decide(&outcome, Decision::approve(call_id("call-3")))
        .await;
    assert!(refusal(again).starts_with("nothing is pending in this session"));
    assert_eq!(coder.bench.ran().len(), 4);
}

/// A question of a nested call pauses the turn; its answer lets the call run again, then the
/// program.
#[tokio::test]
async fn question_inside_a_program_is_answered() {
    let asks = tool("ask", Effect::ReadOnly, Approval::Never).ends(|invocation| {
        match invocation.answers.first() {
            Some(answered) => CallReport::of(ToolResultOutput::json(json!(answered.answer))).into(),
            None => crate::tool::RunEnd::Asked(PendingQuestion {
                question: Question {
                    prompt: "Which?".into(),
                    free_text: true,
                    ..Question::default()
                },
                answered_by: AnsweredBy::Rerun,
                accounting: agent_host_types::accounting::Accounting::default(),
                audit: Vec::new(),
            }),
        }
    });
    let mut coder = Coder::with(vec![asks], 8, |tools| {
        Box::pin(async move { call(&tools, &[("ask", "")]).await.remove(0) })
    });
    let outcome = coder.bench.say("go").await;
    let answer = Answer::Text {
        text: "blue".into(),
    };
    let input = AgentInput::Answer {
        continuation: only(&outcome).continuation,
        answer: answer.clone(),
    };
    let outcome = coder.give(&outcome, input).await;
    assert_eq!(kind(&outcome), "needs-more-turns", "{outcome:?}");
    assert_eq!(coder.result(), ToolResultOutput::json(json!(answer)));
    assert_eq!(coder.runs(), 2);
}

/// A call that runs outside of this host gets its result in the program.
#[tokio::test]
async fn external_call_of_a_program_gets_its_result() {
    let outside = tool("remote", Effect::Effectful, Approval::Never).outside();
    let mut coder = Coder::with(vec![outside], 8, |tools| {
        Box::pin(async move { call(&tools, &[("remote", "")]).await.remove(0) })
    });
    let outcome = coder.bench.say("go").await;
    let input = AgentInput::SubmitToolResults {
        continuation: only(&outcome).continuation,
        results: vec![SubmittedResult {
            call_id: call_id("call-1"),
            output: text("from afar"),
        }],
    };
    coder.give(&outcome, input).await;
    assert_eq!(coder.result(), text("from afar"));
}

/// A program that does something else in its second run ends without another effect.
#[tokio::test]
async fn program_that_diverges_is_stopped() {
    let cases: [&[(&str, &str)]; 4] = [
        &[("put", "")],
        &[("act", r#"{"n": 2}"#)],
        &[("act", ""), ("look", "")],
        &[],
    ];
    for second in cases {
        let run = Arc::new(AtomicUsize::new(0));
        let mut coder = Coder::new(move |tools| {
            let number = run.fetch_add(1, Ordering::SeqCst);
            Box::pin(async move {
                match number {
                    0 => call(&tools, &[("act", "")]).await,
                    _ => call(&tools, second).await,
                };
                call(&tools, &[("send", "")]).await.remove(0)
            })
        });
        let outcome = coder.bench.say("go").await;
        coder
            .decide(&outcome, Decision::approve(call_id("call-2")))
            .await;
        let why = "The program was run again after a pause and called different tools than before; its calls so far \
            took effect.";
        assert_eq!(coder.result(), failure("invalid-output", why), "{second:?}");
        assert_eq!(coder.bench.ran(), ids(&["call-1", "call-2"]));
    }
}

/// An approval for the session, given in one program, holds in the next.
#[tokio::test]
async fn approval_for_the_session_holds_in_the_next_program() {
    let mut coder =
        Coder::new(|tools| Box::pin(async move { call(&tools, &[("send", "")]).await.remove(0) }));
    {
        let mut replies = coder.bench.model.replies.lock().unwrap();
        replies.insert(1, Ok(writes("q")));
    }
    let outcome = coder.bench.say("go").await;
    let decision = Decision::Approve {
        call_id: call_id("call-1"),
        remember: Some(Remember {
            scope: RememberScope::Session,
            what: RememberWhat::Tool,
        }),
    };
    coder.decide(&outcome, decision).await;
    let outcome = coder.bench.turn(AgentInput::Continue).await;
    assert_eq!(kind(&outcome), "needs-more-turns", "{outcome:?}");
    assert_eq!(coder.bench.results(), pairs([("q", text("send {}"))]));
    assert!(done(&coder.bench.turn(AgentInput::Continue).await));
}

/// A new message ends a program that waits: its open call never runs.
#[tokio::test]
async fn new_message_ends_a_program_that_waits() {
    let mut coder = Coder::new(sends);
    let outcome = coder.bench.say("go").await;
    let waiting = only(&outcome);
    coder.bench.say("something else").await;
    assert_eq!(coder.bench.ran(), ids(&["call-1"]));
    let late = coder.bench.turn(AgentInput::Children {
        continuation: children(&outcome).0,
        inputs: vec![approve(&waiting)],
    });
    assert!(refusal(late.await).starts_with("nothing is pending in this session"));
}
