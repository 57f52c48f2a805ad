//! Copies: the original is replayed up to where it was copied, and then what the copy did.

use super::*;
use crate::{journal::Journal as _, session::SessionCopy};
use agent_host_types::{event::Event, id::SessionId, turn::AgentInput};
use pretty_assertions::assert_eq;

/// Returns the journal of a copy of what a session recorded.
async fn copy(bench: &Bench) -> Arc<TestJournal> {
    let (from, into) = (bench.session.id(), SessionId::new());
    let mut copy = SessionCopy::new(from, into);
    let records = bench.journal.durable();
    let copied = records.into_iter().map(|record| copy.next(record).unwrap());
    let mut copied: Vec<EventRecord> = copied.collect();
    copied.extend(copy.finish().unwrap());
    let journal = TestJournal::new(into);
    journal.append(&copied, bench.journal.blobs());
    journal.barrier().await.unwrap();
    *journal.setups.lock().unwrap() = bench.journal.setups.lock().unwrap().clone();
    journal
}

/// A copy of a session that waits for approval, and a copy of that.
#[tokio::test]
async fn copy_of_copy_replays_with_its_originals() {
    let batch = [("a", "look", ""), ("b", "send", "")];
    let mut bench = Bench::new(vec![calls(&batch)]);
    bench.ask().await;

    let mut second =
        Bench::resume(copy(&bench).await.as_ref(), vec![says("done")], standard()).await;
    second.turn(AgentInput::Continue).await;
    let mut third = Bench::resume(
        copy(&second).await.as_ref(),
        vec![says("again")],
        standard(),
    )
    .await;
    third.say("more").await;

    let recording = recorded(&third).await.unwrap();
    let replayed = replay(&recording).await.unwrap();
    assert_eq!(replayed.difference, None);
    let own = recording.records().iter();
    let begins = own.filter(|record| {
        // The answers of the calls that waited are made by the copy, and compared apart.
        matches!(
            record.event,
            Event::SessionForked { .. } | Event::CallSettled { .. }
        )
    });
    let events = recording.records().len() - begins.count();
    assert_eq!(replayed.events, events as u64);
}

/// A copy made now would begin otherwise.
#[tokio::test]
async fn altered_beginning_of_copy_is_found() {
    let mut bench = Bench::new(vec![calls(&[("b", "send", "")])]);
    bench.ask().await;
    let mut second =
        Bench::resume(copy(&bench).await.as_ref(), vec![says("done")], standard()).await;
    second.turn(AgentInput::Continue).await;
    let mut recording = recorded(&second).await.unwrap();
    let root = recording.session();
    let records = recording.sessions.get_mut(&root).unwrap();
    let settled = records
        .iter_mut()
        .find(|record| matches!(record.event, Event::CallSettled { .. }))
        .unwrap();
    let seq = settled.seq;
    if let Event::CallSettled { output, .. } = &mut settled.event {
        *output = denied("It was copied.");
    }
    let difference = replay(&recording).await.unwrap().difference.unwrap();
    assert_eq!(
        (
            difference.session,
            difference.seq,
            difference.field.as_str()
        ),
        (root, seq, "/output/reason")
    );
}
