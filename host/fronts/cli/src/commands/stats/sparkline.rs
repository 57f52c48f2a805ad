//! The usage of each day as a line of bars.

use agent_host_app::StatsRow;
use agent_host_types::stats::Figures;
use jiff::{ToSpan as _, civil::Date};
use std::collections::BTreeMap;

/// The bars, from the lowest to the highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The sign of a day without use.
const NONE: char = '·';

/// The most days that are drawn, those before the last one.
const MAX_DAYS: i64 = 60;

/// A figure of a day.
type Measure = fn(&Figures) -> u64;

/// Returns a bar for each day up to the last one that was used, and what the bars measure; `None`
/// for less than two days. The measure is the cost, or without prices the tokens, or the calls.
pub(super) fn sparkline(rows: &[StatsRow]) -> Option<String> {
    let tokens = |figures: &Figures| figures.input_tokens.saturating_add(figures.output_tokens);
    let measures: [(&str, Measure); 3] = [
        ("cost", |figures| figures.cost_micros),
        ("tokens", tokens),
        ("calls", |figures| figures.tool_calls),
    ];
    let is_used = |measure: Measure| rows.iter().any(|row| measure(&row.figures) > 0);
    let (word, measure) = measures
        .into_iter()
        .find(|(_, measure)| is_used(*measure))?;
    let days = rows
        .iter()
        .filter_map(|row| Some((row.name.parse::<Date>().ok()?, measure(&row.figures))));
    let days: BTreeMap<Date, u64> = days.collect();
    let (last, _) = days.last_key_value()?;
    let earliest = last.checked_sub((MAX_DAYS - 1).days()).ok()?;
    let first = days.range(earliest..).next()?.0;
    if first == last {
        return None;
    }
    let most = days.range(earliest..).map(|(_, value)| *value).max()?;
    let bars: String = first
        .series(1.day())
        .take_while(|day| day <= last)
        .map(|day| bar(days.get(&day).copied().unwrap_or_default(), most))
        .collect();
    Some(format!("{bars}  {word} per day, {first} to {last}"))
}

fn bar(value: u64, most: u64) -> char {
    if value == 0 {
        return NONE;
    }
    let highest = BARS.len() as u64 - 1;
    let height = u128::from(value) * u128::from(highest) / u128::from(most.max(1));
    let height = usize::try_from(height).unwrap_or_default();
    BARS.get(height).copied().unwrap_or(NONE)
}

#[cfg(test)]
mod tests {
    use super::{StatsRow, sparkline};
    use agent_host_types::stats::Figures;
    use pretty_assertions::assert_eq;

    fn rows(days: &[(&str, u64, u64)]) -> Vec<StatsRow> {
        let row = |&(name, cost_micros, input_tokens): &(&str, u64, u64)| StatsRow {
            name: name.to_owned(),
            figures: Figures {
                cost_micros,
                input_tokens,
                ..Figures::default()
            },
        };
        days.iter().map(row).collect()
    }

    #[test]
    fn days_are_bars_in_their_order() {
        let cases = [
            (rows(&[]), None),
            (rows(&[("2026-11-29", 5, 1)]), None),
            (rows(&[("2026-11-28", 0, 0), ("2026-11-29", 0, 0)]), None),
            (
                rows(&[
                    ("2026-11-29", 100, 9),
                    ("2026-11-26", 1, 1),
                    ("2026-11-27", 50, 1),
                ]),
                Some("▁▄·█  cost per day, 2026-11-26 to 2026-11-29"),
            ),
            (
                rows(&[("2026-02-28", 0, 7), ("2026-03-01", 0, u64::MAX)]),
                Some("▁█  tokens per day, 2026-02-28 to 2026-03-01"),
            ),
            // Older days are left out.
            (
                rows(&[
                    ("2020-01-01", 9, 1),
                    ("2026-11-28", 2, 1),
                    ("2026-11-29", 4, 1),
                ]),
                Some("▄█  cost per day, 2026-11-28 to 2026-11-29"),
            ),
            (rows(&[("not a day", 9, 1), ("2026-11-29", 4, 1)]), None),
        ];
        for (rows, expected) in cases {
            assert_eq!(sparkline(&rows).as_deref(), expected);
        }
    }
}
