//! Redaction of what a call reports. A guest never had the value, so there is nothing to find; this is the second line, for a
//! value that came to the guest by another way, such as a file that holds it, too.

use super::Secrets;
use agent_host_core::{
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::RunEnd,
};
use serde_json::{Map, Value};
use std::borrow::Cow;

impl Secrets {
    /// The end of a call without any form of a value: the result or the question, what it merges, the captured output and
    /// the audit.
    pub(crate) fn end(&self, mut end: RunEnd) -> RunEnd {
        if self.is_empty() {
            return end;
        }
        let (accounting, audit) = match &mut end {
            RunEnd::Settled(report) => {
                self.output(&mut report.output);
                report
                    .merges
                    .iter_mut()
                    .for_each(|delta| self.object(delta));
                (&mut report.accounting, &mut report.audit)
            }
            RunEnd::Asked(asked) => {
                self.string(&mut asked.question.prompt);
                let choices = &mut asked.question.choices;
                choices.iter_mut().for_each(|choice| self.string(choice));
                (&mut asked.accounting, &mut asked.audit)
            }
        };
        self.string(&mut accounting.stdio);
        accounting
            .hosts
            .iter_mut()
            .for_each(|host| self.string(host));
        for entry in audit {
            self.string(&mut entry.request);
            self.string(&mut entry.rule);
            entry.grant.iter_mut().for_each(|grant| self.string(grant));
        }
        end
    }

    fn output(&self, output: &mut ToolResultOutput) {
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

    fn object(&self, fields: &mut Map<String, Value>) {
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
