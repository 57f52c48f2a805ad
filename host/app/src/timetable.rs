//! The instants of a schedule: those of a cron expression, or a single one, in a time zone. Pure.
//!
//! Both say what a clock on a wall shows. A time that a change of that clock leaves out is the
//! instant of the change, and of a time that it shows twice the first one counts.

#[cfg(test)]
mod tests;

use agent_host_types::reason::Reason;
use cronexpr::{Crontab, MakeTimestamp};
use jiff::{
    Timestamp,
    civil::DateTime,
    tz::{AmbiguousOffset, Offset, TimeZone},
};
use std::fmt;

/// The number of fields of a cron expression.
const FIELDS: usize = 5;

/// The instants of a schedule.
#[derive(Clone, Debug)]
pub struct Timetable {
    times: Times,
    zone: TimeZone,
    zone_name: String,
}

#[derive(Clone, Debug)]
enum Times {
    /// An expression, which is read in UTC: as a calendar of the times that the wall clock shows.
    Cron {
        text: String,
        calendar: Box<Crontab>,
    },
    Once(DateTime),
}

impl Timetable {
    /// Returns the times of a cron expression of five fields, as the clocks of a zone show them.
    ///
    /// # Errors
    /// Why there are none, as the end of a sentence.
    pub fn cron(text: &str, zone: &str) -> Result<Self, Reason> {
        let fields: Vec<&str> = text.split_ascii_whitespace().collect();
        if fields.len() != FIELDS {
            return Err(format!(
                "it has {} fields instead of {FIELDS}: minute, hour, day of the month, month and day of the week",
                fields.len()
            ).into());
        }
        let text = fields.join(" ");
        let calendar = cronexpr::parse_crontab(&format!("{text} UTC")).map_err(|error| {
            // It shows the expression with a mark below it before it says what is wrong.
            let error = error.to_string();
            let why = error.rsplit("^ ").next().unwrap_or_default();
            why.escape_debug().to_string()
        })?;
        let timetable = Self {
            times: Times::Cron {
                text,
                calendar: Box::new(calendar),
            },
            zone: find_zone(zone)?,
            zone_name: zone.to_owned(),
        };
        // A day that no month has.
        match timetable.next(0) {
            Some(_) => Ok(timetable),
            None => Err("no day matches".into()),
        }
    }

    /// Returns one time, such as `2026-12-01T09:00`, as the clocks of a zone show it.
    ///
    /// # Errors
    /// Why it is none, as the end of a sentence.
    pub fn once(text: &str, zone: &str) -> Result<Self, Reason> {
        let time: DateTime = text
            .parse()
            .map_err(|_| "it is not a time like `2026-12-01T09:00`".to_owned())?;
        let timetable = Self {
            times: Times::Once(time),
            zone: find_zone(zone)?,
            zone_name: zone.to_owned(),
        };
        match timetable.instant(time).is_some() {
            true => Ok(timetable),
            false => Err("it is too far in the future".into()),
        }
    }

    /// Returns whether there is one time alone.
    #[must_use]
    pub fn is_once(&self) -> bool {
        matches!(self.times, Times::Once(_))
    }

    /// Returns the first instant after another, both in milliseconds since 1970 (UTC); none if
    /// there is no further one.
    #[must_use]
    pub fn next(&self, after_ms: u64) -> Option<u64> {
        let after = Timestamp::from_millisecond(i64::try_from(after_ms).ok()?).ok()?;
        let next = match &self.times {
            Times::Once(time) => self.instant(*time).filter(|instant| *instant > after)?,
            Times::Cron { calendar, .. } => {
                let mut shown = self.zone.to_datetime(after);
                loop {
                    // Behind a clock that was put back it shows times that have been.
                    shown = following(calendar, shown)?;
                    let instant = self.instant(shown)?;
                    if instant > after {
                        break instant;
                    }
                }
            }
        };
        u64::try_from(next.as_millisecond()).ok()
    }

    /// Returns the last instant after `after_ms` and not after `until_ms`.
    #[must_use]
    pub fn latest(&self, after_ms: u64, until_ms: u64) -> Option<u64> {
        let mut latest = None;
        let mut from = after_ms;
        while let Some(next) = self.next(from).filter(|next| *next <= until_ms) {
            (latest, from) = (Some(next), next);
        }
        latest
    }

    /// Returns an instant as the clocks of the zone show it, such as
    /// `2026-12-01T09:00:00+01:00[Europe/Berlin]`.
    #[must_use]
    pub fn show(&self, at_ms: u64) -> String {
        let instant = Timestamp::from_millisecond(i64::try_from(at_ms).unwrap_or(i64::MAX));
        let instant = instant.unwrap_or(Timestamp::MAX);
        instant.to_zoned(self.zone.clone()).to_string()
    }

    /// Returns the instant at which the clocks show a time.
    fn instant(&self, shown: DateTime) -> Option<Timestamp> {
        let at = |offset: Offset| offset.to_timestamp(shown).ok();
        match self.zone.to_ambiguous_timestamp(shown).offset() {
            AmbiguousOffset::Unambiguous { offset } => at(offset),
            // The first one is by the offset that holds before the change.
            AmbiguousOffset::Fold { before, .. } => at(before),
            AmbiguousOffset::Gap { after, .. } => {
                // By the later offset it is an instant before the change.
                let change = self.zone.following(at(after)?).next()?;
                Some(change.timestamp())
            }
        }
    }
}

impl fmt::Display for Timetable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.times {
            Times::Cron { text, .. } => write!(f, "{text} ({})", self.zone_name),
            Times::Once(time) => write!(f, "{time} ({})", self.zone_name),
        }
    }
}

/// Returns the next time of a calendar.
fn following(calendar: &Crontab, shown: DateTime) -> Option<DateTime> {
    let shown = Offset::UTC.to_timestamp(shown).ok()?;
    let next = calendar.find_next(MakeTimestamp(shown)).ok()?;
    Some(next.datetime())
}

fn find_zone(name: &str) -> Result<TimeZone, Reason> {
    TimeZone::get(name).map_err(|_| {
        format!(
            "unknown time zone `{}`; write it like `Europe/Berlin`",
            name.escape_debug()
        )
        .into()
    })
}
