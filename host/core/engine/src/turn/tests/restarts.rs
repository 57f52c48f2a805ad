//! Turns during which the program ended: what is lost, what it costs, and how often it happens.

use super::harness::*;
use crate::turn::{UntilEnd, UntilTool};
use agent_host_types::{
    budget::Budget,
    event::Event,
    message::{Role, ToolResult},
    model::ModelReply,
    turn::{AgentInput, Durability, TurnEnd, TurnError},
};
use pretty_assertions::assert_eq;
use std::sync::atomic::Ordering;

/// Runs a turn whose records are durable up to this barrier, and resumes the session elsewhere.
async fn ended_after(
    barriers: u64,
    reply: ModelReply,
    durability: Durability,
    rest: Vec<ModelReply>,
) -> Bench {
    let mut bench = Bench::new(vec![reply]);
    bench.agent.settings.durability = durability;
    ended(&mut bench, barriers, AgentInput::Text("go".into()), rest).await
}

async fn ended(
    bench: &mut Bench,
    barriers: u64,
    input: AgentInput,
    rest: Vec<ModelReply>,
) -> Bench {
    bench
        .journal
        .fails_from
        .store(barriers + 1, Ordering::SeqCst);
    let report = bench.turn(input).await;
    assert_eq!(kind(&report), "error");
    let mut again = Bench::resume(&bench.journal, rest, standard()).await;
    again.agent.settings = bench.agent.settings.clone();
    again
}

/// The estimated size of the last request that is durable.
fn estimated(bench: &Bench) -> u64 {
    let records = bench.journal.durable();
    let mut sizes = records
        .iter()
        .rev()
        .filter_map(|record| match record.event {
            Event::ModelRequested {
                estimated_tokens, ..
            } => Some(estimated_tokens),
            _ => None,
        });
    sizes.next().unwrap()
}

/// The user's message is durable before the model is asked, so a session that died then has it, and
/// the tokens of the lost reply are counted.
#[tokio::test]
async fn lost_reply_counts_towards_the_budgets() {
    let mut bench = ended_after(1, says("lost"), Durability::Turn, vec![says("hi")]).await;
    let lost = estimated(&bench);
    assert!(lost > 0);
    let kinds = ["session-started", "input-received", "model-requested"];
    assert_eq!(bench.kinds(), kinds);
    bench.agent.settings.budgets.turns = 1;
    let report = bench.turn(AgentInput::Continue).await;
    let budget = Budget::Turns { limit: 1 };
    assert_eq!(report.end, TurnEnd::BudgetExceeded { budget });
    assert_eq!(report.summary.total_usage.input_tokens, lost);
    bench.agent.settings.budgets.turns = 2;
    bench.agent.settings.budgets.tokens = Some(lost);
    let report = bench.turn(AgentInput::Continue).await;
    let budget = Budget::Tokens {
        limit: lost,
        used: lost,
    };
    assert_eq!(report.end, TurnEnd::BudgetExceeded { budget });
    bench.agent.settings.budgets.tokens = Some(lost + 1);
    assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
    let again = Bench::resume(&bench.journal, Vec::new(), standard()).await;
    assert_eq!(again.session.state(), bench.session.state());
    let interruptions = bench.kinds();
    let count = interruptions
        .iter()
        .filter(|kind| *kind == "turn-interrupted");
    assert_eq!(count.count(), 1);
}

/// A failed model call is no interruption, and costs nothing.
#[tokio::test]
async fn failed_model_call_is_not_counted_as_lost() {
    let mut bench = Bench::new(vec![]);
    assert_eq!(kind(&bench.say("go").await), "error");
    bench.replies(says("hi"));
    let report = bench.turn(AgentInput::Continue).await;
    assert_eq!(kind(&report), "done");
    assert_eq!(report.summary.total_usage, USAGE);
    assert!(!bench.kinds().contains(&"turn-interrupted".to_owned()));
}

