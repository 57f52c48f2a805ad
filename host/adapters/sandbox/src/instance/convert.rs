//! Conversions from WIT values to those of the core crate. JSON text of guests is parsed here and
//! nowhere else. A blob reference never comes from a guest, because WIT has no case for it.

#[cfg(test)]
mod tests;

use crate::{
    bindings::types as wit, caps::result_size::part_bytes, instance::failure, secrets::Redactors,
    text,
};
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    json::JsonText,
    limits::Limits,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::Effect,
};

/// The most values in one JSON result, for those who need a tree of it, such as an MCP client's
/// `structuredContent`: a value of two bytes of text takes 32 bytes or more there.
const MAX_JSON_VALUES: usize = 1_000_000;

/// A larger result takes longer to convert than a quick call may last: about 100 us.
const QUICK_BYTES: u64 = 16 * 1024;

/// Returns whether converting a result takes longer than a quick call may last.
pub(crate) fn takes_long(output: &wit::ToolResultOutput) -> bool {
    size_bytes(output) > QUICK_BYTES
}

/// Returns an upper bound of the memory that converting and checking a result takes, in bytes.
/// `has_schema` tells whether JSON becomes a tree for an output schema.
pub(crate) fn memory_bytes(output: &wit::ToolResultOutput, has_schema: bool) -> usize {
    let (json, tree) = match output {
        wit::ToolResultOutput::Json(json) if has_schema => (json, tree_bytes(json)),
        wit::ToolResultOutput::Json(json) | wit::ToolResultOutput::ErrorJson(json) => (json, 0),
        // Moved, and copied once if a secret is in it.
        other => return usize::try_from(2 * size_bytes(other)).unwrap_or(usize::MAX),
    };
    // The guest's text, the normalized one, its shared copy, and the offsets of members: 24 bytes
    // for each of at least 6 bytes of text.
    8 * json.len() + tree
}

/// Returns an upper bound of a JSON text's tree, in bytes: the nodes of maps hold 11 members in 640
/// bytes and at least 5 of these, and arrays grow by doubling.
fn tree_bytes(json: &str) -> usize {
    let value = |byte| match byte {
        b'{' => 672,
        b':' => 160,
        b'[' => 128,
        b',' => 64,
        _ => 2,
    };
    json.bytes().map(value).sum()
}

/// Converts a guest's result: bounds it, parses it, redacts the tool's own secrets, and validates
/// it, in this order, so that no message about it can hold a piece of a value. Other tools' secrets
/// stay in it: its validity decides whether the state that the call merged is kept, which a guest
/// can read.
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
        wit::ToolResultOutput::Json(json) => ToolResultOutput::Json(parse(json)?),
        wit::ToolResultOutput::Content(parts) => {
            ToolResultOutput::Content(parts.into_iter().map(part).collect())
        }
        wit::ToolResultOutput::ErrorText(text) => ToolResultOutput::ErrorText(text),
        wit::ToolResultOutput::ErrorJson(json) => ToolResultOutput::ErrorJson(parse(json)?),
        wit::ToolResultOutput::ExecutionDenied(reason) => ToolResultOutput::ExecutionDenied(reason),
    };
    secrets.granted.output(&mut output);
    secrets
        .all
        .validate(&mut output, ToolResultOutput::validate)?;
    Ok(output)
}

/// Returns the bytes by which a result may grow.
pub(crate) fn bytes_left(output: &wit::ToolResultOutput, limits: &Limits) -> u64 {
    limits.output_bytes.saturating_sub(size_bytes(output))
}

/// Returns the bytes of all texts and data in a result.
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

#[expect(
    clippy::needless_pass_by_value,
    reason = "the guest's text is freed before the next step copies the result"
)]
fn parse(json: String) -> Result<JsonText, ToolFailure> {
    let values = count_values(&json);
    if values > MAX_JSON_VALUES {
        return Err(ToolFailure::new(
            ToolErrorCode::OutputTooLarge,
            format!(
                "The tool's JSON result has {values} values; the maximum is {MAX_JSON_VALUES}. Ask it for less, such \
                 as one part at a time."
            ),
        ));
    }
    JsonText::parse(&json).map_err(|error| {
        ToolFailure::invalid_output(format!(
            "The tool returned invalid JSON: {}.",
            text::sanitize(&error.to_string(), 200)
        ))
    })
}

/// Returns an upper bound of the values in a JSON text without building any: each value but the
/// first follows a comma, a colon or an opening bracket outside strings.
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

pub(crate) fn effect(effect: wit::Effect) -> Effect {
    match effect {
        wit::Effect::ReadOnly => Effect::ReadOnly,
        wit::Effect::Idempotent => Effect::Idempotent,
        wit::Effect::Effectful => Effect::Effectful,
    }
}
