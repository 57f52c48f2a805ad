//! The runs of a session, as its journal tells of them.

use agent_host_engine::{journal::JournalError, session::SessionState};
use agent_host_journal::JournalStore;
use agent_host_models::Preset;
use agent_host_types::{
    event::{Event, EventRecord},
    id::SessionId,
};

/// Returns the id of a session and the state of its runs, and nothing else of its state: see
/// [`SessionState::run_arguments`]. It is found as `find_in` of the store does. Needs no claim of
/// the session.
///
/// # Errors
/// There is no such session, or it cannot be read.
pub async fn run_states(
    store: &dyn JournalStore,
    directory: &str,
    name: &str,
) -> Result<(SessionId, SessionState), JournalError> {
    let id = store.find_in(directory, name).await?;
    let mut state = SessionState::default();
    let follow = |record: EventRecord| {
        if let Event::SessionStarted { .. }
        | Event::SessionForked { .. }
        | Event::RunConfigured { .. } = record.event
        {
            state.apply(&record.event);
        }
    };
    store.for_each_record(id, follow).await?;
    Ok((id, state))
}

/// Returns the variable from which the key of a model service is read; `None` for one that needs no
/// key, or that only a configuration knows.
#[must_use]
pub fn key_variable(service: &str) -> Option<&'static str> {
    let preset = Preset::from_name(service).filter(|preset| preset.wants_key);
    preset.and_then(|preset| preset.key_variables.first().copied())
}
