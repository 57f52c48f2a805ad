//! A call as the text of a case.

use super::{Recorded, Settled};
use crate::test::{TestedComponent, compare, value};
use agent_host_types::{
    failure::ToolErrorCode,
    output::{ContentPart, ToolResultOutput},
    question::Answer,
    reason::Reason,
};
use serde_json::{Map, Value};
use toml::value::{Array, Table};

/// The maximum size of the state of a case, as JSON, in bytes.
const MAX_STATE_BYTES: usize = 16 * 1024;

/// The beginning of the mark that redaction leaves of a secret
/// ([`secrets`](agent_host_engine::secrets)).
const SECRET_MARK: &str = "[secret:";

/// The keys of a table, in the order of the file, with their values.
type Keys = Vec<(&'static str, toml::Value)>;

/// A case without its name.
#[derive(Debug, PartialEq)]
pub(super) struct Draft {
    call: Keys,
    /// The keys of `[case.expect]`.
    expect: Keys,
}

impl Draft {
    /// Makes a case of a call.
    ///
    /// # Errors
    /// The reason why it can be none, as the end of a sentence.
    pub(super) fn from_recorded(
        recorded: &Recorded,
        component: &TestedComponent,
    ) -> Result<Self, Reason> {
        let output = result(recorded)?;
        if component.reads_context && recorded.has_context {
            return Err(
                "the session has a context, which is not copied and which the tools may read"
                    .into(),
            );
        }
        let mut call = vec![
            ("tool", recorded.tool.as_str().into()),
            input(&recorded.input),
        ];
        if !recorded.questions.is_empty() {
            let answers: Option<Array> = recorded.answers.iter().map(answer).collect();
            call.push(("answers", toml::Value::Array(answers.ok_or(NO_TOML)?)));
        }
        if component.reads_state && !recorded.state.is_empty() {
            let state = Value::Object(Map::clone(&recorded.state));
            if state.to_string().len() > MAX_STATE_BYTES {
                return Err(Reason::from(format!(
                    "the state of the session was larger than {MAX_STATE_BYTES} bytes"
                )));
            }
            call.push(("state", value::to_toml(&state).ok_or(NO_TOML)?));
        }
        let mut expect = expected(output)?;
        if !recorded.merges.is_empty() {
            let merges = recorded.merges.iter().cloned().map(Value::Object);
            let merges: Option<Array> = merges.map(|delta| value::to_toml(&delta)).collect();
            expect.push(("merges", toml::Value::Array(merges.ok_or(NO_TOML)?)));
        }
        if let Some(message) = &recorded.halt {
            expect.push(("halt", message.as_str().into()));
        }
        if !recorded.questions.is_empty() {
            let prompts = recorded.questions.iter().map(|it| it.prompt.as_str());
            let prompts: Array = prompts.map(toml::Value::from).collect();
            expect.push(("asked", toml::Value::Array(prompts)));
        }
        Ok(Self { call, expect })
    }

    /// Refuses a case that contains a redacted secret or one of these texts.
    ///
    /// # Errors
    /// The reason.
    pub(super) fn check_private(&self, private: &[String]) -> Result<(), Reason> {
        let values = self.call.iter().chain(&self.expect);
        let values: Vec<&toml::Value> = values.map(|(_, value)| value).collect();
        let has = |text: &str| values.iter().any(|value| contains(value, text));
        if has(SECRET_MARK) {
            return Err("it has a secret, which the journal redacted".into());
        }
        if private.iter().any(|text| has(text)) {
            return Err("it contains a directory of this machine".into());
        }
        Ok(())
    }

    /// Refuses a case that there is already.
    ///
    /// # Errors
    /// The reason.
    pub(super) fn check_new<'a>(
        &self,
        others: impl IntoIterator<Item = &'a Self>,
    ) -> Result<(), Reason> {
        let mut others = others.into_iter();
        match others.find(|other| other.call == self.call) {
            None => Ok(()),
            Some(other) if other.expect == self.expect => {
                Err("the same call is already a case".into())
            }
            Some(_) => Err(
                "the same call had a different result before, so it depends on more than its input"
                    .into(),
            ),
        }
    }

    /// Returns the case as TOML.
    pub(super) fn text(&self, name: &str) -> String {
        let lines = |keys: &Keys| -> String {
            let lines = keys.iter().map(|(key, value)| format!("{key} = {value}\n"));
            lines.collect()
        };
        format!(
            "[[case]]\nname = {}\n{}[case.expect]\n{}",
            toml::Value::from(name),
            lines(&self.call),
            lines(&self.expect)
        )
    }
}

/// The reason of a value that only JSON has.
const NO_TOML: &str = "it contains a value that TOML lacks, such as null";

