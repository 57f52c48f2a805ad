//! Sessions reopened after their process died in the middle of a batch.

use super::harness::*;
use crate::{
    policy::CallRule,
    turn::{Actors, Prompts, TurnContext},
};
use agent_host_types::{
    approval::Decision,
    event::Event,
    id::CallId,
    tool::{Approval, Effect},
    turn::AgentInput,
};
use pretty_assertions::assert_eq;
use std::sync::{Arc, atomic::Ordering};

const UNKNOWN: &str = "The host stopped while `act` ran. Whether the call took effect is not known, and it was not repeated. Check before you call it again.";

/// Runs a batch in which the process dies during a call: everything recorded so far is stored,
/// without a result.
pub(super) async fn died_during(
    batch: &[(&str, &str, &str)],
    rules: &Arc<[CallRule]>,
) -> Arc<TestJournal> {
    let tools = standard()
        .into_iter()
        .map(|tool| tool.body(|_| std::future::pending()));
    let mut bench = Bench::with(vec![calls(batch)], tools.collect());
    bench.agent.settings.rules = rules.clone();
    let input = AgentInput::Text("go".into());
    let cx = TurnContext {
        observer: bench.observer.as_ref(),
        approvals: &bench.approvals,
        cancel: &bench.cancel,
        drain: &bench.drain,
        actors: Actors::default(),
    };
    let turn = bench.agent.run_turn(&mut bench.session, input, &cx);
    // The turn hangs in its tool; then nothing more can happen, and dropping it simulates the death
    // of the process.
    let mut turn = Box::pin(turn);
    for _ in 0..64 {
        assert!(futures_util::poll!(&mut turn).is_pending());
        tokio::task::yield_now().await;
    }
    drop(turn);
    // The worst case for a read-only call: its intent was stored without its result.
    crate::journal::Journal::barrier(bench.journal.as_ref())
        .await
        .unwrap();
    bench.journal.clone()
}

/// A read-only or idempotent call runs again with the key of the first attempt; an effectful one
/// never does.
#[tokio::test]
async fn interrupted_calls_are_repeated_only_where_that_is_safe() {
    let cases = [
        ("look", vec!["a"], text("look {}")),
        ("put", vec!["a"], text("put {}")),
        ("act", vec![], failure("interrupted-unknown", UNKNOWN)),
    ];
    for (name, ran, result) in cases {
        let journal = died_during(&[("a", name, "")], &Arc::default()).await;
        let mut bench = Bench::resume(&journal, vec![says("ok")], standard()).await;
        assert_eq!(
            kind(&bench.turn(AgentInput::Continue).await),
            "needs-more-turns",
            "{name}"
        );
        assert_eq!(bench.ran(), ran, "{name}");
        assert_eq!(bench.results(), pairs([("a", result)]));
        let keys: Vec<String> = bench
            .journal
            .durable()
            .into_iter()
            .filter_map(|record| match record.event {
                Event::CallIntended {
                    idempotency_key, ..
                } => Some(idempotency_key),
                _ => None,
            })
            .collect();
        assert_eq!(keys.len(), 1 + ran.len());
        assert!(keys.iter().all(|key| *key == keys[0]));
        assert_eq!(*bench.ran.premature.lock().unwrap(), Vec::new());
    }
}

/// The rest of the batch, which had not started, runs; the turn reports the figures of its reply.
#[tokio::test]
async fn rest_of_an_interrupted_batch_runs() {
    let journal = died_during(
        &[("a", "act", ""), ("b", "act", ""), ("c", "look", "")],
        &Arc::default(),
    )
    .await;
    let mut bench = Bench::resume(&journal, Vec::new(), standard()).await;
    let outcome = bench.turn(AgentInput::Continue).await;
    let summary = outcome.summary;
    assert_eq!(
        (summary.turn, summary.tool_calls, summary.turn_usage),
        (1, 3, USAGE)
    );
    assert_eq!(bench.ran(), ["b", "c"]);
    let expected = pairs([
        ("a", failure("interrupted-unknown", UNKNOWN)),
        ("b", text("act {}")),
        ("c", text("look {}")),
    ]);
    assert_eq!(bench.results(), expected);
}

/// A repeated run needs the same permission as the first one.
#[tokio::test]
async fn repeated_call_passes_the_current_policy() {
    let journal = died_during(&[("a", "look", "")], &Arc::default()).await;
    for (effect, approval, rule) in [
        (Effect::ReadOnly, Approval::Always, "approval.always"),
        (Effect::Effectful, Approval::ByEffect, "effect.effectful"),
    ] {
        let stricter = || vec![tool("look", effect, approval)];
        let mut bench = Bench::resume(&journal, Vec::new(), stricter()).await;
        assert_eq!(
            kind(&bench.turn(AgentInput::Continue).await),
            "awaiting-confirmation"
        );
        let mut bench = Bench::resume(&journal, Vec::new(), stricter()).await;
        bench.agent.settings.prompts = Prompts::Deny;
        bench.turn(AgentInput::Continue).await;
        assert_eq!(bench.ran(), Vec::<String>::new());
        let reason = format!(
            "This call needs the user's approval (rule {rule}), and no one can be asked in this run. To allow such calls, the user can set `approvals` for this tool in agent.toml."
        );
        assert_eq!(bench.results(), pairs([("a", denied(&reason))]));
    }
}

