//! Redaction of what a call says and of what is reported about it: where a text leaves the guest, before it is checked, compared
//! or cut. A guest never had the value, so there is nothing to find; this is the second line, for a value that came to the guest by
//! another way, such as a file that holds it, too.

use super::Secrets;
use crate::gate::Tally;
use agent_host_core::{
    failure::ToolFailure,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    question::Question,
};
use serde_json::{Map, Value};
use std::borrow::Cow;

impl Secrets {
    /// Takes every form of a value out of what was asked of the gate.
    pub(crate) fn tally(&self, mut tally: Tally) -> Tally {
        if self.is_empty() {
            return tally;
        }
        let Tally {
            audit,
            first_denial,
            hosts,
            bytes_in: _,
            bytes_out: _,
        } = &mut tally;
        hosts.iter_mut().for_each(|host| self.string(host));
        if let Some(denial) = first_denial {
            self.string(&mut denial.sentence);
        }
        for entry in audit {
            self.string(&mut entry.request);
            self.string(&mut entry.rule);
            entry.grant.iter_mut().for_each(|grant| self.string(grant));
        }
        tally
    }

    /// A failure without any form of a value in its text.
    pub(crate) fn failure(&self, failure: ToolFailure) -> ToolFailure {
        match self.text(failure.message()) {
            Cow::Owned(message) => ToolFailure::new(failure.code, message),
            Cow::Borrowed(_) => failure,
        }
    }

    /// Takes every form of a value out of a question.
    pub(crate) fn question(&self, question: &mut Question) {
        self.string(&mut question.prompt);
        let choices = &mut question.choices;
        choices.iter_mut().for_each(|choice| self.string(choice));
    }

    /// Takes every form of a value out of a result.
    pub(crate) fn output(&self, output: &mut ToolResultOutput) {
        if self.is_empty() {
            return;
        }
        match output {
            ToolResultOutput::Text(text) | ToolResultOutput::ErrorText(text) => self.string(text),
            ToolResultOutput::Json(value) | ToolResultOutput::ErrorJson(value) => self.json(value),
            ToolResultOutput::Content(parts) => parts.iter_mut().for_each(|part| self.part(part)),
            ToolResultOutput::ExecutionDenied(reason) => {
                reason.iter_mut().for_each(|reason| self.string(reason));
            }
        }
    }

    fn part(&self, part: &mut ContentPart) {
        let FilePart {
            media_type,
            data,
            filename,
        } = match part {
            ContentPart::Text { text } => return self.string(text),
            ContentPart::File(file) => file,
        };
        self.string(media_type);
        filename.iter_mut().for_each(|name| self.string(name));
        match data {
            FileData::Url(text) | FileData::Text(text) => self.string(text),
            FileData::Bytes(bytes) => {
                if let Some(redacted) = self.redacted(bytes) {
                    *bytes = redacted;
                }
            }
            // A digest of what was journaled before.
            FileData::Blob(_) => {}
        }
    }

    fn json(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(fields) => self.object(fields),
        }
    }

    /// Takes every form of a value out of an object, its names included.
    pub(crate) fn object(&self, fields: &mut Map<String, Value>) {
        if self.is_empty() {
            return;
        }
        let shown: Map<String, Value> = std::mem::take(fields)
            .into_iter()
            .map(|(name, mut field)| {
                self.json(&mut field);
                (self.text(&name).into_owned(), field)
            })
            .collect();
        *fields = shown;
    }

    fn string(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.text(text) {
            *text = redacted;
        }
    }
}
