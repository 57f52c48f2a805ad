//! Evaluations of agents: prompts with expectations, compared with what runs did. Nothing here
//! starts a run, reads a file or knows a terminal.

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

mod draft;
mod file;
mod judge;
mod markup;
mod report;
mod transcript;

pub use draft::{CaseDraft, DraftedCase};
pub use file::{Case, Evaluation, EvaluationForm, Expect, ExpectedCall, KeyError, MAX_RUNS};
pub use judge::{Observed, RunEnd, Verdict, judge};
pub use markup::{html, junit};
pub use report::{CallReport, CaseReport, ModelReport, Report, RunReport, Status, Totals};
pub use transcript::{Call, Figures, Transcript, TranscriptError};
