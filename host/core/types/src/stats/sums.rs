//! Figures, and the sums of them by day, subject and name.

use super::StatsBy;
use crate::{event::CallEnd, model::Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, btree_map::Entry};

/// The most of a figure of one event that counts: what a provider says is not believed beyond it, so
/// that sums do not overflow.
const MAX_FIGURE: u64 = 1 << 40;

/// Defines [`Figures`] by its fields, and with them the columns of a [`Sum`].
macro_rules! figures {
    ($($(#[$doc:meta])* $figure:ident,)*) => {
        /// The figures of a day, a model, a tool or an agent.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
        pub struct Figures {
            $($(#[$doc])* pub $figure: u64,)*
        }

        /// The columns of a [`Sum`], as a store names them: those of [`Figures`] in order, and the
        /// sessions that used a row last on its day. Of any days on, those add up to the sessions
        /// that have used it since, each counted once.
        pub const SUM_COLUMNS: [&str; 13] = [$(stringify!($figure),)* "last_sessions"];

        impl Figures {
            /// Returns the sum of one session that this is all of.
            pub(super) fn sum(self) -> Sum {
                [$(self.$figure,)* 0]
                    .map(|figure| i64::try_from(figure.min(MAX_FIGURE)).unwrap_or(i64::MAX))
            }

            /// Returns the figures of a sum of one day.
            fn of_day(sum: Sum) -> Self {
                let [$($figure,)* _] = sum.map(|figure| u64::try_from(figure).unwrap_or(0));
                Self { $($figure,)* }
            }
        }
    };
}

figures! {
    /// The sessions with anything of it, those of agents included.
    sessions,
    /// The replies of models and the summaries, and the requests whose reply was lost.
    model_calls,
    /// Tokens read, cached ones included.
    input_tokens,
    /// The tokens read from the provider's cache, included in `input_tokens`.
    cached_input_tokens,
    /// The tokens written to the provider's cache, included in `input_tokens`.
    cache_write_tokens,
    /// Tokens written.
    output_tokens,
    /// The cost of the tokens whose price is known, in millionths of a US dollar.
    cost_micros,
    /// The model calls of which the price of some tokens is not known.
    unpriced_model_calls,
    /// The tool calls that ended, those that did not run included.
    tool_calls,
    /// Those that failed. Attempts of nodes that are repeated are not counted.
    failed,
    /// Those that were denied.
    denied,
    /// The time of the tool calls, in microseconds.
    tool_us,
}

/// The values of [`SUM_COLUMNS`]. What is subtracted is negative.
pub type Sum = [i64; SUM_COLUMNS.len()];

/// The key of a [`Sum`]: the day since 1970, the subject, and the name; none of a day.
pub type SumKey = (u32, StatsBy, String);

impl Figures {
    /// Returns the figures of a sum of several days, in which each session counts once.
    fn of_days(sum: Sum) -> Self {
        let [.., last_sessions] = sum;
        Self {
            sessions: u64::try_from(last_sessions).unwrap_or(0),
            ..Self::of_day(sum)
        }
    }

    pub(super) fn of_model_call(usage: Usage) -> Self {
        Self {
            model_calls: 1,
            input_tokens: usage.input_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            output_tokens: usage.output_tokens,
            cost_micros: usage.cost_micros.unwrap_or(0),
            unpriced_model_calls: u64::from(usage.cost_micros.is_none() && !usage.is_none()),
            ..Self::default()
        }
    }

    pub(super) fn of_call(end: &CallEnd<'_>) -> Self {
        let denied = end.is_denied();
        Self {
            tool_calls: 1,
            failed: u64::from(!end.is_success() && !denied),
            denied: u64::from(denied),
            tool_us: end.accounting.wall_us,
            ..Self::default()
        }
    }
}

/// Sums by their keys. Zeros are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(SumKey, Sum)>", into = "Vec<(SumKey, Sum)>")]
pub struct Sums(BTreeMap<SumKey, Sum>);

impl From<Vec<(SumKey, Sum)>> for Sums {
    fn from(rows: Vec<(SumKey, Sum)>) -> Self {
        let mut sums = Self::default();
        rows.into_iter().for_each(|(key, sum)| sums.add(key, sum));
        sums
    }
}

impl From<Sums> for Vec<(SumKey, Sum)> {
    fn from(sums: Sums) -> Self {
        sums.0.into_iter().collect()
    }
}

impl Sums {
    /// Adds a sum.
    pub fn add(&mut self, key: SumKey, sum: Sum) {
        match self.0.entry(key) {
            Entry::Vacant(free) if sum != Sum::default() => {
                free.insert(sum);
            }
            Entry::Vacant(_) => {}
            Entry::Occupied(mut own) => {
                for (own, other) in own.get_mut().iter_mut().zip(sum) {
                    *own = own.saturating_add(other);
                }
                if *own.get() == Sum::default() {
                    own.remove();
                }
            }
        }
    }

    /// Adds others.
    pub fn add_all(&mut self, others: Self) {
        others
            .0
            .into_iter()
            .for_each(|(key, sum)| self.add(key, sum));
    }

    /// Subtracts others.
    pub fn subtract(&mut self, others: Self) {
        let negative = others.0.into_iter();
        negative.for_each(|(key, sum)| self.add(key, sum.map(i64::saturating_neg)));
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over them, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&SumKey, &Sum)> {
        self.0.iter()
    }

    /// Returns the figures of the rows of a subject from a day on, and those of everything. A row of
    /// days has its day; the others have their name, and day 0.
    #[must_use]
    pub fn figures(&self, by: StatsBy, since: u32) -> (Vec<(u32, String, Figures)>, Figures) {
        let (mut rows, mut total) = (Self::default(), Self::default());
        for ((day, subject, name), sum) in self.0.iter().filter(|((day, ..), _)| *day >= since) {
            if *subject == StatsBy::Day {
                total.add((0, *subject, String::new()), *sum);
            }
            if *subject == by {
                let day = if by == StatsBy::Day { *day } else { 0 };
                rows.add((day, by, name.clone()), *sum);
            }
        }
        let figures = match by {
            StatsBy::Day => Figures::of_day,
            _ => Figures::of_days,
        };
        let rows = rows.0.into_iter();
        let rows = rows.map(|((day, _, name), sum)| (day, name, figures(sum)));
        let rows = rows.filter(|(.., figures)| figures.sessions > 0).collect();
        let total = total.0.into_values().next().map(Figures::of_days);
        (rows, total.unwrap_or_default())
    }

    /// The calls in it.
    pub(super) fn calls(&self) -> i64 {
        let days = self.0.iter().filter(|((_, by, _), _)| *by == StatsBy::Day);
        let calls = days.map(|(_, [_, models, .., tools, _, _, _, _])| models + tools);
        calls.sum()
    }
}
