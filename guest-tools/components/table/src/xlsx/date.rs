//! Dates of workbooks: days since 1899-12-30 (or 1904-01-01), as ISO 8601.

use agent_tool_bounded::iso_date;

/// A kind of what a number stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateKind {
    /// A point in time, which is a date alone where it has no time of day.
    Date,
    /// A date with a time of day.
    DateTime,
    /// A time of day.
    Time,
    /// A span of time, such as 26 hours.
    Duration,
}

/// The days from 1970-01-01 to the day 0 of either calendar.
const DAY_0_OF_1900: i64 = -25_569;
const DAY_0_OF_1904: i64 = -24_107;

/// The day after the last one: 9999-12-31 is 2,958,465.
const END_DAYS: f64 = 2_958_466.0;

const DAY_MS: i64 = 86_400_000;

impl DateKind {
    /// The kind of a format of ECMA-376 18.8.30 that a workbook does not define itself.
    pub(super) fn of_built_in(id: u32) -> Option<Self> {
        match id {
            14..=17 | 27..=31 | 36 | 50..=54 | 57 | 58 => Some(Self::Date),
            18..=21 | 32..=35 | 45 | 47 | 55 | 56 => Some(Self::Time),
            22 => Some(Self::DateTime),
            46 => Some(Self::Duration),
            _ => None,
        }
    }

    /// The kind of a format by its code, such as `yyyy-mm-dd`. Only the first section counts.
    pub(super) fn of_format(code: &str) -> Option<Self> {
        let (mut date, mut time, mut minutes, mut span) = (false, false, false, false);
        let mut letters = code.chars();
        while let Some(letter) = letters.next() {
            match letter {
                ';' => break,
                '\\' | '_' | '*' => drop(letters.next()),
                '"' => drop(letters.find(|letter| *letter == '"')),
                '[' => {
                    let inner: String = letters
                        .by_ref()
                        .take_while(|letter| *letter != ']')
                        .collect();
                    let inner = inner.to_ascii_lowercase();
                    let only = |unit: char| !inner.is_empty() && inner.chars().all(|l| l == unit);
                    span |= only('h') || only('m') || only('s');
                }
                'y' | 'Y' | 'd' | 'D' => date = true,
                'h' | 'H' | 's' | 'S' => time = true,
                // Months or minutes, by what stands beside it.
                'm' | 'M' => minutes = true,
                _ => {}
            }
        }
        match (date, time, span) {
            (_, _, true) => Some(Self::Duration),
            (true, true, _) => Some(Self::DateTime),
            (true, false, _) => Some(Self::Date),
            (false, true, _) => Some(Self::Time),
            (false, false, _) if minutes => Some(Self::Date),
            (false, false, _) => None,
        }
    }

    /// The text of a number, if it is one of this kind.
    pub(super) fn text(self, serial: f64, from_1904: bool) -> Option<String> {
        if !serial.is_finite() || serial.abs() >= END_DAYS {
            return None;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_precision_loss,
            reason = "the bounds above keep it within 53 bits"
        )]
        let ms = (serial * DAY_MS as f64).round() as i64;
        if self == Self::Duration {
            return Some(duration(ms));
        }
        let (day, of_day) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
        if day < 0 {
            return None;
        }
        if self == Self::Time && day == 0 {
            return Some(time(of_day));
        }
        let unix_day = match (from_1904, day) {
            (true, day) => day + DAY_0_OF_1904,
            // Excel counts 1900-02-29, a day that never was: days before it are one later.
            (false, 60) => return None,
            (false, 0..60) => day + DAY_0_OF_1900 + 1,
            (false, day) => day + DAY_0_OF_1900,
        };
        let date = iso_date(unix_day);
        Some(if of_day == 0 && self == Self::Date {
            date
        } else {
            format!("{date}T{}", time(of_day))
        })
    }
}

fn time(ms: i64) -> String {
    let (seconds, ms) = (ms / 1_000, ms % 1_000);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let fraction = fraction(ms);
    format!("{hours:02}:{minutes:02}:{seconds:02}{fraction}")
}

fn duration(ms: i64) -> String {
    let sign = if ms < 0 { "-" } else { "" };
    let (seconds, ms) = (ms.abs() / 1_000, ms.abs() % 1_000);
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let fraction = fraction(ms);
    format!("{sign}PT{hours}H{minutes}M{seconds}{fraction}S")
}

fn fraction(ms: i64) -> String {
    if ms == 0 {
        String::new()
    } else {
        format!(".{ms:03}")
    }
}

#[cfg(test)]
mod tests;
