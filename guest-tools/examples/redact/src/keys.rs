//! Finds and redacts API keys: words with the prefix of a well-known service.

use agent_tool::{Data, Output, Part};
use serde_json::{Map, Value};

/// The text in place of a key.
const REDACTED: &str = "[key]";

/// The prefixes of keys.
const PREFIXES: [&str; 4] = ["sk-", "ghp_", "AKIA", "xoxb-"];

/// The least number of characters of a key after its prefix.
const MIN_CHARS: usize = 12;

/// Returns whether a text has a key.
pub(crate) fn found(text: &str) -> bool {
    text.split(|c| !is_of_key(c)).any(is_key)
}

/// Redacts the keys in a result. Files of bytes stay as they are.
pub(crate) fn redact(output: &mut Output) {
    match output {
        Output::Text(text) | Output::ErrorText(text) | Output::Denied(Some(text)) => {
            redact_text(text);
        }
        Output::Json(value) | Output::ErrorJson(value) => redact_json(value),
        Output::Content(parts) => parts.iter_mut().for_each(redact_part),
        Output::Denied(None) => {}
    }
}

fn redact_part(part: &mut Part) {
    match part {
        Part::Text(text) => redact_text(text),
        Part::File { data, filename, .. } => {
            if let Data::Text(text) | Data::Url(text) = data {
                redact_text(text);
            }
            filename.iter_mut().for_each(redact_text);
        }
    }
}

fn redact_json(value: &mut Value) {
    match value {
        Value::String(text) => redact_text(text),
        Value::Array(items) => items.iter_mut().for_each(redact_json),
        Value::Object(fields) => {
            let redacted = std::mem::take(fields).into_iter();
            *fields = redacted
                .map(|(mut name, mut value)| {
                    redact_text(&mut name);
                    redact_json(&mut value);
                    (name, value)
                })
                .collect::<Map<_, _>>();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn redact_text(text: &mut String) {
    if !found(text) {
        return;
    }
    let mut redacted = String::with_capacity(text.len());
    for word in text.split_inclusive(|c| !is_of_key(c)) {
        let key = word.trim_end_matches(|c| !is_of_key(c));
        if is_key(key) {
            redacted.push_str(&word.replacen(key, REDACTED, 1));
        } else {
            redacted.push_str(word);
        }
    }
    *text = redacted;
}

fn is_key(word: &str) -> bool {
    let mut rests = PREFIXES
        .iter()
        .filter_map(|prefix| word.strip_prefix(prefix));
    rests.any(|rest| rest.len() >= MIN_CHARS)
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}
