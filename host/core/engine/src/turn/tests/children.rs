//! Agents as child sessions: results, approvals inside, crashes, budgets, cancellation.

mod drained;
mod family;
mod halt;
mod waiting;

use super::harness::*;
use crate::{
    BoxFuture,
    policy::{CallRule, NameGlob, RuleDecision},
    session::Session,
    tool::{CallReport, SessionChange},
    turn::{Agent, UntilEnd, UntilTool},
};
use agent_host_types::{
    approval::Decision,
    budget::Budget,
    continuation::{Awaiting, Continuation},
    event::{Event, ParentCall},
    id::CallId,
    model::{ModelReply, StopReason, Usage},
    output::ToolResultOutput,
    question::{Answer, AnsweredBy, PendingQuestion, Question},
    tool::{Approval, Effect},
    turn::{AgentInput, ChildInput, TurnEnd},
};
pub(super) use family::{Family, TestJournals, approve, children};
use family::{START, start};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};
use std::sync::{Arc, atomic::Ordering};

/// The end of a child's session, and the result of the parent's call.
#[tokio::test]
async fn result_of_the_call_is_how_the_agent_ended() {
    let until = |agent: &mut Agent| {
        agent.settings.until_tool = Some(UntilTool {
            tools: vec!["act".into()],
            end: UntilEnd::FirstSuccess,
        });
    };
    let turns = |agent: &mut Agent| agent.settings.budgets.turns = 1;
    type Change = fn(&mut Agent);
    let refusal = ModelReply {
        stop_reason: Some(StopReason::Refusal),
        ..says("I will not.")
    };
    let act = || calls(&[("a", "act", "")]);
    let cases: Vec<(Vec<ModelReply>, Change, ToolResultOutput)> = vec![
        (vec![act(), says("found it")], |_| {}, text("found it")),
        (vec![act()], until, text("act {}")),
        (vec![refusal], |_| {}, denied("I will not.")),
        (
            vec![ModelReply {
                text: "so far".into(),
                ..act()
            }],
            turns,
            ToolResultOutput::error_json(json!({
                "code": "agent-budget",
                "message": "The agent used up its budget (turns) before it had its result.",
                "partial": "so far",
            })),
        ),
        (
            vec![],
            |_| {},
            ToolResultOutput::error_json(json!({
                "code": "agent-failed",
                "message": "The agent ended without a result: the queue is empty.",
            })),
        ),
    ];
    for (replies, change, expected) in cases {
        let parent = Bench::new(vec![start(), says("done")]);
        let mut family = Family::with(parent, Arc::default(), replies, standard(), change);
        let outcome = family.parent.say("go").await;
        assert_eq!(kind(&outcome), "needs-more-turns", "{expected:?}");
        assert_eq!(family.parent.results(), pairs([("p", expected)]));
        let children = outcome.summary.children;
        assert_eq!(children.len(), 1);
        assert_eq!(
            kind(&family.parent.turn(AgentInput::Continue).await),
            "done"
        );
    }
}

/// The child has its own prompt and the instructions, and nothing of the parent's conversation; the
/// parent has the result alone.
#[tokio::test]
async fn child_has_a_fresh_conversation() {
    let input = r#"{"instructions": "look around", "context": {"depth": 2}}"#;
    let reply = calls(&[("p", "agent_helper", input)]);
    let mut family = Family::new(vec![reply, says("done")], vec![says("found it")]);
    family.parent.say("a secret").await;
    let request = family.model.requests.lock().unwrap()[0].clone();
    assert_eq!(request.system.as_deref(), Some("You help."));
    let messages: Vec<_> = request
        .messages
        .iter()
        .map(|message| message.content.clone())
        .collect();
    let asked = "look around\n\n[context]\n{\n  \"depth\": 2\n}";
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0][0].text(), Some(asked));
    let names: Vec<&str> = request
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(names, ["look", "peek", "put", "act", "send"]);
    let kinds = family.parent.kinds();
    let expected = [
        "session-started",
        "input-received",
        "model-requested",
        "model-replied",
        "call-intended",
        "agent-spawned",
        "call-settled",
        "turn-ended",
    ];
    assert_eq!(kinds, expected);
    let records = family.journals.only().durable();
    let Event::SessionStarted { parent, .. } = &records[0].event else {
        panic!("{records:?}");
    };
    let of = ParentCall {
        session: family.parent.session.id(),
        call_id: CallId("p".into()),
    };
    assert_eq!(parent, &Some(of));
}