/// Returns the result of a call that depends on its input alone, as far as the journal tells.
fn result(recorded: &Recorded) -> Result<&ToolResultOutput, Reason> {
    let Some(settled) = &recorded.settled else {
        return Err("it has no result".into());
    };
    let Settled {
        output: Some(output),
        is_preview,
        rule,
    } = settled
    else {
        return Err("it has no tool result".into());
    };
    if let Some(rule) = rule {
        return Err(format!("it was denied by {rule}").into());
    }
    if recorded.is_external {
        return Err("it ran outside of this program".into());
    }
    if recorded.is_hooked {
        return Err("a hook decided on its result".into());
    }
    if let Some(request) = &recorded.request {
        return Err(format!(
            "it used more than its input: `{request}`; write a case with grants, files or a recording"
        ).into());
    }
    if recorded.questions.len() != recorded.answers.len() {
        return Err("one of its questions has no answer".into());
    }
    if *is_preview {
        return Err(
            "its result is too long; write a case with `golden`, and run `--update`".into(),
        );
    }
    Ok(output)
}

fn input(input: &Map<String, Value>) -> (&'static str, toml::Value) {
    let json = Value::Object(input.clone());
    match value::to_toml(&json) {
        Some(table) => ("input", table),
        None => ("input-json", json.to_string().into()),
    }
}

/// Returns the form of an answer that a case has; `None` if TOML has none.
fn answer(answer: &Answer) -> Option<toml::Value> {
    let only = |key: &str, value| toml::Value::Table(Table::from_iter([(key.to_owned(), value)]));
    Some(match answer {
        Answer::Text { text } => text.as_str().into(),
        Answer::Choice { index } => i64::from(*index).into(),
        Answer::Choices { indexes } => {
            let indexes = indexes.iter().map(|index| i64::from(*index).into());
            toml::Value::Array(indexes.collect())
        }
        Answer::Fields { fields } => {
            only("fields", value::to_toml(&Value::Object(fields.clone()))?)
        }
        Answer::Cancelled => only("cancelled", true.into()),
    })
}

/// Returns the expectation of a result.
fn expected(output: &ToolResultOutput) -> Result<Keys, Reason> {
    let json = |keys: [&'static str; 2], text: &str, json: &Value| match value::to_toml(json) {
        Some(value) => (keys[0], value),
        None => (keys[1], text.into()),
    };
    Ok(vec![match output {
        ToolResultOutput::Text(text) => ("text", text.as_str().into()),
        ToolResultOutput::ErrorText(text) => ("error-text", text.as_str().into()),
        ToolResultOutput::Json(value) => {
            json(["json", "json-text"], value.as_str(), &value.to_value())
        }
        ToolResultOutput::ErrorJson(value) => match compare::failure(output) {
            Some((code, message)) => return ending(code, &message),
            None => json(
                ["error-json", "error-json-text"],
                value.as_str(),
                &value.to_value(),
            ),
        },
        ToolResultOutput::Content(parts) => ("content", content(parts)?),
        ToolResultOutput::ExecutionDenied(Some(reason)) => ("denied", reason.as_str().into()),
        ToolResultOutput::ExecutionDenied(None) => ("denied-without-reason", true.into()),
    }])
}

/// Returns the expectation of an abnormal end that the tool itself caused.
fn ending(code: ToolErrorCode, message: &str) -> Result<Keys, Reason> {
    use ToolErrorCode as Code;
    match code {
        Code::Trap | Code::InvalidOutput => Ok(vec![
            ("code", code.as_str().into()),
            ("matches", format!("^{}$", regex::escape(message)).into()),
        ]),
        Code::StackOverflow => Ok(vec![("code", code.as_str().into())]),
        Code::InterruptedUnknown => Err("it may or may not have taken effect".into()),
        Code::InvalidInput
        | Code::UnknownTool
        | Code::Timeout
        | Code::OutOfMemory
        | Code::ResourceLimit
        | Code::OutputTooLarge
        | Code::Cancelled
        | Code::Busy
        | Code::ToolUnavailable
        | Code::ChangedSinceApproval
        | Code::AgentBudget
        | Code::AgentFailed => {
            Err(format!("it ended with `{code}`, which depends on more than its input").into())
        }
    }
}

fn content(parts: &[ContentPart]) -> Result<toml::Value, Reason> {
    let forms = parts.iter().map(|part| compare::part_form(part, None));
    let forms =
        forms.map(|form| toml::Value::try_from(form).map_err(|error| error.to_string().into()));
    forms.collect::<Result<_, _>>().map(toml::Value::Array)
}

/// Returns whether a text is in one of the strings or keys of a value.
fn contains(value: &toml::Value, text: &str) -> bool {
    match value {
        toml::Value::String(string) => string.contains(text),
        toml::Value::Array(values) => values.iter().any(|value| contains(value, text)),
        toml::Value::Table(table) => table
            .iter()
            .any(|(key, value)| key.contains(text) || contains(value, text)),
        toml::Value::Integer(_)
        | toml::Value::Float(_)
        | toml::Value::Boolean(_)
        | toml::Value::Datetime(_) => false,
    }
}
