//! The expectations of a case: `[case.expect]` with values as JSON and compiled patterns.

use super::{
    case_error,
    file::{ArtifactForm, PartForm, RawExpect, ReportForm, Variant, case_file},
    value,
};
use agent_host_app::config::ConfigError;
use agent_host_types::{failure::ToolErrorCode, output::ToolResultOutput};
use regex::Regex;
use serde_json::{Map, Value};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use Expected::Output;
use ToolResultOutput::{ErrorText, ExecutionDenied, Text};

#[derive(Debug)]
pub(super) enum Expected {
    /// Exactly this result.
    Output(ToolResultOutput),
    /// `content` of these parts.
    Content(Vec<PartForm>),
    /// Any result of this variant.
    Variant(&'static str),
    /// A failure with one of these codes.
    Code(Vec<ToolErrorCode>),
}

/// The expectations of a case. `None` accepts anything.
#[derive(Debug)]
pub(super) struct Expect {
    /// The result; `None` if only the golden file has it.
    pub(super) result: Option<Expected>,
    /// The pattern for the result's text.
    pub(super) matches: Option<Regex>,
    /// The values at JSON pointers.
    pub(super) at: Vec<(String, Value)>,
    /// The pattern for the guest's output.
    pub(super) stderr: Option<Regex>,
    pub(super) progress: Option<Vec<ReportForm>>,
    pub(super) merges: Option<Vec<Map<String, Value>>>,
    /// The artifacts of the session afterwards, by name.
    pub(super) artifacts: Option<BTreeMap<String, ArtifactForm>>,
    /// The message that ends the run; an inner `None` for none.
    pub(super) halt: Option<Option<String>>,
    /// The contents of files; `None` for a missing file.
    pub(super) files: Vec<(String, Option<String>)>,
    /// The prompts of the questions.
    pub(super) asked: Option<Vec<String>>,
    /// The file with the whole result.
    pub(super) golden: Option<PathBuf>,
    /// The maximum duration in milliseconds.
    pub(super) max_ms: Option<u64>,
    /// The maximum memory in bytes.
    pub(super) max_memory_bytes: Option<u64>,
}

impl Expect {
    /// Resolves expectations; relative paths begin at `dir`.
    ///
    /// # Errors
    /// There is no expected result or more than one, or a value is invalid.
    pub(super) fn resolve(mut raw: RawExpect, dir: &Path) -> Result<Self, ConfigError> {
        let result = result(&mut raw)?;
        if result.is_none() && raw.golden.is_none() {
            return Err(case_error!(
                "the case has no expected result",
                "write one of `text`, `json`, `content`, `error-text`, `error-json`, `denied`, \
                 `code`, `variant` or `golden` in [case.expect]"
            ));
        }
        let at = raw.at.into_iter().map(|(pointer, value)| {
            if pointer.is_empty() || pointer.starts_with('/') {
                return Ok((pointer, value::from_toml(value)?));
            }
            let pointer = pointer.escape_debug();
            Err(case_error!(
                "`{pointer}` in `at` is not a JSON pointer: it must start with `/`",
                "write it like `/words/0`"
            ))
        });
        let merges = raw.merges;
        let merges = merges.map(|merges| merges.into_iter().map(value::from_table).collect());
        let files = raw.files.into_iter().map(expected_file);
        let pattern = |key, text: Option<String>| text.map(|text| pattern(key, &text)).transpose();
        let golden = raw.golden.map(|name| case_file("golden", &name, dir));
        Ok(Self {
            result,
            matches: pattern("matches", raw.matches)?,
            at: at.collect::<Result<_, _>>()?,
            stderr: pattern("stderr", raw.stderr)?,
            progress: raw.progress,
            merges: merges.transpose()?,
            artifacts: raw.artifacts,
            halt: raw.halt.map(halt).transpose()?,
            files: files.collect::<Result<_, _>>()?,
            asked: raw.asked,
            golden: golden.transpose()?,
            max_ms: raw.max_ms,
            max_memory_bytes: raw.max_memory_bytes,
        })
    }
}

/// Returns the expected result, if any.
fn result(raw: &mut RawExpect) -> Result<Option<Expected>, ConfigError> {
    let success = |value: Value| Output(ToolResultOutput::json(value));
    let error = |value: Value| Output(ToolResultOutput::error_json(value));
    let json = |value| value::from_toml(value).map(success);
    let json_text = |text: String| value::from_text("json-text", &text).map(success);
    let error_json = |value| value::from_toml(value).map(error);
    let error_json_text = |text: String| value::from_text("error-json-text", &text).map(error);
    let silent = raw.denied_without_reason.take();
    let variant = raw.variant.take();
    let candidates = [
        ("text", raw.text.take().map(|text| Ok(Output(Text(text))))),
        ("json", raw.json.take().map(json)),
        ("json-text", raw.json_text.take().map(json_text)),
        ("content", raw.content.take().map(content)),
        (
            "error-text",
            raw.error_text
                .take()
                .map(|text| Ok(Output(ErrorText(text)))),
        ),
        ("error-json", raw.error_json.take().map(error_json)),
        (
            "error-json-text",
            raw.error_json_text.take().map(error_json_text),
        ),
        ("denied", raw.denied.take().map(denied)),
        ("denied-without-reason", silent.map(denied_silently)),
        ("code", raw.code.take().map(codes)),
        (
            "variant",
            variant.map(|variant| Ok(Expected::Variant(variant.tag()))),
        ),
    ];
    let mut given = candidates
        .into_iter()
        .filter_map(|(key, expected)| Some((key, expected?)));
    match (given.next(), given.next()) {
        (None, _) => Ok(None),
        (Some((_, expected)), None) => expected.map(Some),
        (Some((one, _)), Some((other, _))) => Err(case_error!(
            "a call has one result, but the case expects both `{one}` and `{other}`",
            "remove one of them"
        )),
    }
}

fn denied(value: toml::Value) -> Result<Expected, ConfigError> {
    match value {
        toml::Value::String(reason) => Ok(Output(ExecutionDenied(Some(reason)))),
        toml::Value::Boolean(true) => Ok(Expected::Variant(Variant::ExecutionDenied.tag())),
        _ => Err(case_error!(
            "`denied` is the reason in quotes, or `true` for any reason or none",
            "correct it"
        )),
    }
}

/// Parses a code or a list of codes: which limit ends a call first may depend on the tool's
/// language.
fn codes(value: toml::Value) -> Result<Expected, ConfigError> {
    let values = match value {
        toml::Value::Array(values) if !values.is_empty() => values,
        one => vec![one],
    };
    let codes = values.into_iter().map(|value| {
        let known = ToolErrorCode::ALL.into_iter();
        let found = value
            .as_str()
            .and_then(|name| known.clone().find(|code| code.as_str() == name));
        found.ok_or_else(|| {
            let names: Vec<&str> = known.map(ToolErrorCode::as_str).collect();
            let names = names.join(", ");
            case_error!(
                "{value} is not a code of an abnormal end",
                "the codes are {names}"
            )
        })
    });
    codes.collect::<Result<_, _>>().map(Expected::Code)
}

fn denied_silently(truth: bool) -> Result<Expected, ConfigError> {
    if truth {
        return Ok(Output(ExecutionDenied(None)));
    }
    Err(case_error!(
        "`denied-without-reason` can only be `true`",
        "remove it, and expect another result"
    ))
}

fn content(parts: Vec<PartForm>) -> Result<Expected, ConfigError> {
    for part in &parts {
        let of_text = PartForm {
            text: part.text.clone(),
            ..PartForm::default()
        };
        let is_good = match (&part.text, &part.media_type) {
            (Some(_), None) => *part == of_text,
            (None, Some(_)) => true,
            (None, None) | (Some(_), Some(_)) => false,
        };
        if !is_good {
            return Err(case_error!(
                "each part of `content` is either `{{ text = \"...\" }}`, or a file with its `media-type`",
                "correct it"
            ));
        }
    }
    Ok(Expected::Content(parts))
}

fn halt(value: toml::Value) -> Result<Option<String>, ConfigError> {
    match value {
        toml::Value::String(message) => Ok(Some(message)),
        toml::Value::Boolean(false) => Ok(None),
        other => Err(case_error!(
            "`halt` is {other}",
            "write the message, or `false` for a call that does not end the run"
        )),
    }
}

fn expected_file(
    (path, value): (String, toml::Value),
) -> Result<(String, Option<String>), ConfigError> {
    match value {
        toml::Value::String(text) => Ok((path, Some(text))),
        toml::Value::Boolean(false) => Ok((path, None)),
        other => {
            let path = path.escape_debug();
            Err(case_error!(
                "`{path}` in `files` is {other}",
                "write the file's text, or `false` for a file that does not exist"
            ))
        }
    }
}

fn pattern(key: &str, text: &str) -> Result<Regex, ConfigError> {
    Regex::new(text)
        .map_err(|error| case_error!("`{key}` is not a regular expression: {error}", "correct it"))
}

impl Variant {
    /// Returns the union's tag.
    fn tag(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Content => "content",
            Self::ErrorText => "error-text",
            Self::ErrorJson => "error-json",
            Self::ExecutionDenied => "execution-denied",
        }
    }
}
