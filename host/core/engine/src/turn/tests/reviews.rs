//! Reviews of calls by hooks, before rules and user decide: each verdict, what is shown and run,
//! and crashes.

mod elsewhere;

use super::harness::*;
use crate::{
    BoxFuture,
    hook::{CallVerdict, Hook, RequestedCall},
    policy::{CallRule, NameGlob, RuleDecision},
    spill::INLINE_TEXT_BYTES,
    turn::{Prompts, Step},
};
use CallVerdict::{Ask, Block, Fallback, Modify, Pass};
use agent_host_types::{
    approval::{Decision, Remember, RememberScope, RememberWhat},
    event::Event,
    hook::{CallReview, HookPoint, HookVerdict, ReviewEnd, VerdictKind},
    id::{CallId, object_digest},
    output::ToolResultOutput,
    turn::{AgentInput, Durability, TurnEnd},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::{
    future::ready,
    sync::{Arc, Mutex},
};

/// Judges the arguments of a call.
type Judge = Box<dyn Fn(&Map<String, Value>) -> CallVerdict + Send + Sync>;

/// Reviews calls of all tools, or of one, and keeps the arguments that it saw.
struct Reviewer {
    name: &'static str,
    tool: Option<&'static str>,
    verdict: Judge,
    seen: Mutex<Vec<Value>>,
}

impl Reviewer {
    fn new(
        name: &'static str,
        verdict: impl Fn(&Map<String, Value>) -> CallVerdict + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::of(name, None, verdict)
    }

    fn of(
        name: &'static str,
        tool: Option<&'static str>,
        verdict: impl Fn(&Map<String, Value>) -> CallVerdict + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            name,
            tool,
            verdict: Box::new(verdict),
            seen: Mutex::default(),
        })
    }

    fn seen(&self) -> Vec<Value> {
        self.seen.lock().unwrap().clone()
    }
}

impl Hook for Reviewer {
    fn name(&self) -> Option<&str> {
        Some(self.name)
    }

    fn reviews(&self, tool: &str) -> bool {
        self.tool.is_none_or(|own| own == tool)
    }

    fn review_call<'a>(&'a self, call: RequestedCall<'a>) -> BoxFuture<'a, CallVerdict> {
        self.seen.lock().unwrap().push(json!(call.input));
        Box::pin(ready((self.verdict)(call.input)))
    }
}

fn n(n: u64) -> Arc<Map<String, Value>> {
    Arc::new(Map::from_iter([("n".to_owned(), json!(n))]))
}

/// A hook that adds 1 to `n`.
fn adds() -> Arc<Reviewer> {
    Reviewer::new("adds", |input| {
        Modify(n(input.get("n").and_then(Value::as_u64).unwrap_or(0) + 1))
    })
}

fn hooked(tool: &str, raw: &str, hooks: Vec<Arc<Reviewer>>) -> Bench {
    let mut bench = Bench::new(vec![calls(&[("a", tool, raw)])]);
    bench.agent.hooks = hooks
        .into_iter()
        .map(|hook| hook as Arc<dyn Hook>)
        .collect();
    bench
}

fn rule(decision: RuleDecision, tool: &str) -> CallRule {
    CallRule {
        name: format!("rule.{tool}"),
        decision,
        tools: vec![NameGlob::new(tool).unwrap()],
        agent: None,
        arguments: Vec::new(),
        condition: None,
        reason: (decision == RuleDecision::Deny).then(|| "Not this one".to_owned()),
    }
}

fn reviews(journal: &TestJournal) -> Vec<CallReview> {
    let events = journal.durable().into_iter();
    let reviews = events.filter_map(|record| match record.event {
        Event::CallReviewed { review, .. } => Some(review),
        _ => None,
    });
    reviews.collect()
}

fn verdict(hook: &str, verdict: VerdictKind, reason: Option<&str>) -> HookVerdict {
    HookVerdict {
        hook: hook.to_owned(),
        point: HookPoint::BeforeTool,
        verdict,
        reason: reason.map(str::to_owned),
    }
}