/// A call that was idempotent when it ran, and is not any more, is not repeated, whatever the
/// policy decides.
#[tokio::test]
async fn call_no_longer_idempotent_is_not_repeated() {
    let unknown = UNKNOWN.replace("`act`", "`put`");
    let journal = died_during(&[("a", "put", "")], &Arc::default()).await;
    for approval in [Approval::Never, Approval::ByEffect] {
        let stricter = vec![tool("put", Effect::Effectful, approval)];
        let mut bench = Bench::resume(&journal, Vec::new(), stricter).await;
        let outcome = bench.turn(AgentInput::Continue).await;
        assert_eq!(kind(&outcome), "needs-more-turns");
        assert_eq!(bench.ran(), Vec::<String>::new());
        let result = failure("interrupted-unknown", &unknown);
        assert_eq!(bench.results(), pairs([("a", result)]));
    }
}

/// S15: a message settles the open calls before the model call, each with what is known about it.
#[tokio::test]
async fn message_settles_the_open_calls() {
    let journal = died_during(&[("a", "act", ""), ("b", "look", "")], &Arc::default()).await;
    let mut bench = Bench::resume(&journal, vec![says("ok")], standard()).await;
    assert_eq!(kind(&bench.say("hello?").await), "done");
    assert_eq!(bench.ran(), Vec::<String>::new());
    let shown = &bench.requests()[0].messages;
    let results: Vec<_> = shown[2]
        .tool_results
        .iter()
        .map(|result| result.output.clone())
        .collect();
    let superseded = denied("This call did not run: the user sent a new message first.");
    assert_eq!(
        results,
        [failure("interrupted-unknown", UNKNOWN), superseded]
    );
}

/// The process dies after the decisions are durable and while the approved call runs. The decisions
/// about the other calls still hold, whether the session resumes by itself or with a message.
#[tokio::test]
async fn decisions_hold_after_a_crash() {
    let id = |id: &str| CallId(id.into());
    let mut bench = Bench::new(vec![calls(&[
        ("a", "send", ""),
        ("b", "send", ""),
        ("c", "send", ""),
        ("d", "send", ""),
    ])]);
    let continuation = bench.ask().await;
    let decisions = vec![
        Decision::approve(id("a")),
        Decision::Reject {
            call_id: id("b"),
            reason: Some("no".into()),
        },
        Decision::Respond {
            call_id: id("c"),
            text: "mine".into(),
        },
        Decision::approve(id("d")),
    ];
    // The barrier of the first call's intent is the last that succeeds.
    bench
        .journal
        .fails_from
        .store(bench.journal.barriers() + 2, Ordering::SeqCst);
    assert_eq!(kind(&bench.decide(&continuation, decisions).await), "error");
    let unknown = UNKNOWN.replace("act", "send");

    let mut alone = Bench::resume(&bench.journal, Vec::new(), standard()).await;
    assert_eq!(
        kind(&alone.turn(AgentInput::Continue).await),
        "needs-more-turns"
    );
    assert_eq!(alone.ran(), ["d"]);
    let expected = pairs([
        ("a", failure("interrupted-unknown", &unknown)),
        ("b", denied("no")),
        ("c", text("mine")),
        ("d", text("send {}")),
    ]);
    assert_eq!(alone.results(), expected);

    let mut told = Bench::resume(&bench.journal, vec![says("ok")], standard()).await;
    assert_eq!(kind(&told.say("stop").await), "done");
    assert_eq!(told.ran(), Vec::<String>::new());
    let outputs: Vec<_> = told.requests()[0].messages[2]
        .tool_results
        .iter()
        .map(|result| result.output.clone())
        .collect();
    let superseded = denied("This call did not run: the user sent a new message first.");
    assert_eq!(
        outputs,
        [
            failure("interrupted-unknown", &unknown),
            denied("no"),
            text("mine"),
            superseded
        ]
    );
}

/// A call that will not be repeated is not asked about.
#[tokio::test]
async fn interrupted_effectful_call_requests_no_approval() {
    let journal = died_during(&[("a", "act", "")], &Arc::default()).await;
    let stricter = vec![tool("act", Effect::Effectful, Approval::Always)];
    let mut bench = Bench::resume(&journal, Vec::new(), stricter).await;
    assert_eq!(
        kind(&bench.turn(AgentInput::Continue).await),
        "needs-more-turns"
    );
    assert_eq!(bench.ran(), Vec::<String>::new());
    assert_eq!(
        bench.results(),
        pairs([("a", failure("interrupted-unknown", UNKNOWN))])
    );
}
