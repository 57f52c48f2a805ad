//! Agents that wait: what comes up, what goes down, and what ends them.

use super::*;
use crate::{
    observer::Unobserved,
    turn::{Actors, TurnContext},
};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

/// An approval inside a child pauses the parent. The decision goes down, once, and the child goes
/// on where it was, also in another process.
#[tokio::test]
async fn approval_inside_a_child_pauses_the_parent() {
    let replies = || vec![calls(&[("a", "act", ""), ("c", "send", "")])];
    for restart in [false, true] {
        let mut family = Family::new(vec![start(), says("done")], replies());
        let outcome = family.parent.say("go").await;
        let (continuation, waiting) = children(&outcome);
        assert_eq!(waiting.len(), 1);
        assert_eq!(
            (waiting[0].call_id.0.as_str(), waiting[0].agent.as_str()),
            ("p", "helper")
        );
        assert_eq!(waiting[0].continuation.calls()[0].tool, "send");
        assert_eq!(family.ran(), Vec::<String>::new());
        family = match restart {
            false => {
                family
                    .model
                    .replies
                    .lock()
                    .unwrap()
                    .push_back(Ok(says("sent")));
                family
            }
            true => family.resumed(vec![says("done")], vec![says("sent")]).await,
        };
        // A session that waits is told so again.
        let again = family.parent.turn(AgentInput::Continue).await;
        assert_eq!(children(&again), (continuation.clone(), waiting.clone()));
        let inputs = || vec![approve(&waiting[0])];
        let given = |inputs| AgentInput::Children {
            continuation: continuation.clone(),
            inputs,
        };
        let outcome = family.parent.turn(given(inputs())).await;
        assert_eq!(kind(&outcome), "needs-more-turns", "{outcome:?}");
        assert_eq!(family.parent.results(), pairs([("p", text("sent"))]));
        assert_eq!(family.ran(), ["a", "c"]);
        let why = refusal(family.parent.turn(given(inputs())).await);
        assert!(
            why.starts_with("nothing is pending in this session"),
            "{why}"
        );
        assert_eq!(
            kind(&family.parent.turn(AgentInput::Continue).await),
            "done"
        );
        let total = outcome.summary.total_usage.input_tokens;
        assert_eq!(total, 3 * USAGE.input_tokens, "{restart}");
    }
}

/// A request of an agent expires as those of the one that started it do. Continuing the parent is
/// enough for the denial.
#[tokio::test]
async fn request_of_a_child_expires_with_those_of_the_parent() {
    let replies = vec![calls(&[("c", "send", "")]), says("then not")];
    let mut family = Family::new(vec![start(), says("done")], replies);
    family.parent.agent.settings.approval_expiry_ms = Some(0);
    let (continuation, _) = children(&family.parent.say("go").await);
    assert!(continuation.first_expiry_ms().is_some());
    let outcome = family.parent.turn(AgentInput::Continue).await;
    assert_eq!(kind(&outcome), "needs-more-turns", "{outcome:?}");
    assert_eq!(family.ran(), Vec::<String>::new());
    assert_eq!(family.parent.results(), pairs([("p", text("then not"))]));
}

/// A refused input records nothing on either level, and the right one still works.
#[tokio::test]
async fn refused_input_leaves_every_level_as_it_was() {
    let mut family = Family::new(
        vec![start()],
        vec![calls(&[("c", "send", "")]), says("sent")],
    );
    let outcome = family.parent.say("go").await;
    let (continuation, waiting) = children(&outcome);
    let before = (
        family.parent.journal.durable(),
        family.journals.only().durable(),
    );
    let with = |call: &str, input: AgentInput| ChildInput {
        call_id: CallId(call.into()),
        input,
    };
    let resume = |decisions| AgentInput::Resume {
        continuation: waiting[0].continuation.clone(),
        decisions,
    };
    let right = approve(&waiting[0]);
    let mut forged = waiting[0].continuation.clone();
    forged.turn += 1;
    let cases = [
        (
            vec![with("x", right.input.clone())],
            "no agent of call x is waiting",
        ),
        (
            vec![right.clone(), right.clone()],
            "call p was given two inputs",
        ),
        (
            vec![with("p", resume(Vec::new()))],
            "1 calls are pending but 0 decisions were given; give one for each, in order",
        ),
        (
            vec![with("p", AgentInput::Text("hi".into()))],
            "a waiting agent takes decisions, an answer or results",
        ),
        (
            vec![with(
                "p",
                AgentInput::Answer {
                    continuation: waiting[0].continuation.clone(),
                    answer: Answer::Cancelled,
                },
            )],
            "a continuation of kind `confirm` cannot be resumed with an answer",
        ),
    ];
    for (inputs, expected) in cases {
        let input = AgentInput::Children {
            continuation: continuation.clone(),
            inputs,
        };
        assert_eq!(refusal(family.parent.turn(input).await), expected);
    }
    let input = AgentInput::Children {
        continuation: continuation.clone(),
        inputs: vec![with(
            "p",
            AgentInput::Resume {
                continuation: forged,
                decisions: vec![Decision::approve(CallId("c".into()))],
            },
        )],
    };
    let why = refusal(family.parent.turn(input).await);
    assert!(why.contains("was altered"), "{why}");
    let after = (
        family.parent.journal.durable(),
        family.journals.only().durable(),
    );
    assert_eq!(after, before);
    let input = AgentInput::Children {
        continuation,
        inputs: vec![right],
    };
    assert_eq!(kind(&family.parent.turn(input).await), "needs-more-turns");
    assert_eq!(family.parent.results(), pairs([("p", text("sent"))]));
}

