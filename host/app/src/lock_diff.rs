//! What changed since a component was accepted, as lines for people. The first four characters of a line are ours, so text of
//! a component cannot pass for a line of another kind; whoever prints them makes the rest harmless.

#[cfg(test)]
mod tests;

use agent_host_types::lock::Change;
use similar::{Algorithm, ChangeTag, TextDiff};
use std::time::Duration;

/// The lines around a difference that are shown with it.
const CONTEXT: usize = 2;

/// A line of more bytes is compared sentence by sentence, since authors write a description as one line.
const LONG_LINE_BYTES: usize = 100;

/// How long one text may be compared. What is not matched by then is shown as removed and added; real texts take less than a
/// millisecond.
const PATIENCE: Duration = Duration::from_millis(200);

/// The changes, in their order.
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
                compare(&pieces(before), &pieces(after), &mut lines);
            }
        }
    }
    lines
}

fn is_short(text: &str) -> bool {
    text.len() <= LONG_LINE_BYTES && !text.contains('\n')
}

fn compare(before: &[&str], after: &[&str], lines: &mut Vec<String>) {
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Myers)
        .timeout(PATIENCE)
        .diff_slices(before, after);
    for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            lines.push("    ...".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(format!("  {sign} {}", change.value().trim_end()));
        }
    }
}

/// The lines of a text with their ends; long ones in sentences.
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
