//! Converts the parts of an answer to one result.

use super::{cbor, definition};
use crate::bindings::{
    act::act::{
        core::types::Error,
        tools::types::{ContentPart, ToolEvent},
    },
    types::{self as wit, ToolResultOutput as Output},
};

const BINARY: &str = "application/octet-stream";

/// One part of an answer.
enum Part {
    Text(String),
    Json(String),
    File(wit::FilePart),
}

/// Converts an answer: one text or JSON value stays what it is, several parts are content, and an
/// error, with which an answer ends, is a failure with the text before it.
pub(super) fn convert(events: Vec<ToolEvent>) -> Output {
    let mut parts = Vec::new();
    for event in events {
        match event {
            ToolEvent::Content(content) => match part(content) {
                Ok(part) => parts.push(part),
                Err(why) => return Output::ErrorText(why),
            },
            ToolEvent::Error(error) => return failure(parts, &error),
        }
    }
    if parts.len() > 1 {
        return Output::Content(parts.into_iter().map(among_others).collect());
    }
    parts
        .pop()
        .map_or_else(|| Output::Json("null".to_owned()), alone)
}

fn alone(part: Part) -> Output {
    match part {
        Part::Text(text) => Output::Text(text),
        Part::Json(json) => Output::Json(json),
        file @ Part::File(_) => Output::Content(vec![among_others(file)]),
    }
}

fn among_others(part: Part) -> wit::ContentPart {
    match part {
        Part::Text(text) | Part::Json(text) => wit::ContentPart::Text(text),
        Part::File(file) => wit::ContentPart::File(file),
    }
}

fn failure(before: Vec<Part>, error: &Error) -> Output {
    let said = before.into_iter().map(|part| match part {
        Part::Text(text) | Part::Json(text) => text,
        Part::File(file) => format!("[a file of type {}]", file.media_type),
    });
    let lines: Vec<String> = said.chain([error_text(error)]).collect();
    Output::ErrorText(lines.join("\n"))
}

pub(super) fn error_text(error: &Error) -> String {
    format!("{}: {}", error.kind, definition::text(&error.message))
}

/// Converts a part.
///
/// # Errors
/// It is CBOR that is not read: a sentence for the model.
fn part(content: ContentPart) -> Result<Part, String> {
    let media_type = content.mime_type.unwrap_or_else(|| BINARY.to_owned());
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    Ok(match essence.as_str() {
        "application/cbor" => {
            let value = cbor::decode(&content.data).map_err(|why| {
                format!("The tool's result is not read: it is CBOR, and {why}. Ask it for less, or for text.")
            })?;
            Part::Json(value.to_string())
        }
        "application/json" => of_text(content.data, Part::Json),
        text if text.starts_with("text/") => of_text(content.data, Part::Text),
        _ => file(essence, content.data),
    })
}

/// Converts text; bytes that are not UTF-8 are a file.
fn of_text(data: Vec<u8>, make: fn(String) -> Part) -> Part {
    match String::from_utf8(data) {
        Ok(text) => make(text),
        Err(error) => file(BINARY.to_owned(), error.into_bytes()),
    }
}

fn file(media_type: String, data: Vec<u8>) -> Part {
    Part::File(wit::FilePart {
        media_type,
        data: wit::FileData::Bytes(data),
        filename: None,
    })
}
