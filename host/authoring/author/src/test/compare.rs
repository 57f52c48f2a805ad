//! Compares a call with its expectations and reports every difference.

use super::{
    expect::{Expect, Expected},
    file::PartForm,
    report::Mismatch,
    run::ObservedCall,
};
use agent_host_types::{
    failure::{FailureFields, ToolErrorCode, ToolFailure},
    json::is_equal,
    output::{ContentPart, FileData, ToolResultOutput},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use image::ImageReader;
use regex::Regex;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::io::Cursor;

/// Returns the differences except those of a golden file.
pub(super) fn differences(expect: &Expect, run: &ObservedCall) -> Vec<Mismatch> {
    let mut found = Vec::new();
    if let Some(fault) = &run.fault {
        found.push(Mismatch::new("answers", "one for each question", fault));
    }
    if let Some(output) = &run.output {
        result(expect, output, &mut found);
    }
    if let Some(pattern) = &expect.stderr {
        found.extend(diff_pattern("stderr", pattern, &run.accounting.stdio));
    }
    found.extend(diff_list(
        "progress",
        expect.progress.as_ref(),
        &run.progress,
    ));
    found.extend(diff_list("merges", expect.merges.as_ref(), &run.merges));
    if let Some(artifacts) = &expect.artifacts
        && *artifacts != run.artifacts
    {
        let (expected, got) = (pretty(artifacts), pretty(&run.artifacts));
        found.push(Mismatch::new("artifacts", expected, got));
    }
    if let Some(halt) = &expect.halt
        && *halt != run.halt
    {
        found.push(Mismatch::new("halt", pretty(halt), pretty(&run.halt)));
    }
    found.extend(diff_list("asked", expect.asked.as_ref(), &run.asked));
    let over = |what, most: Option<u64>, took, unit| {
        let most = most.filter(|most| took > *most)?;
        Some(Mismatch::new(
            what,
            format!("at most {most} {unit}"),
            format!("{took} {unit}"),
        ))
    };
    // Rounded up, so that half a millisecond exceeds 0.
    let took_ms = run.accounting.wall_us.div_ceil(1_000);
    found.extend(over("max-ms", expect.max_ms, took_ms, "ms"));
    let peak = run.accounting.peak_memory_bytes;
    found.extend(over(
        "max-memory-bytes",
        expect.max_memory_bytes,
        peak,
        "bytes",
    ));
    found
}

fn result(expect: &Expect, output: &ToolResultOutput, found: &mut Vec<Mismatch>) {
    let mut differs = |expected: String, got: String| {
        found.push(Mismatch::new("result", expected, got));
    };
    match &expect.result {
        Some(Expected::Output(expected)) if !is_same(expected, output) => {
            differs(describe(expected), describe(output));
        }
        Some(Expected::Content(expected)) => match output {
            ToolResultOutput::Content(parts) => {
                let got: Vec<PartForm> = parts
                    .iter()
                    .enumerate()
                    .map(|(index, part)| part_form(part, expected.get(index)))
                    .collect();
                if got != *expected {
                    differs(pretty(expected), pretty(&got));
                }
            }
            other => differs(format!("content: {}", pretty(expected)), describe(other)),
        },
        Some(Expected::Variant(expected)) if output.tag() != *expected => {
            differs((*expected).to_owned(), describe(output));
        }
        Some(Expected::Code(expected))
            if failure(output).is_none_or(|(code, _)| !expected.contains(&code)) =>
        {
            let names: Vec<&str> = expected.iter().map(|code| code.as_str()).collect();
            differs(
                format!("an abnormal end: {}", names.join(" or ")),
                describe(output),
            );
        }
        Some(Expected::Output(_) | Expected::Variant(_) | Expected::Code(_)) | None => {}
    }
    if let Some(pattern) = &expect.matches {
        found.extend(diff_pattern("matches", pattern, &text(output)));
    }
    let tree = match output {
        ToolResultOutput::Json(json) | ToolResultOutput::ErrorJson(json)
            if !expect.at.is_empty() =>
        {
            Some(json.to_value())
        }
        _ => None,
    };
    for (pointer, expected) in &expect.at {
        let got = tree.as_ref().and_then(|tree| tree.pointer(pointer));
        if !got.is_some_and(|got| is_equal(expected, got)) {
            let got = got.map_or_else(|| format!("nothing there; {}", describe(output)), pretty);
            found.push(Mismatch::new(
                &format!("at {pointer}"),
                pretty(expected),
                got,
            ));
        }
    }
}

fn is_same(expected: &ToolResultOutput, got: &ToolResultOutput) -> bool {
    match (expected, got) {
        (ToolResultOutput::Json(expected), ToolResultOutput::Json(got))
        | (ToolResultOutput::ErrorJson(expected), ToolResultOutput::ErrorJson(got)) => {
            is_equal(&expected.to_value(), &got.to_value())
        }
        _ => expected == got,
    }
}

/// Returns the code and message of a failure.
pub(super) fn failure(output: &ToolResultOutput) -> Option<(ToolErrorCode, String)> {
    let ToolResultOutput::ErrorJson(json) = output else {
        return None;
    };
    let FailureFields { code, message } = FailureFields::from_json(json)?;
    let mut codes = ToolErrorCode::ALL.into_iter();
    let code = codes.find(|known| known.as_str() == code)?;
    // A failure has no other fields.
    let exact: ToolResultOutput = ToolFailure::new(code, message.as_str()).into();
    (exact == *output).then_some((code, message))
}

/// Returns the text for patterns: the words of a result without its structure.
fn text(output: &ToolResultOutput) -> String {
    match output {
        ToolResultOutput::Text(text) | ToolResultOutput::ErrorText(text) => text.clone(),
        ToolResultOutput::Json(json) => json.to_string(),
        ToolResultOutput::ErrorJson(json) => match failure(output) {
            Some((_, message)) => message,
            None => json.to_string(),
        },
        ToolResultOutput::Content(parts) => {
            let texts = parts.iter().filter_map(ContentPart::text);
            texts.collect::<Vec<_>>().join("\n")
        }
        ToolResultOutput::ExecutionDenied(reason) => reason.clone().unwrap_or_default(),
    }
}

/// Formats a result for display: its variant and complete value.
pub(super) fn describe(output: &ToolResultOutput) -> String {
    let tag = output.tag();
    match output {
        ToolResultOutput::Text(text) | ToolResultOutput::ErrorText(text) => {
            format!("{tag}: {text}")
        }
        ToolResultOutput::Json(json) | ToolResultOutput::ErrorJson(json) => {
            format!("{tag}: {}", pretty(json))
        }
        ToolResultOutput::Content(parts) => {
            let parts: Vec<PartForm> = parts.iter().map(|part| part_form(part, None)).collect();
            format!("{tag}: {}", pretty(&parts))
        }
        ToolResultOutput::ExecutionDenied(Some(reason)) => format!("{tag}: {reason}"),
        ToolResultOutput::ExecutionDenied(None) => format!("{tag} without a reason"),
    }
}

/// Converts a part to the form of a case. Bytes get the properties that `like` has, or else size
/// and digest.
pub(super) fn part_form(part: &ContentPart, like: Option<&PartForm>) -> PartForm {
    let file = match part {
        ContentPart::File(file) => file,
        ContentPart::Text { text } => {
            return PartForm {
                text: Some(text.clone()),
                ..PartForm::default()
            };
        }
    };
    let mut form = PartForm {
        media_type: Some(file.media_type.clone()),
        filename: file.filename.clone(),
        ..PartForm::default()
    };
    match &file.data {
        FileData::Text(text) => form.text_data = Some(text.clone()),
        FileData::Url(url) => form.url = Some(url.clone()),
        FileData::Bytes(bytes) => form = bytes_form(bytes, form, like),
        // Blobs occur in journals only.
        FileData::Blob(blob) => {
            form.size = Some(blob.size);
            form.sha256 = Some(hex::encode(blob.digest.into_bytes()));
        }
    }
    form
}

fn bytes_form(bytes: &[u8], form: PartForm, like: Option<&PartForm>) -> PartForm {
    let has = |asked: fn(&PartForm) -> bool, by_itself| like.map_or(by_itself, asked);
    let dimensions = || {
        let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
        reader.ok()?.into_dimensions().ok()
    };
    let asks_dimensions = has(|like| like.width.is_some() || like.height.is_some(), false);
    let (width, height) = asks_dimensions.then(dimensions).flatten().unzip();
    PartForm {
        base64: has(|like| like.base64.is_some(), false).then(|| STANDARD.encode(bytes)),
        size: has(|like| like.size.is_some(), true).then_some(bytes.len() as u64),
        sha256: has(|like| like.sha256.is_some(), true).then(|| hex::encode(Sha256::digest(bytes))),
        width: width.filter(|_| has(|like| like.width.is_some(), false)),
        height: height.filter(|_| has(|like| like.height.is_some(), false)),
        ..form
    }
}

fn diff_pattern(what: &str, pattern: &Regex, text: &str) -> Option<Mismatch> {
    (!pattern.is_match(text)).then(|| Mismatch::new(what, format!("/{pattern}/"), text))
}

/// Returns the difference of a list, if the case has an expectation of it.
fn diff_list<T: Serialize>(what: &str, expected: Option<&Vec<T>>, got: &[T]) -> Option<Mismatch> {
    let (expected, got) = (json(expected?), json(got));
    (!is_equal(&expected, &got)).then(|| Mismatch::new(what, pretty(&expected), pretty(&got)))
}

/// Converts to JSON; texts and finite numbers cannot fail.
fn json(value: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn pretty(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
