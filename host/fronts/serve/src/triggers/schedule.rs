//! Schedules: which instant fires now.

use super::{
    Trigger, TriggerError,
    firing::{LEASE_MS, recorded},
};
use crate::Service;
use agent_host_app::config::{Config, ScheduleConfig, TriggerKind};
use agent_host_engine::journal::JournalError;
use agent_host_journal::{Firing, FiringState, JournalStore};
use agent_host_types::id::SessionId;
use std::sync::{Arc, Mutex, PoisonError};

/// How late an instant may be noticed without being missed, in milliseconds: 1 min.
const ON_TIME_MS: u64 = 60 * 1000;

/// The number of the newest firings that are read to find the last one before now: a clock that was
/// put back has some behind it.
const READ: u32 = 64;

/// A schedule, and how far it was looked at.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) config: ScheduleConfig,
    pub(super) trigger: Arc<Trigger>,
    /// The time up to which every instant was looked at; absent before the first look.
    seen_ms: Mutex<Option<u64>>,
}

impl Schedule {
    pub(super) async fn open(
        config: &Config,
        schedule: &ScheduleConfig,
    ) -> Result<Self, TriggerError> {
        let overlap = Some(schedule.overlap);
        let opened = Trigger::open(
            config,
            TriggerKind::Schedule,
            &schedule.name,
            &schedule.run,
            overlap,
        );
        Ok(Self {
            trigger: opened.await?,
            config: schedule.clone(),
            seen_ms: Mutex::new(None),
        })
    }

    /// Records the firing of the latest instant up to now that was not looked at and is not too
    /// old, and returns it if this host recorded it.
    pub(super) async fn fire(
        &self,
        service: &Service,
        now_ms: u64,
    ) -> Result<Option<Firing>, JournalError> {
        let store = service.store();
        let seen = *self.seen_ms.lock().unwrap_or_else(PoisonError::into_inner);
        let seen_ms = match seen {
            // The clock was put back: what fired before is in the store.
            Some(seen_ms) => seen_ms.min(now_ms),
            None => self.begin(store, now_ms).await?,
        };
        let due = due(&self.config, seen_ms, now_ms);
        let fired = match due {
            Some(at_ms) => {
                let key = at_ms.to_string();
                let prompt = self.config.run.prompt.clone();
                let due_ms = now_ms.saturating_add(LEASE_MS);
                let firing = recorded(&self.trigger, key, at_ms, prompt, due_ms);
                let known = store.record_firing(firing.clone()).await?;
                known.is_none().then_some(firing)
            }
            None => None,
        };
        *self.seen_ms.lock().unwrap_or_else(PoisonError::into_inner) = Some(now_ms);
        Ok(fired)
    }

    /// Returns the time from which on instants are looked at when a host begins: that of the last
    /// firing, or that at which a host first saw the schedule as it is.
    async fn begin(&self, store: &dyn JournalStore, now_ms: u64) -> Result<u64, JournalError> {
        let timetable = &self.config.timetable;
        if timetable.is_once() {
            return Ok(0);
        }
        let counted = Firing {
            trigger: self.trigger.id.clone(),
            key: format!("since {timetable}"),
            session: SessionId::new(),
            at_ms: now_ms,
            state: FiringState::Counted,
            message: None,
            due_ms: None,
            notified: None,
            attempts: 0,
        };
        let known = store.record_firing(counted).await?;
        let since = known.map_or(now_ms, |known| known.at_ms);
        let newest = store.firings(self.trigger.id.clone(), READ).await?;
        let last = newest
            .iter()
            .find(|firing| firing.state != FiringState::Counted && firing.at_ms <= now_ms);
        let last = last.map_or(0, |firing| firing.at_ms);
        Ok(since.max(last).min(now_ms))
    }
}

/// Returns the latest instant after `seen_ms` up to now, unless it is older than may be made up.
pub(super) fn due(schedule: &ScheduleConfig, seen_ms: u64, now_ms: u64) -> Option<u64> {
    let oldest = now_ms.saturating_sub(schedule.catch_up_ms.max(ON_TIME_MS));
    // An instant at the bound is not too old.
    let after = seen_ms.max(oldest.saturating_sub(1));
    schedule.timetable.latest(after, now_ms)
}