/// Of two agents that wait, one is answered and the other waits on; then both have their results,
/// in the order of the calls.
#[tokio::test]
async fn two_children_wait_and_are_answered_one_by_one() {
    let reply = calls(&[("p", "agent_one", START), ("q", "agent_two", START)]);
    let mut parent = Bench::new(vec![reply]);
    let asks = |id: &str, then: &str| Bench::new(vec![calls(&[(id, "send", "")]), says(then)]);
    let (one, two) = (asks("a", "first"), asks("b", "second"));
    let agents = vec![("one", one.agent.clone()), ("two", two.agent.clone())];
    parent.adopt(agents, Arc::default());
    let (continuation, waiting) = children(&parent.say("go").await);
    let agents: Vec<&str> = waiting.iter().map(|child| child.agent.as_str()).collect();
    assert_eq!(agents, ["one", "two"]);
    let input = AgentInput::Children {
        continuation: continuation.clone(),
        inputs: vec![approve(&waiting[1])],
    };
    let (next, left) = children(&parent.turn(input).await);
    assert_eq!(left, waiting[..1]);
    assert_ne!(next.request, continuation.request);
    let stale = AgentInput::Children {
        continuation,
        inputs: vec![approve(&waiting[0])],
    };
    let why = refusal(parent.turn(stale).await);
    assert!(
        why.starts_with("this continuation is not the pending one"),
        "{why}"
    );
    let input = AgentInput::Children {
        continuation: next,
        inputs: vec![approve(&waiting[0])],
    };
    assert_eq!(kind(&parent.turn(input).await), "needs-more-turns");
    let expected = pairs([("p", text("first")), ("q", text("second"))]);
    assert_eq!(parent.results(), expected);
    assert_eq!((one.ran(), two.ran()), (vec!["a".into()], vec!["b".into()]));
}

/// A question of a grandchild comes up, and its answer goes down two levels.
#[tokio::test]
async fn question_of_a_grandchild_is_answered_through_both() {
    let question = Question {
        prompt: "Which?".into(),
        choices: Vec::new(),
        free_text: true,
        multiple: false,
        form: None,
    };
    let asked = question.clone();
    let ask = tool("ask", Effect::ReadOnly, Approval::Never).ends(move |_| {
        crate::tool::RunEnd::Asked(PendingQuestion {
            question: asked.clone(),
            answered_by: AnsweredBy::Result,
            accounting: Default::default(),
            audit: Vec::new(),
        })
    });
    let grandchild = Bench::with(
        vec![calls(&[("c", "ask", "")]), says("blue it is")],
        vec![ask],
    );
    let mut child = Bench::new(vec![
        calls(&[("b", "agent_inner", START)]),
        says("we chose blue"),
    ]);
    let journals = Arc::<TestJournals>::default();
    child.adopt(vec![("inner", grandchild.agent.clone())], journals.clone());
    let mut parent = Bench::new(vec![calls(&[("a", "agent_outer", START)])]);
    parent.adopt(vec![("outer", child.agent.clone())], journals);
    let (continuation, waiting) = children(&parent.say("go").await);
    let Awaiting::Children { children: inner } = &waiting[0].continuation.awaiting else {
        panic!("{waiting:?}");
    };
    let down = AgentInput::Answer {
        continuation: inner[0].continuation.clone(),
        answer: Answer::Text {
            text: "blue".into(),
        },
    };
    let input = |continuation: &Continuation, call: &str, input| AgentInput::Children {
        continuation: continuation.clone(),
        inputs: vec![ChildInput {
            call_id: CallId(call.into()),
            input,
        }],
    };
    let middle = input(&waiting[0].continuation, "b", down);
    let outcome = parent.turn(input(&continuation, "a", middle)).await;
    assert_eq!(kind(&outcome), "needs-more-turns", "{outcome:?}");
    assert_eq!(parent.results(), pairs([("a", text("we chose blue"))]));
    // One model call of the parent, two of each child.
    let total = outcome.summary.total_usage.input_tokens;
    assert_eq!(total, 5 * USAGE.input_tokens);
    assert_eq!(
        outcome.summary.children[0].usage.input_tokens,
        4 * USAGE.input_tokens
    );
}

