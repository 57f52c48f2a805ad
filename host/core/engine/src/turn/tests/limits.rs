//! Ends of a turn from outside or by a bound: budgets, cancellation, depth.

use super::harness::*;
use crate::tool::{CallReport, RunEnd};
use agent_host_types::{
    accounting::{Accounting, AuditEntry, AuditVerdict},
    approval::Decision,
    audit::AuditRequest,
    budget::Budget,
    event::Event,
    failure::ToolFailure,
    id::CallId,
    limits::Limits,
    model::{ModelError, ModelErrorKind, ModelReply},
    output::{Blob, ContentPart, FileData, FilePart, ToolResultOutput},
    question::{AnsweredBy, PendingQuestion, Question},
    tool::{Approval, Effect, ToolCall},
    turn::{AgentInput, TurnEnd, TurnError, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const INVALID: &str = "The arguments are not a JSON object, or nest too deep; the tool did not run. Send the arguments as one JSON object.";

/// M13: N turns are N useful model calls, and an answer on the N-th is an answer.
#[tokio::test]
async fn turn_budget_allows_that_many_replies() {
    let mut bench = Bench::new(vec![calls(&[("a", "look", "")]), says("in time")]);
    bench.agent.settings.budgets.turns = 2;
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
}

#[tokio::test]
async fn used_up_budget_ends_the_turn_and_a_larger_one_resumes() {
    let mut bench = Bench::new(vec![
        calls(&[("a", "look", "")]),
        says("at last"),
        says("anew"),
    ]);
    bench.agent.settings.budgets.turns = 1;
    assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
    for _ in 0..2 {
        let outcome = bench.turn(AgentInput::Continue).await;
        let TurnReport {
            summary,
            end: TurnEnd::BudgetExceeded { budget },
        } = outcome
        else {
            panic!("the budget is used up: {outcome:?}");
        };
        assert_eq!(budget, Budget::Turns { limit: 1 });
        // The figures of the previous turn are not reported again.
        assert_eq!(
            (summary.total_turns, summary.tool_calls, summary.stop_reason),
            (1, 0, None)
        );
        assert_eq!(
            (summary.turn_usage, summary.total_usage),
            (Default::default(), USAGE)
        );
    }
    assert_eq!(bench.requests().len(), 1);
    bench.agent.settings.budgets.turns = 2;
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
    // A new message of the user has the whole budget again.
    bench.agent.settings.budgets.turns = 1;
    assert_eq!(kind(&bench.say("and now").await), "done");
}

#[tokio::test]
async fn budget_of_no_turns_calls_no_model() {
    let mut bench = Bench::new(vec![says("never")]);
    bench.agent.settings.budgets.turns = 0;
    assert_eq!(kind(&bench.say("go").await), "budget-exceeded");
    assert_eq!(bench.requests(), Vec::new());
}

/// T15: the message is kept, the model is not called, and there is a summary.
#[tokio::test]
async fn turn_cancelled_before_the_model_call() {
    let mut bench = Bench::new(vec![says("hello")]);
    bench.cancel.cancel();
    let outcome = bench.say("hi").await;
    assert_eq!(kind(&outcome), "cancelled");
    let summary = outcome.summary;
    assert_eq!(
        (summary.turn, summary.total_turns, summary.tool_calls),
        (0, 0, 0)
    );
    assert_eq!(bench.requests(), Vec::new());
    assert_eq!(
        bench.kinds(),
        ["session-started", "input-received", "turn-ended"]
    );
    bench.cancel = Default::default();
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
}

#[tokio::test]
async fn turn_cancelled_during_the_model_call() {
    let mut bench = Bench::new(vec![says("hello")]);
    *bench.model.cancel_when_asked.lock().unwrap() = Some(bench.cancel.clone());
    let outcome = bench.say("hi").await;
    assert_eq!(kind(&outcome), "cancelled");
    let summary = outcome.summary;
    assert_eq!((summary.turn, summary.turn_usage), (1, Default::default()));
    bench.cancel = Default::default();
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
}

/// S14: the running call is stopped, later ones do not start, and each has one result, in order.
#[tokio::test]
async fn turn_cancelled_during_a_tool_call() {
    for (first, told) in [
        (
            "hang",
            "The call was stopped before it ended. Whether it took effect is not known.",
        ),
        ("stare", "The call was stopped before it ended."),
    ] {
        let mut bench = Bench::new(Vec::new());
        let cancel = bench.cancel.clone();
        let hang = move |_| {
            let cancel = cancel.clone();
            async move {
                cancel.cancel();
                std::future::pending().await
            }
        };
        let mut tools = standard();
        tools.push(tool("hang", Effect::Effectful, Approval::Never).body(hang.clone()));
        tools.push(tool("stare", Effect::ReadOnly, Approval::Never).body(hang));
        let replies = vec![calls(&[
            ("a", "act", ""),
            ("b", first, ""),
            ("c", "act", ""),
            ("d", "none", ""),
            ("e", "look", ""),
        ])];
        let token = bench.cancel.clone();
        bench = Bench::with(replies, tools);
        bench.cancel = token;

        let outcome = bench.say("go").await;
        assert_eq!(kind(&outcome), "cancelled");
        assert_eq!(outcome.summary.tool_calls, 5);
        assert_eq!(bench.ran(), ["a", "b"]);
        let results = bench.results();
        let not_started = || failure("cancelled", "The run was stopped before this call began.");
        let expected = pairs([
            ("a", text("act {}")),
            ("b", failure("cancelled", told)),
            ("c", not_started()),
            ("d", results[3].1.clone()),
            ("e", not_started()),
        ]);
        assert_eq!(results, expected);
        assert!(json!(results[3].1)["value"]["code"] == "unknown-tool");
        // The session resumes, and the next request has all results.
        bench.cancel = Default::default();
        assert_eq!(bench.results_shown().await, expected);
    }
}

/// A call that was stopped or never started reports its limits, like one that ran.
#[tokio::test]
async fn call_without_a_report_shows_its_limits() {
    let limits = Limits {
        deadline_ms: 7,
        ..Limits::default()
    };
    let cancel = tokio_util::sync::CancellationToken::new();
    let token = cancel.clone();
    let hang = tool("hang", Effect::Effectful, Approval::Never).body(move |_| {
        token.cancel();
        std::future::pending()
    });
    let look = tool("look", Effect::ReadOnly, Approval::ByEffect);
    let replies = vec![calls(&[
        ("a", "look", r#"{"n": "x"}"#),
        ("b", "none", ""),
        ("c", "hang", ""),
        ("d", "look", ""),
    ])];
    let tools = vec![hang.limited(&limits), look.limited(&limits)];
    let mut bench = Bench::with(replies, tools);
    bench.cancel = cancel;
    assert_eq!(kind(&bench.say("go").await), "cancelled");
    let records = bench.observer.records.lock().unwrap();
    let settled: Vec<(&str, Option<&Limits>)> = records
        .iter()
        .filter_map(|record| match &record.event {
            Event::CallSettled {
                call_id,
                accounting,
                ..
            } => Some((call_id.0.as_str(), accounting.limits.as_ref())),
            _ => None,
        })
        .collect();
    let held = Some(&limits);
    assert_eq!(
        settled,
        // The second call of `look` has the limits of the first.
        [("a", held), ("b", None), ("c", held), ("d", None)]
    );
}

/// The record of a stopped call has its audit, whatever its effect, also if it was about to ask.
#[tokio::test]
async fn cancelled_call_keeps_its_audit_and_accounting() {
    let used = Accounting {
        bytes_out: 5,
        hosts: vec!["a.example".to_owned()],
        ..Accounting::default()
    };
    let audit = vec![AuditEntry {
        request: AuditRequest::http("POST", "https://a.example/"),
        verdict: AuditVerdict::Allowed,
        rule: "grants.http[0]".to_owned(),
        count: 1,
        grant: None,
        status: None,
    }];
    for (effect, asks) in [
        (Effect::Effectful, false),
        (Effect::Idempotent, true),
        (Effect::ReadOnly, false),
    ] {
        let cancel = tokio_util::sync::CancellationToken::new();
        let (token, own_used, own_audit) = (cancel.clone(), used.clone(), audit.clone());
        let act = tool("act", effect, Approval::Never).stopping(move |invocation| {
            let (token, accounting, audit) = (token.clone(), own_used.clone(), own_audit.clone());
            Box::pin(async move {
                token.cancel();
                invocation.cancel.cancelled().await;
                if asks {
                    return RunEnd::Asked(PendingQuestion {
                        question: Question {
                            prompt: "Go on?".to_owned(),
                            choices: Vec::new(),
                            free_text: true,
                            multiple: false,
                            form: None,
                        },
                        answered_by: AnsweredBy::Rerun,
                        accounting,
                        audit,
                    });
                }
                RunEnd::Settled(CallReport {
                    accounting,
                    audit,
                    ..CallReport::of(ToolFailure::stopped(effect).into())
                })
            })
        });
        let mut bench = Bench::with(vec![calls(&[("a", "act", "")])], vec![act]);
        bench.cancel = cancel;
        assert_eq!(kind(&bench.say("go").await), "cancelled");
        let told = ToolFailure::stopped(effect);
        assert_eq!(
            bench.results(),
            pairs([("a", failure("cancelled", told.message()))])
        );
        let records = bench.observer.records.lock().unwrap();
        let settled = records.iter().find_map(|record| match &record.event {
            Event::CallSettled {
                accounting, audit, ..
            } => Some((accounting.clone(), audit.clone())),
            _ => None,
        });
        let (accounting, told) = settled.unwrap();
        assert_eq!(
            (accounting.bytes_out, accounting.hosts, told),
            (5, used.hosts.clone(), audit.clone()),
            "{effect:?}"
        );
    }
}

/// Concurrent read-only calls that had no slot yet do not start.
#[tokio::test]
async fn turn_cancelled_while_concurrent_calls_wait() {
    let cancel = tokio_util::sync::CancellationToken::new();
    let token = cancel.clone();
    let stare = tool("stare", Effect::ReadOnly, Approval::ByEffect).body(move |_| {
        let cancel = token.clone();
        async move {
            cancel.cancel();
            std::future::pending().await
        }
    });
    let replies = vec![calls(&[
        ("a", "stare", ""),
        ("b", "stare", ""),
        ("c", "stare", ""),
    ])];
    let mut bench = Bench::with(replies, vec![stare]);
    bench.cancel = cancel;
    bench.agent.settings.parallel_calls = 1;
    assert_eq!(kind(&bench.say("go").await), "cancelled");
    assert_eq!(bench.ran(), ["a"]);
    let not_started = || failure("cancelled", "The run was stopped before this call began.");
    let expected = pairs([
        (
            "a",
            failure("cancelled", "The call was stopped before it ended."),
        ),
        ("b", not_started()),
        ("c", not_started()),
    ]);
    assert_eq!(bench.results(), expected);
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

/// A record that nests too deep could be written and never parsed again, and the session would be
/// lost.
#[tokio::test]
async fn value_nested_too_deep_is_not_recorded() {
    let deepest = format!("{{\"x\": {}}}", nested(99));
    let too_deep = format!("{{\"x\": {}}}", nested(100));
    let answer = tool("answer", Effect::ReadOnly, Approval::ByEffect)
        .body(|_| std::future::ready(ToolResultOutput::json(nested(101))));
    let edge = tool("edge", Effect::ReadOnly, Approval::ByEffect)
        .body(|_| std::future::ready(ToolResultOutput::json(nested(100))));
    let tools = vec![
        tool("send", Effect::Effectful, Approval::Always),
        answer,
        edge,
    ];
    let reply = calls(&[
        ("a", "send", &too_deep),
        ("b", "answer", ""),
        ("c", "edge", ""),
        ("d", "send", &deepest),
    ]);
    let mut bench = Bench::with(vec![reply], tools);
    let continuation = bench.ask().await;
    let read = serde_json::from_str(&serde_json::to_string(&continuation).unwrap()).unwrap();
    assert_eq!(continuation, read);
    let mut input = (*continuation.calls()[0].input).clone();
    input.insert("y".into(), nested(100));
    let call_id = CallId("d".into());
    let edit = Decision::Edit {
        call_id: call_id.clone(),
        input: input.into(),
    };
    let message = refusal(bench.decide(&continuation, vec![edit]).await);
    assert_eq!(
        message,
        "the edited arguments of call d nest more than 100 levels deep"
    );
    bench
        .decide(&continuation, vec![Decision::approve(call_id)])
        .await;
    let expected = pairs([
        ("a", failure("invalid-input", INVALID)),
        (
            "b",
            failure(
                "invalid-output",
                "the JSON of the result nests more than 100 levels deep",
            ),
        ),
        ("c", ToolResultOutput::json(nested(100))),
        ("d", text(&format!("send {}", deepest.replace(": ", ":")))),
    ]);
    assert_eq!(bench.results(), expected);
    for record in bench.journal.durable() {
        let written = serde_json::to_string(&record).unwrap();
        assert_eq!(
            serde_json::from_str::<agent_host_types::event::EventRecord>(&written).unwrap(),
            record
        );
    }
}

#[tokio::test]
async fn reply_with_metadata_nested_too_deep_is_an_error() {
    let mut reply = says("hi");
    reply.metadata.insert("queue".into(), nested(99));
    let mut bench = Bench::new(vec![reply.clone()]);
    assert_eq!(kind(&bench.say("go").await), "done");
    reply.metadata.insert("queue".into(), nested(100));
    let mut bench = Bench::new(vec![reply, ModelReply::default()]);
    let outcome = bench.say("go").await;
    let message =
        "the model's reply nests more than 100 levels deep; try again, or use another model";
    let error = ModelError::new(ModelErrorKind::Protocol, message);
    assert_eq!(
        outcome.end,
        TurnEnd::Error {
            error: TurnError::Model { error }
        }
    );
    assert_eq!(bench.session.state().messages().len(), 1);
}

/// The provider's raw reply is in the journal, unless it nests too deeply to be parsed again.
#[tokio::test]
async fn raw_reply_is_recorded() {
    for (raw, kept) in [(nested(100), true), (nested(101), false)] {
        let reply = ModelReply {
            raw: Some(raw.clone()),
            ..says("ok")
        };
        let mut bench = Bench::new(vec![reply]);
        assert_eq!(kind(&bench.say("go").await), "done");
        let journaled: Vec<_> = bench
            .journal
            .durable()
            .into_iter()
            .filter_map(|record| match record.event {
                Event::ModelReplied { reply, .. } => Some(reply.raw),
                _ => None,
            })
            .collect();
        assert_eq!(journaled, [kept.then_some(raw)]);
    }
}

/// An adapter may build calls without `ToolCall::parse`; the loop applies the same bound.
#[tokio::test]
async fn arguments_parsed_by_an_adapter_are_bounded() {
    let input = match json!({"x": nested(100)}) {
        Value::Object(map) => Some(map.into()),
        _ => None,
    };
    let call = ToolCall {
        id: CallId("a".into()),
        name: "look".into(),
        input,
        raw_arguments: "…".into(),
    };
    let reply = ModelReply {
        tool_calls: vec![call],
        ..calls(&[])
    };
    let mut bench = Bench::new(vec![reply]);
    bench.say("go").await;
    assert_eq!(
        bench.results(),
        pairs([("a", failure("invalid-input", INVALID))])
    );
}

/// Results that could not be shown or stored are replaced, whichever runner returned them.
#[tokio::test]
async fn invalid_result_becomes_an_error() {
    let file = |data| {
        ContentPart::File(FilePart {
            media_type: "image/png".into(),
            data,
            filename: None,
        })
    };
    let blob = Blob::new(b"x".to_vec()).reference();
    let cases = [
        (
            ToolResultOutput::Content(vec![file(FileData::Bytes(b"GIF89a".to_vec()))]),
            "part 0 of the result is declared as `image/png`, but its bytes are `image/gif`",
        ),
        (
            ToolResultOutput::Content(vec![file(FileData::Blob(blob))]),
            "part 0 of the result refers to a stored blob, which only the host may do",
        ),
    ];
    for (output, message) in cases {
        let draw = tool("draw", Effect::ReadOnly, Approval::ByEffect)
            .body(move |_| std::future::ready(output.clone()));
        let mut bench = Bench::with(vec![calls(&[("a", "draw", "")])], vec![draw]);
        assert_eq!(kind(&bench.say("go").await), "needs-more-turns");
        assert_eq!(
            bench.results(),
            pairs([("a", failure("invalid-output", message))])
        );
        assert_eq!(
            kind(&{
                bench.replies(says("ok"));
                bench.turn(AgentInput::Continue).await
            }),
            "done"
        );
    }
}
