//! The report of a test run: JSON for programs, [`Mismatch::lines`] for users.

#[cfg(test)]
mod tests;

use super::{Coverage, Finding, case::Case, compare, golden, run::ObservedCall};
use agent_host_types::id::Digest;
use serde::Serialize;
use std::time::Duration;

/// The maximum of lines per difference.
const MAX_LINES: usize = 60;

/// The maximum of bytes shown of a line.
const MAX_LINE_BYTES: usize = 400;

/// The time limit of a line diff; the unmatched rest is shown as removed and added.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// The report of a test run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TestReport {
    /// The component as given.
    pub component: String,
    /// The digest of the component.
    pub digest: Digest,
    /// The cases, in order.
    pub cases: Vec<CaseReport>,
    /// The findings about the definitions.
    pub findings: Vec<Finding>,
    /// The functions that are faulty by a known fault of its toolchain, each with the consequence.
    pub warnings: Vec<String>,
    /// The coverage; `None` unless all cases ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
}

impl TestReport {
    /// Returns the number of failed cases.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.cases
            .iter()
            .filter(|case| !case.mismatches.is_empty())
            .count()
    }
}

/// The report of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CaseReport {
    /// The case file.
    pub file: String,
    /// The name of the case.
    pub name: String,
    /// The called tool.
    pub tool: String,
    /// The failed expectations; empty if the case passed.
    pub mismatches: Vec<Mismatch>,
    /// The golden file and the recording, if written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
    /// The end of the guest's stdout and stderr in its first failed call, or else in its first
    /// call.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stdio: String,
    /// The longest call in microseconds.
    pub wall_us: u64,
    /// The maximum memory of a call in bytes.
    pub peak_memory_bytes: u64,
}

/// A failed expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The subject: `result` or the key of the expectation.
    pub what: String,
    /// The expected value.
    pub expected: String,
    /// The actual value.
    pub got: String,
}

impl CaseReport {
    /// Checks the calls of a case. With `update`, golden files are written instead of compared.
    pub(super) fn new(case: &Case, runs: &[ObservedCall], update: bool) -> Self {
        let mut report = Self {
            file: case.file.display().to_string(),
            name: case.name.clone(),
            tool: case.tool.clone(),
            ..Self::default()
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

    /// Returns the report of a case that did not run.
    pub(super) fn skipped(case: &Case, why: Mismatch) -> Self {
        let mut report = Self::new(case, &[], /*update*/ false);
        report.mismatches.push(why);
        report
    }

    /// Adds the result of [`super::exchanges::Exchanges::close`].
    pub(super) fn add_exchanges(&mut self, case: &Case, ended: Result<bool, Mismatch>) {
        match (ended, &case.recording) {
            (Ok(true), Some(file)) => self.written.push(file.display().to_string()),
            (Ok(_), _) => {}
            (Err(mismatch), _) => self.mismatches.push(mismatch),
        }
    }

    /// Compares a call with its golden file, or writes the file.
    fn golden(&mut self, case: &Case, run: &ObservedCall, update: bool) -> Option<Mismatch> {
        let (file, output) = (case.expect.golden.as_ref()?, run.output.as_ref()?);
        if !update {
            return golden::difference(file, output);
        }
        let name = file.display().to_string();
        match golden::update(file, output) {
            Ok(changed) => {
                self.written.extend(changed.then_some(name));
                None
            }
            Err(error) => Some(Mismatch::new(
                &format!("golden {name}"),
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

    /// Returns the difference as lines with `-` (expected) and `+` (actual), at most 60.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let pieces = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
        let compared =
            agent_host_app::compare(&pieces(&self.expected), &pieces(&self.got), DIFF_TIMEOUT);
        let ends_differ = self.expected.ends_with('\n') != self.got.ends_with('\n');
        let line = |line| match line {
            Some((sign, text)) if ends_differ && !str::ends_with(text, '\n') => {
                format!("{sign} {} (no line end)", shortened(text))
            }
            Some((sign, text)) => format!("{sign} {}", shortened(text)),
            None => "  ...".to_owned(),
        };
        let mut lines: Vec<String> = compared.into_iter().map(line).collect();
        let more = lines.len().saturating_sub(MAX_LINES);
        if more > 0 {
            lines.truncate(MAX_LINES);
            lines.push(format!("  ... and {more} more lines"));
        }
        lines
    }
}

/// Trims a line end and elides the middle of a long line.
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
