//! The use of models and tools in all sessions of a store, from the sums that it keeps.

use crate::config::parse_days;
use agent_host_engine::journal::JournalError;
use agent_host_journal::{JournalStore, SessionScope, StoredStats};
use agent_host_types::{
    id::SessionId,
    reason::Reason,
    stats::{Figures, StatsBy},
};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use schemars::JsonSchema;
use serde::Serialize;

/// A day, in milliseconds.
const DAY_MS: u64 = 86_400_000;

/// The first moment that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The beginning of a day in UTC, in milliseconds since 1970.
    Date(u64),
    /// The beginning of the first of this many days, today included.
    Days(u32),
}

impl Since {
    /// Parses `YYYY-MM-DD`, or a number of days as [`parse_days`] does.
    ///
    /// # Errors
    /// The text is none of both; the message says what is expected.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        // A longer text may be a date with a time, which would be ignored.
        let date = (text.len() == "YYYY-MM-DD".len()).then(|| text.parse::<Date>());
        if let Some(Ok(date)) = date {
            let start = date
                .to_zoned(TimeZone::UTC)
                .map_err(|error| error.to_string())?;
            let millis = start.timestamp().as_millisecond();
            return Ok(Self::Date(u64::try_from(millis).unwrap_or(0)));
        }
        let days = parse_days(text).map_err(|why| format!("{why}; or a date, YYYY-MM-DD"))?;
        Ok(Self::Days(days))
    }

    /// Returns the moment in milliseconds since 1970, seen from `now_ms`.
    #[must_use]
    pub fn start_ms(self, now_ms: u64) -> u64 {
        match self {
            Self::Date(start) => start,
            Self::Days(days) => {
                let before = u64::from(days.saturating_sub(1)).saturating_mul(DAY_MS);
                (now_ms - now_ms % DAY_MS).saturating_sub(before)
            }
        }
    }
}

/// A row of [`Stats`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatsRow {
    /// The day, the model, the tool or the agent.
    pub name: String,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The use of models and tools in all sessions of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stats {
    /// The subject of the rows.
    pub by: StatsBy,
    /// Days in order; the others by cost, tokens and calls.
    pub rows: Vec<StatsRow>,
    /// The figures of everything, also of what is in no row.
    pub total: Figures,
    /// The sessions of which nothing is counted: an event of it could not be read when its figures
    /// were made.
    pub unreadable: Vec<SessionId>,
}

impl Stats {
    /// Reads the sums of the sessions of a scope from a day on, which begins at `since_ms`, in
    /// milliseconds since 1970.
    ///
    /// The session of an agent counts for itself, and not again in the one that started it. What a
    /// copy took over counts for the original alone.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn read(
        store: &dyn JournalStore,
        scope: SessionScope,
        by: StatsBy,
        since_ms: u64,
    ) -> Result<Self, JournalError> {
        let since = u32::try_from(since_ms.div_ceil(DAY_MS)).unwrap_or(u32::MAX);
        let StoredStats { sums, unreadable } = store.stats(scope, by, since).await?;
        let (rows, total) = sums.figures(by, since);
        let rows = rows.into_iter().map(|(day, name, figures)| StatsRow {
            name: match by {
                StatsBy::Day => day_name(day),
                _ => name,
            },
            figures,
        });
        let mut rows: Vec<StatsRow> = rows.collect();
        if by != StatsBy::Day {
            rows.sort_by_key(|row| std::cmp::Reverse(weight(&row.figures)));
        }
        Ok(Self {
            by,
            rows,
            total,
            unreadable,
        })
    }
}

fn weight(figures: &Figures) -> (u64, u64, u64) {
    let tokens = figures.input_tokens.saturating_add(figures.output_tokens);
    (figures.cost_micros, tokens, figures.tool_calls)
}

/// Returns the name of a day since 1970, `YYYY-MM-DD`.
fn day_name(day: u32) -> String {
    let millis = i64::try_from(u64::from(day) * DAY_MS).map(Timestamp::from_millisecond);
    match millis {
        Ok(Ok(time)) => time.to_zoned(TimeZone::UTC).date().to_string(),
        // A damaged record; no clock shows such a time.
        _ => "(no date)".to_owned(),
    }
}
