//! The runs of this host as other hosts see them: listed while they run, so that another one
//! continues them.

use super::{Refused, Runs, Slot, lock};
use crate::{Host, HostPlacement};
use agent_host_engine::{journal::JournalError, session::Session};
use agent_host_journal::{
    Claimant, HostStatus, RunClaim, RunListing, RunRequest, SessionScope, SharedRuns,
};
use agent_host_types::{
    id::SessionId,
    turn::{TurnEnd, TurnError},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::sleep;

/// The time before a run is continued whose journal failed.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// The most runs that may wait for a host, of all hosts together.
pub const MAX_WAITING: u32 = 10_000;

/// The part of a host's places that the runs of one sender of one agent may take while they are
/// accepted here, so that those of another one start at once.
const SHARE: (u32, u32) = (3, 4);

/// The runs that hosts share, and this host among them.
#[derive(Clone, Debug)]
pub(super) struct HostRuns {
    pub(super) runs: Arc<dyn SharedRuns>,
    pub(super) placement: HostPlacement,
}

impl HostRuns {
    /// Returns the shared runs of a host; none if its store has one host.
    pub(super) fn for_host(host: &Host) -> Option<Self> {
        Some(Self {
            runs: host.sessions().store().shared_runs()?,
            placement: host.placement().clone(),
        })
    }

    /// Lists the run of a claimed session.
    async fn list(
        &self,
        session: SessionId,
        fairness_key: String,
    ) -> Result<RunClaim, JournalError> {
        let listing = RunListing {
            fairness_key,
            placement: self.placement.of_runs(),
        };
        self.runs.list_run(session, listing).await
    }

    /// Writes down how a run has ended, whose claim is still held. Returns whether another host is
    /// to continue it once the claim is given up.
    pub(super) async fn settle(&self, claim: RunClaim, end: &TurnEnd, is_closed: bool) -> bool {
        let settled = match end {
            TurnEnd::NeedsMoreTurns if is_closed => return true,
            // Nothing more can be written here; another host has it, or has more luck.
            TurnEnd::Error {
                error: TurnError::Journal { .. },
            } => return true,
            TurnEnd::Error {
                error: error @ TurnError::NoProgress { .. },
            } => self.runs.stop_run(claim, error.to_string()).await,
            _ => self.runs.end_run(claim).await,
        };
        if let Err(error) = settled {
            tracing::warn!("another host will check the run again: {error}");
        }
        false
    }

    /// Has another host continue a run.
    pub(super) async fn hand_over(&self, claim: RunClaim, end: &TurnEnd, has_begun: bool) {
        if let TurnEnd::Error { .. } = end {
            // A store that failed is not asked at once by one host after the other.
            sleep(FAILURE_PAUSE).await;
        }
        if let Err(error) = self.runs.hand_over(claim, has_begun).await {
            let session = claim.session;
            tracing::warn!("another host will continue session {session} later: {error}");
        }
    }
}

/// Returns the key by which hosts are fair: of the agent and the sender.
pub(super) fn fairness_key(session: &Session, by: Option<&str>) -> String {
    let agent = session.state().run_arguments().agent;
    format!("{}/{}", agent.unwrap_or_default(), by.unwrap_or_default())
}

impl Runs {
    /// Returns the runs that hosts share; none if the store has one host.
    #[must_use]
    pub fn shared(&self) -> Option<&Arc<dyn SharedRuns>> {
        self.shared.as_ref().map(|shared| &shared.runs)
    }

    /// Asks the host that runs a session to do something, and returns whether one runs it.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn ask_host(
        &self,
        session: SessionId,
        request: RunRequest,
    ) -> Result<bool, JournalError> {
        match &self.shared {
            Some(shared) => shared.runs.ask_host(session, request).await,
            None => Ok(false),
        }
    }

    /// Carries out what other hosts ask for.
    pub(super) fn carry_out(&self, session: SessionId, request: RunRequest) {
        match request {
            RunRequest::Cancel { by } => self.cancel(session, Some(by)),
            RunRequest::Drain => self.drain_run(session),
        };
    }

    /// Whether this host has a place for another run.
    pub(super) fn has_place(&self) -> bool {
        self.count() < self.max_runs && self.has_memory()
    }

    /// Whether this host has no place for the run that was taken last, and it cannot wait either.
    pub(super) async fn is_full(&self) -> bool {
        if self.fits() {
            return false;
        }
        let Some(shared) = &self.shared else {
            return true;
        };
        let waiting = shared
            .runs
            .waiting_runs(MAX_WAITING, SessionScope::All)
            .await;
        // If that cannot be read, the run cannot be listed either, and says why.
        waiting.is_ok_and(|waiting| waiting >= MAX_WAITING)
    }

    /// Whether the runs that were taken are not too many.
    fn fits(&self) -> bool {
        self.count() <= self.max_runs && self.has_memory()
    }

    fn has_memory(&self) -> bool {
        let most = self.max_memory_bytes;
        most.is_none_or(|most| resident_bytes() < most)
    }

    /// Whether a run that was taken may begin here: one that leaves places for those of other keys.
    fn may_begin(&self, key: &str) -> bool {
        let (numerator, denominator) = SHARE;
        let share = self.max_runs.saturating_mul(numerator) / denominator;
        let others = self.by_key().get(key).copied().unwrap_or_default();
        self.fits() && others < share.max(1)
    }

    /// Counts the runs by their keys.
    fn by_key(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for run in lock(&self.runs).values() {
            if let Some(key) = run.fairness_key.get() {
                *counts.entry(key.clone()).or_default() += 1;
            }
        }
        counts
    }

    /// Returns the number of runs.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(*self.count.borrow()).unwrap_or(u32::MAX)
    }

    /// Returns this host as it looks for a run.
    pub(super) fn claimant(&self, placement: &HostPlacement) -> Claimant {
        Claimant {
            configuration: placement.configuration,
            machine: placement.machine.clone(),
            running: self.by_key().into_iter().collect(),
        }
    }

    /// Returns the state of this host.
    pub(super) fn status(&self, placement: &HostPlacement) -> HostStatus {
        HostStatus {
            machine: placement.machine.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            configuration: placement.configuration,
            parts: placement.parts.clone(),
            runs: self.count(),
            max_runs: self.max_runs,
        }
    }
}

