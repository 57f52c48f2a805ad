//! Tool results on wires that have only text for them, and no mark for errors. Their files follow in one user message after the last
//! result, each under the name that its marker in the result gives it.

use crate::media::{self, Placed};
use agent_host_types::{
    message::ToolResult,
    output::{ContentPart, DENIED_TEXT, ToolResultOutput},
};
use serde_json::json;

/// The files that follow, each after a text that names it.
#[derive(Default)]
pub(crate) struct Following<'a> {
    parts: Vec<Placed<'a>>,
}

impl<'a> Following<'a> {
    /// The text of a result. A file leaves a marker there and is kept to follow; `place` says where a part goes on this wire.
    pub(crate) fn text_of(
        &mut self,
        result: &'a ToolResult,
        place: impl Fn(&'a ContentPart) -> Placed<'a>,
    ) -> String {
        match &result.output {
            ToolResultOutput::Text(text) => text.clone(),
            ToolResultOutput::Json(value) => value.to_string(),
            ToolResultOutput::Content(parts) => {
                let lines = parts.iter().map(|part| match place(part) {
                    Placed::Text(text) => text,
                    file => self.marker(result, part, file),
                });
                lines.collect::<Vec<_>>().join("\n")
            }
            ToolResultOutput::ErrorText(text) => json!({"error": text}).to_string(),
            ToolResultOutput::ErrorJson(value) => json!({"error": value}).to_string(),
            ToolResultOutput::ExecutionDenied(reason) => {
                reason.clone().unwrap_or_else(|| DENIED_TEXT.to_owned())
            }
        }
    }

    /// What follows; none where no result has a file.
    pub(crate) fn parts(self) -> Option<Vec<Placed<'a>>> {
        (!self.parts.is_empty()).then_some(self.parts)
    }

    /// Keeps a file to follow, and gives the marker that stands in its place.
    pub(crate) fn marker(
        &mut self,
        result: &ToolResult,
        part: &ContentPart,
        file: Placed<'a>,
    ) -> String {
        // Each file takes two parts: its name and itself.
        let number = self.parts.len() / 2 + 1;
        let (tool, call) = (&result.name, &result.call_id);
        self.parts.push(Placed::Text(format!(
            "[file {number}, from the result of `{tool}`, call {call}]"
        )));
        self.parts.push(file);
        let what = media::describe(part);
        format!("[file {number}: {what}; it is in the user message after the tool results]")
    }
}
