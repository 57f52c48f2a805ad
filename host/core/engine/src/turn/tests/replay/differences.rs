//! Changes of the loop are found: in each kind of event that it makes, at its position.

use super::{super::children::TestJournals, *};
use crate::{
    journal::Journal as _,
    replay::Difference,
    schema::AnswerSchema,
    tool::{CallReport, RunEnd},
    workflow::{Graph, Handlers},
};
use agent_host_types::{
    accounting::Accounting,
    approval::{Decision, Remember, RememberScope, RememberWhat},
    context::ContextLimits,
    continuation::{Awaiting, Continuation},
    id::CallId,
    model::{ModelReply, Usage},
    output::ToolResultOutput,
    question::{Answer, AnsweredBy, PendingQuestion, Question},
    tool::{Approval, Effect},
    turn::{AgentInput, ChildInput, SubmittedResult, TurnEnd},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A field of each kind of event that the loop makes by itself. The others have what came from
/// outside: inputs, replies, results, and what programs record between turns.
const FIELDS: &[(&str, &str)] = &[
    ("model-requested", "/messages"),
    ("turn-interrupted", "/lost_tokens"),
    ("results-referenced", "/size/before_tokens"),
    ("history-summarised", "/size/after_tokens"),
    ("repair-requested", "/message"),
    ("call-intended", "/rule"),
    ("approval-requested", "/calls/0/rule"),
    ("approval-remembered", "/rule/tool"),
    ("question-asked", "/turn"),
    ("calls-dispatched", "/calls/0/rule"),
    ("agent-spawned", "/agent"),
    ("children-waiting", "/turn"),
    ("call-settled", "/rule"),
    ("workflow-started", "/run"),
    ("node-intended", "/attempt"),
    ("node-settled", "/tool"),
    ("node-retried", "/attempt"),
    ("node-skipped", "/node"),
    ("workflow-ended", "/summary/done"),
    ("turn-ended", "/outcome/summary/total_turns"),
];

#[tokio::test]
async fn altered_event_of_each_kind_is_the_first_difference() {
    let recordings = [
        approvals().await,
        question().await,
        external().await,
        repair().await,
        interrupted().await,
        compaction().await,
        agents().await,
        workflow().await,
    ];
    for recording in &recordings {
        let replayed = replay(recording).await.unwrap();
        assert_eq!(replayed.difference, None);
        assert_eq!(replayed.events, recording.events().count() as u64);
    }
    for (kind, field) in FIELDS {
        let mut found = recordings.iter().filter_map(|it| altered(it, kind, field));
        let (recording, expected) = found.next().unwrap_or_else(|| panic!("there is no {kind}"));
        let replayed = replay(&recording).await.unwrap();
        let difference = replayed.difference.unwrap();
        assert_eq!(difference, expected, "{kind}");
    }
}

/// Alters a field of the first event of a kind that has it. Returns the difference to be found.
fn altered(recording: &Recording, kind: &str, field: &str) -> Option<(Recording, Difference)> {
    let mut recording = recording.clone();
    let mut all = recording.sessions.values_mut().flatten();
    let record = all.find(|record| {
        record.event.kind() == kind && json!(record.event).pointer(field).is_some()
    })?;
    let mut event = json!(record.event);
    let value = event.pointer_mut(field)?;
    let replayed = value.clone();
    *value = match &replayed {
        Value::Number(number) => json!(number.as_u64()? + 7),
        other => json!(format!("{}x", other.as_str()?)),
    };
    let difference = Difference {
        session: record.session,
        seq: record.seq,
        field: field.to_owned(),
        recorded: Some(value.clone()),
        replayed: Some(replayed),
        reason: None,
    };
    record.event = serde_json::from_value(event).unwrap();
    Some((recording, difference))
}

/// An event that the loop does not make any more, and one that it makes now.
#[tokio::test]
async fn missing_and_surplus_events_are_found() {
    let recording = approvals().await;
    let root = recording.session();
    let records = recording.records().to_vec();
    let last = records.len() - 1;
    let mut surplus = recording.clone();
    surplus.sessions.get_mut(&root).unwrap().pop();
    // The recording ends before its turn does: nothing more is known of it.
    assert_eq!(replay(&surplus).await.unwrap().difference, None);

    let settled = records
        .iter()
        .position(|record| record.event.kind() == "call-settled")
        .unwrap();
    let mut without = recording.clone();
    let kept = without.sessions.get_mut(&root).unwrap();
    kept.remove(settled);
    for (seq, record) in kept.iter_mut().enumerate() {
        record.seq = seq as u64;
    }
    let difference = replay(&without).await.unwrap().difference.unwrap();
    assert_eq!(difference.session, root);
    assert!(difference.seq <= settled as u64, "{difference:?}");

    let mut more = recording.clone();
    let ended = records[last].clone();
    more.sessions.get_mut(&root).unwrap().push(EventRecord {
        seq: ended.seq + 1,
        ..ended
    });
    let difference = replay(&more).await.unwrap().difference.unwrap();
    assert_eq!(
        (difference.seq, difference.replayed),
        (last as u64 + 1, None)
    );
    let reason = "the model has given its answer, so there is nothing to continue; send a message";
    assert_eq!(difference.reason.as_deref(), Some(reason));
}

async fn of(bench: &Bench) -> Recording {
    recorded(bench).await.unwrap()
}

async fn approvals() -> Recording {
    let batch = [("a", "look", ""), ("b", "send", ""), ("c", "act", "")];
    let mut bench = Bench::new(vec![calls(&batch), says("done")]);
    bench.agent.settings.rules = [crate::policy::CallRule {
        name: "rule.no".into(),
        decision: crate::policy::RuleDecision::Deny,
        tools: vec![crate::policy::NameGlob::new("act").unwrap()],
        agent: None,
        arguments: Vec::new(),
        condition: None,
        reason: None,
    }]
    .into();
    let continuation = bench.ask().await;
    let decision = Decision::Approve {
        call_id: CallId("b".into()),
        remember: Some(Remember {
            what: RememberWhat::Tool,
            scope: RememberScope::Session,
        }),
    };
    bench.decide(&continuation, vec![decision]).await;
    bench.turn(AgentInput::Continue).await;
    of(&bench).await
}

async fn question() -> Recording {
    let asks = tool("ask", Effect::ReadOnly, Approval::Never).ends(|call| {
        if let Some(answered) = call.answers.first() {
            let answer = ToolResultOutput::json(json!(answered.answer));
            return CallReport::of(answer).into();
        }
        RunEnd::Asked(PendingQuestion {
            question: Question {
                prompt: "Which?".into(),
                ..Question::default()
            },
            answered_by: AnsweredBy::Rerun,
            accounting: Accounting::default(),
            audit: Vec::new(),
        })
    });
    let replies = vec![calls(&[("a", "ask", "")]), says("done")];
    let mut bench = Bench::with(replies, vec![asks]);
    let TurnEnd::AwaitingAnswer { continuation } = bench.say("go").await.end else {
        panic!("no answer is awaited");
    };
    let answer = Answer::Text { text: "red".into() };
    bench
        .turn(AgentInput::Answer {
            continuation,
            answer,
        })
        .await;
    bench.turn(AgentInput::Continue).await;
    of(&bench).await
}

async fn external() -> Recording {
    let pay = tool("pay", Effect::Effectful, Approval::Never).outside();
    let mut bench = Bench::with(vec![calls(&[("a", "pay", "")]), says("done")], vec![pay]);
    let TurnEnd::PendingToolCalls { continuation } = bench.say("go").await.end else {
        panic!("no results are awaited");
    };
    let results = vec![SubmittedResult {
        call_id: CallId("a".into()),
        output: text(&"paid ".repeat(20_000)),
    }];
    bench
        .turn(AgentInput::SubmitToolResults {
            continuation,
            results,
        })
        .await;
    bench.turn(AgentInput::Continue).await;
    of(&bench).await
}

async fn repair() -> Recording {
    let mut bench = Bench::new(vec![says("one"), says("1")]);
    let schema = AnswerSchema::compile(&json!({"type": "integer"})).unwrap();
    bench.agent.settings.output_schema = Some(Arc::new(schema));
    bench.say("go").await;
    bench.turn(AgentInput::Continue).await;
    of(&bench).await
}

/// The program ends after the request; another one continues.
async fn interrupted() -> Recording {
    let mut first = Bench::new(vec![says("lost")]);
    first.say("go").await;
    let journal = TestJournal::new(first.session.id());
    journal.append(&first.journal.durable()[..3], first.journal.blobs());
    journal.barrier().await.unwrap();
    *journal.setups.lock().unwrap() = first.journal.setups.lock().unwrap().clone();
    let mut again = Bench::resume(&journal, vec![says("done")], standard()).await;
    again.turn(AgentInput::Continue).await;
    of(&again).await
}

/// Old results become references, and then the older part a summary.
async fn compaction() -> Recording {
    let uncounted = |reply| ModelReply {
        usage: Usage::default(),
        ..reply
    };
    let looks = (0..10).map(|number| {
        let (id, tool) = (
            format!("c{number}"),
            if number < 8 { "look" } else { "act" },
        );
        uncounted(calls(&[(&id, tool, "")]))
    });
    let words = [
        uncounted(says(&"words ".repeat(6_000))),
        says("In short."),
        uncounted(says("done")),
    ];
    let tools = [
        tool("look", Effect::ReadOnly, Approval::ByEffect),
        tool("act", Effect::Effectful, Approval::Never),
    ];
    let tools = tools.map(|tool| tool.body(|_| async { text(&"x".repeat(4_000)) }));
    let mut bench = Bench::with(looks.chain(words).collect(), tools.into());
    bench.agent.settings.context = Some(ContextLimits {
        window_tokens: 10_000,
        is_known: true,
        compact_at: 80,
        compact_to: 50,
        keep_results: 1,
    });
    let mut input = AgentInput::Text("go".into());
    while bench.turn(input).await.end == TurnEnd::NeedsMoreTurns {
        input = AgentInput::Continue;
    }
    bench.say("and now?").await;
    of(&bench).await
}

async fn agents() -> Recording {
    let start = r#"{"instructions": "Send it."}"#;
    let mut parent = Bench::new(vec![calls(&[("p", "agent_helper", start)]), says("done")]);
    let child = Bench::new(vec![calls(&[("s", "send", "")]), says("sent")]);
    parent.adopt(
        vec![("helper", child.agent.clone())],
        Arc::<TestJournals>::default(),
    );
    let continuation: Continuation = match parent.say("go").await.end {
        TurnEnd::AwaitingChildren { continuation } => continuation,
        other => panic!("no agent waits: {other:?}"),
    };
    let Awaiting::Children { children } = &continuation.awaiting else {
        panic!("no agent waits");
    };
    let inputs = vec![ChildInput {
        call_id: children[0].call_id.clone(),
        input: AgentInput::Resume {
            continuation: children[0].continuation.clone(),
            decisions: vec![Decision::approve(CallId("s".into()))],
        },
    }];
    parent
        .turn(AgentInput::Children {
            continuation,
            inputs,
        })
        .await;
    parent.turn(AgentInput::Continue).await;
    of(&parent).await
}

async fn workflow() -> Recording {
    let nodes = json!([
        {"id": "a", "tool": "break", "retry": {"times": 1}, "next": "b"},
        {"id": "b", "tool": "look", "needs": "success"},
        {"id": "c", "tool": "look"},
    ]);
    let broken = tool("break", Effect::ReadOnly, Approval::Never)
        .body(|_| async { failure("no-luck", "It broke.") });
    let mut tools = standard();
    tools.push(broken);
    let mut bench = Bench::with(Vec::new(), tools);
    bench.adopt(Vec::new(), Arc::<TestJournals>::default());
    let definition = json!({"name": "flow", "node": nodes});
    let definition = serde_json::from_value(definition).unwrap();
    let graph = Graph::check(&definition, &bench.agent, Handlers::new()).unwrap();
    bench.agent.workflow = Some(Arc::new(graph));
    bench.say("go").await;
    of(&bench).await
}
