//! The placements of runs, as they are stored and compared.

use super::read::parsed;
use crate::shared_runs::{Claimant, Placement};
use agent_host_engine::journal::JournalError;

impl Placement {
    /// Returns the form by which runs and hosts are compared.
    pub(super) fn key(&self) -> String {
        let configuration = self.configuration;
        match &self.machine {
            None => configuration.to_string(),
            Some(machine) => format!("{configuration}@{machine}"),
        }
    }

    /// Reads the form of [`Self::key`].
    pub(super) fn parse(key: &str) -> Result<Self, JournalError> {
        let (configuration, machine) = match key.split_once('@') {
            None => (key, None),
            Some((configuration, machine)) => (configuration, Some(machine.to_owned())),
        };
        Ok(Self {
            configuration: parsed(configuration)?,
            machine,
        })
    }
}

impl Claimant {
    /// Returns the placements of runs that it may claim.
    pub(super) fn placements(&self) -> Vec<String> {
        let everywhere = Placement {
            configuration: self.configuration,
            machine: None,
        };
        let here = Placement {
            machine: Some(self.machine.clone()),
            ..everywhere.clone()
        };
        vec![everywhere.key(), here.key()]
    }
}
