//! `[session]`: how sessions are stored, and which of them are kept.

use super::{
    ConfigError,
    problem::config_error,
    review::{Danger, Review},
    section::{section, values},
};
use agent_host_engine::artifact::DEFAULT_QUOTA_BYTES;
use agent_host_journal::{Retention, SqliteOptions};
use agent_host_types::turn::Durability;
use agent_host_undo::DEFAULT_MAX_BYTES;
use std::time::Duration;

/// The default age up to which sessions are kept, in days.
const DEFAULT_DAYS: u64 = 30;

/// The default size of the database beyond which the oldest are removed, in bytes: 1 GiB.
const DEFAULT_BYTES: u64 = 1024 * 1024 * 1024;

/// The smallest size that can be configured, in bytes: less is used by an empty database and one
/// long session.
const MIN_BYTES: u64 = 1024 * 1024;

/// The longest wait for the database, in milliseconds: what `SQLite` takes.
const MAX_LOCK_TIMEOUT_MS: u64 = i32::MAX as u64;

/// The maximum size of one session of an external client, in bytes of events.
const MAX_CLIENT_SESSION_BYTES: u64 = 16 * 1024 * 1024;

/// The minimum number of client sessions that fit into the kept size.
const CLIENT_SESSIONS_KEPT: u64 = 16;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

section! {
    /// `[session]`.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    pub(super) struct RawSession {
        /// The sessions that are kept; the others are removed.
        keep: Option<RawKeep> = KEEP => by(demand_removal);
        /// The maximum wait for another process that holds the database, in milliseconds.
        lock_timeout_ms: Option<u64>, in milliseconds, within(1, MAX_LOCK_TIMEOUT_MS)
            = lock_timeout_ms() => at_most;
        /// The bytes of artifacts that the calls of one session may store.
        artifact_bytes: Option<u64>, in bytes => at_most(DEFAULT_QUOTA_BYTES);
        /// The bytes of changed files that one session keeps for `undo`; 0 to keep none.
        undo_bytes: Option<u64>, in bytes = DEFAULT_MAX_BYTES => asks(Other,
            "sets how much of the files that tools change is kept for undo: undo-bytes = {value}");
        /// How much of a turn a crash can lose.
        durability: Durability = Durability::default() => harmless;
    }
}

section! {
    /// `keep` in `[session]`.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    pub(super) struct RawKeep {
        /// The maximum age of the last write, in days; 0 for no limit.
        days: Option<u64>, in days => together;
        /// The maximum size of the database, in bytes; 0 for no limit.
        bytes: Option<u64>, in bytes => together;
    }
}

values!(Durability);

/// The sessions that are kept by default.
const KEEP: RawKeep = RawKeep {
    days: Some(DEFAULT_DAYS),
    bytes: Some(DEFAULT_BYTES),
};

fn lock_timeout_ms() -> u64 {
    let wait = SqliteOptions::default().lock_timeout;
    u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)
}

fn demand_removal(keep: &Option<RawKeep>, _: &str, review: &mut Review<'_>) {
    let Some(RawKeep { days, bytes }) = keep else {
        return;
    };
    let shown = |number: &Option<u64>| number.map_or("the default".to_owned(), |n| n.to_string());
    let (days, bytes) = (shown(days), shown(bytes));
    review.demand(
        Danger::Writes,
        format!("sets which of your sessions are removed: days = {days}, bytes = {bytes}"),
    );
}

/// How sessions are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionConfig {
    /// Which sessions are kept; the others are removed.
    pub keep: Retention,
    /// How long to wait for another program that holds the database.
    pub lock_timeout: Duration,
    /// The bytes of artifacts that the calls of one session may store.
    pub artifact_bytes: u64,
    /// The bytes of changed files that one session keeps for undoing; 0 to keep none.
    pub undo_bytes: u64,
    /// How much of a turn a crash of the program can lose.
    pub durability: Durability,
}

impl SessionConfig {
    /// Returns the size after which a client's session is followed by the next one, in bytes of
    /// events. A session that is written to is never removed, so it has to be small beside the kept
    /// size.
    pub(super) fn client_session_bytes(&self) -> u64 {
        let part = self.keep.bytes.map(|bytes| bytes / CLIENT_SESSIONS_KEPT);
        part.map_or(MAX_CLIENT_SESSION_BYTES, |part| {
            part.min(MAX_CLIENT_SESSION_BYTES)
        })
    }
}

/// Resolves the section.
pub(super) fn resolve(raw: RawSession) -> Result<SessionConfig, ConfigError> {
    let RawKeep { days, bytes } = raw.keep();
    let age = match days.unwrap_or(DEFAULT_DAYS) {
        0 => None,
        days => Some(DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX))),
    };
    let bytes = match bytes.unwrap_or(DEFAULT_BYTES) {
        0 => None,
        bytes if bytes < MIN_BYTES => {
            return Err(config_error!(
                "session.keep.bytes",
                "`bytes` of `keep` in [session] is {bytes}, and the minimum is {MIN_BYTES}",
                "set it to at least that, or to 0 for no limit"
            )
            .with_value(bytes));
        }
        bytes => Some(bytes),
    };
    Ok(SessionConfig {
        keep: Retention { age, bytes },
        lock_timeout: Duration::from_millis(raw.lock_timeout_ms()),
        artifact_bytes: raw.artifact_bytes.unwrap_or(DEFAULT_QUOTA_BYTES),
        undo_bytes: raw.undo_bytes(),
        durability: raw.durability(),
    })
}
