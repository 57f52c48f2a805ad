//! Renders tool results, in short and in full.

use super::{GREEN, RED, YELLOW};
use agent_host_types::{
    failure::FailureFields,
    output::{ContentPart, DENIED_TEXT, FileData, FilePart, ToolResultOutput},
};
use anstyle::Style;

/// Returns the style and the mark of a success, an error, or a denial.
pub(crate) fn outcome_style(output: &ToolResultOutput) -> (Style, &'static str) {
    if output.is_success() {
        (GREEN, "✓")
    } else if output.is_error() {
        (RED, "✗")
    } else {
        (YELLOW, "⊘")
    }
}

/// Summarizes a result.
pub(crate) fn summary(output: &ToolResultOutput) -> String {
    match output {
        ToolResultOutput::Json(json) => json.to_string(),
        ToolResultOutput::Content(parts) => joined(parts, ", "),
        ToolResultOutput::ErrorText(_) | ToolResultOutput::ErrorJson(_) => {
            format!("error: {}", full_text(output))
        }
        ToolResultOutput::ExecutionDenied(_) => format!("denied: {}", full_text(output)),
        ToolResultOutput::Text(text) => text.clone(),
    }
}

/// Returns the full text of a result, an error or a denial. Files are named, not printed.
pub(crate) fn full_text(output: &ToolResultOutput) -> String {
    match output {
        ToolResultOutput::Text(text) | ToolResultOutput::ErrorText(text) => text.clone(),
        ToolResultOutput::Json(json) => super::json_lines(json),
        ToolResultOutput::Content(parts) => joined(parts, "\n"),
        ToolResultOutput::ErrorJson(json) => match FailureFields::from_json(json) {
            Some(FailureFields { code, message }) => format!("{code}: {message}"),
            None => json.to_string(),
        },
        ToolResultOutput::ExecutionDenied(reason) => {
            reason.as_deref().unwrap_or(DENIED_TEXT).to_owned()
        }
    }
}

fn joined(parts: &[ContentPart], separator: &str) -> String {
    let parts = parts.iter().map(|part| match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::File(file) => file_summary(file),
    });
    parts.collect::<Vec<_>>().join(separator)
}

/// Describes a file: name, media type, size, and the blob or URL.
pub(super) fn file_summary(file: &FilePart) -> String {
    let name = file.filename.as_deref().unwrap_or("file");
    let place = match &file.data {
        FileData::Bytes(bytes) => super::bytes(bytes.len() as u64),
        FileData::Text(text) => super::bytes(text.len() as u64),
        FileData::Blob(blob) => format!("{}, blob {}", super::bytes(blob.size), blob.digest),
        FileData::Url(url) => url.clone(),
    };
    format!("{name} ({}, {place})", file.media_type)
}