/// A new message answers the call of an agent that waits, and ends its session.
#[tokio::test]
async fn new_message_ends_agents_that_wait() {
    let mut family = Family::new(vec![start()], vec![calls(&[("c", "send", "")])]);
    children(&family.parent.say("go").await);
    family.parent.replies(says("then not"));
    assert_eq!(kind(&family.parent.say("stop").await), "done");
    let messages = family.parent.session.state().all_messages().unwrap();
    let stopped = "The agent was stopped: the user sent a new message first.";
    assert_eq!(
        messages[2].tool_results[0].output,
        failure("cancelled", stopped)
    );
    let child = family.child().await;
    assert_eq!(child.state().last_report().unwrap().end, TurnEnd::Cancelled);
    assert!(child.state().batch().is_empty());
    assert_eq!(family.ran(), Vec::<String>::new());
}

/// A child that cannot ask denies what would wait.
#[tokio::test]
async fn child_that_is_not_interactive_denies() {
    let mut family = Family::new(
        vec![start()],
        vec![calls(&[("c", "send", "")]), says("not sent")],
    );
    family.parent.agent.settings.prompts = crate::turn::Prompts::Deny;
    assert_eq!(kind(&family.parent.say("go").await), "needs-more-turns");
    assert_eq!(family.parent.results(), pairs([("p", text("not sent"))]));
    assert_eq!(family.ran(), Vec::<String>::new());
    let child = family.child().await;
    let denied = child.state().all_messages().unwrap()[2].tool_results[0]
        .output
        .clone();
    assert!(
        matches!(denied, ToolResultOutput::ExecutionDenied(_)),
        "{denied:?}"
    );
    assert_eq!(
        child.state().usage(),
        Usage {
            input_tokens: 20,
            output_tokens: 10,
            cached_input_tokens: 4,
            ..Usage::default()
        }
    );
}

/// A cancelled turn ends agents that wait.
#[tokio::test]
async fn cancelled_turn_ends_agents_that_wait() {
    let mut family = Family::new(vec![start()], vec![calls(&[("c", "send", "")])]);
    children(&family.parent.say("go").await);
    family.parent.cancel.cancel();
    let outcome = family.parent.turn(AgentInput::Continue).await;
    assert_eq!(outcome.end, TurnEnd::Cancelled);
    let child = family.child().await;
    assert_eq!(child.state().last_report().unwrap().end, TurnEnd::Cancelled);
    assert!(child.state().batch().is_empty());
}

/// A crash between the agent's record of a decision and its parent's: the parent is behind, refuses
/// the decision that was taken, and continues by itself.
#[tokio::test]
async fn parent_that_is_behind_its_agent_goes_on() {
    let mut family = Family::new(
        vec![start(), says("done")],
        vec![calls(&[("c", "send", "")]), says("sent")],
    );
    let (continuation, waiting) = children(&family.parent.say("go").await);
    let is_behind = family
        .parent
        .agent
        .is_behind_children(&family.parent.session);
    assert_eq!(is_behind.await, Ok(false));
    let mut child = Session::resume(family.journals.only()).await.unwrap();
    let decided = AgentInput::Resume {
        continuation: waiting[0].continuation.clone(),
        decisions: vec![Decision::approve(CallId("c".into()))],
    };
    let cancel = CancellationToken::new();
    let cx = TurnContext {
        observer: &Unobserved,
        approvals: &[],
        cancel: &cancel,
        drain: &cancel,
        actors: Actors::default(),
    };
    let mut agent = family.child.clone();
    agent.key = family.parent.agent.key.clone();
    let report = agent.run_turn(&mut child, decided, &cx).await;
    assert_eq!(kind(&report), "needs-more-turns", "{report:?}");
    drop(child);
    let is_behind = family
        .parent
        .agent
        .is_behind_children(&family.parent.session);
    assert_eq!(is_behind.await, Ok(true));
    let again = AgentInput::Children {
        continuation,
        inputs: vec![approve(&waiting[0])],
    };
    let why = refusal(family.parent.turn(again).await);
    assert!(
        why.starts_with("nothing is pending in this session"),
        "{why}"
    );
    let went_on = family.parent.turn(AgentInput::Continue).await;
    assert_eq!(kind(&went_on), "needs-more-turns", "{went_on:?}");
    assert_eq!(family.parent.results(), pairs([("p", text("sent"))]));
    assert_eq!(family.ran(), ["c"]);
}
