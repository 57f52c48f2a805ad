//! The changes since a component was accepted, as lines for the operator. The first four characters
//! of a line are the host's, so that text of a component cannot imitate a line of another kind; the
//! caller makes the rest harmless.

#[cfg(test)]
mod tests;

use agent_host_types::lock::Change;
use similar::{Algorithm, ChangeTag, TextDiff};
use std::time::Duration;

/// The number of context lines around a difference.
const CONTEXT: usize = 2;

/// A line of more bytes is compared sentence by sentence, since authors write a description as one
/// line.
const LONG_LINE_BYTES: usize = 100;

/// The time limit of one comparison. The unmatched rest is shown as removed and added; real texts
/// take less than a millisecond.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Writes the changes, in order.
#[must_use]
pub fn difference(changes: &[Change]) -> Vec<String> {
    let mut lines = Vec::new();
    for change in changes {
        let what = match &change.tool {
            None => change.aspect.as_str().to_owned(),
            Some(tool) => format!("tool `{tool}`, {}", change.aspect.as_str()),
        };
        match (change.before.as_deref(), change.after.as_deref()) {
            (Some(before), Some(after)) if is_short(before) && is_short(after) => {
                lines.push(format!("  {what}: {before} -> {after}"));
            }
            (before, after) => {
                lines.push(format!("  {what}:"));
                let compared = compare(&pieces(before), &pieces(after), TIMEOUT).into_iter();
                lines.extend(compared.map(|line| match line {
                    Some((sign, piece)) => format!("  {sign} {}", piece.trim_end()),
                    None => "    ...".to_owned(),
                }));
            }
        }
    }
    lines
}

fn is_short(text: &str) -> bool {
    text.len() <= LONG_LINE_BYTES && !text.contains('\n')
}

/// Compares two texts, each in pieces, such as lines. Returns the differences with the equal pieces
/// around them, each piece with its sign (`-`, `+` or a space), and `None` for omitted equal
/// pieces. Entries that are not matched within `timeout` count as removed and added.
#[must_use]
pub fn compare<'t>(
    before: &[&'t str],
    after: &[&'t str],
    timeout: Duration,
) -> Vec<Option<(char, &'t str)>> {
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(timeout)
        .diff_slices(before, after);
    let mut lines = Vec::new();
    for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        lines.extend((index > 0).then_some(None));
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(Some((sign, change.value())));
        }
    }
    lines
}

/// Splits a text into lines with their ends, and long lines into sentences.
fn pieces(text: Option<&str>) -> Vec<&str> {
    let mut pieces = Vec::new();
    for line in text.unwrap_or_default().split_inclusive('\n') {
        if line.len() <= LONG_LINE_BYTES {
            pieces.push(line);
            continue;
        }
        let mut rest = line;
        while let Some((end, stop)) = rest.match_indices(". ").next() {
            let (sentence, after) = rest.split_at(end + stop.len());
            pieces.push(sentence);
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(rest);
        }
    }
    pieces
}
