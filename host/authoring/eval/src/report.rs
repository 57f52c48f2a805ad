//! The report of an evaluation: cases, models and runs, with their sums. Its JSON form is stable.

#[cfg(test)]
pub(crate) mod tests;

use crate::{
    file::Case,
    judge::{Observed, RunEnd, judge},
    transcript::{Call, Figures},
};
use serde::Serialize;
use serde_json::json;

/// The version of the JSON form. A new key does not change it; a reader ignores keys that it does
/// not know.
const VERSION: u32 = 1;

/// The most calls of a run in the report.
const MAX_CALLS: usize = 100;

/// The longest text of an answer, of arguments or of a result in the report, in bytes.
const MAX_TEXT_BYTES: usize = 8 * 1024;

/// The report of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The version of the form.
    pub version: u32,
    /// Whether every case met its share with every model.
    pub passed: bool,
    /// The cases, in the order of the file.
    pub cases: Vec<CaseReport>,
    /// The sums.
    pub totals: Totals,
}

/// The report of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseReport {
    /// The name.
    pub name: String,
    /// The share of the runs that has to pass with each model, from 0 to 1.
    pub pass: f64,
    /// Whether it met its share with every model.
    pub passed: bool,
    /// The models, in order.
    pub models: Vec<ModelReport>,
}

/// The report of a case with one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelReport {
    /// The model, as it was named.
    pub model: String,
    /// Whether enough runs passed.
    pub passed: bool,
    /// The number of runs that passed.
    pub passed_runs: usize,
    /// The runs, in order.
    pub runs: Vec<RunReport>,
}

/// The report of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    /// The number of the run, from 1.
    pub run: u32,
    /// The status.
    pub status: Status,
    /// The expectations that it did not meet, each as a sentence.
    pub failures: Vec<String>,
    /// The exit code; null where the run was stopped or could not be read.
    pub exit: Option<i32>,
    /// The answer, of which a long one is cut; null without one.
    pub answer: Option<String>,
    /// The first 100 calls.
    pub calls: Vec<CallReport>,
    /// The figures.
    pub figures: Figures,
}

/// The report of a call.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallReport {
    /// The tool.
    pub tool: String,
    /// The arguments as JSON text, which is cut if it is long.
    pub input: String,
    /// The variant of the result.
    pub outcome: &'static str,
    /// The result as text, which is cut if it is long.
    pub result: String,
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It met every expectation.
    Passed,
    /// It did not meet an expectation.
    Failed,
    /// It could not be started or read.
    Error,
}

/// The sums of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// The cases.
    pub cases: usize,
    /// The cases that met their share with every model.
    pub passed_cases: usize,
    /// The runs.
    pub runs: usize,
    /// The runs that passed.
    pub passed_runs: usize,
    /// The runs that could not be started or read.
    pub errors: usize,
    /// The figures of all runs.
    pub figures: Figures,
}

impl Report {
    /// Sums up cases.
    #[must_use]
    pub fn new(cases: Vec<CaseReport>) -> Self {
        let mut totals = Totals::default();
        for case in &cases {
            totals.cases += 1;
            totals.passed_cases += usize::from(case.passed);
            for run in case.models.iter().flat_map(|model| &model.runs) {
                totals.runs += 1;
                totals.passed_runs += usize::from(run.status == Status::Passed);
                totals.errors += usize::from(run.status == Status::Error);
                totals.figures += run.figures;
            }
        }
        Self {
            version: VERSION,
            passed: cases.iter().all(|case| case.passed),
            cases,
            totals,
        }
    }

    /// Returns the models, in order.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        let first = self.cases.first();
        let models = first.into_iter().flat_map(|case| &case.models);
        models.map(|model| model.model.as_str())
    }
}

impl CaseReport {
    /// Sums up the runs of a case, by model.
    #[must_use]
    pub fn new(case: &Case, models: Vec<(String, Vec<RunReport>)>) -> Self {
        let models = models.into_iter().map(|(model, runs)| {
            let passed = runs.iter().filter(|run| run.status == Status::Passed);
            let passed_runs = passed.count();
            ModelReport {
                model,
                passed: meets(case.pass, passed_runs, runs.len()),
                passed_runs,
                runs,
            }
        });
        let models: Vec<ModelReport> = models.collect();
        Self {
            name: case.name.clone(),
            pass: case.pass,
            passed: models.iter().all(|model| model.passed),
            models,
        }
    }
}

impl RunReport {
    /// Judges a run and reports it.
    #[must_use]
    pub fn new(case: &Case, run: u32, observed: &Observed, duration_ms: u64) -> Self {
        let verdict = judge(&case.expect, observed);
        let transcript = &observed.transcript;
        Self {
            run,
            status: verdict.status,
            failures: verdict.failures,
            exit: match observed.end {
                RunEnd::Exited(code) => Some(code),
                RunEnd::TimedOut(_) | RunEnd::Broken(_) => None,
            },
            answer: transcript.answer.as_deref().map(cut),
            calls: transcript.calls.iter().take(MAX_CALLS).map(call).collect(),
            figures: Figures {
                duration_ms,
                ..transcript.figures
            },
        }
    }
}

/// Whether a share of the runs passed. The last digit of a product of floats may be off.
#[expect(
    clippy::cast_precision_loss,
    reason = "there are at most 100 runs of a case with a model"
)]
fn meets(share: f64, passed: usize, runs: usize) -> bool {
    passed as f64 + 1e-9 >= share * runs as f64
}

fn call(call: &Call) -> CallReport {
    CallReport {
        tool: call.tool.clone(),
        input: cut(&json!(call.input).to_string()),
        outcome: call.outcome,
        result: cut(&call.result),
    }
}

fn cut(text: &str) -> String {
    match text.len() <= MAX_TEXT_BYTES {
        true => text.to_owned(),
        false => {
            let kept = text.get(..text.floor_char_boundary(MAX_TEXT_BYTES));
            format!("{}...", kept.unwrap_or_default())
        }
    }
}
