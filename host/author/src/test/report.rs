//! What a test run came to, for programs as JSON and for people by [`Mismatch::lines`].

#[cfg(test)]
mod tests;

use super::{Coverage, Finding, case::Case, compare, golden, run::Run};
use agent_host_types::id::Digest;
use serde::Serialize;
use similar::{Algorithm, ChangeTag, TextDiff};
use std::time::Duration;

/// The lines around a difference that are shown with it.
const CONTEXT: usize = 2;

/// The most lines that are shown of one difference.
const MAX_LINES: usize = 60;

/// The longest line that is shown whole, in bytes.
const MAX_LINE_BYTES: usize = 400;

/// How long two values may be compared line by line; what is not matched by then is shown as removed and added.
const PATIENCE: Duration = Duration::from_millis(500);

/// A test run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestReport {
    /// The component, as it was named.
    pub component: String,
    /// Its digest.
    pub digest: Digest,
    /// Its cases, in their order.
    pub cases: Vec<CaseReport>,
    /// What is wrong with its definitions.
    pub findings: Vec<Finding>,
    /// What the cases touched; absent where not all of them were run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
}

impl TestReport {
    /// How many cases failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.cases
            .iter()
            .filter(|case| !case.mismatches.is_empty())
            .count()
    }
}

/// A case that was run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseReport {
    /// The file that it is in.
    pub file: String,
    /// What it shows.
    pub name: String,
    /// The tool that was called.
    pub tool: String,
    /// Where it is not as expected; empty where it passed.
    pub mismatches: Vec<Mismatch>,
    /// The golden file and the recording, where they were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    /// The end of what the guest wrote to stdout and stderr in its first call that is not as expected, or else in its first call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stdio: String,
    /// The longest of its calls, in microseconds.
    pub wall_us: u64,
    /// The most memory of one call, in bytes.
    pub peak_memory_bytes: u64,
}

/// One thing that is not as expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// What it is: `result`, or the key of the expectation.
    pub what: String,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub got: String,
}

impl CaseReport {
    /// Judges the calls of a case. With `update`, golden files are written instead of compared.
    pub(super) fn new(case: &Case, runs: &[Run], update: bool) -> Self {
        let mut report = Self {
            file: case.file.display().to_string(),
            name: case.name.clone(),
            tool: case.tool.clone(),
            mismatches: Vec::new(),
            written: Vec::new(),
            stdio: String::new(),
            wall_us: 0,
            peak_memory_bytes: 0,
        };
        for (index, run) in runs.iter().enumerate() {
            let accounting = &run.accounting;
            report.wall_us = report.wall_us.max(accounting.wall_us);
            report.peak_memory_bytes = report.peak_memory_bytes.max(accounting.peak_memory_bytes);
            let mut found = compare::differences(&case.expect, run);
            found.extend(report.golden(case, run, update && index == 0));
            if index == 0 || (report.mismatches.is_empty() && !found.is_empty()) {
                report.stdio.clone_from(&accounting.stdio);
            }
            if runs.len() > 1 {
                for mismatch in &mut found {
                    let (number, of) = (index + 1, runs.len());
                    mismatch.what = format!("{} of call {number} of {of}", mismatch.what);
                }
            }
            report.mismatches.extend(found);
        }
        report
    }

    /// A case that was not run, and why.
    pub(super) fn unrun(case: &Case, why: Mismatch) -> Self {
        let mut report = Self::new(case, &[], /*update*/ false);
        report.mismatches.push(why);
        report
    }

    /// Adds how the HTTP exchanges ended: whether the recording was written.
    pub(super) fn add_exchanges(&mut self, case: &Case, ended: Result<bool, Mismatch>) {
        match (ended, &case.recording) {
            (Ok(true), Some(file)) => self.written.push(file.display().to_string()),
            (Ok(_), _) => {}
            (Err(mismatch), _) => self.mismatches.push(mismatch),
        }
    }

    /// Holds a call against the golden file, or writes that.
    fn golden(&mut self, case: &Case, run: &Run, update: bool) -> Option<Mismatch> {
        let (file, output) = (case.expect.golden.as_ref()?, run.output.as_ref()?);
        if !update {
            return golden::difference(file, output);
        }
        match golden::update(file, output) {
            Ok(true) => {
                self.written.push(file.display().to_string());
                None
            }
            Ok(false) => None,
            Err(error) => Some(Mismatch::new(
                &format!("golden {}", file.display()),
                "a file that can be written",
                error.to_string(),
            )),
        }
    }
}

impl Mismatch {
    pub(super) fn new(what: &str, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self {
            what: what.to_owned(),
            expected: expected.into(),
            got: got.into(),
        }
    }

    /// The difference as lines: `-` before what was expected, `+` before what came. At most so many that a person reads them.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let diff = TextDiff::configure()
            .algorithm(Algorithm::Myers)
            .timeout(PATIENCE)
            .diff_lines(&self.expected, &self.got);
        let ends_differ = self.expected.ends_with('\n') != self.got.ends_with('\n');
        let mut lines = Vec::new();
        for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
            if index > 0 {
                lines.push("  ...".to_owned());
            }
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let sign = match change.tag() {
                    ChangeTag::Equal => ' ',
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                };
                let end = if ends_differ && change.missing_newline() {
                    " (no line end)"
                } else {
                    ""
                };
                lines.push(format!("{sign} {}{end}", shortened(change.value())));
            }
        }
        let more = lines.len().saturating_sub(MAX_LINES);
        if more > 0 {
            lines.truncate(MAX_LINES);
            lines.push(format!("  ... and {more} lines more"));
        }
        lines
    }
}

/// A line without its end, and with its middle left out where it is too long.
fn shortened(line: &str) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    if line.len() <= MAX_LINE_BYTES {
        return line.to_owned();
    }
    let (begin, _) = line.split_at(line.floor_char_boundary(MAX_LINE_BYTES / 2));
    let (rest, end) = line.split_at(line.ceil_char_boundary(line.len() - MAX_LINE_BYTES / 2));
    let left_out = rest.len() - begin.len();
    format!("{begin} ...{left_out} bytes... {end}")
}
