//! The work on a firing: its session is created or continued, once.
//!
//! A firing is `waiting` until its session has the message. The message carries the firing's key,
//! and a session has one writer: a host that finds the key there starts nothing. So a host that
//! dies between any two steps leaves a firing that another one completes, and no step happens
//! twice.

use super::{Trigger, watch};
use crate::{Service, once::last_turn_has_ended};
use agent_host_app::{
    Host, HostError,
    config::{Overlap, TriggerKind, TriggerSession},
    runs::{self, Refused, Slot},
};
use agent_host_engine::{
    journal::JournalError,
    session::{Session, now_ms},
    turn::{Agent, Prompts},
};
use agent_host_journal::{Firing, FiringState, FoundEvents, MESSAGE_KEY};
use agent_host_types::{
    id::{Digest, SessionId, json_digest},
    message::{Message, Role},
    run::RunArguments,
    turn::{AgentInput, TurnEnd, TurnError},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{oneshot, watch::Receiver},
    time::timeout,
};

/// The time for which a host has a firing, in milliseconds: 60 s. Longer than each of its steps.
pub(super) const LEASE_MS: u64 = 60 * 1000;

/// The time until a firing that waits for the one before it is looked at again, in milliseconds.
const WAIT_MS: u64 = 5 * 1000;

/// [`WAIT_MS`].
const WAIT: Duration = Duration::from_millis(WAIT_MS);

/// The number of the newest firings among which those before one are looked for.
const READ: u32 = 64;

/// The most attempts to start a firing.
const MAX_ATTEMPTS: u32 = 20;

/// The start of a firing.
pub(super) enum FiringStart {
    /// The session has the message.
    Started,
    /// Another run has the session, or this server is about to end.
    Busy,
    /// It cannot start, now or at all.
    Failed { why: String, is_final: bool },
}

/// Returns a firing that is to be recorded.
pub(super) fn recorded(
    trigger: &Trigger,
    key: String,
    at_ms: u64,
    message: String,
    due_ms: u64,
) -> Firing {
    let session = match trigger.run.session {
        TriggerSession::Each => session_id(&[&trigger.id, &key]),
        TriggerSession::One => session_id(&[&trigger.id]),
    };
    Firing {
        trigger: trigger.id.clone(),
        key,
        session,
        at_ms,
        state: FiringState::Waiting,
        message: Some(message),
        due_ms: Some(due_ms),
        notified: None,
        attempts: 0,
    }
}

/// Returns the same session on each host, wherever its files are.
fn session_id(of: &[&str]) -> SessionId {
    SessionId::from_hash(json_digest(&json!(["trigger", of])).into_bytes())
}

/// Does what is left to do of a firing that this host has taken.
pub(super) async fn work(service: &Service, trigger: &Arc<Trigger>, firing: Firing) {
    let worked = match firing.state {
        FiringState::Waiting => start(service, trigger, firing).await,
        FiringState::Started => watch::work(service, trigger, firing).await,
        FiringState::Counted | FiringState::Skipped | FiringState::Failed => return,
    };
    if let Err(error) = worked {
        tracing::error!(
            by = trigger.by,
            "a firing will be checked again in 60 s: {error}"
        );
    }
}

