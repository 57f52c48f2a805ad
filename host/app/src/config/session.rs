//! `[session]`: how sessions are stored, and which of them are kept.

use super::{ConfigError, RawKeep, RawSession};
use agent_host_journal::{Retention, SqliteOptions};
use std::time::Duration;
use toml::Spanned;

/// The days that sessions are kept for where nothing else is configured.
const DEFAULT_DAYS: u64 = 30;

/// The size of the database up to which they are kept, in bytes: 1 GiB.
const DEFAULT_BYTES: u64 = 1024 * 1024 * 1024;

/// The smallest size that can be configured, in bytes: less is used by an empty database and one long session.
const MIN_BYTES: u64 = 1024 * 1024;

/// The longest wait for the database, in milliseconds: what `SQLite` takes.
const MAX_LOCK_TIMEOUT_MS: u64 = i32::MAX as u64;

/// The most bytes of events in one session of a client that has a loop of its own.
const MAX_CLIENT_SESSION_BYTES: u64 = 16 * 1024 * 1024;

/// A client's session has at most this part of what is kept.
const CLIENT_SESSIONS_KEPT: u64 = 16;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How sessions are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionConfig {
    /// Which sessions are kept; the others are removed.
    pub keep: Retention,
    /// How long to wait for another program that holds the database.
    pub lock_timeout: Duration,
}

impl SessionConfig {
    /// How long a client's session may get, in bytes of events, before the next one begins: a session that is written to is
    /// never removed, so it has to be small beside what is kept.
    pub(super) fn client_session_bytes(&self) -> u64 {
        let part = self.keep.bytes.map(|bytes| bytes / CLIENT_SESSIONS_KEPT);
        part.map_or(MAX_CLIENT_SESSION_BYTES, |part| {
            part.min(MAX_CLIENT_SESSION_BYTES)
        })
    }
}

/// Fills in what is absent, and refuses what cannot be.
pub(super) fn resolve(raw: Option<Spanned<RawSession>>) -> Result<SessionConfig, ConfigError> {
    let span = raw.as_ref().map(Spanned::span);
    let raw = raw.map(Spanned::into_inner).unwrap_or_default();
    resolved(raw).map_err(|error| match &span {
        Some(span) => error.at(span),
        None => error,
    })
}

fn resolved(raw: RawSession) -> Result<SessionConfig, ConfigError> {
    let RawKeep { days, bytes } = raw.keep.unwrap_or_default();
    let age = match days.unwrap_or(DEFAULT_DAYS) {
        0 => None,
        days => Some(DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX))),
    };
    let bytes = match bytes.unwrap_or(DEFAULT_BYTES) {
        0 => None,
        bytes if bytes < MIN_BYTES => {
            return Err(ConfigError::new(format!(
                "`bytes` of `keep` in [session] is {bytes}, and less than {MIN_BYTES} cannot be kept to; set it to at least \
                 that, or to 0 for no bound"
            )));
        }
        bytes => Some(bytes),
    };
    let lock_timeout = match raw.lock_timeout_ms {
        None => SqliteOptions::default().lock_timeout,
        Some(ms @ 1..=MAX_LOCK_TIMEOUT_MS) => Duration::from_millis(ms),
        Some(ms) => {
            return Err(ConfigError::new(format!(
                "`lock-timeout-ms` in [session] is {ms}; set it to 1 to {MAX_LOCK_TIMEOUT_MS}, or leave it out"
            )));
        }
    };
    Ok(SessionConfig {
        keep: Retention { age, bytes },
        lock_timeout,
    })
}
