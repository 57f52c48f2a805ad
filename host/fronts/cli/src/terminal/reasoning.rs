//! The reasoning of a model in progress: one line that counts it, or all of it.

#[cfg(test)]
mod tests;

use super::{DIM, count, one_line, truncated};

/// The part of the beginning and of the end that is kept for the one line, in characters.
const KEPT_CHARACTERS: usize = 300;

/// The maximum of the last reasoning that is kept, in bytes.
const MAX_LAST_BYTES: usize = 256 * 1024;

/// A longer line is shown before its end arrives, in bytes.
const MAX_LINE_BYTES: usize = 4 * 1024;

/// The columns that the line leaves to its first word and its count.
const SPARE_COLUMNS: usize = 36;

/// The reasoning of a reply so far.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    begin: String,
    end: String,
    characters: usize,
    /// The text that no line was made of yet.
    open: String,
    /// All of it.
    whole: String,
    /// All of the reasoning before.
    last: String,
}

impl Reasoning {
    /// Adds text.
    pub(super) fn push(&mut self, text: &str) {
        self.keep(text);
        let missing = KEPT_CHARACTERS.saturating_sub(self.characters);
        self.begin.extend(text.chars().take(missing));
        self.characters += text.chars().count();
        self.end.push_str(text);
        let excess = self.end.chars().count().saturating_sub(KEPT_CHARACTERS);
        self.end = self.end.chars().skip(excess).collect();
    }

    /// Adds text of which every line is shown, and returns the lines that it completes.
    pub(super) fn push_shown(&mut self, text: &str) -> Vec<String> {
        self.keep(text);
        self.open.push_str(text);
        let mut lines = Vec::new();
        while let Some(end) = self.open.find('\n') {
            let rest = self.open.split_off(end + 1);
            lines.push(dim(std::mem::replace(&mut self.open, rest).trim_end()));
        }
        if self.open.len() > MAX_LINE_BYTES {
            lines.push(dim(&std::mem::take(&mut self.open)));
        }
        lines
    }

    fn keep(&mut self, text: &str) {
        let free = MAX_LAST_BYTES.saturating_sub(self.whole.len());
        let (kept, _) = text.split_at(text.floor_char_boundary(free));
        self.whole.push_str(kept);
    }

    /// Returns the lines of the reasoning that ended last.
    pub(super) fn last(&self) -> Vec<String> {
        self.last.trim_end().lines().map(dim).collect()
    }

    /// Returns the newest words on a line of at most `columns` columns of one-column characters.
    pub(super) fn progress(&self, columns: usize) -> String {
        let line = one_line(self.end.trim(), usize::MAX);
        let room = columns.saturating_sub(SPARE_COLUMNS);
        let skipped = line.chars().count().saturating_sub(room);
        let shown: String = line.chars().skip(skipped).collect();
        match skipped {
            0 => format!("reasoning: {shown}"),
            _ => format!("reasoning: …{shown}"),
        }
    }

    /// Ends the reasoning, and returns its last line: what was not shown, or the beginning and the
    /// number of its characters.
    pub(super) fn finish(&mut self, columns: usize) -> Option<String> {
        let Self {
            begin,
            characters,
            open,
            whole,
            last,
            ..
        } = std::mem::take(self);
        self.last = if whole.is_empty() { last } else { whole };
        if characters == 0 {
            return (!open.is_empty()).then(|| dim(open.trim_end()));
        }
        let room = columns.saturating_sub(SPARE_COLUMNS);
        let mut shown = truncated(one_line(begin.trim(), usize::MAX), room);
        if characters > KEPT_CHARACTERS && !shown.ends_with('…') {
            shown.push('…');
        }
        let count = count(characters as u64);
        Some(format!(
            "{DIM}reasoning: {shown} ({count} characters){DIM:#}"
        ))
    }
}

fn dim(line: &str) -> String {
    format!("{DIM}{}{DIM:#}", one_line(line, usize::MAX))
}