impl Slot {
    /// Takes the claim on a run of another host.
    pub(super) fn take(&mut self, claim: RunClaim, fairness_key: String) {
        self.claim = Some(claim);
        // The slot is new.
        let _ = self.run.fairness_key.set(fairness_key);
    }

    /// Has the run stay on this host: it depends on something that no other host has.
    ///
    /// # Errors
    /// This host has no place for it.
    pub fn stay(&mut self) -> Result<(), Refused> {
        self.stays = true;
        match self.runs.fits() {
            true => Ok(()),
            false => Err(Refused::Full),
        }
    }

    /// Lists the run of a claimed session unless it is one of another host, and records where it
    /// runs.
    pub(super) async fn list(
        &mut self,
        shared: &HostRuns,
        session: &mut Session,
        key: String,
    ) -> Result<RunClaim, JournalError> {
        // A claimed run has the key of its sender.
        let key = self.run.fairness_key.get_or_init(|| key).clone();
        let claim = match self.claim {
            Some(claim) => claim,
            None => shared.list(session.id(), key).await?,
        };
        self.claim = Some(claim);
        session.place_run(&shared.placement.machine, &shared.placement.parts);
        Ok(claim)
    }

    /// Whether the run has to wait for a host.
    pub(super) fn must_wait(&self, key: &str) -> bool {
        self.claim.is_none() && !self.runs.may_begin(key)
    }
}

/// Returns the memory of this process, in bytes (`proc_pid_statm(5)`); 0 where that is not known.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    let page = u64::try_from(rustix::param::page_size()).unwrap_or_default();
    pages.map_or(0, |pages: u64| pages.saturating_mul(page))
}
