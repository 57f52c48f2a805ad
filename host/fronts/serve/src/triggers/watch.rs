//! The work on a firing whose session has the message, until its run has ended for good: its
//! receiver is notified of each end, and a request for approval that expired is settled.
//!
//! The end of a run is read from the journal, and the store has up to which one it was seen. So
//! nothing of this is lost with a host, and of several hosts the one that has the firing does it.

use super::{
    Trigger,
    firing::{FiringStart, look_at_the_end, message_key, run},
    notify::{self, Told},
};
use crate::Service;
use agent_host_app::HostError;
use agent_host_engine::{journal::JournalError, session::now_ms, turn::Prompts};
use agent_host_journal::{Firing, FoundEvents};
use agent_host_types::{
    event::{Event, EventRecord},
    session_status::{PhaseChange, SessionClaim, SessionStatus},
    turn::{AgentInput, TurnEnd},
};
use std::sync::Arc;
use tokio::sync::oneshot;

/// The time after which a run is looked at again whose receiver is to hear of its end soon, in
/// milliseconds: 30 s.
const LOOK_MS: u64 = 30 * 1000;

/// The time after which any other run is looked at again, in milliseconds: 5 min. The host that
/// runs it looks at its end at once.
const SLOW_LOOK_MS: u64 = 5 * 60 * 1000;

/// The age up to which the end of a run that does not wait is waited for, and a receiver hears of it
/// soon, in milliseconds: 7 days.
const MAX_AGE_MS: u64 = 7 * 24 * 3_600_000;

/// The end of a turn of a firing's run.
pub(super) struct SeenEnd {
    /// The number of its event.
    pub(super) seq: u64,
    pub(super) end: TurnEnd,
    /// The status of the session after it.
    pub(super) status: SessionStatus,
}

/// How far the run of a firing is.
enum RunProgress {
    /// A turn has begun and not ended, or another one is to follow.
    Open,
    Ended(Box<SeenEnd>),
    /// Another message came.
    Superseded,
}

/// Returns the time of the next look at a run that has begun.
pub(super) fn next_look(trigger: &Trigger, firing: &Firing) -> u64 {
    let is_soon = trigger.receiver.is_some() && !is_old(firing);
    now_ms().saturating_add(if is_soon { LOOK_MS } else { SLOW_LOOK_MS })
}

fn is_old(firing: &Firing) -> bool {
    now_ms().saturating_sub(firing.at_ms) > MAX_AGE_MS
}

/// Does what is to be done at the end of a firing's run that was not seen yet.
pub(super) async fn work(
    service: &Service,
    trigger: &Arc<Trigger>,
    firing: Firing,
) -> Result<(), JournalError> {
    let store = service.store();
    let closed = Firing {
        due_ms: None,
        ..firing.clone()
    };
    let later = Firing {
        due_ms: Some(next_look(trigger, &firing)),
        ..firing.clone()
    };
    let seen = match progress(service, &firing).await {
        // It was deleted meanwhile.
        Err(JournalError::NotFound(_)) | Ok(RunProgress::Superseded) => {
            return store.update_firing(firing, closed).await.map(drop);
        }
        Ok(RunProgress::Open) => {
            let to = if is_old(&firing) { closed } else { later };
            return store.update_firing(firing, to).await.map(drop);
        }
        Ok(RunProgress::Ended(seen)) => seen,
        Err(error) => return Err(error),
    };
    let mut to = Firing {
        notified: Some(seen.seq),
        attempts: 0,
        ..later
    };
    if firing.notified.is_none_or(|notified| notified < seen.seq)
        && let Told::Later(retry) = notify::tell(service, trigger, &firing, &seen).await
    {
        return store.update_firing(firing, retry).await.map(drop);
    }
    let Some(open) = seen.end.continuation() else {
        to.due_ms = None;
        return store.update_firing(firing, to).await.map(drop);
    };
    match open.first_expiry_ms() {
        Some(late) if late <= now_ms() => settle(service, trigger, firing, to).await,
        Some(late) => {
            // Nothing else is to be seen of a run that has no receiver.
            let look = to.due_ms.filter(|_| trigger.receiver.is_some());
            to.due_ms = Some(look.map_or(late, |look| look.min(late)));
            store.update_firing(firing, to).await.map(drop)
        }
        None => store.update_firing(firing, to).await.map(drop),
    }
}

