//! The file of an evaluation: its form, and the checked values.

#[cfg(test)]
mod tests;

use agent_host_engine::schema::AnswerSchema;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::{collections::BTreeSet, path::PathBuf};

/// The most cases of a file.
const MAX_CASES: usize = 1_000;

/// The most runs of a case with one model.
pub const MAX_RUNS: u32 = 100;

/// The longest name of a case, in bytes: it is part of the name of a file.
const MAX_NAME_BYTES: usize = 64;

/// The longest prompt, in bytes. The kernel takes 128 KiB for one argument of a program.
const MAX_PROMPT_BYTES: usize = 64 * 1024;

/// The longest time of a run, in seconds.
const MAX_SECONDS: u64 = 24 * 60 * 60;

/// A key that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {reason}; {fix}")]
pub struct KeyError {
    /// The key as a TOML path, such as `case[0].expect.answer`.
    pub key: String,
    /// Why it cannot be used.
    pub reason: String,
    /// The next step.
    pub fix: String,
}

impl KeyError {
    fn new(key: impl Into<String>, reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            reason: reason.into(),
            fix: fix.into(),
        }
    }
}

/// An evaluation as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EvaluationForm {
    runs: Option<u32>,
    #[serde(default)]
    models: Vec<String>,
    pass: Option<f64>,
    #[serde(default, rename = "case")]
    cases: Vec<CaseForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CaseForm {
    name: String,
    prompt: String,
    files: Option<PathBuf>,
    runs: Option<u32>,
    pass: Option<f64>,
    #[serde(default)]
    expect: ExpectForm,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ExpectForm {
    answer: Option<String>,
    answer_schema: Option<Value>,
    #[serde(default)]
    no_denial: bool,
    max_turns: Option<u64>,
    max_tool_calls: Option<u64>,
    max_tokens: Option<u64>,
    max_usd: Option<f64>,
    max_seconds: Option<u64>,
    exit: Option<u8>,
    #[serde(default, rename = "call")]
    calls: Vec<CallForm>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CallForm {
    tool: String,
    #[serde(default)]
    input: Map<String, Value>,
    result: Option<String>,
    times: Option<u64>,
}

/// A checked evaluation.
#[derive(Debug)]
pub struct Evaluation {
    /// The models, as `--model` takes them; empty for that of the configuration.
    pub models: Vec<String>,
    /// The cases. Their names differ.
    pub cases: Vec<Case>,
}

/// A prompt with expectations.
#[derive(Debug)]
pub struct Case {
    /// The name: letters, digits, `-` and `_`.
    pub name: String,
    /// The prompt.
    pub prompt: String,
    /// The directory that is copied to the working directory of each run.
    pub files: Option<PathBuf>,
    /// The number of runs with each model.
    pub runs: u32,
    /// The share of the runs that has to pass, from 0 to 1.
    pub pass: f64,
    /// The expectations.
    pub expect: Expect,
}

/// The expectations of a case.
#[derive(Debug)]
pub struct Expect {
    /// A pattern that matches a part of the answer.
    pub answer: Option<Regex>,
    /// The schema of the answer, which is one JSON value.
    pub answer_schema: Option<AnswerSchema>,
    /// Whether no call, and no request of a call, may be denied.
    pub no_denial: bool,
    /// The most model calls.
    pub max_turns: Option<u64>,
    /// The most tool calls.
    pub max_tool_calls: Option<u64>,
    /// The most tokens, read and written.
    pub max_tokens: Option<u64>,
    /// The highest cost, in millionths of a US dollar.
    pub max_cost_micros: Option<u64>,
    /// The time after which a run is stopped, in seconds.
    pub max_seconds: Option<u64>,
    /// The exit code.
    pub exit: u8,
    /// The calls.
    pub calls: Vec<ExpectedCall>,
}

/// A call that is expected.
#[derive(Debug)]
pub struct ExpectedCall {
    /// The tool.
    pub tool: String,
    /// Members that the arguments have, with equal values.
    pub input: Map<String, Value>,
    /// A pattern that matches a part of the result.
    pub result: Option<Regex>,
    /// The exact number of such calls; absent for one or more.
    pub times: Option<u64>,
}

impl EvaluationForm {
    /// Checks all values.
    ///
    /// # Errors
    /// The keys that cannot be used, in the order of the file.
    pub fn check(self) -> Result<Evaluation, Vec<KeyError>> {
        let mut errors = Vec::new();
        if self.cases.is_empty() {
            errors.push(KeyError::new(
                "case",
                "there are no cases",
                "add one: [[case]] with `name`, `prompt` and [case.expect]",
            ));
        }
        if self.cases.len() > MAX_CASES {
            let reason = format!("there are more than {MAX_CASES} cases");
            errors.push(KeyError::new("case", reason, "split the file"));
        }
        let mut known = BTreeSet::new();
        if let Some(twice) = self.models.iter().find(|model| !known.insert(*model)) {
            let reason = format!("the model `{twice}` occurs twice");
            errors.push(KeyError::new("models", reason, "remove one"));
        }
        let runs = runs("runs", self.runs, 1, &mut errors);
        let pass = pass("pass", self.pass, 1.0, &mut errors);
        let mut names = BTreeSet::new();
        let cases = self.cases.into_iter().enumerate();
        let cases = cases.map(|(index, form)| {
            let key = format!("case[{index}]");
            if !names.insert(form.name.clone()) {
                let key = format!("{key}.name");
                errors.push(KeyError::new(
                    key,
                    "another case has this name",
                    "choose another name",
                ));
            }
            form.check(&key, (runs, pass), &mut errors)
        });
        let cases = cases.collect();
        match errors.is_empty() {
            true => Ok(Evaluation {
                models: self.models,
                cases,
            }),
            false => Err(errors),
        }
    }
}

impl CaseForm {
    fn check(self, key: &str, general: (u32, f64), errors: &mut Vec<KeyError>) -> Case {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if self.name.is_empty()
            || self.name.len() > MAX_NAME_BYTES
            || !self.name.chars().all(is_name)
        {
            errors.push(KeyError::new(
                format!("{key}.name"),
                "it is not a valid file name",
                format!("use up to {MAX_NAME_BYTES} ASCII letters, digits, `-` and `_`"),
            ));
        }
        let prompt = self.prompt.trim();
        if prompt.is_empty()
            || prompt == "-"
            || self.prompt.len() > MAX_PROMPT_BYTES
            || prompt.contains('\0')
        {
            errors.push(KeyError::new(
                format!("{key}.prompt"),
                "it is empty, `-`, too long, or has a NUL",
                format!("write a prompt of at most {MAX_PROMPT_BYTES} bytes"),
            ));
        }
        let runs = runs(&format!("{key}.runs"), self.runs, general.0, errors);
        let pass = pass(&format!("{key}.pass"), self.pass, general.1, errors);
        Case {
            expect: self.expect.check(&format!("{key}.expect"), key, errors),
            name: self.name,
            prompt: self.prompt,
            files: self.files,
            runs,
            pass,
        }
    }
}

impl ExpectForm {
    /// Checks the expectations at `key`, which are those of the case at `case`.
    fn check(self, key: &str, case: &str, errors: &mut Vec<KeyError>) -> Expect {
        let is_empty = self.answer.is_none()
            && self.answer_schema.is_none()
            && !self.no_denial
            && self.exit.is_none()
            && self.calls.is_empty();
        let has_bound = self.max_usd.is_some()
            || [
                self.max_turns,
                self.max_tool_calls,
                self.max_tokens,
                self.max_seconds,
            ]
            .iter()
            .any(Option::is_some);
        if is_empty && !has_bound {
            errors.push(KeyError::new(
                case,
                "it expects nothing, so every run would pass",
                "add [case.expect] with an expectation, such as `answer = \"...\"`",
            ));
        }
        let schema = self.answer_schema.map(|schema| {
            AnswerSchema::compile(&schema).map_err(|error| {
                let key = format!("{key}.answer-schema");
                errors.push(KeyError::new(key, error.to_string(), "correct the schema"));
            })
        });
        let usd = self.max_usd.filter(|usd| !(0.0..=1e9).contains(usd));
        if usd.is_some() {
            let key = format!("{key}.max-usd");
            errors.push(KeyError::new(
                key,
                "it is not an amount",
                "write US dollars, as 0.05",
            ));
        }
        if self
            .max_seconds
            .is_some_and(|seconds| !(1..=MAX_SECONDS).contains(&seconds))
        {
            errors.push(KeyError::new(
                format!("{key}.max-seconds"),
                format!("it is not between 1 and {MAX_SECONDS}"),
                "set it within this range",
            ));
        }
        let answer = pattern(&format!("{key}.answer"), self.answer.as_deref(), errors);
        let calls = self.calls.into_iter().enumerate();
        let calls = calls.map(|(index, call)| call.check(&format!("{key}.call[{index}]"), errors));
        Expect {
            answer,
            answer_schema: schema.and_then(Result::ok),
            no_denial: self.no_denial,
            max_turns: self.max_turns,
            max_tool_calls: self.max_tool_calls,
            max_tokens: self.max_tokens,
            max_cost_micros: self.max_usd.map(cost_micros),
            max_seconds: self.max_seconds,
            exit: self.exit.unwrap_or(0),
            calls: calls.collect(),
        }
    }
}

impl CallForm {
    fn check(self, key: &str, errors: &mut Vec<KeyError>) -> ExpectedCall {
        if self.tool.is_empty() {
            let key = format!("{key}.tool");
            errors.push(KeyError::new(
                key,
                "it is empty",
                "name the tool, such as `read_file`",
            ));
        }
        ExpectedCall {
            result: pattern(&format!("{key}.result"), self.result.as_deref(), errors),
            tool: self.tool,
            input: self.input,
            times: self.times,
        }
    }
}

/// Returns an amount in millionths of a US dollar; an invalid one was reported.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast of a float saturates, and the amount was checked"
)]
fn cost_micros(usd: f64) -> u64 {
    (usd * 1e6).round() as u64
}