/// A reply that was stored is not asked for again.
#[tokio::test]
async fn recorded_reply_is_continued_without_asking_again() {
    let mut bench = ended_after(2, says("hi"), Durability::Strict, Vec::new()).await;
    let report = bench.turn(AgentInput::Continue).await;
    let end = TurnEnd::Done {
        text: "hi".into(),
        output: None,
        result: None,
    };
    assert_eq!(report.end, end);
    assert_eq!(report.summary.total_usage, USAGE);
    assert_eq!(report.summary.durability, Durability::Strict);
    assert!(bench.requests().is_empty());
    // It has ended now.
    let report = bench.turn(AgentInput::Continue).await;
    assert_eq!(
        refusal(report),
        "the model has given its answer, so there is nothing to continue; send a message"
    );
}

/// A stored reply's calls run; a stored result of a read-only call is not asked for again.
#[tokio::test]
async fn recorded_calls_and_results_are_continued() {
    let reply = || calls(&[("a", "look", ""), ("b", "act", "")]);
    // The request, the reply, before and after each of the calls, the end.
    let cases = [(2, vec!["a", "b"]), (3, vec!["a", "b"]), (4, vec!["b"])];
    for (barriers, ran) in cases {
        let rest = vec![says("hi")];
        let mut bench = ended_after(barriers, reply(), Durability::Strict, rest).await;
        assert_eq!(
            kind(&bench.turn(AgentInput::Continue).await),
            "needs-more-turns"
        );
        assert_eq!(bench.ran(), ran, "barrier {barriers}");
        assert_eq!(kind(&bench.turn(AgentInput::Continue).await), "done");
        assert_eq!(bench.requests().len(), 1);
    }
}

/// A stored result that ends the run ends it after a restart, too.
#[tokio::test]
async fn recorded_result_ends_the_run_after_a_restart() {
    let mut bench = Bench::new(vec![calls(&[("a", "act", "")])]);
    bench.agent.settings.durability = Durability::Strict;
    bench.agent.settings.until_tool = Some(UntilTool {
        tools: vec!["act".into()],
        end: UntilEnd::FirstSuccess,
    });
    let mut again = ended(&mut bench, 4, AgentInput::Text("go".into()), Vec::new()).await;
    let report = again.turn(AgentInput::Continue).await;
    let end = TurnEnd::Done {
        text: String::new(),
        output: None,
        result: Some(ToolResult {
            call_id: agent_host_types::id::CallId("a".into()),
            name: "act".into(),
            output: text("act {}"),
            whole: None,
        }),
    };
    assert_eq!(report.end, end);
    assert!(again.ran().is_empty() && again.requests().is_empty());
}

/// A session that kills the program each time is not resumed for ever; a new message starts anew.
#[tokio::test]
async fn turn_without_progress_stops_after_five_interruptions() {
    let mut bench = ended_after(1, says("lost"), Durability::Turn, vec![says("lost")]).await;
    for _ in 0..5 {
        let rest = vec![says("lost")];
        bench = ended(&mut bench, 1, AgentInput::Continue, rest).await;
    }
    let report = bench.turn(AgentInput::Continue).await;
    let error = TurnError::NoProgress { resumes: 5 };
    assert_eq!(report.end, TurnEnd::Error { error });
    assert!(bench.requests().is_empty());
    assert_eq!(kind(&bench.say("again").await), "done");
    let messages = bench.session.state().messages();
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::User, Role::Assistant]);
}

/// A tool that kills the program is not run for ever either, although it is read-only.
#[tokio::test]
async fn call_without_progress_stops_after_five_interruptions() {
    let reply = calls(&[("a", "look", "")]);
    let mut bench = ended_after(3, reply, Durability::Strict, Vec::new()).await;
    bench.agent.settings.durability = Durability::Turn;
    for _ in 0..5 {
        // The interruption and the intent, then the end.
        bench = ended(&mut bench, 1, AgentInput::Continue, Vec::new()).await;
    }
    let report = bench.turn(AgentInput::Continue).await;
    let error = TurnError::NoProgress { resumes: 5 };
    assert_eq!(report.end, TurnEnd::Error { error });
    assert!(bench.ran().is_empty());
}
