//! The journal's barriers: how many a turn has, and that nothing continues after a failed one.

use super::harness::*;
use crate::tool::{CallReport, SessionChange};
use agent_host_types::{
    approval::{Decision, Remember, RememberScope, RememberWhat},
    event::Event,
    id::CallId,
    message::{Message, Role},
    model::ModelReply,
    tool::{Approval, Effect},
    turn::{AgentInput, Durability, TurnEnd, TurnError, TurnReport},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, atomic::Ordering},
};

fn disk_full() -> TurnEnd {
    let message = "the disk is full".into();
    TurnEnd::Error {
        error: TurnError::Journal { message },
    }
}

/// A turn has at most two barriers, and one more for each call that is not read-only. Strict
/// durability adds one after the reply, and two around each group of calls where there was none.
#[tokio::test]
async fn turn_has_two_barriers_and_one_per_effect() {
    let cases: [(ModelReply, u64, u64); 6] = [
        (says("hi"), 2, 3),
        (
            calls(&[("a", "look", ""), ("b", "peek", ""), ("c", "look", "")]),
            2,
            5,
        ),
        (calls(&[("a", "act", "")]), 3, 5),
        (calls(&[("a", "put", "")]), 3, 5),
        (
            calls(&[("a", "act", ""), ("b", "look", ""), ("c", "act", "")]),
            4,
            9,
        ),
        (calls(&[("a", "missing", ""), ("b", "act", "[]")]), 2, 3),
    ];
    for (reply, turn, strict) in cases {
        for (durability, barriers) in [(Durability::Turn, turn), (Durability::Strict, strict)] {
            let mut bench = Bench::new(vec![reply.clone()]);
            bench.agent.settings.durability = durability;
            let report = bench.say("go").await;
            assert_eq!(report.summary.durability, durability);
            assert_eq!(
                bench.journal.barriers(),
                barriers,
                "{durability:?}: {reply:?}"
            );
            assert_eq!(*bench.ran.premature.lock().unwrap(), Vec::new());
        }
    }
}

/// The sender of a message to a long conversation does not wait for the request that is made of
/// it.
#[tokio::test]
async fn input_of_a_long_conversation_is_durable_first() {
    for (earlier, barriers) in [(1_023, 2), (1_024, 3)] {
        let mut bench = Bench::new(vec![says("hi")]);
        for _ in 0..earlier {
            let message = Message::text(Role::User, "before");
            let received = Event::InputReceived {
                message,
                labels: Vec::new(),
                by: None,
            };
            bench.session.record(received, Vec::new());
        }
        bench.say("go").await;
        assert_eq!(bench.journal.barriers(), barriers, "{earlier}");
    }
}

/// The use of a decision becomes durable with the first intent; alone it needs a barrier only if
/// something runs by it.
#[tokio::test]
async fn decision_is_durable_before_what_it_allows() {
    let call_id = || CallId("a".into());
    let cases = [
        (Decision::approve(call_id()), 2),
        (
            Decision::Reject {
                call_id: call_id(),
                reason: None,
            },
            1,
        ),
    ];
    for (decision, barriers) in cases {
        let mut bench = Bench::new(vec![calls(&[("a", "send", "")])]);
        let continuation = bench.ask().await;
        assert_eq!(bench.journal.barriers(), 2);
        bench.decide(&continuation, vec![decision]).await;
        assert_eq!(bench.journal.barriers(), 2 + barriers);
        assert_eq!(*bench.ran.premature.lock().unwrap(), Vec::new());
    }
    // An approved read-only call also waits for its decision.
    let tools = || vec![tool("look", Effect::ReadOnly, Approval::Always)];
    let mut bench = Bench::with(vec![calls(&[("a", "look", "")])], tools());
    let continuation = bench.ask().await;
    bench.journal.fails_from.store(3, Ordering::SeqCst);
    let outcome = bench
        .decide(&continuation, vec![Decision::approve(call_id())])
        .await;
    assert_eq!(outcome.end, disk_full());
    assert_eq!(bench.ran(), Vec::<String>::new());
}

