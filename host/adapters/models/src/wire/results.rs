//! Tool results on wires that carry only text in them. Their files follow in one user message after
//! the last result, each under the name that its marker in the result gives it.

use super::request::{RequestPart, describe};
use agent_host_types::{
    message::ToolResult,
    output::{ContentPart, DENIED_TEXT, ToolResultOutput},
};
use serde_json::json;

/// The files that follow the results, each after a text that names it.
#[derive(Default)]
pub(super) struct TrailingFiles<'a> {
    parts: Vec<RequestPart<'a>>,
}

impl<'a> TrailingFiles<'a> {
    /// Returns the text of a result. Each file leaves a marker there and is collected; `convert`
    /// converts a part.
    pub(super) fn result_text(
        &mut self,
        result: &'a ToolResult,
        convert: impl Fn(&'a ContentPart) -> RequestPart<'a>,
    ) -> String {
        match &result.output {
            ToolResultOutput::Text(text) => text.clone(),
            ToolResultOutput::Json(json) => json.to_string(),
            ToolResultOutput::Content(parts) => {
                let lines = parts.iter().map(|part| match convert(part) {
                    RequestPart::Text(text) => text,
                    file => self.push(result, part, file),
                });
                lines.collect::<Vec<_>>().join("\n")
            }
            ToolResultOutput::ErrorText(text) => json!({"error": text}).to_string(),
            ToolResultOutput::ErrorJson(json) => format!(r#"{{"error":{json}}}"#),
            ToolResultOutput::ExecutionDenied(reason) => {
                reason.clone().unwrap_or_else(|| DENIED_TEXT.to_owned())
            }
        }
    }

    /// Collects a file and returns the marker in its place.
    pub(super) fn push(
        &mut self,
        result: &ToolResult,
        part: &ContentPart,
        file: RequestPart<'a>,
    ) -> String {
        // Each file takes two parts: its name and itself.
        let number = self.parts.len() / 2 + 1;
        let (tool, call) = (&result.name, &result.call_id);
        self.parts.push(RequestPart::Text(format!(
            "[file {number}, from the result of `{tool}`, call {call}]"
        )));
        self.parts.push(file);
        let what = describe(part);
        format!("[file {number}: {what}; it is in the user message after the tool results]")
    }

    /// Returns the parts of the message that follows; empty if no result has a file.
    pub(super) fn into_parts(self) -> Vec<RequestPart<'a>> {
        self.parts
    }
}
