//! Firings of triggers: what a schedule or a webhook starts, recorded before it is started.

use crate::signature::{SignedTable, UnsignedRow};
use agent_host_types::id::SessionId;
use schemars::JsonSchema;
use serde::Serialize;

/// The most closed firings of one trigger that a store keeps, the newest ones, besides
/// [`FiringState::Counted`]. Of a schedule that fires every minute they are those of 33 hours.
pub const MAX_FIRINGS: u32 = 2_000;

/// A firing of a trigger. Its trigger and its key name it: the same instant or delivery is one
/// firing, however often and on however many hosts it arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The trigger.
    pub trigger: String,
    /// The key: the instant of a schedule, or the delivery of a webhook.
    pub key: String,
    /// The session that it starts or continues.
    pub session: SessionId,
    /// The instant, or the time of the delivery, in milliseconds since 1970 (UTC).
    pub at_ms: u64,
    /// Its state.
    pub state: FiringState,
    /// The message for the session; absent once the session has it.
    pub message: Option<String>,
    /// The time from which any host may work on it, in milliseconds since 1970 (UTC); absent for
    /// one that is closed.
    pub due_ms: Option<u64>,
    /// The event of the session that is the last end of the run of which its receiver was notified;
    /// without a receiver, the last one that was seen.
    pub notified: Option<u64>,
    /// The failed attempts to notify the receiver since then.
    pub attempts: u32,
}

impl Firing {
    /// Names a firing that is not believed with this signature.
    pub(crate) fn unsigned(&self, signature: Option<Vec<u8>>) -> UnsignedRow {
        UnsignedRow {
            table: SignedTable::Firings,
            row: format!("{} {}", self.trigger, self.key),
            key: vec![self.trigger.clone(), self.key.clone()],
            signature,
        }
    }
}

/// The state of a firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FiringState {
    /// It is no firing: from here on those of a schedule are counted.
    Counted,
    /// It is to start.
    Waiting,
    /// Its session has the message.
    Started,
    /// The one before it was still running.
    Skipped,
    /// It cannot start.
    Failed,
}

impl FiringState {
    const ALL: [Self; 5] = [
        Self::Counted,
        Self::Waiting,
        Self::Started,
        Self::Skipped,
        Self::Failed,
    ];

    /// Returns the stored name.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::Waiting => "waiting",
            Self::Started => "started",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }

    /// Returns the state of a stored name; one that this program does not know failed.
    pub(crate) fn from_stored(name: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|state| state.as_str() == name)
            .unwrap_or(Self::Failed)
    }
}