/// The journal fails at the n-th barrier of a conversation with three effectful calls, for every n:
/// the turn reports it, nothing ran whose intent is not durable, and after a restart nothing that
/// ran runs again.
#[tokio::test]
async fn failed_barrier_stops_the_turn() {
    let replies = || {
        vec![
            calls(&[("a", "act", ""), ("b", "look", ""), ("c", "send", "")]),
            calls(&[("d", "act", "")]),
            says("done"),
        ]
    };
    let mut total = 0;
    for fails_from in 1.. {
        let mut bench = Bench::new(replies());
        bench.journal.fails_from.store(fails_from, Ordering::SeqCst);
        let last = drive(&mut bench).await;
        assert_eq!(
            *bench.ran.premature.lock().unwrap(),
            Vec::new(),
            "barrier {fails_from}"
        );
        let durable = bench.journal.durable();
        assert_eq!(*bench.observer.records.lock().unwrap(), durable);
        if kind(&last) == "done" {
            total = fails_from - 1;
            break;
        }
        assert_eq!(last.end, disk_full());
        if durable.is_empty() {
            assert_eq!(bench.ran(), Vec::<String>::new());
            continue;
        }
        let asked = durable
            .iter()
            .filter(|record| matches!(record.event, Event::ModelReplied { .. }))
            .count();
        let rest = replies().into_iter().skip(asked).collect();
        let mut again = Bench::resume(&bench.journal, rest, standard()).await;
        assert_eq!(
            kind(&drive_on(&mut again).await),
            "done",
            "barrier {fails_from}"
        );
        let mut runs: HashMap<String, u32> = HashMap::new();
        for id in bench.ran().into_iter().chain(again.ran()) {
            *runs.entry(id).or_default() += 1;
        }
        // The read-only call may run again; no other may.
        runs.remove("b");
        assert!(
            runs.values().all(|count| *count == 1),
            "barrier {fails_from}: {runs:?}"
        );
        let answered = again
            .session
            .state()
            .messages()
            .iter()
            .flat_map(|message| &message.tool_results);
        assert_eq!(answered.count(), 4, "barrier {fails_from}");
    }
    // The request and the pause; two intents and the end; the request, one intent and the end; the
    // request and the answer.
    assert_eq!(total, 10);
}

/// Sends a message and runs to the end, approving everything.
async fn drive(bench: &mut Bench) -> TurnReport {
    let outcome = bench.say("go").await;
    drive_from(bench, outcome).await
}

async fn drive_on(bench: &mut Bench) -> TurnReport {
    let outcome = bench.turn(AgentInput::Continue).await;
    drive_from(bench, outcome).await
}

async fn drive_from(bench: &mut Bench, mut outcome: TurnReport) -> TurnReport {
    loop {
        outcome = match outcome.end {
            TurnEnd::NeedsMoreTurns => bench.turn(AgentInput::Continue).await,
            TurnEnd::AwaitingConfirmation { continuation, .. } => {
                let approve = |call: &agent_host_types::continuation::PendingCall| {
                    Decision::approve(call.call_id.clone())
                };
                let decisions = continuation.calls().iter().map(approve).collect();
                bench.decide(&continuation, decisions).await
            }
            TurnEnd::Done { .. }
            | TurnEnd::Halted { .. }
            | TurnEnd::BudgetExceeded { .. }
            | TurnEnd::Refusal { .. }
            | TurnEnd::Cancelled
            | TurnEnd::AwaitingAnswer { .. }
            | TurnEnd::PendingToolCalls { .. }
            | TurnEnd::AwaitingChildren { .. }
            | TurnEnd::Error { .. } => return outcome,
        };
    }
}

/// After a failed barrier the model is not shown a result that is not durable, even if the caller
/// continues. Once the journal works again, the same session resumes without running anything
/// twice.
#[tokio::test]
async fn model_is_never_shown_an_undurable_result() {
    let mut bench = Bench::new(vec![calls(&[("a", "act", "")]), says("done")]);
    bench.journal.fails_from.store(3, Ordering::SeqCst);
    assert_eq!(bench.say("go").await.end, disk_full());
    assert_eq!(bench.ran(), ["a"]);
    for _ in 0..2 {
        assert_eq!(bench.turn(AgentInput::Continue).await.end, disk_full());
    }
    assert_eq!(bench.requests().len(), 1);
    bench.journal.fails_from.store(0, Ordering::SeqCst);
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
    assert_eq!((bench.ran().len(), bench.requests().len()), (1, 2));
    assert_eq!(
        *bench.observer.records.lock().unwrap(),
        bench.journal.durable()
    );
}

