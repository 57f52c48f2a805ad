//! Redaction of what a call reports. A guest never had the value, so there is nothing to find; this is the second line, for a
//! value that came to the guest by another way, such as a file that holds it, too.

use super::Secrets;
use agent_host_core::{
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::CallReport,
};
use serde_json::{Map, Value};
use std::borrow::Cow;

impl Secrets {
    /// The report without any form of a value: the result, the captured output and the audit.
    pub(crate) fn report(&self, mut report: CallReport) -> CallReport {
        if self.is_empty() {
            return report;
        }
        self.output(&mut report.output);
        self.string(&mut report.accounting.stdio);
        for host in &mut report.accounting.hosts {
            self.string(host);
        }
        for entry in &mut report.audit {
            self.string(&mut entry.request);
            self.string(&mut entry.rule);
            entry.grant.iter_mut().for_each(|grant| self.string(grant));
        }
        report
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
            Value::Object(fields) => {
                let shown: Map<String, Value> = std::mem::take(fields)
                    .into_iter()
                    .map(|(name, mut field)| {
                        self.json(&mut field);
                        (self.text(&name).into_owned(), field)
                    })
                    .collect();
                *fields = shown;
            }
        }
    }

    fn string(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.text(text) {
            *text = redacted;
        }
    }
}