/// The child sees the shared state, and its changes reach the parent with a success alone.
#[tokio::test]
async fn shared_state_is_a_snapshot_that_merges_with_success() {
    let merge = |name: &str| Map::from_iter([(name.to_owned(), json!({"seen": true}))]);
    let keeper = |name: &'static str| {
        tool(name, Effect::Effectful, Approval::Never).ends(move |invocation| {
            CallReport {
                changes: vec![SessionChange::Merge(merge(name))],
                ..CallReport::of(ToolResultOutput::json(json!(*invocation.shared)))
            }
            .into()
        })
    };
    for (last, expected) in [
        (
            Some(says("ok")),
            json!({"outer": {"seen": true}, "inner": {"seen": true}}),
        ),
        (None, json!({"outer": {"seen": true}})),
    ] {
        let reply = calls(&[("k", "outer", ""), ("p", "agent_helper", START)]);
        let parent = Bench::with(vec![reply], vec![keeper("outer")]);
        let replies = [Some(calls(&[("c", "inner", "")])), last];
        let replies = replies.into_iter().flatten().collect();
        let mut family = Family::with(
            parent,
            Arc::default(),
            replies,
            vec![keeper("inner")],
            |_| {},
        );
        family.parent.say("go").await;
        assert_eq!(json!(**family.parent.session.state().shared()), expected);
        let child = family.child().await;
        let seen = child.state().all_messages().unwrap();
        let seen = seen[2].tool_results[0].output.clone();
        assert_eq!(
            seen,
            ToolResultOutput::json(json!({"outer": {"seen": true}}))
        );
    }
}

/// The child's journal fails at each of its barriers in turn, and then the parent's: the turn
/// stops, and after a restart both go on, without a second run of anything effectful.
#[tokio::test]
async fn crash_at_any_barrier_resumes_parent_and_child() {
    let of_child = || {
        vec![
            calls(&[("a", "act", ""), ("b", "act", "")]),
            says("found it"),
        ]
    };
    let of_parent = || vec![start(), says("done")];
    let mut crashes = 0;
    for (level, barrier) in (0..2).flat_map(|level| (1..12).map(move |barrier| (level, barrier))) {
        let mut family = Family::new(of_parent(), of_child());
        if level == 0 {
            family
                .parent
                .journal
                .fails_from
                .store(barrier, Ordering::SeqCst);
        } else {
            let id = family
                .parent
                .agent
                .key
                .child(family.parent.session.id(), &CallId("p".into()));
            let journal = TestJournal::new(id);
            journal.fails_from.store(barrier, Ordering::SeqCst);
            family.journals.opened.lock().unwrap().insert(id, journal);
        }
        let mut outcome = family.parent.say("go").await;
        while kind(&outcome) == "needs-more-turns" {
            outcome = family.parent.turn(AgentInput::Continue).await;
        }
        if kind(&outcome) == "done" {
            continue;
        }
        assert_eq!(kind(&outcome), "error", "{level} {barrier}");
        crashes += 1;
        if family.parent.journal.durable().is_empty() {
            continue;
        }
        let asked = |journal: &TestJournal| {
            let records = journal.durable();
            let replied = |record: &agent_host_types::event::EventRecord| {
                matches!(record.event, Event::ModelReplied { .. })
            };
            records.into_iter().filter(replied).count()
        };
        let left: Vec<ModelReply> = of_parent()
            .into_iter()
            .skip(asked(&family.parent.journal))
            .collect();
        let opened: Vec<_> = family
            .journals
            .opened
            .lock()
            .unwrap()
            .values()
            .cloned()
            .collect();
        let replied = opened.first().map_or(0, |journal| asked(journal));
        let left_of_child = of_child().into_iter().skip(replied).collect();
        let mut again = family.resumed(left, left_of_child).await;
        let mut outcome = again.parent.turn(AgentInput::Continue).await;
        while kind(&outcome) == "needs-more-turns" {
            outcome = again.parent.turn(AgentInput::Continue).await;
        }
        assert_eq!(kind(&outcome), "done", "{level} {barrier}: {outcome:?}");
        let mut runs = family.ran();
        runs.extend(again.ran());
        runs.sort();
        let doubtful = again.child().await.state().all_messages().unwrap()[2]
            .tool_results
            .iter()
            .filter(|result| result.output.is_error())
            .count();
        assert_eq!(
            runs.iter().collect::<std::collections::BTreeSet<_>>().len(),
            runs.len()
        );
        assert!(runs.len() + doubtful >= 2, "{level} {barrier}: {runs:?}");
    }
    // The parent: the request, the agent, the end; the request, the end. The child: the request,
    // two calls, the end; the request, the end.
    assert_eq!(crashes, 11);
}

