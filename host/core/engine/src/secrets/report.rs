//! Redaction of results, failures, questions and audit entries.

use super::Secrets;
use agent_host_types::{
    accounting::AuditEntry,
    audit::AuditRequest,
    failure::ToolFailure,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    question::Question,
};
use serde_json::{Map, Value};
use std::borrow::Cow;

impl Secrets {
    /// Redacts an audit.
    pub fn audit(&self, audit: &mut [AuditEntry]) {
        if self.is_empty() {
            return;
        }
        for entry in audit {
            entry.request.change_texts(|text| self.string(text));
            // A secret may span several fields.
            if let Cow::Owned(text) = self.text(&entry.request.to_string()) {
                entry.request = AuditRequest::Unrecognized { text };
            }
            self.string(&mut entry.rule);
            entry.grant.iter_mut().for_each(|grant| self.string(grant));
        }
    }

    /// Redacts a failure.
    #[must_use]
    pub fn failure(&self, failure: ToolFailure) -> ToolFailure {
        match self.text(failure.message()) {
            Cow::Owned(message) => ToolFailure::new(failure.code, message),
            Cow::Borrowed(_) => failure,
        }
    }

    /// Redacts a question.
    pub fn question(&self, question: &mut Question) {
        self.string(&mut question.prompt);
        let choices = &mut question.choices;
        choices.iter_mut().for_each(|choice| self.string(choice));
        if let Some(form) = &mut question.form {
            form.redact(|text| self.string(text));
        }
    }

    /// Checks a result. On failure the result is redacted and the failure is that of the redacted
    /// result, so that the message has neither a value nor the head of one that was cut.
    ///
    /// # Errors
    /// The failure of `check`, or a general one if the redacted result passes.
    pub fn validate(
        &self,
        output: &mut ToolResultOutput,
        check: impl Fn(&ToolResultOutput) -> Result<(), ToolFailure>,
    ) -> Result<(), ToolFailure> {
        check(output).map_err(|failure| {
            if self.is_empty() {
                return failure;
            }
            self.output(output);
            let redacted = check(output).err();
            redacted
                .unwrap_or_else(|| ToolFailure::invalid_output("The tool's result is not valid."))
        })
    }

    /// Redacts a result.
    pub fn output(&self, output: &mut ToolResultOutput) {
        if self.is_empty() {
            return;
        }
        match output {
            ToolResultOutput::Text(text) | ToolResultOutput::ErrorText(text) => self.string(text),
            ToolResultOutput::Json(json) | ToolResultOutput::ErrorJson(json) => {
                if let Some(redacted) = json.map_strings(|text| self.redacted_text(text)) {
                    *json = redacted;
                }
            }
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
            // The digest of bytes that are already journaled.
            FileData::Blob(_) => {}
        }
    }

    /// Redacts a JSON value, including keys.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => self.string(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(fields) => self.object(fields),
        }
    }

    /// Redacts an object, including keys.
    pub fn object(&self, fields: &mut Map<String, Value>) {
        if self.is_empty() {
            return;
        }
        let redacted: Map<String, Value> = std::mem::take(fields)
            .into_iter()
            .map(|(name, mut field)| {
                self.json(&mut field);
                (self.text(&name).into_owned(), field)
            })
            .collect();
        *fields = redacted;
    }

    /// Redacts a text in place.
    pub fn string(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.text(text) {
            *text = redacted;
        }
    }
}
