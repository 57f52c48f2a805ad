//! Converts an HTTP response into a tool result, by its status, content type and bytes.

use agent_tool::{Output, Part};
use serde_json::{Value, json};

use crate::address::Address;
use crate::request::Method;

/// The part of the body that an error result shows, in bytes.
const MAX_ERROR_BODY_BYTES: usize = 4 * 1024;

/// The most header fields that the result of HEAD shows.
const MAX_SHOWN_FIELDS: usize = 50;

/// An answer to one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Lower-case names, in the order of arrival; a name may come more than once.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// True if `body` is complete.
    pub(crate) whole: bool,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The location of a redirect, if the response is one and has one.
    pub(crate) fn redirect(&self) -> Option<String> {
        let redirects = matches!(self.status, 301 | 302 | 303 | 307 | 308);
        self.header("location")
            .filter(|_| redirects)
            .map(str::to_owned)
    }

    /// The content type without its parameters, in lower case.
    fn media_type(&self) -> String {
        let declared = self.header("content-type").unwrap_or_default();
        declared
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase()
    }

    /// True if the text is ISO 8859-1 (Latin-1), which is not UTF-8.
    fn is_latin1(&self) -> bool {
        let declared = self
            .header("content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        ["iso-8859-1", "latin1", "windows-1252"]
            .iter()
            .any(|name| declared.contains(name))
    }
}

/// The answer at the end of the redirects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) answer: Answer,
    /// The method of the last request.
    pub(crate) method: Method,
    /// The address of the last request.
    pub(crate) address: Address,
    /// The number of redirects followed.
    pub(crate) hops: usize,
}

/// The result for the model.
pub(crate) fn output(arrived: Arrived) -> Output {
    if arrived.answer.status >= 400 {
        return refusal(&arrived);
    }
    if arrived.method == Method::Head {
        return Output::Json(summary(&arrived));
    }
    if let Some(coding) = arrived
        .answer
        .header("content-encoding")
        .filter(|coding| !coding.eq_ignore_ascii_case("identity"))
    {
        return Output::error(format!(
            "{} sends its content in the encoding `{coding}` only, which this tool does not read",
            arrived.address.authority()
        ));
    }
    if arrived.answer.body.is_empty() {
        return Output::text(format!("[status {}, no content]", arrived.answer.status));
    }
    content(arrived)
}

fn refusal(arrived: &Arrived) -> Output {
    let Answer { status, body, .. } = &arrived.answer;
    let shown = body
        .get(..MAX_ERROR_BODY_BYTES.min(body.len()))
        .unwrap_or_default();
    let mut error = json!({"status": status, "url": arrived.address.as_str(), "body": String::from_utf8_lossy(shown)});
    if let (Some(wait), Some(fields)) =
        (arrived.answer.header("retry-after"), error.as_object_mut())
    {
        fields.insert("retry_after".to_owned(), wait.into());
    }
    Output::ErrorJson(error)
}

fn summary(arrived: &Arrived) -> Value {
    let fields: Vec<Value> = arrived
        .answer
        .headers
        .iter()
        .take(MAX_SHOWN_FIELDS)
        .map(|(name, value)| json!([name, value]))
        .collect();
    json!({"status": arrived.answer.status, "url": arrived.address.as_str(), "headers": fields})
}

/// Images and PDF are recognized by their bytes, JSON by its content type, text by being UTF-8;
/// anything else is a file.
fn content(arrived: Arrived) -> Output {
    let declared = arrived.answer.media_type();
    let sniffed = infer::get(&arrived.answer.body).map(|kind| kind.mime_type());
    let note = note(&arrived);
    let is_document = infer::archive::is_pdf(&arrived.answer.body);
    let latin1 = arrived.answer.is_latin1();
    let Arrived {
        answer, address, ..
    } = arrived;
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
fn note(arrived: &Arrived) -> Option<String> {
    let mut notes = Vec::new();
    if arrived.hops > 0 {
        notes.push(format!("from {}", arrived.address.as_str()));
    }
    if !arrived.answer.whole {
        notes.push(format!(
            "cut after {} bytes; max_bytes sets how many",
            arrived.answer.body.len()
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

#[cfg(test)]
mod tests;
