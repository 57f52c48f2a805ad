//! Decides whether to ask a model server again and how long to wait before. Pure: it neither sleeps
//! nor asks.

#[cfg(test)]
mod tests;

use agent_host_types::model::ModelError;
use std::time::{Duration, SystemTime};

/// How often a failed request is repeated, and the waits between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The most repetitions after the first failure.
    pub retries: u32,
    /// The wait before the first repetition; it doubles for each further one.
    pub first_wait: Duration,
    /// The longest wait, unless the server asks for another.
    pub longest_wait: Duration,
    /// The most for all waits of one reply together. A server that asks for more is not asked
    /// again.
    pub total_wait: Duration,
}

impl RetryPolicy {
    /// No repetition.
    pub const NONE: Self = Self {
        retries: 0,
        first_wait: Duration::ZERO,
        longest_wait: Duration::ZERO,
        total_wait: Duration::ZERO,
    };
}

impl Default for RetryPolicy {
    /// Three repetitions: about three seconds for a server that is down, up to two minutes for one
    /// that asks for a wait.
    fn default() -> Self {
        Self {
            retries: 3,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
            total_wait: Duration::from_secs(120),
        }
    }
}

/// Whether a failed attempt should be repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// No: the outcome would be the same.
    Never,
    /// After a wait of the policy.
    Backoff,
    /// After the wait that the server asks for.
    After(Duration),
}

/// Why a request is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GiveUp {
    /// It would not help, or the policy is exhausted.
    Exhausted,
    /// The server asks for a longer wait than is left of the policy.
    TooLong {
        /// The requested wait.
        asked: Duration,
        /// The most for all waits of one reply together.
        limit: Duration,
    },
}

impl GiveUp {
    /// Adds the reason to the error of the last attempt.
    pub(crate) fn explain(self, mut error: ModelError, attempts: u32) -> ModelError {
        if let Self::TooLong { asked, limit } = self {
            let seconds = asked.as_secs();
            error.retry_after_seconds = Some(seconds);
            error.message = format!(
                "{} It asks to wait {seconds} s before the next request, and the limit for one reply is {} s: try \
                 again after that time, or use another model.",
                error.message,
                limit.as_secs()
            );
        }
        if attempts > 1 {
            error.message = format!("{} (tried {attempts} times)", error.message);
        }
        error
    }
}

/// Counts the repetitions of one request.
#[derive(Debug)]
pub(crate) struct Schedule {
    policy: RetryPolicy,
    repeated: u32,
    waited: Duration,
}

impl Schedule {
    /// Creates the schedule of a new request.
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Self {
            policy,
            repeated: 0,
            waited: Duration::ZERO,
        }
    }

    /// Returns the number of attempts, the first included.
    pub(crate) fn attempts(&self) -> u32 {
        self.repeated + 1
    }

    /// Returns the wait before the next attempt. `jitter` is a random number in `0..=1` that
    /// decides half of a wait, so that the clients of a recovered server do not all return at once.
    /// A wait that the server asks for is taken whole or not at all, since it would refuse an
    /// earlier request.
    ///
    /// # Errors
    /// The reason to give up.
    pub(crate) fn next_wait(&mut self, retry: Retry, jitter: f64) -> Result<Duration, GiveUp> {
        let policy = self.policy;
        let wait = match retry {
            Retry::Never => return Err(GiveUp::Exhausted),
            Retry::Backoff => {
                let doubled = 2_u32.saturating_pow(self.repeated);
                let wait = policy.first_wait.saturating_mul(doubled);
                wait.min(policy.longest_wait)
                    .mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
            }
            Retry::After(wait) => wait,
        };
        let is_too_long = self.waited.saturating_add(wait) > policy.total_wait;
        match retry {
            Retry::After(asked) if is_too_long => {
                let limit = policy.total_wait;
                return Err(GiveUp::TooLong { asked, limit });
            }
            _ if is_too_long || self.repeated == policy.retries => return Err(GiveUp::Exhausted),
            Retry::Never | Retry::Backoff | Retry::After(_) => {}
        }
        self.repeated += 1;
        self.waited += wait;
        Ok(wait)
    }
}

/// Returns a random number in `0..=1`; 1 without a random source.
pub(crate) fn jitter() -> f64 {
    getrandom::u32().map_or(1.0, |number| f64::from(number) / f64::from(u32::MAX))
}

/// Parses a `Retry-After` header: seconds, or a date (RFC 9110, section 10.2.3).
pub(crate) fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(header).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}
