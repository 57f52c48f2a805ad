//! Calls that ask the user: the turn waits, the answer reaches the call, and the faults of either.

use super::harness::*;
use crate::{
    tool::{CallReport, Invocation, RunEnd, SessionChange},
    turn::Prompts,
};
use agent_host_types::{
    accounting::Accounting,
    approval::Decision,
    continuation::{Awaiting, Continuation},
    form::Form,
    id::CallId,
    output::ToolResultOutput,
    question::{Answer, AnsweredBy, AnsweredQuestion, MAX_QUESTIONS, PendingQuestion, Question},
    tool::{Approval, Effect},
    turn::{AgentInput, TurnEnd, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn question(prompt: &str) -> Question {
    Question {
        prompt: prompt.into(),
        choices: vec!["red".into(), "blue".into()],
        free_text: true,
        multiple: false,
        form: None,
    }
}

fn ask(prompt: &str, answered_by: AnsweredBy) -> RunEnd {
    RunEnd::Asked(PendingQuestion {
        question: question(prompt),
        answered_by,
        accounting: Accounting::default(),
        audit: Vec::new(),
    })
}

/// Asks this many questions, and then returns the answers.
fn asking(questions: usize) -> impl Fn(Invocation) -> RunEnd + Send + Sync + 'static {
    move |call| {
        if call.answers.len() < questions {
            return ask(&format!("{}?", call.answers.len()), AnsweredBy::Rerun);
        }
        let answers = json!(
            call.answers
                .iter()
                .map(|exchange| &exchange.answer)
                .collect::<Vec<_>>()
        );
        CallReport::of(ToolResultOutput::json(
            json!({"answers": answers, "shared": *call.shared}),
        ))
        .into()
    }
}

fn tools(questions: usize) -> Vec<Tool> {
    let mut tools = standard();
    tools.extend([
        tool("wonder", Effect::ReadOnly, Approval::ByEffect).ends(asking(questions)),
        tool("order", Effect::Effectful, Approval::Never).ends(asking(questions)),
        tool("clarify", Effect::Effectful, Approval::Never)
            .ends(|_| ask("which?", AnsweredBy::Result)),
        tool("note", Effect::ReadOnly, Approval::ByEffect).ends(|call| {
            let delta = json!({call.call_id.0.as_str(): 1});
            let changes = delta.as_object().cloned().into_iter();
            let changes = changes.map(SessionChange::Merge).collect();
            RunEnd::Settled(CallReport {
                changes,
                ..CallReport::of(text("noted"))
            })
        }),
    ]);
    tools
}

fn bench(batch: &[(&str, &str, &str)], questions: usize) -> Bench {
    Bench::with(vec![calls(batch)], tools(questions))
}

fn awaited(outcome: TurnReport) -> Continuation {
    match outcome.end {
        TurnEnd::AwaitingAnswer { continuation, .. } => continuation,
        other => panic!("no answer is awaited: {other:?}"),
    }
}

fn words(text: &str) -> Answer {
    Answer::Text { text: text.into() }
}

impl Bench {
    async fn answer(&mut self, continuation: &Continuation, answer: Answer) -> TurnReport {
        let continuation = continuation.clone();
        self.turn(AgentInput::Answer {
            continuation,
            answer,
        })
        .await
    }
}

/// The call runs again from its start with the answers so far, in this process and in the next, and
/// has one result.
#[tokio::test]
async fn question_survives_restarts() {
    for name in ["wonder", "order"] {
        let mut bench = bench(&[("a", name, ""), ("b", "act", "")], 2);
        let first = awaited(bench.say("go").await);
        let expected = Awaiting::Answer {
            call_id: CallId("a".into()),
            tool: name.into(),
            question: question("0?"),
        };
        assert_eq!(first.awaiting, expected);
        let mut bench = Bench::resume(&bench.journal, Vec::new(), tools(2)).await;
        assert_eq!(awaited(bench.turn(AgentInput::Continue).await), first);
        let second = awaited(bench.answer(&first, words("yes")).await);
        let mut bench = Bench::resume(&bench.journal, Vec::new(), tools(2)).await;
        let outcome = bench.answer(&second, Answer::Choice { index: 1 }).await;
        assert_eq!(kind(&outcome), "needs-more-turns");
        let answers = json!([{"type": "text", "text": "yes"}, {"type": "choice", "index": 1}]);
        let result = ToolResultOutput::json(json!({"answers": answers, "shared": {}}));
        assert_eq!(
            bench.results(),
            pairs([("a", result), ("b", text("act {}"))])
        );
        assert_eq!(bench.ran(), ["a", "b"]);
        // Every run of the call has the same key, and the use of the answer is durable before the
        // call runs.
        assert_eq!(*bench.ran.premature.lock().unwrap(), Vec::new());
        let exchange = |prompt: &str, answer| AnsweredQuestion {
            question: question(prompt),
            answer,
        };
        let last = bench.ran.invocations.lock().unwrap()[0].clone();
        let both = [
            exchange("0?", words("yes")),
            exchange("1?", Answer::Choice { index: 1 }),
        ];
        assert_eq!(last.answers, both);
    }
}

/// S10: the result of another call in the batch is kept, and the call does not run again.
#[tokio::test]
async fn result_beside_a_question_is_kept() {
    let mut bench = bench(&[("a", "wonder", ""), ("b", "look", "")], 1);
    let continuation = awaited(bench.say("go").await);
    assert_eq!(continuation.completed.len(), 1);
    bench.answer(&continuation, words("yes")).await;
    assert_eq!(bench.ran(), ["a", "b", "a"]);
    assert_eq!(bench.results()[1], ("b".to_owned(), text("look {}")));
}

/// S10: a tool that ends with a question is not run again: the answer is its result.
#[tokio::test]
async fn answer_is_the_result_of_a_tool_that_asked_last() {
    let refused = denied("The user declined to answer the question.");
    let table = [
        (words("the left one"), text("the left one")),
        (Answer::Choice { index: 1 }, text("blue")),
        (Answer::Cancelled, refused),
    ];
    for (answer, result) in table {
        let mut bench = bench(&[("a", "clarify", ""), ("b", "act", "")], 0);
        let continuation = awaited(bench.say("go").await);
        let outcome = bench.answer(&continuation, answer).await;
        assert_eq!(kind(&outcome), "needs-more-turns");
        assert_eq!(bench.ran(), ["a", "b"]);
        assert_eq!(
            bench.results(),
            pairs([("a", result), ("b", text("act {}"))])
        );
    }
}

/// Of two questions the first is asked, and the other in the call's next run.
#[tokio::test]
async fn first_of_two_questions_is_asked_first() {
    let mut bench = bench(&[("a", "wonder", ""), ("b", "wonder", "")], 1);
    let first = awaited(bench.say("go").await);
    let second = awaited(bench.answer(&first, words("1")).await);
    let asked_by = |continuation: &Continuation| match &continuation.awaiting {
        Awaiting::Answer { call_id, .. } => call_id.0.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        (asked_by(&first), asked_by(&second)),
        ("a".to_owned(), "b".to_owned())
    );
    assert_eq!(
        kind(&bench.answer(&second, words("2")).await),
        "needs-more-turns"
    );
}

/// A call that runs again sees the shared state of its first run, whatever others merged meanwhile.
#[tokio::test]
async fn second_run_sees_the_state_of_the_first() {
    let mut bench = bench(
        &[("n", "note", ""), ("a", "wonder", ""), ("m", "note", "")],
        1,
    );
    let continuation = awaited(bench.say("go").await);
    assert_eq!(
        json!(**bench.session.state().shared()),
        json!({"n": 1, "m": 1})
    );
    bench.answer(&continuation, words("yes")).await;
    let ToolResultOutput::Json(result) = &bench.results()[1].1 else {
        panic!("no JSON");
    };
    assert_eq!(result.to_value()["shared"], json!({}));
}

/// M9: state is merged deeply, in the order of the calls; an explicit empty list clears. M10: a
/// call that was stopped or asked merges nothing.
#[tokio::test]
async fn shared_state_is_merged_deeply() {
    let deltas = [
        json!({"a": {"x": 1}, "list": [1, 2]}),
        json!({"a": {"y": 2}}),
        json!({"list": [], "b": null}),
        json!({"a": 3}),
    ];
    let merged = [
        json!({"a": {"x": 1}, "list": [1, 2]}),
        json!({"a": {"x": 1, "y": 2}, "list": [1, 2]}),
        json!({"a": {"x": 1, "y": 2}, "list": [], "b": null}),
        json!({"a": 3, "list": [], "b": null}),
    ];
    for count in 1..=deltas.len() {
        let merges: Vec<_> = deltas[..count]
            .iter()
            .filter_map(|delta| delta.as_object().cloned())
            .map(SessionChange::Merge)
            .collect();
        let merger = tool("merge", Effect::ReadOnly, Approval::ByEffect).ends(move |_| {
            RunEnd::Settled(CallReport {
                changes: merges.clone(),
                ..CallReport::of(text("ok"))
            })
        });
        let mut bench = Bench::with(vec![calls(&[("a", "merge", "")])], vec![merger]);
        bench.say("go").await;
        let state = json!(**bench.session.state().shared());
        assert_eq!(state, merged[count - 1]);
        let again = Bench::resume(&bench.journal, Vec::new(), Vec::new()).await;
        assert_eq!(json!(**again.session.state().shared()), state);
    }
}

/// Whatever is wrong with an answer, the question stays open, and a valid answer still works.
#[tokio::test]
async fn invalid_answer_is_refused() {
    let mut bench = bench(&[("a", "wonder", "")], 1);
    let right = awaited(bench.say("go").await);
    let mut altered = right.clone();
    altered.completed.clear();
    altered.turn = 9;
    let state = bench.session.state().clone();
    let table = [
        (
            right.clone(),
            Answer::Choice { index: 2 },
            "invalid answer: invalid choice 2; the question has 2 choices, counted from 0",
        ),
        (
            altered,
            words("x"),
            "was altered, or signed by another host",
        ),
    ];
    for (continuation, answer, expected) in table {
        let message = refusal(bench.answer(&continuation, answer).await);
        assert!(message.contains(expected), "{message}");
    }
    // T17: a question takes no decisions and no results.
    let continuation = right.clone();
    let decisions = vec![Decision::approve(CallId("a".into()))];
    assert_eq!(
        refusal(
            bench
                .turn(AgentInput::Resume {
                    continuation,
                    decisions
                })
                .await
        ),
        "a continuation of kind `answer` cannot be resumed with decisions"
    );
    let (continuation, results) = (right.clone(), Vec::new());
    assert_eq!(
        refusal(
            bench
                .turn(AgentInput::SubmitToolResults {
                    continuation,
                    results
                })
                .await
        ),
        "a continuation of kind `answer` cannot be resumed with tool results"
    );
    assert_eq!(*bench.session.state(), state);
    assert_eq!(
        kind(&bench.answer(&right, words("x")).await),
        "needs-more-turns"
    );
    assert_eq!(
        refusal(bench.answer(&right, words("x")).await),
        "nothing is pending in this session; the continuation was already used, or its calls were answered"
    );
}

#[test]
fn answer_must_fit_its_question() {
    let ask = |choices: &[&str], free_text| Question {
        prompt: "?".into(),
        choices: choices.iter().map(|choice| (*choice).to_owned()).collect(),
        free_text,
        multiple: false,
        form: None,
    };
    let choice = |index| Answer::Choice { index };
    let table = [
        (ask(&[], false), words("x"), true),
        (ask(&[], true), fields(&json!({})), false),
        (ask(&["a"], false), words("a"), false),
        (ask(&["a"], true), words("x"), true),
        (ask(&["a"], false), choice(0), true),
        (ask(&["a"], true), choice(1), false),
        (ask(&[], true), choice(0), false),
        (ask(&["a"], false), Answer::Cancelled, true),
    ];
    for (question, answer, fits) in table {
        assert_eq!(
            question.check(&answer).is_ok(),
            fits,
            "{question:?} {answer:?}"
        );
    }
}

fn form() -> Question {
    let schema = r#"{"type": "object", "required": ["age"], "properties": {
        "age": {"type": "integer", "minimum": 1}, "name": {"type": "string"}}}"#;
    Question {
        prompt: "Who?".into(),
        form: Form::parse(schema).ok(),
        ..Question::default()
    }
}

