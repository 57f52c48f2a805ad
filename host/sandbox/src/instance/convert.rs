//! Values that cross between WIT and the core crate's types. JSON text is parsed here and nowhere else; a blob reference never
//! comes from a guest, because WIT has no case for it.

#[cfg(test)]
mod tests;

use crate::{bindings::types as wit, instance::failure, secrets::Redactors, text};
use agent_host_core::{
    failure::{ToolErrorCode, ToolFailure},
    limits::Limits,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::Effect,
};
use serde_json::Value;

/// The values in one JSON document of a result. A value of two bytes of text takes 32 bytes or more in memory, so the bytes of
/// the text alone bound too little.
const MAX_JSON_VALUES: usize = 1_000_000;

/// A result of more bytes than this takes longer to take over than a quick call may last: about 100 us.
const QUICK_BYTES: u64 = 16 * 1024;

/// Whether taking over a result takes long.
pub(crate) fn takes_long(output: &wit::ToolResultOutput) -> bool {
    size_bytes(output) > QUICK_BYTES
}

/// Takes over a guest's result: bounded, parsed, without any form of the tool's own secrets, and checked. In this order, so that
/// no message about it can hold a piece of a value. Other tools' secrets are still in it: whether a result is taken decides what
/// becomes of the state that the call merged, which a guest can read.
///
/// # Errors
/// `output-too-large` and `invalid-output`.
pub(crate) fn output(
    output: wit::ToolResultOutput,
    secrets: &Redactors,
    limits: &Limits,
) -> Result<ToolResultOutput, ToolFailure> {
    if size_bytes(&output) > limits.output_bytes {
        return Err(failure::output_too_large(limits));
    }
    let mut output = match output {
        wit::ToolResultOutput::Text(text) => ToolResultOutput::Text(text),
        wit::ToolResultOutput::Json(json) => ToolResultOutput::Json(parse(&json)?),
        wit::ToolResultOutput::Content(parts) => {
            ToolResultOutput::Content(parts.into_iter().map(part).collect())
        }
        wit::ToolResultOutput::ErrorText(text) => ToolResultOutput::ErrorText(text),
        wit::ToolResultOutput::ErrorJson(json) => ToolResultOutput::ErrorJson(parse(&json)?),
        wit::ToolResultOutput::ExecutionDenied(reason) => ToolResultOutput::ExecutionDenied(reason),
    };
    secrets.granted.output(&mut output);
    secrets
        .all
        .validate(&mut output, ToolResultOutput::validate)?;
    Ok(output)
}

/// What a result weighs: all texts and bytes in it.
fn size_bytes(output: &wit::ToolResultOutput) -> u64 {
    let bytes = match output {
        wit::ToolResultOutput::Text(text)
        | wit::ToolResultOutput::Json(text)
        | wit::ToolResultOutput::ErrorText(text)
        | wit::ToolResultOutput::ErrorJson(text) => text.len(),
        wit::ToolResultOutput::ExecutionDenied(reason) => reason.as_ref().map_or(0, String::len),
        wit::ToolResultOutput::Content(parts) => parts.iter().map(part_bytes).sum(),
    };
    bytes as u64
}

/// A part weighs its fields; an empty one weighs something, too, so that their number is bounded.
fn part_bytes(part: &wit::ContentPart) -> usize {
    size_of::<ContentPart>()
        + match part {
            wit::ContentPart::Text(text) => text.len(),
            wit::ContentPart::File(file) => {
                let data = match &file.data {
                    wit::FileData::Bytes(bytes) => bytes.len(),
                    wit::FileData::Url(text) | wit::FileData::Text(text) => text.len(),
                };
                file.media_type.len() + data + file.filename.as_ref().map_or(0, String::len)
            }
        }
}

fn part(part: wit::ContentPart) -> ContentPart {
    match part {
        wit::ContentPart::Text(text) => ContentPart::Text { text },
        wit::ContentPart::File(file) => ContentPart::File(FilePart {
            media_type: file.media_type,
            data: match file.data {
                wit::FileData::Bytes(bytes) => FileData::Bytes(bytes),
                wit::FileData::Url(url) => FileData::Url(url),
                wit::FileData::Text(text) => FileData::Text(text),
            },
            filename: file.filename,
        }),
    }
}

fn parse(json: &str) -> Result<Value, ToolFailure> {
    let values = count_values(json);
    if values > MAX_JSON_VALUES {
        return Err(ToolFailure::new(
            ToolErrorCode::OutputTooLarge,
            format!(
                "The tool's JSON result has {values} values; at most {MAX_JSON_VALUES} are taken. Ask it for less, such as for one part at a time."
            ),
        ));
    }
    serde_json::from_str(json).map_err(|error| {
        ToolFailure::invalid_output(format!(
            "The tool returned text as JSON that is not JSON: {}.",
            text::shown(&error.to_string(), 200)
        ))
    })
}

/// An upper bound of the values in a JSON text, without building any: each value but the first follows a comma, a colon or an
/// opening bracket outside strings.
fn count_values(json: &str) -> usize {
    let (mut count, mut in_string, mut escaped) = (1, false, false);
    for byte in json.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => in_string = true,
                b',' | b':' | b'[' => count += 1,
                _ => {}
            }
        }
    }
    count
}

/// Takes over a guest's word about its effect.
pub(crate) fn effect(effect: wit::Effect) -> Effect {
    match effect {
        wit::Effect::ReadOnly => Effect::ReadOnly,
        wit::Effect::Idempotent => Effect::Idempotent,
        wit::Effect::Effectful => Effect::Effectful,
    }
}
