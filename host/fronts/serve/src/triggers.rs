//! Schedules and webhooks: what starts without a client of the API.
//!
//! A firing is recorded before anything starts, under its instant or its delivery, with the session
//! that it will have. Whichever host works on it next finds there what is left to do, so that it
//! starts once: see `firing`. Of several hosts on one database each does what it comes to first.

mod firing;
mod list;
mod notify;
mod runner;
mod schedule;
mod signature;
#[cfg(test)]
pub(crate) mod tests;
mod watch;
mod webhook;

pub(crate) use list::{ScheduleList, list};
pub(crate) use runner::run;
pub(crate) use webhook::router;

use agent_host_app::{
    config::{Config, ConfigError, Overlap, TriggerKind, TriggerRun},
    project, session_project,
};
use notify::Receiver;
use ring::hmac::Key;
use schedule::Schedule;
use std::{collections::HashMap, sync::Arc};
use tokio::sync::{Notify, watch::Sender};
use webhook::Webhook;

/// The schedules and webhooks of a configuration, with their keys.
#[derive(Debug)]
pub struct Triggers {
    schedules: Vec<Schedule>,
    webhooks: HashMap<String, Webhook>,
    /// The address of the server as its users have it, without a slash at its end.
    page: String,
    /// The key of webhooks that there are none of.
    decoy: Key,
    /// Told when there is something to do before the next look.
    wake: Notify,
    /// Changes when a run ends that a trigger started.
    ends: Sender<()>,
}

/// Why schedules and webhooks cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TriggerError {
    /// A key is not where it should be, or cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A receiver of notifications cannot be sent anything.
    #[error("cannot notify the receiver {origin} of the {by}: {why}; change `url` in its `notify`")]
    Receiver {
        /// The trigger.
        by: String,
        /// The scheme and the host of the receiver.
        origin: String,
        /// The reason, as the end of a sentence.
        why: String,
    },
}

/// The part that schedules and webhooks have in common.
#[derive(Debug)]
struct Trigger {
    /// The name in the store, which is another one in another project.
    id: String,
    /// The sender of its messages, for the journal.
    by: String,
    run: TriggerRun,
    /// The treatment of a firing while the one before it runs; absent for those that do not wait
    /// for each other.
    overlap: Option<Overlap>,
    receiver: Option<Receiver>,
    kind: TriggerKind,
}

impl Trigger {
    async fn open(
        config: &Config,
        kind: TriggerKind,
        name: &str,
        run: &TriggerRun,
        overlap: Option<Overlap>,
    ) -> Result<Arc<Self>, TriggerError> {
        let by = kind.sender(name);
        let receiver = match &run.notify {
            Some(notify) => Some(Receiver::open(notify, &by).await?),
            None => None,
        };
        // The projects of a machine have one state directory, and those of hosts one database, whose
        // hosts have the configuration of a project in the same directory.
        let project = match &config.store.database {
            Some(_) => session_project(config),
            None => project(config),
        };
        let id = format!("{by} of {project}");
        Ok(Arc::new(Self {
            id,
            by,
            run: run.clone(),
            overlap,
            receiver,
            kind,
        }))
    }
}

impl Triggers {
    pub(crate) fn none() -> Self {
        let mut decoy = [0; 32];
        // Nothing is signed with it, whatever it is.
        let _ = getrandom::fill(&mut decoy);
        Self {
            schedules: Vec::new(),
            webhooks: HashMap::new(),
            page: String::new(),
            decoy: signature::key(&decoy),
            wake: Notify::new(),
            ends: Sender::new(()),
        }
    }

    /// Opens the schedules and webhooks of a configuration: reads their keys. `page` is the address
    /// of the server as its users have it.
    ///
    /// # Errors
    /// A key is not where it should be, or a receiver may not be sent anything.
    pub async fn open(config: &Config, page: &str) -> Result<Self, TriggerError> {
        let mut triggers = Self {
            page: page.trim_end_matches('/').to_owned(),
            ..Self::none()
        };
        for schedule in &config.schedules {
            triggers
                .schedules
                .push(Schedule::open(config, schedule).await?);
        }
        for webhook in &config.webhooks {
            let opened = Webhook::open(config, webhook).await?;
            triggers.webhooks.insert(webhook.name.clone(), opened);
        }
        Ok(triggers)
    }

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.schedules.is_empty() && self.webhooks.is_empty()
    }

    /// Returns the trigger of a name in the store.
    fn of_id(&self, id: &str) -> Option<&Arc<Trigger>> {
        let schedules = self.schedules.iter().map(|schedule| &schedule.trigger);
        let webhooks = self.webhooks.values().map(|webhook| &webhook.trigger);
        schedules.chain(webhooks).find(|trigger| trigger.id == id)
    }

    /// Returns the names in the store.
    fn ids(&self) -> Vec<String> {
        let schedules = self.schedules.iter().map(|schedule| &schedule.trigger);
        let webhooks = self.webhooks.values().map(|webhook| &webhook.trigger);
        let all = schedules.chain(webhooks);
        all.map(|trigger| trigger.id.clone()).collect()
    }
}