fn fields(fields: &Value) -> Answer {
    Answer::Fields {
        fields: fields.as_object().cloned().unwrap_or_default(),
    }
}

/// A form is journaled with its answer; a wrong answer is refused, and the form stays open.
#[tokio::test]
async fn form_is_answered_with_its_fields() {
    let asking = || {
        tool("fill", Effect::ReadOnly, Approval::ByEffect).ends(|invocation| {
            match invocation.answers.first() {
                Some(answered) => CallReport::of(ToolResultOutput::json(json!(answered))).into(),
                None => RunEnd::Asked(PendingQuestion {
                    question: form(),
                    answered_by: AnsweredBy::Rerun,
                    accounting: Accounting::default(),
                    audit: Vec::new(),
                }),
            }
        })
    };
    let mut bench = Bench::with(vec![calls(&[("a", "fill", "")])], vec![asking()]);
    let continuation = awaited(bench.say("go").await);
    let mut bench = Bench::resume(&bench.journal, Vec::new(), vec![asking()]).await;
    assert_eq!(
        awaited(bench.turn(AgentInput::Continue).await),
        continuation
    );
    let not_fields = "the question is a form; its answer is `{\"type\": \"fields\", \"fields\": {...}}` with the values of its fields";
    let refused = [
        (words("7"), not_fields),
        (Answer::Choice { index: 0 }, not_fields),
        (fields(&json!({})), "the field `age` needs a value"),
        (
            fields(&json!({"age": 0})),
            "the field `age` takes a number of at least 1",
        ),
        (
            fields(&json!({"age": 1, "x": 1})),
            "the form has no field `x`",
        ),
    ];
    let state = bench.session.state().clone();
    for (answer, why) in refused {
        let message = refusal(bench.answer(&continuation, answer).await);
        assert_eq!(message, format!("invalid answer: {why}"));
        assert_eq!(*bench.session.state(), state);
    }
    let given = fields(&json!({"age": 7}));
    let outcome = bench.answer(&continuation, given.clone()).await;
    assert_eq!(kind(&outcome), "needs-more-turns");
    let answered = AnsweredQuestion {
        question: form(),
        answer: given,
    };
    let result = ToolResultOutput::json(json!(answered));
    assert_eq!(bench.results(), pairs([("a", result)]));
}