/// Continues a run whose request for approval has expired: the engine denies the calls, and the
/// model hears of it.
async fn settle(
    service: &Service,
    trigger: &Arc<Trigger>,
    firing: Firing,
    to: Firing,
) -> Result<(), JournalError> {
    let (ended, end) = oneshot::channel();
    let (by, session) = (&trigger.by, firing.session);
    let started = resume(service, trigger, &firing, ended).await;
    if let Some(FiringStart::Failed { why, .. }) = &started {
        tracing::error!(by, %session, "cannot deny calls that waited too long: {why}");
    }
    let is_started = matches!(started, Some(FiringStart::Started));
    if service.store().update_firing(firing, to.clone()).await? && is_started {
        tracing::warn!(by, %session, "calls waited too long for an approval and are denied");
        tokio::spawn(look_at_the_end(service.clone(), to, end));
    }
    Ok(())
}

/// Resumes the session of a firing, unless its request was answered meanwhile.
async fn resume(
    service: &Service,
    trigger: &Trigger,
    firing: &Firing,
    ended: oneshot::Sender<()>,
) -> Option<FiringStart> {
    let failed = |error: HostError| {
        let why = error.to_string();
        let is_final = false;
        Some(FiringStart::Failed { why, is_final })
    };
    let by = Some(trigger.by.clone());
    // It runs, or this server is about to end.
    let slot = service.runs.reserve(firing.session, by).await.ok()?;
    let name = firing.session.to_string();
    let session = match service.host.sessions().resume(&name).await {
        Ok(session) => session,
        Err(HostError::Journal(JournalError::Locked { .. })) => return None,
        Err(error) => return failed(error),
    };
    let agent = match service.host.agents().session_agent(&session, Prompts::Ask) {
        Ok(agent) => agent,
        Err(error) => return failed(error),
    };
    let expiry = agent
        .continuation(&session)
        .and_then(|open| open.first_expiry_ms());
    if expiry.is_none_or(|late| late > now_ms()) {
        return None;
    }
    Some(run(service, slot, agent, session, AgentInput::Continue, ended).await)
}

/// Reads how far the run of a firing is, from the last end on that was seen.
async fn progress(service: &Service, firing: &Firing) -> Result<RunProgress, JournalError> {
    let own = FoundEvents::InputsOf(message_key(firing));
    let store = service.store();
    let mut next = firing.notified;
    if next.is_none() {
        let first = |record: EventRecord| next = next.or(Some(record.seq));
        store
            .for_each_found(firing.session, own.clone(), first)
            .await?;
    }
    // Without its message, its run has not begun.
    let Some(mut next) = next else {
        return Ok(RunProgress::Open);
    };
    let (mut is_own, mut progress) = (firing.notified.is_some(), RunProgress::Open);
    loop {
        let page = store.read(firing.session, next).await?;
        let Some(last) = page.last() else {
            return Ok(progress);
        };
        next = last.seq.saturating_add(1);
        for record in page {
            if let Event::InputReceived { .. } = record.event {
                let was_own = is_own;
                is_own = own.has(&record.event);
                if was_own && !is_own {
                    return Ok(RunProgress::Superseded);
                }
            }
            let change = PhaseChange::from_event(&record.event).filter(|_| is_own);
            progress = match (change, record.event) {
                (Some(PhaseChange::End(phase)), Event::TurnEnded { outcome, .. }) => {
                    match outcome.end {
                        TurnEnd::NeedsMoreTurns => RunProgress::Open,
                        end => RunProgress::Ended(Box::new(SeenEnd {
                            seq: record.seq,
                            end,
                            status: phase.status(SessionClaim::None),
                        })),
                    }
                }
                (Some(_), _) => RunProgress::Open,
                (None, _) => progress,
            };
        }
    }
}
