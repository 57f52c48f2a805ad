//! Rules that count calls: what they let through, and what is recorded.

use super::{
    children::Family,
    harness::*,
    interrupted::died_during,
    program::{Coder, call, writes},
};
use crate::{
    journal::{CountedCall, MemoryJournal, Tallies, TallyQuery},
    policy::{CallRule, NameGlob, RuleDecision},
    session::{ClientSession, Session, SessionStart},
    turn::{Actors, Agent, ClientCallEnd, Timing, TurnContext},
    workflow::{Graph, Handlers},
};
use RuleDecision::{Allow, Ask, Deny};
use agent_host_types::{
    approval::Decision,
    event::Event,
    facts::{WindowTally, from_millionths, to_millionths},
    id::{CallId, SessionId},
    output::ToolResultOutput,
    tool::{Approval, Effect},
    turn::{AgentInput, TurnEnd},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

/// The arguments that start an agent.
const START: &str = r#"{"instructions": "look around"}"#;

/// The calls that sessions counted.
#[derive(Clone, Default)]
pub(super) struct Counted {
    calls: Arc<Mutex<Vec<(SessionId, CountedCall)>>>,
    /// The number of calls that others count while a decision is made.
    others: Arc<AtomicU64>,
}

impl Counted {
    /// Counts all calls of the tool, whenever they were.
    pub(super) fn tallies(&self, session: SessionId, query: &TallyQuery) -> Tallies {
        let calls = self.calls.lock().unwrap();
        let of_tool = calls.iter().filter(|(_, call)| call.tool == query.tool);
        let is_own = |it: &&(SessionId, CountedCall)| (it.0, &it.1.call) == (session, &query.call);
        let others: Vec<_> = of_tool.clone().filter(|call| !is_own(call)).collect();
        let sum = |pointer: &String| {
            let amounts = others
                .iter()
                .map(|(_, call)| call.amounts.get(pointer)?.as_ref());
            let total = amounts
                .map(|amount| to_millionths(amount?))
                .sum::<Option<i128>>();
            (pointer.clone(), total.and_then(from_millionths))
        };
        let tally = |window_ms: &u64| WindowTally {
            window_ms: *window_ms,
            count: others.len() as u64,
            sums: query.arguments.iter().map(sum).collect(),
        };
        Tallies {
            owner: None,
            counted: of_tool.clone().count() as u64,
            has_call: of_tool.clone().any(|call| is_own(&call)),
            windows: query.windows.iter().map(tally).collect(),
        }
    }

    pub(super) fn count(&self, session: SessionId, call: CountedCall) -> bool {
        let mut calls = self.calls.lock().unwrap();
        if self.others.load(Ordering::SeqCst) > 0 {
            self.others.fetch_sub(1, Ordering::SeqCst);
            calls.push((SessionId::new(), call.clone()));
        }
        let of_tool = calls.iter().filter(|(_, it)| it.tool == call.tool);
        let is_counted = of_tool.count() as u64 == call.counted;
        if is_counted {
            calls.push((session, call));
        }
        is_counted
    }
}

fn rule(decision: RuleDecision, tool: &str, condition: &str) -> CallRule {
    CallRule {
        name: format!("rule.{tool}"),
        decision,
        tools: vec![NameGlob::new(tool).unwrap()],
        agent: None,
        arguments: Vec::new(),
        condition: Some(condition.parse().unwrap()),
        reason: (decision == Deny).then(|| "Enough".to_owned()),
    }
}

fn ruled(batch: &[(&str, &str, &str)], rules: Vec<CallRule>) -> Bench {
    let mut bench = Bench::new(vec![calls(batch)]);
    bench.agent.settings.rules = rules.into();
    bench
}

fn approve(id: &str) -> Vec<Decision> {
    vec![Decision::approve(CallId(id.into()))]
}

/// The calls that a journal and others beside it counted, by tool.
fn counted(counted: &Counted) -> Vec<String> {
    let counted = counted.calls.lock().unwrap();
    counted.iter().map(|(_, call)| call.tool.clone()).collect()
}

/// Another session counts a call of a tool.
fn count_elsewhere(counted: &Counted, tool: &str) {
    let call = CountedCall {
        call: CallId("other".into()),
        tool: tool.to_owned(),
        at_ms: 0,
        counted: 0,
        amounts: BTreeMap::new(),
    };
    counted.calls.lock().unwrap().push((SessionId::new(), call));
}

/// The counts of the facts that were recorded, by call.
fn facts(journal: &TestJournal) -> Vec<(String, u64)> {
    let records = journal.durable().into_iter();
    let read = records.filter_map(|record| match record.event {
        Event::FactsRead { call_id, facts } => Some((call_id.0, facts.windows[0].count)),
        _ => None,
    });
    read.collect()
}

fn read<const N: usize>(facts: [(&str, u64); N]) -> Vec<(String, u64)> {
    facts.map(|(call, count)| (call.to_owned(), count)).into()
}

/// Calls of one reply are decided on one after the other, whenever the user is asked about them.
#[tokio::test]
async fn calls_of_a_reply_beyond_a_count_are_asked_about() {
    let batch = [
        ("a", "send", r#"{"n": 2}"#),
        ("b", "send", r#"{"n": 2}"#),
        ("c", "send", r#"{"n": 2}"#),
    ];
    for condition in ["count(1d) < 2", "sum(n, 1h) + n <= 5"] {
        for timing in [Timing::Batch, Timing::InOrder] {
            let mut bench = ruled(&batch, vec![rule(Allow, "send", condition)]);
            bench.agent.settings.timing = timing;
            let continuation = bench.ask().await;
            let waiting: Vec<_> = continuation
                .calls()
                .iter()
                .map(|it| &it.call_id.0)
                .collect();
            assert_eq!(waiting, ["c"], "{condition}");
            assert_eq!(bench.ran(), ["a", "b"]);
            // What the user approves is counted as well.
            bench.decide(&continuation, approve("c")).await;
            assert_eq!(bench.ran(), ["a", "b", "c"]);
            assert_eq!(counted(&bench.journal.counted), ["send"; 3]);
            // For the decision before the first one runs, for each one that runs, and for the one
            // that was approved, once more.
            let all = [("a", 0), ("b", 0), ("c", 0), ("b", 1), ("c", 2), ("c", 2)];
            assert_eq!(facts(&bench.journal), read(all));
        }
    }
}

/// A place that another session takes between a decision and its call is not taken twice.
#[tokio::test]
async fn call_is_decided_on_again_when_another_was_counted() {
    for (places, others, asked) in [(2_usize, 1, false), (2, 2, true), (1, 1, true)] {
        let condition = format!("count(1d) < {places}");
        let mut bench = ruled(&[("a", "send", "")], vec![rule(Allow, "send", &condition)]);
        bench.journal.counted.others.store(others, Ordering::SeqCst);
        let report = bench.say("go").await;
        let is_asked = matches!(report.end, TurnEnd::AwaitingConfirmation { .. });
        assert_eq!(is_asked, asked, "{places} {others}");
        assert_eq!(counted(&bench.journal.counted).len(), 2.min(places));
        let last = if asked { places as u64 } else { others };
        let all: Vec<_> = (0..=last).map(|count| ("a".to_owned(), count)).collect();
        assert_eq!(facts(&bench.journal), all);
    }
}

/// A denial is recorded with what was counted, and counts nothing.
#[tokio::test]
async fn call_beyond_a_count_is_denied() {
    let batch = [("a", "act", ""), ("b", "act", ""), ("c", "look", "")];
    let rules = vec![rule(Deny, "act", "count(1d) >= 1")];
    let mut bench = ruled(&batch, rules);
    bench.say("go").await;
    let expected = [
        ("a", text("act {}")),
        ("b", denied("Enough (rule.act)")),
        ("c", text("look {}")),
    ];
    assert_eq!(bench.results(), pairs(expected));
    assert_eq!(counted(&bench.journal.counted), ["act"]);
    assert_eq!(facts(&bench.journal), read([("a", 0), ("b", 0), ("b", 1)]));
}

/// A call that a rule allowed, and that waits for another one, is decided on again.
#[tokio::test]
async fn allowed_call_that_waited_is_decided_on_when_it_runs() {
    let batch = [("a", "look", ""), ("b", "send", "")];
    let rules = vec![
        rule(Ask, "look", "time() >= '00:00'"),
        rule(Allow, "send", "count(1d) < 1"),
    ];
    let mut bench = ruled(&batch, rules);
    let continuation = bench.ask().await;
    count_elsewhere(&bench.journal.counted, "send");
    let report = bench.decide(&continuation, approve("a")).await;
    let TurnEnd::AwaitingConfirmation { continuation, .. } = report.end else {
        panic!("{report:?}");
    };
    let waiting: Vec<_> = continuation
        .calls()
        .iter()
        .map(|it| &it.call_id.0)
        .collect();
    assert_eq!(waiting, ["b"]);
    bench.decide(&continuation, approve("b")).await;
    assert_eq!(bench.ran(), ["a", "b"]);
    assert_eq!(counted(&bench.journal.counted), ["send", "send"]);
}

/// An approved call is denied if the limit of a denial was reached meanwhile.
#[tokio::test]
async fn approved_call_is_denied_at_a_limit() {
    let mut bench = ruled(
        &[("a", "send", "")],
        vec![rule(Deny, "send", "count(1d) >= 1")],
    );
    let continuation = bench.ask().await;
    count_elsewhere(&bench.journal.counted, "send");
    bench.decide(&continuation, approve("a")).await;
    assert_eq!(
        bench.results(),
        pairs([("a", denied("Enough (rule.send)"))])
    );
    assert_eq!(counted(&bench.journal.counted), ["send"]);
}

/// A call that runs again after its process died has its place.
#[tokio::test]
async fn call_that_runs_again_is_counted_once() {
    let rules: Arc<[CallRule]> = vec![rule(Deny, "put", "count(1d) >= 1")].into();
    let journal = died_during(&[("a", "put", "")], &rules).await;
    assert_eq!(counted(&journal.counted), ["put"]);
    let mut bench = Bench::resume(&journal, vec![calls(&[("b", "put", "")])], standard()).await;
    bench.agent.settings.rules = rules;
    bench.turn(AgentInput::Continue).await;
    assert_eq!(bench.results(), pairs([("a", text("put {}"))]));
    bench.turn(AgentInput::Continue).await;
    assert_eq!(bench.results(), pairs([("b", denied("Enough (rule.put)"))]));
    assert_eq!(counted(&bench.journal.counted), ["put"]);
}

/// A host that dies between the count of a call and its intent leaves its place to the call.
#[tokio::test]
async fn call_that_was_counted_before_a_crash_runs() {
    let rules: Arc<[CallRule]> = vec![rule(Deny, "act", "count(1d) >= 1")].into();
    let mut crashes = 0;
    for barrier in 1..8 {
        let mut bench = Bench::new(vec![calls(&[("a", "act", "")])]);
        bench.agent.settings.rules = rules.clone();
        bench.is_unreplayable = true;
        bench.journal.fails_from.store(barrier, Ordering::SeqCst);
        bench.say("go").await;
        let is_intended = bench.kinds().contains(&"call-intended".to_owned());
        if is_intended || counted(&bench.journal.counted).is_empty() {
            continue;
        }
        crashes += 1;
        let mut again = Bench::resume(&bench.journal, Vec::new(), standard()).await;
        again.agent.settings.rules = rules.clone();
        again.turn(AgentInput::Continue).await;
        assert_eq!(again.results(), pairs([("a", text("act {}"))]));
        assert_eq!(counted(&again.journal.counted), ["act"]);
    }
    assert_eq!(crashes, 1);
}

/// A session without a store does not decide by a rule that counts.
#[tokio::test]
async fn journal_that_does_not_count_ends_the_turn() {
    let mut bench = ruled(
        &[("a", "send", "")],
        vec![rule(Allow, "send", "count(1d) < 9")],
    );
    let journal = Arc::new(MemoryJournal::new(SessionId::new()));
    bench.session = Session::start(journal, SessionStart::default());
    let cx = TurnContext {
        observer: bench.observer.as_ref(),
        approvals: &[],
        cancel: &bench.cancel,
        drain: &bench.drain,
        actors: Actors::default(),
    };
    let input = AgentInput::Text("go".into());
    let report = bench.agent.run_turn(&mut bench.session, input, &cx).await;
    let TurnEnd::Error { error } = report.end else {
        panic!("{report:?}");
    };
    assert!(
        error.to_string().contains("does not count calls"),
        "{error}"
    );
    assert_eq!(bench.ran(), Vec::<String>::new());
}

fn limit(agent: &mut Agent, tool: &str) {
    agent.settings.rules = vec![rule(Deny, tool, "count(1d) >= 1")].into();
}

/// Whatever starts calls, the second one is denied and only the first one counted.
#[tokio::test]
async fn calls_are_counted_whatever_starts_them() {
    let twice = [("a", "act", ""), ("b", "act", "")];
    // An agent, and an agent that is itself counted.
    let parent = Bench::new(vec![calls(&[("p", "agent_helper", START)]), says("done")]);
    let replies = vec![calls(&twice), says("found")];
    let mut family = Family::with(parent, Arc::default(), replies, standard(), |_| {});
    limit(&mut family.parent.agent, "act");
    family.parent.say("go").await;
    assert_eq!(counted(&family.journals.counted), ["act"]);
    let batch = [("p", "agent_helper", START), ("q", "agent_helper", START)];
    let parent = Bench::new(vec![calls(&batch), says("done")]);
    let replies = vec![says("found"), says("found")];
    let mut family = Family::with(parent, Arc::default(), replies, standard(), |_| {});
    limit(&mut family.parent.agent, "agent_helper");
    family.parent.say("go").await;
    assert_eq!(counted(&family.parent.journal.counted), ["agent_helper"]);
    assert_eq!(family.journals.all().len(), 1);

    // A program in code mode.
    let mut bench = Bench::new(vec![writes("p"), says("done")]);
    limit(&mut bench.agent, "act");
    let mut coder = Coder::of(bench, 256, |tools| {
        Box::pin(async move {
            let results = call(&tools, &[("act", ""), ("act", "")]).await;
            let tags: Vec<&str> = results.iter().map(ToolResultOutput::tag).collect();
            text(&tags.join(" "))
        })
    });
    coder.bench.say("go").await;
    assert_eq!(coder.result(), text("text execution-denied"));
    assert_eq!(counted(&coder.journals.counted), ["act"]);

    // A workflow.
    let mut bench = Bench::new(Vec::new());
    limit(&mut bench.agent, "act");
    let definition = json!({"name": "flow", "node": [
        {"id": "one", "tool": "act", "next": "two"}, {"id": "two", "tool": "act"},
    ]});
    let definition = serde_json::from_value(definition).unwrap();
    let graph = Graph::check(&definition, &bench.agent, Handlers::new()).unwrap();
    bench.agent.workflow = Some(Arc::new(graph));
    bench.say("go").await;
    assert_eq!(bench.ran(), ["one"]);
    assert_eq!(counted(&bench.journal.counted), ["act"]);
    assert_eq!(facts(&bench.journal), read([("one", 0), ("two", 1)]));

    // A tool outside of the host.
    let pay = vec![tool("pay", Effect::Effectful, Approval::Never).outside()];
    let batch = [("a", "pay", ""), ("b", "pay", "")];
    let mut bench = Bench::with(vec![calls(&batch)], pay);
    limit(&mut bench.agent, "pay");
    let report = bench.say("go").await;
    let TurnEnd::PendingToolCalls { continuation, .. } = report.end else {
        panic!("{report:?}");
    };
    assert_eq!(continuation.calls().len(), 1);
    assert_eq!(counted(&bench.journal.counted), ["pay"]);
}

/// Calls of a client that run at once take no place twice.
#[tokio::test]
async fn client_calls_are_counted() {
    let mut bench = Bench::new(Vec::new());
    limit(&mut bench.agent, "act");
    let (agent, session) = (bench.agent, ClientSession::new(bench.session));
    let cx = TurnContext {
        observer: &*bench.observer,
        approvals: &[],
        cancel: &bench.cancel,
        drain: &bench.drain,
        actors: Actors::default(),
    };
    let mut client_calls: Vec<_> = (0..3)
        .map(|_| agent.client_call(&session, "act".into(), Map::new(), 0))
        .collect();
    let runs = client_calls
        .iter_mut()
        .map(|call| agent.run_client_call(&session, call, &cx));
    let mut tags = Vec::new();
    for end in futures_util::future::join_all(runs).await {
        match end.unwrap() {
            ClientCallEnd::Settled { output, .. } => tags.push(output.tag().to_owned()),
            other => panic!("{other:?}"),
        }
    }
    tags.sort();
    assert_eq!(tags, ["execution-denied", "execution-denied", "text"]);
    assert_eq!(counted(&bench.journal.counted), ["act"]);
}