fn runs(key: &str, runs: Option<u32>, default: u32, errors: &mut Vec<KeyError>) -> u32 {
    let runs = runs.unwrap_or(default);
    if !(1..=MAX_RUNS).contains(&runs) {
        let reason = format!("it is not between 1 and {MAX_RUNS}");
        errors.push(KeyError::new(key, reason, "set it within this range"));
    }
    runs
}

fn pass(key: &str, pass: Option<f64>, default: f64, errors: &mut Vec<KeyError>) -> f64 {
    let pass = pass.unwrap_or(default);
    if !(0.0..=1.0).contains(&pass) {
        errors.push(KeyError::new(
            key,
            "it is not a fraction",
            "set it to a number from 0 to 1",
        ));
    }
    pass
}

fn pattern(key: &str, text: Option<&str>, errors: &mut Vec<KeyError>) -> Option<Regex> {
    let compiled = Regex::new(text?);
    let mut report = |error: &regex::Error| {
        let reason = match error {
            regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
            // The last line has the reason, those before it a drawing of the pattern.
            error => {
                let text = error.to_string();
                let last = text.lines().last().unwrap_or_default();
                format!("invalid pattern ({})", last.trim_start_matches("error: "))
            }
        };
        errors.push(KeyError::new(
            key,
            reason,
            "correct it (https://docs.rs/regex/#syntax)",
        ));
    };
    compiled.inspect_err(|error| report(error)).ok()
}
