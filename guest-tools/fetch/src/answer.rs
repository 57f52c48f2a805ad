//! Converts an HTTP response into a tool result, by its status, content type and bytes.

use agent_tool::{Output, Part};
use serde_json::{Value, json};

use agent_tool::http::{Address, Followed, Method, Response};

/// The part of the body that an error result shows, in bytes.
const MAX_ERROR_BODY_BYTES: usize = 4 * 1024;

/// The most header fields that the result of HEAD shows.
const MAX_SHOWN_FIELDS: usize = 50;

/// The result for the model.
pub(crate) fn output(followed: Followed) -> Output {
    if followed.response.status >= 400 {
        return refusal(&followed);
    }
    if followed.method == Method::Head {
        return Output::Json(summary(&followed));
    }
    if let Some(coding) = followed
        .response
        .header("content-encoding")
        .filter(|coding| !coding.eq_ignore_ascii_case("identity"))
    {
        return Output::error(format!(
            "{} sends its content in the encoding `{coding}` only, which this tool does not read",
            followed.address.authority()
        ));
    }
    if followed.response.body.is_empty() {
        return Output::text(format!("[status {}, no content]", followed.response.status));
    }
    content(followed)
}

fn refusal(followed: &Followed) -> Output {
    let Response { status, body, .. } = &followed.response;
    let shown = body
        .get(..MAX_ERROR_BODY_BYTES.min(body.len()))
        .unwrap_or_default();
    let mut error = json!({"status": status, "url": followed.address.as_str(), "body": String::from_utf8_lossy(shown)});
    if let (Some(wait), Some(fields)) = (
        followed.response.header("retry-after"),
        error.as_object_mut(),
    ) {
        fields.insert("retry_after".to_owned(), wait.into());
    }
    Output::ErrorJson(error)
}

fn summary(followed: &Followed) -> Value {
    let fields: Vec<Value> = followed
        .response
        .headers
        .iter()
        .take(MAX_SHOWN_FIELDS)
        .map(|(name, value)| json!([name, value]))
        .collect();
    json!({"status": followed.response.status, "url": followed.address.as_str(), "headers": fields})
}

/// Images and PDF are recognized by their bytes, JSON by its content type, text by being UTF-8;
/// anything else is a file.
fn content(followed: Followed) -> Output {
    let declared = media_type(&followed.response);
    let sniffed = infer::get(&followed.response.body).map(|kind| kind.mime_type());
    let note = note(&followed);
    let is_document = infer::archive::is_pdf(&followed.response.body);
    let latin1 = is_latin1(&followed.response);
    let Followed {
        response: answer,
        address,
        ..
    } = followed;
    let body = if is_document || answer.body.contains(&0) {
        Err(answer.body)
    } else {
        // A cut can go through the middle of a character, which does not make a text something
        // else.
        let end = if answer.whole {
            answer.body.len()
        } else {
            answer.body.len() - cut_character(&answer.body)
        };
        match std::str::from_utf8(answer.body.get(..end).unwrap_or_default()) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) if latin1 => Ok(answer.body.iter().map(|byte| char::from(*byte)).collect()),
            Err(_) => Err(answer.body),
        }
    };
    match body {
        Ok(text) => of_text(text, is_json(&declared) && answer.whole, note),
        Err(_) if !answer.whole => Output::error(format!(
            "{} is larger than max_bytes and is no text that could be cut; ask for more bytes",
            address.as_str()
        )),
        Err(bytes) => of_bytes(bytes, sniffed, &declared, &address),
    }
}

fn is_json(media_type: &str) -> bool {
    media_type == "application/json" || media_type.ends_with("+json")
}

fn of_text(mut text: String, json: bool, note: Option<String>) -> Output {
    if json && let Ok(value) = serde_json::from_str(&text) {
        return Output::Json(value);
    }
    if let Some(note) = note {
        text.push_str(&note);
    }
    Output::Text(text)
}

/// The last line of a text result: the final address, and a note if the text is cut.
fn note(followed: &Followed) -> Option<String> {
    let mut notes = Vec::new();
    if followed.hops > 0 {
        notes.push(format!("from {}", followed.address.as_str()));
    }
    if !followed.response.whole {
        notes.push(format!(
            "cut after {} bytes; max_bytes sets how many",
            followed.response.body.len()
        ));
    }
    if notes.is_empty() {
        None
    } else {
        Some(format!("\n[{}]", notes.join("; ")))
    }
}

/// The number of bytes at the end that belong to an incomplete character.
fn cut_character(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => bytes.len() - error.valid_up_to(),
        Ok(_) | Err(_) => 0,
    }
}

fn of_bytes(
    bytes: Vec<u8>,
    sniffed: Option<&'static str>,
    declared: &str,
    address: &Address,
) -> Output {
    // The host refuses a result whose media type contradicts its bytes.
    let held = declared.starts_with("image/") || declared == "application/pdf";
    let media_type = match sniffed {
        Some(sniffed) => sniffed,
        None if !held && is_well_formed(declared) => declared,
        None => "application/octet-stream",
    };
    let part = Part::bytes(media_type, bytes);
    Output::content([match address.file_name() {
        Some(name) => part.named(name),
        None => part,
    }])
}

fn is_well_formed(media_type: &str) -> bool {
    let name = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
    };
    media_type
        .split_once('/')
        .is_some_and(|(kind, subtype)| name(kind) && name(subtype))
}

/// The content type without its parameters, in lower case.
fn media_type(response: &Response) -> String {
    let declared = response.header("content-type").unwrap_or_default();
    declared
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

/// True if the text is ISO 8859-1 (Latin-1), which is not UTF-8.
fn is_latin1(response: &Response) -> bool {
    let declared = response
        .header("content-type")
        .unwrap_or_default()
        .to_ascii_lowercase();
    ["iso-8859-1", "latin1", "windows-1252"]
        .iter()
        .any(|name| declared.contains(name))
}

#[cfg(test)]
mod tests;