/// The observer receives each record once, in order, and never before it is durable.
#[tokio::test]
async fn observer_receives_each_record_once_after_its_barrier() {
    let mut bench = Bench::new(vec![
        calls(&[("a", "look", ""), ("b", "send", ""), ("c", "act", "")]),
        says("done"),
    ]);
    assert_eq!(kind(&drive(&mut bench).await), "done");
    assert_eq!(*bench.observer.premature.lock().unwrap(), Vec::<u64>::new());
    let heard = bench.observer.records.lock().unwrap();
    assert_eq!(*heard, bench.journal.durable());
    let places: Vec<u64> = heard.iter().map(|record| record.seq).collect();
    assert_eq!(places, (0..heard.len() as u64).collect::<Vec<_>>());
}

/// The state replayed from the journal equals the state in memory.
#[tokio::test]
async fn replayed_state_equals_the_live_state() {
    let mut bench = Bench::new(vec![
        calls(&[("a", "look", ""), ("b", "send", ""), ("c", "none", "")]),
        says("done"),
    ]);
    let continuation = bench.ask().await;
    let again = Bench::resume(&bench.journal, Vec::new(), standard()).await;
    assert_eq!(again.session.state(), bench.session.state());
    bench
        .decide(&continuation, vec![Decision::approve(CallId("b".into()))])
        .await;
    bench.turn(AgentInput::Continue).await;
    let again = Bench::resume(&bench.journal, Vec::new(), standard()).await;
    assert_eq!(again.session.state(), bench.session.state());
}

/// A journal that writes before the barrier, such as one with a full queue, may stop between any
/// two appends. Records that are meaningless alone are appended together: a result with its merges,
/// a decision with its remembered approvals, the intent of an external call with the request that
/// its result consumes.
#[tokio::test]
async fn dependent_records_are_appended_together() {
    let merge = |name: &str| Map::from_iter([(name.to_owned(), json!(1))]);
    let merges = vec![
        SessionChange::Merge(merge("a")),
        SessionChange::Merge(merge("b")),
    ];
    let keep = tool("keep", Effect::Effectful, Approval::Always).ends(move |_| {
        CallReport {
            changes: merges.clone(),
            ..CallReport::of(text("kept"))
        }
        .into()
    });
    let pay = tool("pay", Effect::Effectful, Approval::Never).outside();
    let batch = [("a", "keep", ""), ("b", "pay", ""), ("c", "pay", "")];
    let mut bench = Bench::with(vec![calls(&batch)], vec![keep, pay]);
    let continuation = bench.ask().await;
    let approve = Decision::Approve {
        call_id: CallId("a".into()),
        remember: Some(Remember {
            what: RememberWhat::Tool,
            scope: RememberScope::Session,
        }),
    };
    let outcome = bench.decide(&continuation, vec![approve]).await;
    assert_eq!(kind(&outcome), "pending-tool-calls");
    let expected: [&[&str]; 11] = [
        &["session-started"],
        &["input-received"],
        &["model-requested"],
        &["model-replied"],
        &["approval-requested"],
        &["turn-ended"],
        &["decision-recorded", "approval-remembered"],
        &["call-intended"],
        &["call-settled", "state-merged", "state-merged"],
        &["call-intended", "call-intended", "calls-dispatched"],
        &["turn-ended"],
    ];
    assert_eq!(bench.journal.kinds_together(), expected);
}

/// A host that loses its claim stops what runs: another may run it, and nothing of it can be
/// recorded.
#[tokio::test]
async fn lost_claim_stops_the_calls_of_a_turn() {
    let journal: Arc<OnceLock<Arc<TestJournal>>> = Arc::default();
    let claimed = Arc::clone(&journal);
    let look = tool("look", Effect::ReadOnly, Approval::ByEffect).body(move |_| {
        // As a store that can write nothing more of the session.
        let journal = claimed.get().unwrap();
        journal.fails_from.store(1, Ordering::SeqCst);
        journal.lost.cancel();
        std::future::pending()
    });
    let mut bench = Bench::with(vec![calls(&[("a", "look", "")])], vec![look]);
    assert!(journal.set(Arc::clone(&bench.journal)).is_ok());
    assert_eq!(bench.say("go").await.end, disk_full());
}
