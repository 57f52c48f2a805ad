//! Stand-in until the gate of the sibling branch is merged: it allows nothing and remembers what it denied.

use agent_host_core::{
    accounting::{AuditEntry, Verdict},
    limits::Limits,
    policy::{DEFAULT_DENY, Grants},
    tool::Effect,
};
use std::sync::{Arc, Mutex, PoisonError};

/// One gate for each call.
pub(crate) struct Gate {
    audit: Mutex<Vec<AuditEntry>>,
}

/// What a call asked of the gate.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) audit: Vec<AuditEntry>,
    pub(crate) first_denial: Option<String>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) hosts: Vec<String>,
}

impl Gate {
    pub(crate) fn new(_grants: Arc<Grants>, _effect: Effect, _limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            audit: Mutex::default(),
        })
    }

    pub(crate) fn deny(&self, request: String) {
        self.audit
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(AuditEntry {
                request,
                verdict: Verdict::Denied,
                rule: DEFAULT_DENY.to_owned(),
                count: 1,
            });
    }

    pub(crate) fn tally(&self) -> Tally {
        let audit = self
            .audit
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        Tally {
            first_denial: audit
                .first()
                .map(|entry| format!("`{}` is not granted", entry.request)),
            audit,
            ..Tally::default()
        }
    }
}
