//! Renders tool results, in short and in full.

use agent_host_types::output::{ContentPart, DENIED_TEXT, FileData, FilePart, ToolResultOutput};
use serde_json::Value;

/// Summarizes a result.
pub(crate) fn summary(output: &ToolResultOutput) -> String {
    match output {
        ToolResultOutput::Text(text) => text.clone(),
        ToolResultOutput::Json(value) => value.to_string(),
        ToolResultOutput::Content(parts) => parts
            .iter()
            .map(part_summary)
            .collect::<Vec<_>>()
            .join(", "),
        ToolResultOutput::ErrorText(_) | ToolResultOutput::ErrorJson(_) => {
            format!("error: {}", failure_text(output))
        }
        ToolResultOutput::ExecutionDenied(_) => format!("denied: {}", failure_text(output)),
    }
}

/// Returns the full text of an error or a denial; empty for a success.
pub(crate) fn failure_text(output: &ToolResultOutput) -> String {
    match output {
        ToolResultOutput::ErrorText(text) => text.clone(),
        ToolResultOutput::ErrorJson(value) => match (value.get("code"), value.get("message")) {
            (Some(Value::String(code)), Some(Value::String(message))) => {
                format!("{code}: {message}")
            }
            _ => value.to_string(),
        },
        ToolResultOutput::ExecutionDenied(reason) => {
            reason.as_deref().unwrap_or(DENIED_TEXT).to_owned()
        }
        ToolResultOutput::Text(_) | ToolResultOutput::Json(_) | ToolResultOutput::Content(_) => {
            String::new()
        }
    }
}

fn part_summary(part: &ContentPart) -> String {
    match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::File(file) => file_summary(file),
    }
}

/// Describes a file: name, media type, size, and the blob or URL.
pub(crate) fn file_summary(file: &FilePart) -> String {
    let name = file.filename.as_deref().unwrap_or("file");
    let place = match &file.data {
        FileData::Bytes(bytes) => super::bytes(bytes.len() as u64),
        FileData::Text(text) => super::bytes(text.len() as u64),
        FileData::Blob(blob) => format!("{}, blob {}", super::bytes(blob.size), blob.digest),
        FileData::Url(url) => url.clone(),
    };
    format!("{name} ({}, {place})", file.media_type)
}

/// Returns the full text of a success, else `None`. Files are named, not printed.
pub(crate) fn full_text(output: &ToolResultOutput) -> Option<String> {
    match output {
        ToolResultOutput::Text(text) => Some(text.clone()),
        ToolResultOutput::Json(value) => Some(super::json_lines(value)),
        ToolResultOutput::Content(parts) => Some(
            parts
                .iter()
                .map(part_summary)
                .collect::<Vec<_>>()
                .join("\n"),
        ),
        ToolResultOutput::ErrorText(_)
        | ToolResultOutput::ErrorJson(_)
        | ToolResultOutput::ExecutionDenied(_) => None,
    }
}
