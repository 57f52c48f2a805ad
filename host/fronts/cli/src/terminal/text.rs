//! Formats sizes, times, paths, audit entries, verdicts, and single lines of long text.

use super::{BOLD, DIM, GREEN, YELLOW};
pub(crate) use agent_host_engine::text::{bytes, one_line, truncated};
use agent_host_engine::text::{escape_json, escape_line};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    context::CompactionStats,
    hook::{HookVerdict, VerdictKind},
};
use std::{fmt, path::Path};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Cuts or fills an escaped line to a width in columns of a terminal.
pub(crate) fn fitted(line: &str, columns: usize) -> String {
    let width = line.width();
    if width <= columns {
        return format!("{line}{}", " ".repeat(columns - width));
    }
    let (mut out, mut used) = (String::new(), 0);
    for character in line.chars() {
        let wide = character.width().unwrap_or(0);
        if used + wide >= columns {
            break;
        }
        out.push(character);
        used += wide;
    }
    format!("{out}…{}", " ".repeat(columns.saturating_sub(used + 1)))
}

/// Joins parts into rows of at most `columns` columns, each part whole; one that is longer has a
/// row of its own, or several of the terminal's.
pub(crate) fn packed<'p>(
    parts: impl IntoIterator<Item = &'p str>,
    separator: &str,
    columns: usize,
) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for part in parts {
        let width = anstream::adapter::strip_str(part).to_string().width();
        if !out.is_empty() {
            let fits = used + separator.len() + width <= columns;
            out.push_str(if fits { separator } else { "\n" });
            used = if fits { used + separator.len() } else { 0 };
        }
        out.push_str(part);
        used += width;
    }
    out
}

/// Breaks the lines of a text of the host between words into rows of at most `columns` columns.
pub(crate) fn at_words(text: &str, columns: usize) -> String {
    let lines = text.split('\n');
    let lines: Vec<String> = lines
        .map(|line| packed(line.split(' '), " ", columns))
        .collect();
    lines.join("\n")
}

/// Formats JSON on one line, escaped so that it cannot steer a terminal. All JSON on stdout passes
/// through this function or [`json_lines`].
pub(crate) fn json_text(json: &impl fmt::Display) -> String {
    escape_json(&json.to_string()).into_owned()
}

/// Formats JSON on several lines, escaped like [`json_text`].
pub(crate) fn json_lines(json: &impl fmt::Display) -> String {
    escape_json(&format!("{json:#}")).into_owned()
}

/// The maximum length of a tool's name, in characters. Registered names are shorter; a model may
/// call any other.
const MAX_TOOL_NAME: usize = 128;

/// Escapes the name of a tool that a model called.
pub(crate) fn tool_name(name: &str) -> String {
    one_line(name, MAX_TOOL_NAME)
}

/// Formats the size of a request before and after compaction.
pub(crate) fn size_change(size: CompactionStats) -> String {
    let CompactionStats {
        before_tokens,
        after_tokens,
    } = size;
    format!("about {before_tokens} tokens before, {after_tokens} after")
}

/// Formats millionths of a US dollar, such as `0.0042 USD`.
pub(crate) fn dollars(micros: u64) -> String {
    let (whole, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let places = format!("{fraction:06}");
    let shown = places.trim_end_matches('0');
    format!("{whole}.{shown:0<2} USD")
}

/// Formats a time in UTC, such as `2026-11-21 04:12:35.120`.
pub(crate) fn date(at_ms: u64) -> String {
    let millis = i64::try_from(at_ms).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).map_or_else(
        |_| at_ms.to_string(),
        |time| {
            time.to_zoned(jiff::tz::TimeZone::UTC)
                .strftime("%Y-%m-%d %H:%M:%S%.3f")
                .to_string()
        },
    )
}

/// Formats a number with a comma before each three digits, such as `12,345`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number of things, such as `1 fault` or `2 faults`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

/// Formats milliseconds for users, such as `4.5 s`, `2 min 5 s` or `1 h 3 min`.
pub(crate) fn duration(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds}.{} s", millis % 1_000 / 100),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Formats microseconds, such as `850 µs`, `12.3 ms` or `4.5 s`.
pub(crate) fn micros(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} µs"),
        1_000..1_000_000 => format!("{}.{} ms", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{} s", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// Returns a line with the verdict, the request, its count, and the rule.
pub(crate) fn audit_line(entry: &AuditEntry) -> String {
    let (style, word) = match entry.verdict {
        AuditVerdict::Allowed => (GREEN, "allowed"),
        AuditVerdict::Denied => (YELLOW, "denied"),
    };
    let times = if entry.count == 1 {
        String::new()
    } else {
        format!(" ×{}", entry.count)
    };
    format!(
        "{style}{word}{style:#} {}{times} {DIM}by {}{DIM:#}",
        escape_line(&entry.request.to_string()),
        escape_line(&entry.rule)
    )
}

/// Returns a line with the hook, the point, the verdict, and at most `max` characters of its
/// reason.
pub(crate) fn verdict_line(of_hook: &HookVerdict, max: usize) -> String {
    let HookVerdict {
        hook,
        point,
        verdict,
        reason,
    } = of_hook;
    let kind = match verdict {
        VerdictKind::Pass => verdict.as_str().to_owned(),
        _ => format!("{YELLOW}{}{YELLOW:#}", verdict.as_str()),
    };
    let reason = reason
        .as_deref()
        .map(|reason| format!(": {}", one_line(reason, max)));
    format!(
        "{} {} {kind}{}",
        escape_line(hook),
        point.as_str(),
        reason.unwrap_or_default()
    )
}

/// Escapes a path onto one line.
pub(crate) fn path_text(path: &Path) -> String {
    escape_line(&path.display().to_string())
}

/// Adds a section of a report: a blank line, the heading, and the rows.
pub(crate) fn section(
    lines: &mut Vec<String>,
    heading: &str,
    rows: impl IntoIterator<Item = String>,
) {
    lines.push(String::new());
    lines.push(format!("{BOLD}{heading}{BOLD:#}"));
    lines.extend(rows);
}

#[cfg(test)]
mod tests {
    use super::{count, dollars, duration, micros};
    use pretty_assertions::assert_eq;

    #[test]
    fn dollars_have_at_least_two_places() {
        let shown = [0, 1, 4_200, 120_000, 1_000_000, 12_345_678].map(dollars);
        assert_eq!(
            shown,
            [
                "0.00 USD",
                "0.000001 USD",
                "0.0042 USD",
                "0.12 USD",
                "1.00 USD",
                "12.345678 USD"
            ]
        );
    }

    #[test]
    fn times_and_counts_have_readable_units() {
        let times: Vec<String> = [0, 999, 1_000, 12_345, 4_567_890].map(micros).to_vec();
        assert_eq!(times, ["0 µs", "999 µs", "1.0 ms", "12.3 ms", "4.5 s"]);
        let counts = [0, 999, 1_000, 1_234_567].map(count);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
        let durations = [0, 4_567, 125_000, 3_780_000].map(duration);
        assert_eq!(durations, ["0.0 s", "4.5 s", "2 min 5 s", "1 h 3 min"]);
    }
}
