//! Files that one session of a run writes and another one reads: an agent, its caller, and another
//! agent.

use super::{
    super::{children::Family, harness::*},
    flow, tools,
};
use agent_host_types::{
    event::{Event, EventRecord},
    flow::{FlowMode, LabelledFile},
    model::ModelReply,
    turn::AgentInput,
};
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// Text that a call got, written to a file by a reference. Its model has seen nothing of it.
const WRITE: (&str, &str, &str) = ("w", "write", r#"{"content": {"$ref": "@r1"}}"#);

fn fetch() -> ModelReply {
    calls(&[("f", "fetch", "")])
}

fn helper(call: &str) -> ModelReply {
    calls(&[(call, "agent_helper", r#"{"instructions": "look around"}"#)])
}

fn read() -> ModelReply {
    calls(&[("r", "read", "")])
}

fn family(parent: Vec<ModelReply>, child: Vec<ModelReply>) -> Family {
    let mut parent = Bench::with(parent, tools());
    flow(&mut parent.agent, FlowMode::Quarantine);
    Family::with(parent, Arc::default(), child, tools(), |agent| {
        flow(agent, FlowMode::Quarantine);
    })
}

/// The same after the process ended, with these replies of the caller.
async fn restarted(family: &Family, replies: Vec<ModelReply>) -> Family {
    let mut parent = Bench::resume(&family.parent.journal, replies, tools()).await;
    flow(&mut parent.agent, FlowMode::Quarantine);
    let journals = family.journals.after_crash();
    Family::with(parent, journals, vec![], tools(), |agent| {
        agent.settings = family.child.settings.clone();
    })
}

/// The labels of the results of `read` in some records.
fn read_labels(records: Vec<EventRecord>) -> Vec<Vec<String>> {
    let settled = records.into_iter().filter_map(|record| match record.event {
        Event::CallSettled { tool, labels, .. } if tool == "read" => Some(labels),
        _ => None,
    });
    settled.collect()
}

fn news() -> Vec<String> {
    vec!["http:news.example:8443".to_owned()]
}

/// The labels of `read` in the sessions of all agents.
fn read_by_agents(family: &Family) -> Vec<Vec<String>> {
    let journals = family.journals.all();
    let records = journals.iter().map(|journal| journal.durable());
    records.flat_map(read_labels).collect()
}

/// Also after a restart, where the caller knows it from its own records.
#[tokio::test]
async fn file_that_an_agent_wrote_is_untrusted_for_its_caller() {
    let child = vec![fetch(), calls(&[WRITE]), says("written")];
    let mut before = family(vec![helper("p"), read(), says("done")], child);
    before.parent.say("go").await;
    let mut after = restarted(&before, vec![read()]).await;
    after.parent.turn(AgentInput::Continue).await;
    before.parent.turn(AgentInput::Continue).await;
    for family in [&before, &after] {
        let records = family.parent.journal.durable();
        let labelled = records.iter().find_map(|record| match &record.event {
            Event::FilesLabelled { call_id, files } => Some((call_id.0.as_str(), files.clone())),
            _ => None,
        });
        let file = LabelledFile {
            path: "/workspace/a.md".to_owned(),
            sources: news(),
        };
        assert_eq!(labelled, Some(("p", vec![file])));
        assert_eq!(read_labels(records), [news()]);
    }
}

#[tokio::test]
async fn file_that_an_agent_wrote_is_untrusted_for_another() {
    let writer = [fetch(), calls(&[WRITE]), says("written")];
    let child = writer.into_iter().chain([read(), says("read")]);
    let mut family = family(vec![helper("p"), helper("q")], child.collect());
    family.parent.say("go").await;
    family.parent.turn(AgentInput::Continue).await;
    assert_eq!(read_by_agents(&family), [news()]);
}

#[tokio::test]
async fn file_that_the_caller_wrote_is_untrusted_for_an_agent() {
    let parent = vec![fetch(), calls(&[WRITE]), helper("p")];
    let mut family = family(parent, vec![read(), says("read")]);
    family.parent.say("go").await;
    family.parent.turn(AgentInput::Continue).await;
    family.parent.turn(AgentInput::Continue).await;
    assert_eq!(read_by_agents(&family), [news()]);
}

/// The agent waits for a decision when its caller gets another message.
#[tokio::test]
async fn file_of_an_abandoned_agent_is_untrusted_after_a_restart() {
    let asks = calls(&[("a", "act", r#"{"to": {"$ref": "@r1"}}"#)]);
    let child = vec![fetch(), calls(&[WRITE]), asks];
    let mut before = family(vec![helper("p"), says("done")], child);
    // What ends the agent can have the time at which the turn before ended, by which a replay orders
    // them.
    before.parent.is_unreplayable = true;
    let waits = before.parent.say("go").await;
    assert_eq!(kind(&waits), "awaiting-children");
    // A copy of the session that waits has no other source of it.
    let labelled = before
        .parent
        .kinds()
        .iter()
        .any(|kind| kind == "files-labelled");
    assert!(labelled);
    before.parent.say("Something else.").await;
    let mut after = restarted(&before, vec![read()]).await;
    after.parent.is_unreplayable = true;
    after.parent.say("Read it.").await;
    assert_eq!(read_labels(after.parent.journal.durable()), [news()]);
}

/// A file that nothing untrusted reached has no sources, and no event names it.
#[tokio::test]
async fn file_of_an_agent_that_read_nothing_is_trusted() {
    let child = vec![calls(&[("w", "write", "{}")]), says("written")];
    let mut family = family(vec![helper("p"), read()], child);
    family.parent.say("go").await;
    family.parent.turn(AgentInput::Continue).await;
    assert_eq!(
        read_labels(family.parent.journal.durable()),
        [Vec::<String>::new()]
    );
    assert!(!family.parent.kinds().contains(&"files-labelled".to_owned()));
}
