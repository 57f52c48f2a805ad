//! The kept sums of what sessions used are those of their events.

use super::{
    Backend,
    families::{spawned, started},
    owners::{started_in, store_owned},
    read,
};
use crate::{
    Copier, JournalStore, Ownership, Retention, SessionScope, StoredStats,
    tests::{accounting, ended, every_event, input, record},
};
use agent_host_types::{
    event::Event,
    id::{CallId, SessionId},
    model::{ModelReply, Provenance, Usage},
    output::{Blob, ToolResultOutput},
    stats::{Figures, StatsBy},
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

const DAY_MS: u64 = 86_400_000;

/// One model call or tool call, as its event says it.
struct Use {
    session: SessionId,
    day: u32,
    /// The rows that have it.
    rows: [Option<String>; 4],
    figures: Figures,
}

/// The most of a figure of one event that counts.
const MAX: u64 = 1 << 40;

/// Adds the figures but for the sessions.
fn add(to: &mut Figures, of: &Figures) {
    to.model_calls += of.model_calls;
    to.input_tokens += of.input_tokens;
    to.cached_input_tokens += of.cached_input_tokens;
    to.cache_write_tokens += of.cache_write_tokens;
    to.output_tokens += of.output_tokens;
    to.cost_micros += of.cost_micros;
    to.unpriced_model_calls += of.unpriced_model_calls;
    to.tool_calls += of.tool_calls;
    to.failed += of.failed;
    to.denied += of.denied;
    to.tool_us += of.tool_us;
}

fn of_usage(usage: Usage) -> Figures {
    let is_unpriced = usage.cost_micros.is_none() && !usage.is_none();
    Figures {
        model_calls: 1,
        input_tokens: usage.input_tokens.min(MAX),
        cached_input_tokens: usage.cached_input_tokens.min(MAX),
        cache_write_tokens: usage.cache_write_tokens.min(MAX),
        output_tokens: usage.output_tokens.min(MAX),
        cost_micros: usage.cost_micros.unwrap_or(0).min(MAX),
        unpriced_model_calls: u64::from(is_unpriced),
        ..Figures::default()
    }
}

fn of_result(output: Option<&ToolResultOutput>, has_failed: bool, tool_us: u64) -> Figures {
    let is_denied = matches!(output, Some(ToolResultOutput::ExecutionDenied(_)));
    Figures {
        tool_calls: 1,
        failed: u64::from(has_failed && !is_denied),
        denied: u64::from(is_denied),
        tool_us: tool_us.min(MAX),
        ..Figures::default()
    }
}

/// Reads what the sessions of a scope used from all of their events.
async fn uses(store: &dyn JournalStore, scope: &SessionScope) -> Vec<Use> {
    let sessions = store.list_in(scope.clone()).await.unwrap();
    let mut agents = BTreeMap::new();
    for info in &sessions {
        for record in read(store, info.id).await.unwrap() {
            if let Event::AgentSpawned { session, agent, .. } = record.event {
                agents.insert(session, agent);
            }
        }
    }
    let mut all = Vec::new();
    for info in sessions {
        let (mut own, mut model, mut agent) = (Vec::new(), "(none)".to_owned(), None);
        let name = |model: &Provenance| format!("{}:{}", model.provider, model.model);
        for record in read(store, info.id).await.unwrap() {
            let mut asked = None;
            let (tool, figures) = match record.event {
                Event::SessionForked { .. } => {
                    own.clear();
                    continue;
                }
                Event::RunConfigured { arguments } => {
                    agent = arguments.agent;
                    continue;
                }
                Event::ModelRequested { provenance, .. } => {
                    model = name(&provenance);
                    continue;
                }
                Event::ModelReplied {
                    reply, discarded, ..
                } => {
                    model = reply.provenance.as_ref().map_or(model, name);
                    let mut usage = reply.usage;
                    usage += discarded;
                    (None, of_usage(usage))
                }
                Event::HistorySummarised {
                    provenance, usage, ..
                } => {
                    asked = Some(name(&provenance));
                    (None, of_usage(usage))
                }
                Event::TurnInterrupted { lost_tokens } if lost_tokens > 0 => {
                    let usage = Usage {
                        input_tokens: lost_tokens,
                        ..Usage::default()
                    };
                    (None, of_usage(usage))
                }
                Event::CallSettled {
                    tool,
                    output,
                    accounting,
                    ..
                } => {
                    let has_failed = !output.is_success();
                    let figures = of_result(Some(&output), has_failed, accounting.wall_us);
                    (Some(tool), figures)
                }
                Event::NodeSettled {
                    tool,
                    output,
                    accounting,
                    ..
                } => {
                    let (has_failed, us) = (output.error.is_some(), accounting.wall_us);
                    (
                        Some(tool),
                        of_result(output.output.as_ref(), has_failed, us),
                    )
                }
                _ => continue,
            };
            let of_agent = info.parent.map(|_| {
                let name = agents.get(&info.id);
                name.map_or("(unknown)", String::as_str).to_owned()
            });
            let of_run = || agent.clone().unwrap_or_else(|| "(top level)".to_owned());
            let agent = of_agent.unwrap_or_else(of_run);
            let model = asked.unwrap_or_else(|| model.clone());
            own.push(Use {
                session: info.id,
                day: u32::try_from(record.at_ms / DAY_MS).unwrap(),
                rows: [Some(String::new()), Some(model), tool, Some(agent)],
                figures,
            });
        }
        all.append(&mut own);
    }
    all
}

type Answer = (Vec<(u32, String, Figures)>, Figures);

/// Returns the figures of uses.
fn figures(uses: &[Use], by: StatsBy, since: u32) -> Answer {
    let (mut rows, mut total) = (BTreeMap::new(), (BTreeSet::new(), Figures::default()));
    for used in uses.iter().filter(|used| used.day >= since) {
        let (place, day) = match by {
            StatsBy::Day => (0, used.day),
            StatsBy::Model => (1, 0),
            StatsBy::Tool => (2, 0),
            StatsBy::Agent => (3, 0),
        };
        let row = used.rows[place].clone();
        let row = row.map(|row| rows.entry((day, row)).or_insert_with(Default::default));
        for (sessions, sum) in row.into_iter().chain([&mut total]) {
            let sessions: &mut BTreeSet<SessionId> = sessions;
            sessions.insert(used.session);
            add(sum, &used.figures);
        }
    }
    let counted = |(sessions, figures): (BTreeSet<SessionId>, Figures)| Figures {
        sessions: sessions.len() as u64,
        ..figures
    };
    let rows = rows.into_iter();
    let rows = rows.map(|((day, name), row)| (day, name, counted(row)));
    (rows.collect(), counted(total))
}

async fn kept(store: &dyn JournalStore, scope: &SessionScope, by: StatsBy, since: u32) -> Answer {
    let StoredStats { sums, unreadable } = store.stats(scope.clone(), by, since).await.unwrap();
    assert_eq!(unreadable, []);
    sums.figures(by, since)
}

/// Checks that the kept sums are those of the events, in every view; returns the sessions that used
/// anything.
pub(in crate::tests) async fn compare(store: &dyn JournalStore) -> u64 {
    let own = |project: &str, owner: &str| SessionScope::Own {
        project: project.to_owned(),
        owner: owner.to_owned(),
    };
    for scope in [
        SessionScope::All,
        SessionScope::Project("/a".to_owned()),
        SessionScope::Project("/b".to_owned()),
        own("/a", "ann"),
        own("/a", "ben"),
        own("/b", "ann"),
    ] {
        let uses = uses(store, &scope).await;
        for by in [StatsBy::Day, StatsBy::Model, StatsBy::Tool, StatsBy::Agent] {
            for since in [0, 10, 11, 12, 99_999] {
                let found = kept(store, &scope, by, since).await;
                let expected = figures(&uses, by, since);
                assert_eq!(found, expected, "{scope:?} {by:?} {since}");
            }
        }
    }
    let (_, total) = kept(store, &SessionScope::All, StatsBy::Day, 0).await;
    total.sessions
}

pub(in crate::tests) fn owned(project: &str, owner: &str) -> Option<Ownership> {
    Some(Ownership {
        project: project.to_owned(),
        owner: Some(owner.to_owned()),
    })
}

/// A reply of a model with a cost.
pub(in crate::tests) fn reply(model: &str, tokens: u64) -> Event {
    Event::ModelReplied {
        turn: 1,
        reply: ModelReply {
            provenance: Some(Provenance {
                provider: "test".to_owned(),
                model: model.to_owned(),
            }),
            usage: Usage {
                input_tokens: tokens,
                output_tokens: 2,
                cost_micros: (tokens > 9).then_some(3 * tokens),
                ..Usage::default()
            },
            ..ModelReply::default()
        },
        discarded: Usage::default(),
        duration_ms: 1,
        tape: None,
    }
}

pub(in crate::tests) fn settled(tool: &str, output: ToolResultOutput) -> Event {
    Event::CallSettled {
        call_id: CallId("call_0".to_owned()),
        tool: tool.to_owned(),
        output,
        accounting: accounting(),
        audit: Vec::new(),
        rule: None,
        path: Vec::new(),
        labels: Vec::new(),
        reference: None,
        tape: None,
        child: None,
        whole: None,
    }
}

fn done(tool: &str) -> Event {
    settled(tool, ToolResultOutput::json(json!({ "ok": true })))
}

/// Appends events on a day, each durable by itself.
pub(in crate::tests) async fn resume(
    store: &dyn JournalStore,
    session: SessionId,
    day: u64,
    events: Vec<Event>,
) {
    let next = read(store, session).await.unwrap().len() as u64;
    let journal = store.open_session(session).await.unwrap();
    for (seq, event) in (next..).zip(events) {
        let mut record = record(session, seq, event);
        record.at_ms = day * DAY_MS + seq;
        journal.append(&[record], Vec::new());
        journal.barrier().await.unwrap();
    }
}

/// Stores sessions of two owners and two projects: of an agent and its agent, of a client, one amid a
/// turn, and one with events of every kind. Returns the first, which started the agents.
async fn fill(store: &dyn JournalStore) -> SessionId {
    let [root, child, grandchild, client, open, every] =
        [1, 2, 3, 4, 5, 6].map(|byte| SessionId::from_hash([byte; 32]));
    let end = |session| ended(session, "done").event;
    store_owned(store, root, owned("/a", "ann"), vec![started_in("/a")]).await;
    let turn = vec![input("go"), reply("one", 11), done("read"), spawned(child)];
    resume(store, root, 10, turn).await;
    store_owned(store, child, None, vec![started(Some(root))]).await;
    let of_child = vec![reply("two", 22), spawned(grandchild), done("read")];
    resume(store, child, 10, of_child).await;
    store_owned(store, grandchild, None, vec![started(Some(child))]).await;
    let denied = settled("write", ToolResultOutput::ExecutionDenied(None));
    resume(store, grandchild, 11, vec![denied, end(grandchild)]).await;
    resume(store, child, 11, vec![done("agent"), end(child)]).await;
    let rest = vec![done("agent"), reply("one", 7), end(root)];
    resume(store, root, 12, rest).await;
    let mut of_client = started_in("/b");
    if let Event::SessionStarted { client, .. } = &mut of_client {
        *client = Some("notes".to_owned());
    }
    store_owned(store, client, owned("/b", "ann"), vec![of_client]).await;
    resume(store, client, 11, vec![done("read"); 70]).await;
    store_owned(store, open, owned("/a", "ben"), vec![started_in("/a")]).await;
    resume(store, open, 12, vec![input("go"), reply("two", 44)]).await;
    let all = every_event(every, &Blob::new(vec![7; 9]));
    let is_copied = |event: &Event| matches!(event, Event::SessionForked { .. });
    let events = all.into_iter().filter(|event| !is_copied(event));
    let journal = store.create_owned(every, owned("/b", "ben")).await.unwrap();
    let records = (0..).zip(events).map(|(seq, event)| {
        let mut record = record(every, seq, event);
        record.at_ms = 11 * DAY_MS + seq;
        record
    });
    journal.append(&records.collect::<Vec<_>>(), Vec::new());
    journal.barrier().await.unwrap();
    root
}

pub(super) async fn sums_are_those_of_the_events(backend: &impl Backend) {
    let store = backend.open().await;
    assert_eq!(compare(&*store).await, 0);
    let root = fill(&*store).await;
    assert_eq!(compare(&*store).await, 6);
    // A copy has used nothing until it continues.
    let by = Copier {
        name: "ben".to_owned(),
        owner: Some("ben".to_owned()),
    };
    let copy = store.fork(root, None, Some(by)).await.unwrap();
    assert_eq!(compare(&*store).await, 6);
    resume(&*store, copy, 12, vec![input("go"), reply("one", 55)]).await;
    assert_eq!(compare(&*store).await, 7);
    drop(store);
    let store = backend.open().await;
    resume(&*store, copy, 12, vec![ended(copy, "done").event]).await;
    assert_eq!(compare(&*store).await, 7);
    store.delete(copy).await.unwrap();
    assert_eq!(compare(&*store).await, 6);
    store.delete(root).await.unwrap();
    assert_eq!(compare(&*store).await, 3);
    for info in store.list().await.unwrap() {
        store.delete(info.id).await.unwrap();
    }
    assert_eq!(compare(&*store).await, 0);
}

/// The use of a session stays counted when retention removes its session.
pub(super) async fn sums_keep_what_retention_removes(backend: &impl Backend) {
    let store = backend.open().await;
    fill(&*store).await;
    let scope = SessionScope::All;
    let mut before = Vec::new();
    for by in [StatsBy::Day, StatsBy::Model, StatsBy::Tool, StatsBy::Agent] {
        before.push((by, kept(&*store, &scope, by, 0).await));
    }
    let listed = store.list().await.unwrap();
    let ids: Vec<SessionId> = listed.iter().map(|info| info.id).collect();
    backend.age(&ids).await;
    let retention = Retention {
        age: Some(Duration::from_secs(60 * 60)),
        bytes: None,
    };
    let pruned = store.prune(retention).await.unwrap();
    assert!(pruned.removed.len() > 2, "{pruned:?}");
    for (by, expected) in before {
        assert_eq!(kept(&*store, &scope, by, 0).await, expected, "{by:?}");
    }
}

/// Of many sessions that are amid a run, or ended amid one, the rest is added to the sums.
pub(super) async fn sums_have_what_many_open_sessions_used(backend: &impl Backend) {
    let store = backend.open().await;
    for _ in 0..260 {
        let session = SessionId::new();
        let events = vec![started_in("/a"), input("go"), reply("one", 11)];
        store_owned(&*store, session, owned("/a", "ann"), events).await;
    }
    for _ in 0..2 {
        assert_eq!(compare(&*store).await, 260);
    }
}
