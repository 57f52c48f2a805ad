//! A case drafted from a message of a session: its prompt, and what happened as expectations. Someone
//! reads it before it is kept.

#[cfg(test)]
mod tests;

use agent_host_types::{
    accounting::AuditVerdict,
    audit::{AuditRequest, FileAction},
    event::Event,
    message::Role,
    turn::TurnEnd,
    workflow::text_of,
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The most calls that a case expects.
const MAX_CALLS: usize = 20;

/// The longest text of an argument that a case expects, in bytes.
const MAX_TEXT_BYTES: usize = 200;

/// The most words of the prompt in the name of a case, and the most bytes of it.
const NAME_WORDS: usize = 5;
const MAX_NAME_BYTES: usize = 48;

/// The events that followed a message of a session.
#[derive(Debug)]
pub struct CaseDraft {
    /// The number of the message, from 1.
    message: usize,
    seen: usize,
    prompt: Option<String>,
    has_files: bool,
    calls: Vec<(String, Map<String, Value>)>,
    read: BTreeSet<String>,
    was_denied: bool,
    answer: Option<String>,
}

/// A drafted case.
#[derive(Debug)]
pub struct DraftedCase {
    /// Its name, which the prompt begins with.
    pub name: String,
    /// The prompt.
    pub prompt: String,
    /// The expectations.
    expect: DraftedExpect,
    /// The answer of the session.
    pub answer: String,
    /// The paths of the files that its calls read, as tools see them.
    pub read: BTreeSet<String>,
    /// The parts of the session that the case is without.
    pub lacks: Vec<&'static str>,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
struct DraftedExpect {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    no_denial: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_schema: Option<Value>,
    #[serde(rename = "call", skip_serializing_if = "Vec::is_empty")]
    calls: Vec<DraftedCall>,
}

#[derive(Debug, Serialize)]
struct DraftedCall {
    tool: String,
    #[serde(skip_serializing_if = "Map::is_empty")]
    input: Map<String, Value>,
}

/// The tables of a case as they are written.
#[derive(Serialize)]
struct CaseFile<'a> {
    case: [WrittenCase<'a>; 1],
}

#[derive(Serialize)]
struct WrittenCase<'a> {
    name: &'a str,
    prompt: &'a str,
    expect: &'a DraftedExpect,
}

impl CaseDraft {
    /// Creates the draft of a message of the user, from 1.
    #[must_use]
    pub fn new(message: usize) -> Self {
        Self {
            message,
            seen: 0,
            prompt: None,
            has_files: false,
            calls: Vec::new(),
            read: BTreeSet::new(),
            was_denied: false,
            answer: None,
        }
    }

    /// Adds the session's next event.
    pub fn add(&mut self, event: &Event) {
        if let Event::InputReceived { message, .. } = event
            && message.role == Role::User
        {
            self.seen += 1;
            if self.seen == self.message {
                let texts = message.content.iter().filter_map(|part| part.text());
                self.prompt = Some(texts.collect::<Vec<_>>().join("\n\n"));
                self.has_files = message.content.iter().any(|part| part.file().is_some());
            }
        }
        if self.seen != self.message {
            return;
        }
        if let Some(start) = event.call_start()
            && let Some(input) = start.input
        {
            self.calls.push((start.tool.to_owned(), (**input).clone()));
        }
        if let Some(end) = event.call_end() {
            let mut audit = end.audit.iter();
            let is_refused = audit.any(|entry| entry.verdict == AuditVerdict::Denied);
            self.was_denied |= end.is_denied() || is_refused;
            let read = end.audit.iter().filter_map(|entry| match &entry.request {
                AuditRequest::File {
                    action: FileAction::Read,
                    path,
                    ..
                } if entry.verdict == AuditVerdict::Allowed => Some(path.clone()),
                _ => None,
            });
            self.read.extend(read);
        }
        if let Event::TurnEnded { outcome, .. } = event {
            self.answer = match &outcome.end {
                TurnEnd::Done {
                    output: Some(output),
                    ..
                } => Some(output.to_string()),
                TurnEnd::Done {
                    result: Some(result),
                    ..
                } => Some(text_of(&result.output)),
                TurnEnd::Done { text, .. } => Some(text.clone()),
                _ => None,
            };
        }
    }

    /// Returns the case, after the last event, without the names of directories of this machine.
    ///
    /// # Errors
    /// Why there is none, as a clause.
    pub fn finish(self, private: &[String]) -> Result<DraftedCase, String> {
        let prompt = self.prompt.filter(|prompt| !prompt.trim().is_empty());
        let Some(prompt) = prompt else {
            return Err(match self.seen {
                0 => "it has no message of the user".to_owned(),
                seen if seen < self.message => format!("it has {seen} messages of the user"),
                _ => "the message has no text".to_owned(),
            });
        };
        let answer = self.answer.ok_or("the message was not answered")?;
        let mut calls: Vec<DraftedCall> = Vec::new();
        for (tool, mut input) in self.calls {
            input.retain(|_, value| is_short(value) && !has_any(&value.to_string(), private));
            let is_known = |call: &DraftedCall| call.tool == tool && call.input == input;
            if calls.len() < MAX_CALLS && !calls.iter().any(is_known) {
                calls.push(DraftedCall { tool, input });
            }
        }
        let lacks = [
            (self.message > 1, "the conversation before the message"),
            (self.has_files, "the files of the message"),
        ];
        let prompt = without(prompt, private);
        Ok(DraftedCase {
            name: name_of(&prompt),
            prompt,
            expect: DraftedExpect {
                no_denial: !self.was_denied,
                answer_schema: schema_of(&answer),
                calls,
            },
            answer: without(answer, private),
            read: self.read,
            lacks: lacks
                .into_iter()
                .filter_map(|(is_so, what)| is_so.then_some(what))
                .collect(),
        })
    }
}

impl DraftedCase {
    /// Whether it expects nothing, so that a pattern of the answer has to be added.
    #[must_use]
    pub fn expects_nothing(&self) -> bool {
        let DraftedExpect {
            no_denial,
            answer_schema,
            calls,
        } = &self.expect;
        !no_denial && answer_schema.is_none() && calls.is_empty()
    }

    /// Returns the case as TOML.
    ///
    /// # Errors
    /// A value has no form in TOML, as a clause.
    pub fn to_toml(&self) -> Result<String, String> {
        let case = WrittenCase {
            name: &self.name,
            prompt: &self.prompt,
            expect: &self.expect,
        };
        toml::to_string(&CaseFile { case: [case] }).map_err(|error| error.to_string())
    }
}

/// Returns the schema of an answer that is a JSON object: its members, by name.
fn schema_of(answer: &str) -> Option<Value> {
    let Value::Object(members) = serde_json::from_str(answer.trim()).ok()? else {
        return None;
    };
    let names: Vec<&String> = members.keys().collect();
    Some(json!({ "type": "object", "required": names }))
}

/// Whether an argument says what a call is about: one that is not, such as the content of a file, may
/// differ from run to run.
fn is_short(value: &Value) -> bool {
    match value {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= MAX_TEXT_BYTES && !text.contains('\n'),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn has_any(text: &str, private: &[String]) -> bool {
    private.iter().any(|one| text.contains(one.as_str()))
}

/// Writes `.` in place of directories of this machine, the longest first.
fn without(text: String, private: &[String]) -> String {
    let mut longest: Vec<&String> = private.iter().collect();
    longest.sort_by_key(|one| std::cmp::Reverse(one.len()));
    longest
        .into_iter()
        .fold(text, |text, one| text.replace(one.as_str(), "."))
}

/// Returns the first words of a prompt as the name of a case.
fn name_of(prompt: &str) -> String {
    let words = prompt.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty()).take(NAME_WORDS);
    let mut name = String::new();
    for word in words {
        let more = usize::from(!name.is_empty()) + word.len();
        if name.len() + more > MAX_NAME_BYTES {
            break;
        }
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(&word.to_ascii_lowercase());
    }
    match name.is_empty() {
        true => "case".to_owned(),
        false => name,
    }
}