/// The result of a call that is not asked about, or the rule by which it waits.
async fn reviewed(tool: &str, verdict: CallVerdict) -> Result<ToolResultOutput, String> {
    let mut bench = hooked(
        tool,
        "",
        vec![Reviewer::new("guard", move |_| verdict.clone())],
    );
    match bench.say("go").await.end {
        TurnEnd::NeedsMoreTurns => Ok(bench.results()[0].1.clone()),
        TurnEnd::AwaitingConfirmation { continuation } => Err(continuation.calls()[0].rule.clone()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn review_applies_each_verdict() {
    let bad = Arc::new(Map::from_iter([("n".to_owned(), json!("x"))]));
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let deep = Arc::new(Map::from_iter([("deep".to_owned(), deep)]));
    let long = text(&"x".repeat(INLINE_TEXT_BYTES + 1));
    let too_long = "the replacement result from the hook is too long, or has files (hook.guard)";
    let does_not_fit = "the hook changed the arguments, which no longer match the tool: The arguments do not fit the \
        schema; the tool did not run. At /n: \"x\" is not of type \"integer\". (hook.guard)";
    let table = [
        ("act", Pass, Ok(text("act {}"))),
        ("act", Modify(n(1)), Ok(text("act {\"n\":1}"))),
        ("act", Block("no".into()), Ok(denied("no (hook.guard)"))),
        ("act", Fallback(text("instead")), Ok(text("instead"))),
        ("act", Fallback(long), Ok(denied(too_long))),
        ("act", Ask, Err("hook.guard".to_owned())),
        ("look", Ask, Err("hook.guard".to_owned())),
        ("send", Pass, Err("effect.effectful".to_owned())),
        ("send", Ask, Err("hook.guard".to_owned())),
        ("send", Modify(n(1)), Err("effect.effectful".to_owned())),
        // Nothing runs, so no one is asked.
        ("send", Block("no".into()), Ok(denied("no (hook.guard)"))),
        ("send", Fallback(text("instead")), Ok(text("instead"))),
        (
            "act",
            Modify(deep),
            Ok(denied(&format!(
                "the hook changed the arguments, which now nest more than {} levels deep (hook.guard)",
                agent_host_types::json::MAX_DEPTH
            ))),
        ),
    ];
    for (tool, verdict, expected) in table {
        let shown = format!("{tool} {verdict:?}");
        assert_eq!(reviewed(tool, verdict).await, expected, "{shown}");
    }
    let Ok(ToolResultOutput::ExecutionDenied(Some(reason))) = reviewed("act", Modify(bad)).await
    else {
        panic!("a call with arguments that do not fit was not denied");
    };
    let (start, _) = does_not_fit.split_once(": ").unwrap();
    assert!(reason.starts_with(start), "{reason}");
    assert!(reason.ends_with("(hook.guard)"), "{reason}");
}

/// The user is shown, approves and gets the arguments that the hook left, beside those of
/// the model; the hook is asked once.
#[tokio::test]
async fn approved_arguments_are_those_of_the_hook() {
    let hook = adds();
    let mut bench = hooked("send", r#"{"n": 1}"#, vec![hook.clone()]);
    let continuation = bench.ask().await;
    let waiting = continuation.calls()[0].clone();
    assert_eq!(waiting.input, n(2));
    assert_eq!(waiting.requested_input, Some(n(1)));
    assert_eq!(waiting.input_digest, object_digest(&n(2)));

    let approve = vec![Decision::approve(CallId("a".into()))];
    bench.decide(&continuation, approve).await;

    assert_eq!(bench.results(), pairs([("a", text("send {\"n\":2}"))]));
    assert_eq!(hook.seen(), [json!({"n": 1})]);
    let events = bench
        .journal
        .durable()
        .into_iter()
        .map(|record| record.event);
    let events: Vec<Event> = events.collect();
    let reviewed = Event::CallReviewed {
        call_id: CallId("a".into()),
        tool: "send".into(),
        input_digest: object_digest(&n(1)),
        review: CallReview {
            verdicts: vec![verdict("adds", VerdictKind::Modify, None)],
            input: Some(n(2)),
            end: ReviewEnd::Continue,
        },
    };
    assert!(events.contains(&reviewed), "{events:?}");
    let intended = events.iter().find_map(|event| match event {
        Event::CallIntended {
            input,
            input_digest,
            ..
        } => Some((input.clone(), *input_digest)),
        _ => None,
    });
    assert_eq!(intended, Some((n(2), object_digest(&n(2)))));
}

/// Arguments are checked where they enter, and again where a hook or the user changed them.
#[tokio::test]
async fn arguments_are_checked_once_until_they_change() {
    let passes = || Reviewer::new("passes", |_| Pass);
    let edit = Decision::Edit {
        call_id: CallId("a".into()),
        input: n(7),
    };
    let approve = Decision::approve(CallId("a".into()));
    let table = [
        ("act", vec![], None, vec![1]),
        ("act", vec![passes(), passes()], None, vec![1]),
        ("act", vec![adds(), passes()], None, vec![1, 2]),
        ("send", vec![passes()], Some(approve), vec![1]),
        // Once for the refusal of a bad edit, and once for its run.
        ("send", vec![passes()], Some(edit), vec![1, 7, 7]),
    ];
    for (tool, hooks, decision, expected) in table {
        let mut bench = hooked(tool, r#"{"n": 1}"#, hooks);
        bench.is_unreplayable = true;
        match decision {
            None => assert_eq!(kind(&bench.say("go").await), "needs-more-turns"),
            Some(decision) => {
                let continuation = bench.ask().await;
                bench.decide(&continuation, vec![decision]).await;
            }
        }
        assert_eq!(bench.ran(), ["a"]);
        let expected: Vec<Value> = expected.into_iter().map(|n| json!({"n": n})).collect();
        assert_eq!(*bench.ran.checks.lock().unwrap(), expected, "{tool}");
    }
}

/// Arguments that the user wrote are reviewed as well: a hook can stop them, and not change them.
#[tokio::test]
async fn edited_arguments_are_reviewed_again() {
    let edit = |number| Decision::Edit {
        call_id: CallId("a".into()),
        input: n(number),
    };
    let changes = "the hook would change arguments that the user has already approved (hook.guard)";
    let table = [
        (7, text("send {\"n\":7}")),
        (8, denied("not 8 (hook.guard)")),
        (9, denied(changes)),
    ];
    for (number, expected) in table {
        let hook = Reviewer::new("guard", |input| {
            match input.get("n").and_then(Value::as_u64) {
                Some(8) => Block("not 8".to_owned()),
                Some(9) => Modify(n(0)),
                _ => Ask,
            }
        });
        let mut bench = hooked("send", r#"{"n": 1}"#, vec![hook.clone()]);
        let continuation = bench.ask().await;
        bench.decide(&continuation, vec![edit(number)]).await;
        assert_eq!(bench.results(), pairs([("a", expected)]));
        assert_eq!(hook.seen(), [json!({"n": 1}), json!({"n": number})]);
    }
}

/// Each hook sees the arguments of the one before; after one that stops the call none is asked, and
/// hooks of other tools are not.
#[tokio::test]
async fn reviewers_run_in_order_until_one_stops_the_call() {
    let stops = Reviewer::new("stops", |_| Block("no".to_owned()));
    let last = Reviewer::new("last", |_| Pass);
    let other = Reviewer::of("other", Some("look"), |_| Pass);
    let hooks = vec![other.clone(), adds(), adds(), stops.clone(), last.clone()];
    let mut bench = hooked("act", r#"{"n": 1}"#, hooks);
    bench.say("go").await;
    assert_eq!(bench.results(), pairs([("a", denied("no (hook.stops)"))]));
    assert_eq!(stops.seen(), [json!({"n": 3})]);
    assert_eq!((last.seen(), other.seen()), (Vec::new(), Vec::new()));
    let modify = verdict("adds", VerdictKind::Modify, None);
    let expected = CallReview {
        verdicts: vec![
            modify.clone(),
            modify,
            verdict("stops", VerdictKind::Block, Some("no")),
        ],
        input: Some(n(3)),
        end: ReviewEnd::Block {
            hook: "stops".to_owned(),
            reason: "no".to_owned(),
        },
    };
    assert_eq!(reviews(&bench.journal), [expected]);
}

/// No verdict goes before a denial by a rule, and an `ask` goes before rules and approvals that
/// would let the call run.
#[tokio::test]
async fn review_never_widens() {
    let table = [
        (
            RuleDecision::Deny,
            Fallback(text("instead")),
            Some("rule.act"),
        ),
        (RuleDecision::Deny, Ask, Some("rule.act")),
        (RuleDecision::Deny, Pass, Some("rule.act")),
        (RuleDecision::Allow, Ask, None),
    ];
    for (decision, verdict, denied_by) in table {
        let mut bench = hooked(
            "act",
            "",
            vec![Reviewer::new("guard", move |_| verdict.clone())],
        );
        bench.agent.settings.rules = vec![rule(decision, "act")].into();
        let report = bench.say("go").await;
        match denied_by {
            Some(rule) => {
                let expected = denied(&format!("Not this one ({rule})"));
                assert_eq!(bench.results(), pairs([("a", expected)]));
            }
            None => assert_eq!(kind(&report), "awaiting-confirmation"),
        }
        assert_eq!(bench.ran(), Vec::<String>::new());
    }
}

/// A remembered approval does not answer the `ask` of a hook, and without anyone to ask the call is
/// denied.
#[tokio::test]
async fn ask_of_a_hook_is_not_remembered_away() {
    let hook = || Reviewer::new("guard", |_| Ask);
    let mut bench = hooked("look", "", vec![hook()]);
    bench.replies(calls(&[("b", "look", "")]));
    let continuation = bench.ask().await;
    let always = Decision::Approve {
        call_id: CallId("a".into()),
        remember: Some(Remember {
            what: RememberWhat::Tool,
            scope: RememberScope::Session,
        }),
    };
    bench.decide(&continuation, vec![always]).await;
    let report = bench.turn(AgentInput::Continue).await;
    assert_eq!(kind(&report), "awaiting-confirmation");

    let mut bench = hooked("look", "", vec![hook()]);
    bench.agent.settings.prompts = Prompts::Deny;
    bench.say("go").await;
    let expected = denied(
        "This call needs the user's approval (rule hook.guard), and no one can be asked in this run. The hook of \
         this name requires it, whatever the rules allow.",
    );
    assert_eq!(bench.results(), pairs([("a", expected)]));
}

/// The program ends between review and approval, or while the user is asked: the recorded review
/// holds, and the hook is not asked again.
#[tokio::test]
async fn recorded_review_is_used_after_a_crash() {
    // The barriers of a strict turn: the request, the reply, the review, the approval.
    for fails_from in [4, 0] {
        let mut bench = hooked("send", r#"{"n": 1}"#, vec![adds()]);
        bench.agent.settings.durability = Durability::Strict;
        let fails = &bench.journal.fails_from;
        fails.store(fails_from, std::sync::atomic::Ordering::SeqCst);
        bench.say("go").await;
        let asked = bench.kinds().contains(&"approval-requested".to_owned());
        assert_eq!(asked, fails_from == 0);
        assert_eq!(reviews(&bench.journal).len(), 1);

        let mut resumed = Bench::resume(&bench.journal, Vec::new(), standard()).await;
        let other = Reviewer::new("adds", |_| Modify(n(100)));
        resumed.agent.hooks = vec![other.clone()];
        let report = resumed.turn(AgentInput::Continue).await;
        let TurnEnd::AwaitingConfirmation { continuation } = report.end else {
            panic!("{report:?}");
        };
        assert_eq!(continuation.calls()[0].input, n(2));
        let approve = vec![Decision::approve(CallId("a".into()))];
        resumed.decide(&continuation, approve).await;
        assert_eq!(resumed.results(), pairs([("a", text("send {\"n\":2}"))]));
        assert_eq!(other.seen(), Vec::<Value>::new());
    }
}

/// A hook that never answers is left when the turn is cancelled, and its call does not run.
#[tokio::test]
async fn cancelled_review_runs_nothing() {
    struct Hangs(tokio_util::sync::CancellationToken);
    impl Hook for Hangs {
        fn reviews(&self, _: &str) -> bool {
            true
        }

        fn review_call<'a>(&'a self, _: RequestedCall<'a>) -> BoxFuture<'a, CallVerdict> {
            self.0.cancel();
            Box::pin(std::future::pending())
        }
    }
    let mut bench = Bench::new(vec![calls(&[("a", "act", ""), ("b", "look", "")])]);
    bench.agent.hooks = vec![Arc::new(Hangs(bench.cancel.clone()))];
    assert_eq!(kind(&bench.say("go").await), "cancelled");
    assert_eq!(bench.ran(), Vec::<String>::new());
    let tags: Vec<&str> = bench.results().iter().map(|(_, it)| it.tag()).collect();
    assert_eq!(tags, ["error-json", "error-json"]);
}

/// Calls that cannot run are no matter of hooks, and the step is one of the turn only with hooks.
#[tokio::test]
async fn calls_that_cannot_run_are_not_reviewed() {
    let hook = Reviewer::new("guard", |_| Pass);
    let mut bench = Bench::new(vec![calls(&[
        ("a", "nothing", ""),
        ("b", "look", r#"{"n": "x"}"#),
        ("c", "look", "[1]"),
    ])]);
    assert_eq!(bench.agent.before_approval(), Step::CheckApproval);
    bench.agent.hooks = vec![hook.clone()];
    assert_eq!(bench.agent.before_approval(), Step::ReviewCalls);
    bench.say("go").await;
    assert_eq!(hook.seen(), Vec::<Value>::new());
    assert_eq!(reviews(&bench.journal), Vec::new());
}
