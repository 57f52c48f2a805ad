//! Sessions that are recorded here and replayed. Every turn of the other tests is, too.

mod copies;
mod corpus;
mod differences;
mod refusals;

use super::harness::*;
use crate::{
    journal::Journal,
    replay::{Recording, Unreplayable, replay},
};
use agent_host_types::event::EventRecord;
use std::sync::Arc;

/// Replays what a session has recorded so far, which has to come out equal. What hooks and modes of
/// an embedder did is not in a recording.
pub(super) async fn check(bench: &Bench) {
    let Some(recording) = recorded(bench).await else {
        return;
    };
    match replay(&recording).await {
        Ok(replayed) if bench.agent.hooks.is_empty() && !bench.is_unreplayable => {
            assert_eq!(replayed.difference, None, "{:#?}", recording.records());
        }
        Ok(_) | Err(Unreplayable::Hooks(_) | Unreplayable::Setup(_) | Unreplayable::NoSetup(_)) => {
        }
        Err(error) => panic!("cannot be replayed: {error}"),
    }
}

/// Returns what a replay of a session needs; `None` if nothing of it is durable.
pub(super) async fn recorded(bench: &Bench) -> Option<Recording> {
    let mut recording = Recording::new(bench.session.id(), bench.journal.durable());
    recording.records().first()?;
    let own: Arc<dyn Journal> = bench.journal.clone();
    let mut journals = vec![own];
    while let Some(session) = recording.missing_session() {
        let agents = bench.agent.agents.as_ref()?;
        let journal = agents.journals().open(session).await.ok()?;
        recording.add_session(session, journal.records(0).await.ok()?);
        journals.push(journal);
    }
    for digest in recording.missing_blobs() {
        for journal in &journals {
            if let Ok(bytes) = journal.blob(digest).await {
                recording.add_blob(digest, bytes);
            }
        }
    }
    let setups = bench.journal.setups.lock().unwrap().clone();
    for (from, (setup, approvals)) in setups {
        recording.assume(from, setup, approvals);
    }
    Some(recording)
}
