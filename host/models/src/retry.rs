//! When to ask a model server again, and how long to wait before. It decides; it never sleeps and never asks.

#[cfg(test)]
mod tests;

use agent_host_types::model::ModelError;
use std::time::{Duration, SystemTime};

/// How often and how patiently a request is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a request is repeated after its first failure.
    pub retries: u32,
    /// The wait before the first repetition; it doubles with each further one.
    pub first_wait: Duration,
    /// The longest wait where the server does not say how long.
    pub longest_wait: Duration,
    /// All waits of one reply together. A server that asks for more is not asked again.
    pub total_wait: Duration,
}

impl RetryPolicy {
    /// Asks once.
    pub const NONE: Self = Self {
        retries: 0,
        first_wait: Duration::ZERO,
        longest_wait: Duration::ZERO,
        total_wait: Duration::ZERO,
    };
}

impl Default for RetryPolicy {
    /// Three repetitions: about three seconds for a server that is down, up to two minutes for one that asks for patience.
    fn default() -> Self {
        Self {
            retries: 3,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(60),
            total_wait: Duration::from_secs(120),
        }
    }
}

/// What a fault says about asking again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retry {
    /// The answer would be the same.
    Never,
    /// It may pass.
    Backoff,
    /// It may pass, and the server said after how long.
    After(Duration),
}

/// Why a request is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GiveUp {
    /// It would not help, or was done often enough.
    Enough,
    /// The server wants a longer wait than is left of the policy's.
    TooLong {
        /// The wait that it asks for.
        asked: Duration,
        /// All waits of one reply together.
        most: Duration,
    },
}

impl GiveUp {
    /// Adds the reason to the error of the last attempt.
    pub(crate) fn explain(self, mut error: ModelError, attempts: u32) -> ModelError {
        if let Self::TooLong { asked, most } = self {
            let seconds = asked.as_secs();
            error.retry_after_seconds = Some(seconds);
            error.message = format!(
                "{} It asks for {seconds} s until the next request, and one reply is waited for {} s at most: try again after \
                 that time, or use another model.",
                error.message,
                most.as_secs()
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
    /// Nothing was repeated yet.
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        Self {
            policy,
            repeated: 0,
            waited: Duration::ZERO,
        }
    }

    /// How often the request was made, the first time included.
    pub(crate) fn attempts(&self) -> u32 {
        self.repeated + 1
    }

    /// How long to wait before the next attempt. `jitter` is a random number in `0..=1`: half of a wait is left to it, so that
    /// many clients of a server that came back do not all return at once. A server that says how long is waited for as long as
    /// that or not at all, since it would refuse an earlier request.
    ///
    /// # Errors
    /// Why there is no next attempt.
    pub(crate) fn next_wait(&mut self, retry: Retry, jitter: f64) -> Result<Duration, GiveUp> {
        let policy = self.policy;
        let wait = match retry {
            Retry::Never => return Err(GiveUp::Enough),
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
                let most = policy.total_wait;
                return Err(GiveUp::TooLong { asked, most });
            }
            _ if is_too_long || self.repeated == policy.retries => return Err(GiveUp::Enough),
            Retry::Never | Retry::Backoff | Retry::After(_) => {}
        }
        self.repeated += 1;
        self.waited += wait;
        Ok(wait)
    }
}

/// A random number in `0..=1`. Without a random source the waits are merely even.
pub(crate) fn jitter() -> f64 {
    getrandom::u32().map_or(1.0, |number| f64::from(number) / f64::from(u32::MAX))
}

/// Reads a `Retry-After` header: seconds, or a date (RFC 9110, section 10.2.3).
pub(crate) fn retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(header).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}
