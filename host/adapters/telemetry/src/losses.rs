//! Lines of the log about spans that are lost while the program runs.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

/// The least time between two lines.
const INTERVAL: Duration = Duration::from_secs(60);

/// Remembers what the log was told.
#[derive(Debug, Default)]
pub(crate) struct LossLog {
    lost: u64,
    dropped: u64,
    told: Option<Instant>,
}

impl LossLog {
    /// Returns a line about what was lost since the last one, at most one each minute. `lost` is
    /// the number of spans that were not sent so far, and `dropped` that of notes that the full
    /// queue refused.
    pub(crate) fn line(
        &mut self,
        lost: u64,
        dropped: u64,
        error: Option<&str>,
        now: Instant,
    ) -> Option<String> {
        let is_soon = |told| now.saturating_duration_since(told) < INTERVAL;
        if self.told.is_some_and(is_soon) {
            return None;
        }
        let (spans, notes) = (
            lost.saturating_sub(self.lost),
            dropped.saturating_sub(self.dropped),
        );
        let why = match (spans, notes) {
            (0, 0) => return None,
            (spans, 0) => format!("{spans} spans: {}", error.unwrap_or_default()),
            (0, notes) => format!("the queue is full; {notes} notes were dropped"),
            (spans, notes) => format!(
                "{spans} spans: {}; and the queue is full; {notes} notes were dropped",
                error.unwrap_or_default()
            ),
        };
        *self = Self {
            lost,
            dropped,
            told: Some(now),
        };
        Some(format!("traces are not sent: {why}"))
    }
}