/// If no one can be asked, the call is denied and the turn continues.
#[tokio::test]
async fn question_without_a_user_is_denied() {
    let mut bench = bench(&[("a", "wonder", "")], 1);
    bench.agent.settings.prompts = Prompts::Deny;
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    let told = "The tool asked the user a question, but no one can be asked in this run.";
    assert_eq!(bench.results(), pairs([("a", denied(told))]));
    assert!(!bench.ran.invocations.lock().unwrap()[0].can_ask);
}

/// A call that asks without end is ended.
#[tokio::test]
async fn questions_are_bounded() {
    let mut bench = bench(&[("a", "wonder", "")], usize::MAX);
    let mut outcome = bench.say("go").await;
    for _ in 0..MAX_QUESTIONS {
        let continuation = awaited(outcome);
        outcome = bench.answer(&continuation, words("more")).await;
    }
    assert_eq!(kind(&outcome), "needs-more-turns");
    let told = failure(
        "invalid-output",
        "The tool asked more than 16 questions in one call.",
    );
    assert_eq!(bench.results(), pairs([("a", told)]));
    assert_eq!(bench.ran().len(), MAX_QUESTIONS + 1);
}

#[tokio::test]
async fn question_that_cannot_be_shown_is_refused() {
    type Spoil = fn(&mut Question);
    let spoil: [(Spoil, &str); 5] = [
        (|question| question.prompt = " ".into(), "it has no prompt"),
        (
            |question| question.prompt = "x".repeat(4097),
            "its prompt has more than 4096 bytes",
        ),
        (
            |question| question.choices = vec!["x".into(); 33],
            "it has more than 32 choices",
        ),
        (
            |question| question.choices = vec!["x".repeat(513)],
            "one of its choices has more than 512 bytes",
        ),
        (
            |question| question.form = form().form,
            "it has a form but also allows another answer",
        ),
    ];
    for (spoil, why) in spoil {
        let asking = tool("wonder", Effect::ReadOnly, Approval::ByEffect).ends(move |_| {
            let mut question = question("?");
            spoil(&mut question);
            let (answered_by, accounting) = (AnsweredBy::Rerun, Accounting::default());
            RunEnd::Asked(PendingQuestion {
                question,
                answered_by,
                accounting,
                audit: Vec::new(),
            })
        });
        let mut bench = Bench::with(vec![calls(&[("a", "wonder", "")])], vec![asking]);
        assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
        let told = format!("The tool asked a question that cannot be shown: {why}.");
        assert_eq!(
            bench.results(),
            pairs([("a", failure("invalid-output", &told))])
        );
    }
}

/// After a message instead of an answer, the question is dropped, and the call has a result.
#[tokio::test]
async fn message_supersedes_a_question() {
    let mut bench = bench(&[("a", "wonder", "")], 1);
    awaited(bench.say("go").await);
    bench.replies(says("as you like"));
    assert_eq!(kind(&bench.say("never mind").await), "done");
    assert_eq!(bench.agent.continuation(&bench.session), None);
}