/// Starts a firing, or has it wait or skipped because of the one before it.
async fn start(
    service: &Service,
    trigger: &Arc<Trigger>,
    firing: Firing,
) -> Result<(), JournalError> {
    let store = service.store();
    let update = |to: Firing| store.update_firing(firing.clone(), to);
    let wait = |firing: &Firing| Firing {
        due_ms: Some(now_ms().saturating_add(WAIT_MS)),
        ..firing.clone()
    };
    // From here on, so that no end is missed.
    let ends = service.triggers.ends.subscribe();
    match before(service, trigger, &firing).await? {
        Before::Ended => {}
        Before::Skip => {
            tracing::info!(
                by = trigger.by,
                "a firing is skipped: the one before it has not ended"
            );
            let skipped = Firing {
                state: FiringState::Skipped,
                message: None,
                due_ms: None,
                ..firing.clone()
            };
            return update(skipped).await.map(drop);
        }
        Before::Wait { is_next } => {
            let waiting = wait(&firing);
            if update(waiting.clone()).await? && is_next {
                tokio::spawn(look_after_an_end(service.clone(), waiting, ends));
            }
            return Ok(());
        }
    }
    let (ended, end) = oneshot::channel();
    match launch(service, trigger, &firing, ended).await {
        FiringStart::Busy => update(wait(&firing)).await.map(drop),
        FiringStart::Started => {
            tracing::info!(by = trigger.by, session = %firing.session, "a firing started");
            let started = Firing {
                state: FiringState::Started,
                message: None,
                due_ms: Some(watch::next_look(trigger, &firing)),
                attempts: 0,
                ..firing.clone()
            };
            if update(started.clone()).await? {
                tokio::spawn(look_at_the_end(service.clone(), started, end));
            }
            Ok(())
        }
        FiringStart::Failed { why, is_final } => {
            tracing::error!(by = trigger.by, session = %firing.session, "a firing cannot start: {why}");
            let attempts = firing.attempts.saturating_add(1);
            let to = match is_final || attempts >= MAX_ATTEMPTS {
                true => Firing {
                    state: FiringState::Failed,
                    message: None,
                    due_ms: None,
                    ..firing.clone()
                },
                false => Firing {
                    attempts,
                    ..wait(&firing)
                },
            };
            update(to).await.map(drop)
        }
    }
}

/// Has the end of a run looked at as soon as it is there.
pub(super) async fn look_at_the_end(service: Service, started: Firing, end: oneshot::Receiver<()>) {
    // The sender is dropped with the run.
    let _ = end.await;
    service.triggers.ends.send_replace(());
    make_due(&service, started).await;
}

/// Has a firing looked at now.
async fn make_due(service: &Service, firing: Firing) {
    let due = Firing {
        due_ms: Some(0),
        ..firing.clone()
    };
    match service.store().update_firing(firing, due).await {
        Ok(_) => service.triggers.wake.notify_one(),
        Err(error) => tracing::warn!("a firing will be checked later: {error}"),
    }
}

/// Has a firing that waits looked at as soon as a run of this host has ended that a trigger started.
/// After its time to wait it is due in any case.
async fn look_after_an_end(service: Service, waiting: Firing, mut ends: Receiver<()>) {
    if let Ok(Ok(())) = timeout(WAIT, ends.changed()).await {
        make_due(&service, waiting).await;
    }
}

/// The firing before one.
enum Before {
    Ended,
    /// It runs or waits, and this one is left out.
    Skip,
    /// It runs or waits, and this one waits, too: alone, if it `is_next`.
    Wait {
        is_next: bool,
    },
}

/// Looks whether the firings before one hold it up.
async fn before(
    service: &Service,
    trigger: &Trigger,
    firing: &Firing,
) -> Result<Before, JournalError> {
    let Some(overlap) = trigger.overlap else {
        return Ok(Before::Ended);
    };
    let newest = service.store().firings(firing.trigger.clone(), READ);
    let newest = newest.await?;
    let is_before = |other: &&Firing| (other.at_ms, &other.key) < (firing.at_ms, &firing.key);
    let mut earlier = newest.iter().filter(is_before);
    let waits = earlier.clone().any(|one| one.state == FiringState::Waiting);
    let last = earlier.find(|one| one.state == FiringState::Started);
    let is_running = match last {
        Some(last) => is_running(service, last.session).await?,
        None => false,
    };
    Ok(match (overlap, waits, is_running) {
        (_, false, false) => Before::Ended,
        (Overlap::Skip, ..) => Before::Skip,
        // Deliveries wait for each other; of a schedule one waits.
        (Overlap::Queue, true, _) if trigger.kind == TriggerKind::Schedule => Before::Skip,
        (Overlap::Queue, ..) => Before::Wait { is_next: !waits },
    })
}