/// The tokens and calls of a child count as its parent's, and each of several has an even share of
/// the rest.
#[tokio::test]
async fn budgets_of_the_parent_bound_its_children() {
    let mut family = Family::new(
        vec![start(), says("done")],
        vec![calls(&[("a", "look", "")]), says("ok")],
    );
    family.parent.agent.settings.budgets.tokens = Some(45);
    assert_eq!(kind(&family.parent.say("go").await), "needs-more-turns");
    let outcome = family.parent.turn(AgentInput::Continue).await;
    let budget = Budget::Tokens {
        limit: 45,
        used: 45,
    };
    assert_eq!(outcome.end, TurnEnd::BudgetExceeded { budget });

    let looks = || {
        (0..9)
            .map(|n| calls(&[(&format!("c{n}"), "look", &format!("{{\"n\": {n}}}"))]))
            .collect()
    };
    let reply = calls(&[("p", "agent_one", START), ("q", "agent_two", START)]);
    let mut parent = Bench::new(vec![reply]);
    let (one, two) = (Bench::new(looks()), Bench::new(looks()));
    let agents = vec![("one", one.agent.clone()), ("two", two.agent.clone())];
    parent.adopt(agents, Arc::default());
    parent.agent.settings.budgets.tool_calls = Some(6);
    parent.say("go").await;
    // The two calls of the parent are no part of what is left when they start.
    assert_eq!((one.ran().len(), two.ran().len()), (2, 2));
    for (_, output) in parent.results() {
        let ToolResultOutput::ErrorJson(json) = output else {
            panic!("{output:?}");
        };
        assert_eq!(json.to_value()["code"], "agent-budget");
    }
}

/// Cancelling the parent cancels the child: its calls are answered, and it can be read.
#[tokio::test]
async fn cancelled_parent_cancels_its_child() {
    let mut family = Family::new(vec![start()], vec![]);
    let cancel = family.parent.cancel.clone();
    *family.model.cancel_when_asked.lock().unwrap() = Some(cancel);
    let outcome = family.parent.say("go").await;
    assert_eq!(outcome.end, TurnEnd::Cancelled);
    let results = family.parent.results();
    let message = "The call was stopped before it ended. Whether it took effect is not known.";
    assert_eq!(results, pairs([("p", failure("cancelled", message))]));
    let child = family.child().await;
    assert_eq!(child.state().last_report().unwrap().end, TurnEnd::Cancelled);
}

/// The rules about the calls of the parent hold for its agents, by their names; no agent brings
/// rules of its own.
#[tokio::test]
async fn rules_of_the_parent_hold_for_its_agents() {
    let rule = |decision, tool: &str, agent: &str| CallRule {
        name: format!("rule.{tool}"),
        decision,
        tools: vec![NameGlob::new(tool).unwrap()],
        agent: Some(NameGlob::new(agent).unwrap()),
        arguments: Vec::new(),
        condition: None,
        reason: Some("Not here".into()),
    };
    let replies = vec![calls(&[("a", "act", ""), ("b", "look", "")]), says("ok")];
    let parent = Bench::new(vec![calls(&[
        ("l", "look", ""),
        ("p", "agent_helper", START),
    ])]);
    let mut family = Family::with(parent, Arc::default(), replies, standard(), |agent| {
        agent.settings.rules = vec![rule(RuleDecision::Allow, "act", "*")].into();
    });
    family.parent.agent.settings.rules = vec![
        rule(RuleDecision::Deny, "look", "help*"),
        rule(RuleDecision::Deny, "act", "helper"),
    ]
    .into();
    assert_eq!(kind(&family.parent.say("go").await), "needs-more-turns");
    assert_eq!(
        (family.parent.ran(), family.ran()),
        (vec!["l".into()], vec![])
    );
    let child = family.child().await;
    let results = child.state().all_messages().unwrap()[2]
        .tool_results
        .clone();
    let denied = results
        .iter()
        .filter(|result| matches!(result.output, ToolResultOutput::ExecutionDenied(_)));
    assert_eq!(denied.count(), 2, "{results:?}");
}
