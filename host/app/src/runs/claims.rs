//! This host among those that share a store: it continues the runs of hosts that ended and begins
//! those that wait, and does what other hosts ask for.

use super::{Refused, Runs, run, shared::HostRuns};
use crate::Host;
use agent_host_engine::{BoxFuture, journal::JournalError, turn::Prompts};
use agent_host_journal::{ClaimedRun, HostMessage};
use agent_host_types::turn::AgentInput;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, broadcast::error::RecvError},
    time::{MissedTickBehavior, interval},
};

/// The time between two looks at the store, since messages may be lost.
const POLL: Duration = Duration::from_secs(2);

/// The time between two reports.
const REPORT: Duration = Duration::from_secs(5);

/// Takes part among the hosts that share the store until no run may start and none runs; returns at
/// once for a store with one host.
pub fn take_part(host: Arc<Host>, runs: Arc<Runs>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let Some(shared) = runs.shared.clone() else {
            return;
        };
        let waits = Notify::new();
        let over = async {
            runs.closed.cancelled().await;
            runs.ended().await;
        };
        tokio::select! {
            () = over => {}
            () = claim_always(&host, &runs, &shared, &waits) => {}
            () = listen(&runs, &shared, &waits) => {}
            () = report_always(&runs, &shared) => {}
        }
        // It is forgotten by itself.
        let _ = shared.runs.leave().await;
    })
}

/// Claims runs while this host has places.
async fn claim_always(host: &Arc<Host>, runs: &Arc<Runs>, shared: &HostRuns, waits: &Notify) {
    let mut places = runs.count.subscribe();
    let mut polls = interval(POLL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut has_failed = false;
    loop {
        places.mark_unchanged();
        match claim_all(host, runs, shared).await {
            Ok(()) => has_failed = false,
            Err(error) if !has_failed => {
                has_failed = true;
                tracing::warn!("runs of other hosts are not continued: {error}");
            }
            Err(_) => {}
        }
        tokio::select! {
            _ = polls.tick() => {}
            () = waits.notified() => {}
            // The sender lives as long as the runs.
            _ = places.changed() => {}
        }
    }
}

async fn claim_all(
    host: &Arc<Host>,
    runs: &Arc<Runs>,
    shared: &HostRuns,
) -> Result<(), JournalError> {
    while runs.is_open() && runs.has_place() {
        let claimant = runs.claimant(&shared.placement);
        let Some(claimed) = shared.runs.claim_run(claimant).await? else {
            return Ok(());
        };
        start(host, runs, shared, claimed).await?;
    }
    Ok(())
}

/// Starts a claimed run, or says why it is not continued.
async fn start(
    host: &Arc<Host>,
    runs: &Arc<Runs>,
    shared: &HostRuns,
    claimed: ClaimedRun,
) -> Result<(), JournalError> {
    let ClaimedRun {
        claim,
        fairness_key,
        journal,
    } = claimed;
    let session = match host.sessions().resume_journal(journal).await {
        Ok(session) if session.state().is_broken_off() => session,
        // The host ended between the end of the run and its settlement, or before the first event.
        Ok(_) | Err(JournalError::NotFound(_)) => return shared.runs.end_run(claim).await,
        Err(error @ JournalError::Corrupt(_)) => {
            return shared.runs.stop_run(claim, error.to_string()).await;
        }
        // The store is looked at again, by this host not before the next poll.
        Err(error) => {
            shared.runs.hand_over(claim, true).await?;
            return Err(error);
        }
    };
    let agent = match host.agents().session_agent(&session, Prompts::Ask) {
        Ok(agent) => agent,
        Err(error) => return shared.runs.stop_run(claim, error.to_string()).await,
    };
    let mut slot = match runs.try_hold(claim.session, None) {
        Ok(slot) => slot,
        // It runs here past its claim, which a turn of it is about to notice; or this host ends.
        Err(Refused::Running | Refused::ShuttingDown | Refused::Full) => {
            host.sessions().give_up(session).await;
            return shared.runs.hand_over(claim, true).await;
        }
    };
    slot.take(claim, fairness_key);
    let host = Arc::clone(host);
    tokio::spawn(run(slot, host, agent, session, AgentInput::Continue, None));
    Ok(())
}

/// Receives the messages of other hosts, and reads from time to time what they may have said.
async fn listen(runs: &Arc<Runs>, shared: &HostRuns, waits: &Notify) {
    let mut messages = shared.runs.messages();
    let mut polls = interval(POLL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = tokio::select! {
            message = messages.recv() => message,
            _ = polls.tick() => {
                carry_out(runs, shared).await;
                runs.look_elsewhere(shared).await;
                continue;
            }
            () = runs.relays.look.notified() => {
                runs.look_elsewhere(shared).await;
                continue;
            }
        };
        match message {
            Ok(HostMessage::RunWaits) => waits.notify_one(),
            Ok(HostMessage::RunClaimed { session, host }) => {
                runs.watch_claimed(shared, session, host).await;
            }
            Ok(HostMessage::RunRequested) => carry_out(runs, shared).await,
            Ok(HostMessage::Watch { session, host }) => runs.relay(shared, session, host),
            Ok(HostMessage::Lines { session, lines }) => runs.receive(session, lines),
            // The next poll makes up for what was missed.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Does what other hosts ask for.
async fn carry_out(runs: &Arc<Runs>, shared: &HostRuns) {
    // A failure is that of the next poll, too.
    for (session, request) in shared.runs.requests().await.unwrap_or_default() {
        runs.carry_out(session, request);
    }
}

async fn report_always(runs: &Arc<Runs>, shared: &HostRuns) {
    let mut reports = interval(REPORT);
    reports.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        reports.tick().await;
        let status = runs.status(&shared.placement);
        if let Err(error) = shared.runs.report_host(status).await {
            tracing::debug!("this host is not listed: {error}");
        }
    }
}