/// Whether a session runs, here or on another host.
async fn is_running(service: &Service, session: SessionId) -> Result<bool, JournalError> {
    if service.runs.is_running_anywhere(session).await {
        return Ok(true);
    }
    match service.store().open_session(session).await {
        Ok(_) | Err(JournalError::NotFound(_)) => Ok(false),
        Err(JournalError::Locked { .. }) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Claims the session of a firing, and runs it with the message, unless it has it.
async fn launch(
    service: &Service,
    trigger: &Trigger,
    firing: &Firing,
    ended: oneshot::Sender<()>,
) -> FiringStart {
    let by = Some(trigger.by.clone());
    let slot = match service.runs.reserve(firing.session, by).await {
        Ok(slot) => slot,
        Err(Refused::Running | Refused::ShuttingDown | Refused::Full) => return FiringStart::Busy,
    };
    let opened = open(&service.host, trigger, firing.session).await;
    let (agent, session, is_new) = match opened {
        Ok(opened) => opened,
        Err(HostError::Journal(JournalError::Locked { .. })) => return FiringStart::Busy,
        Err(error) => {
            let is_final = !matches!(error, HostError::Journal(JournalError::Storage(_)));
            let why = error.to_string();
            return FiringStart::Failed { why, is_final };
        }
    };
    let text = firing.message.clone().unwrap_or_default();
    let input = match input(service, firing, text, is_new).await {
        Ok(Some(input)) => input,
        Ok(None) => return FiringStart::Started,
        Err(error) => {
            let why = error.to_string();
            return FiringStart::Failed {
                why,
                is_final: false,
            };
        }
    };
    run(service, slot, agent, session, input, ended).await
}

/// Returns what a claimed session is to be given: the message, unless it has that; then its run
/// continues if it was interrupted, and nothing is left to do if it was not.
async fn input(
    service: &Service,
    firing: &Firing,
    text: String,
    is_new: bool,
) -> Result<Option<AgentInput>, JournalError> {
    let key = message_key(firing);
    let (mut has_it, mut ended) = (false, false);
    if !is_new {
        // No other host writes to it now.
        let store = service.store();
        let of_key = FoundEvents::InputsOf(key.clone());
        let found = store.for_each_found(firing.session, of_key, |_| has_it = true);
        found.await?;
        ended = last_turn_has_ended(store, firing.session).await?;
    }
    Ok(match (has_it, ended) {
        (true, true) => None,
        (true, false) => Some(AgentInput::Continue),
        (false, _) => {
            let mut message = Message::text(Role::User, text);
            message.metadata.insert(MESSAGE_KEY.to_owned(), json!(key));
            Some(AgentInput::Message(message))
        }
    })
}

pub(super) async fn run(
    service: &Service,
    slot: Slot,
    agent: Agent,
    session: Session,
    input: AgentInput,
    ended: oneshot::Sender<()>,
) -> FiringStart {
    let (started, first) = oneshot::channel();
    let host = Arc::clone(&service.host);
    tokio::spawn(async move {
        runs::run(slot, host, agent, session, input, Some(started)).await;
        drop(ended);
    });
    match first.await {
        Ok(Ok(_)) => FiringStart::Started,
        Ok(Err(end)) => FiringStart::Failed {
            is_final: !matches!(
                *end,
                TurnEnd::Error {
                    error: TurnError::Journal { .. }
                }
            ),
            why: format!("the turn ended with `{}`", end.kind()),
        },
        Err(_) => FiringStart::Failed {
            why: "its run ended at once".to_owned(),
            is_final: false,
        },
    }
}

/// Claims a session that began, or creates it; returns whether it is new, too.
async fn open(
    host: &Host,
    trigger: &Trigger,
    session: SessionId,
) -> Result<(Agent, Session, bool), HostError> {
    let name = trigger.run.agent.as_deref();
    let (agent, system) = host.agents().named_agent(name, Prompts::Ask)?;
    let (mut session, has_begun) = host.sessions().with_id(session, None, system).await?;
    if has_begun {
        let agent = host.agents().session_agent(&session, Prompts::Ask)?;
        return Ok((agent, session, false));
    }
    let arguments = RunArguments {
        directory: Some(host.config().working_dir.display().to_string()),
        agent: trigger.run.agent.clone(),
        ..RunArguments::default()
    };
    let configured = session.configure_run(arguments);
    configured.map_err(|error| HostError::Journal(JournalError::storage(error)))?;
    Ok((agent, session, true))
}

/// Returns the key of a firing's message.
pub(super) fn message_key(firing: &Firing) -> String {
    let form = json!([firing.trigger, firing.key]).to_string();
    Digest::of(form.as_bytes()).to_string()
}
