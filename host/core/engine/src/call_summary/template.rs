//! The template of a tool's summary: literal text, values of the arguments and of the JSON result,
//! filters, and parts that are left out where a value is missing. No loops, no conditions, no code.

use super::{MAX_VALUE, MAX_WORDS};
use crate::text::{bytes, escape_line, truncated};
use agent_host_types::reason::Reason;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The longest template, in characters.
pub const MAX_TEMPLATE: usize = 200;

/// The most values in a template, and the most filters of one value.
const MAX_VALUES: usize = 12;
const MAX_FILTERS: usize = 3;

/// The name that stands for the result.
const RESULT: &str = "result";

/// A parsed template: its parts, which two spaces separate.
#[derive(Debug, PartialEq)]
pub struct Template(Vec<Vec<Group>>);

/// Pieces that are shown together. Without one of its values, an optional group is left out alone,
/// and any other one with its whole part.
#[derive(Debug, Default, PartialEq)]
struct Group {
    is_optional: bool,
    pieces: Vec<Piece>,
}

#[derive(Debug, PartialEq)]
enum Piece {
    Literal(String),
    Value {
        path: Vec<String>,
        filters: Vec<Filter>,
    },
}

#[derive(Debug, PartialEq)]
enum Filter {
    /// A size: a number of bytes, or the bytes of a text.
    Bytes,
    /// The status of the HTTP request that the result came by.
    Status,
    /// A number, or the length of a list, with the word for one and for several.
    Count(String, String),
    /// The number of lines of a text.
    Lines,
    /// A text in quotation marks.
    Quoted,
    /// An address without `https://`.
    Address,
    /// This text where the value is missing.
    Or(String),
}

/// The values that a template may show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'v> {
    pub(super) input: &'v Map<String, Value>,
    /// The text or the JSON of the result; absent for files and for a failure.
    pub(super) result: Option<&'v Value>,
    /// The size of the result, in bytes; absent for a failure.
    pub(super) size: Option<u64>,
    /// The status of the call's only HTTP request; absent for a failure.
    pub(super) status: Option<u16>,
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// The defect, as a fragment.
    pub fn parse(text: &str) -> Result<Self, Reason> {
        if text.chars().count() > MAX_TEMPLATE {
            return Err(format!("it has more than {MAX_TEMPLATE} characters").into());
        }
        if text.chars().any(char::is_control) {
            return Err("it has line breaks or control characters".into());
        }
        let parts: Result<Vec<Vec<Group>>, Reason> = text
            .split("  ")
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(parse_part)
            .collect();
        let parts = parts?;
        if parts.is_empty() {
            return Err("it is empty".into());
        }
        let pieces = parts.iter().flatten().flat_map(|group| &group.pieces);
        let values = pieces.filter(|piece| matches!(piece, Piece::Value { .. }));
        if values.count() > MAX_VALUES {
            return Err(format!("it has more than {MAX_VALUES} values").into());
        }
        Ok(Self(parts))
    }

    /// Returns the line, whose parts two spaces separate; `None` if its first part lacks a value.
    pub(super) fn render(&self, values: Values<'_>) -> Option<String> {
        let mut shown = Vec::with_capacity(self.0.len());
        for (index, part) in self.0.iter().enumerate() {
            let part = render_part(part, values).map(|part| spaced(&part, MAX_WORDS));
            match part.filter(|part| !part.is_empty()) {
                Some(part) => shown.push(part),
                None if index == 0 => return None,
                None => {}
            }
        }
        Some(shown.join("  "))
    }
}

fn parse_part(part: &str) -> Result<Vec<Group>, Reason> {
    let mut groups = vec![Group::default()];
    let mut rest = part;
    while let Some(at) = rest.find(['{', '}', '[', ']']) {
        let (literal, mark) = rest.split_at(at);
        let (mark, after) = mark.split_at(1);
        let group = groups.last_mut().ok_or("it has no part")?;
        if !literal.is_empty() {
            group.pieces.push(Piece::Literal(literal.to_owned()));
        }
        rest = after;
        match (mark, group.is_optional) {
            ("{", _) => {
                let (value, after) = after.split_once('}').ok_or("a `{` is not closed by `}`")?;
                group.pieces.push(parse_value(value)?);
                rest = after;
            }
            ("[", false) => groups.push(Group {
                is_optional: true,
                pieces: Vec::new(),
            }),
            ("]", true) => groups.push(Group::default()),
            ("[", true) => return Err("a `[` stands within `[...]`".into()),
            _ => return Err(format!("a `{mark}` closes nothing").into()),
        }
    }
    let group = groups.last_mut().ok_or("it has no part")?;
    if group.is_optional {
        return Err("a `[` is not closed by `]` in its part".into());
    }
    if !rest.is_empty() {
        group.pieces.push(Piece::Literal(rest.to_owned()));
    }
    Ok(groups)
}

fn parse_value(text: &str) -> Result<Piece, Reason> {
    let mut parts = text.split('|');
    let path = parts.next().unwrap_or_default();
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_alphanumeric() || "_-".contains(c))
    };
    if !path.split('.').all(is_name) {
        return Err(format!("`{{{text}}}` does not name a value").into());
    }
    let filters: Result<Vec<Filter>, Reason> = parts.map(parse_filter).collect();
    let filters = filters?;
    if filters.len() > MAX_FILTERS {
        return Err(format!("a value has more than {MAX_FILTERS} filters").into());
    }
    Ok(Piece::Value {
        path: path.split('.').map(str::to_owned).collect(),
        filters,
    })
}

fn parse_filter(text: &str) -> Result<Filter, Reason> {
    let words: Vec<&str> = text.split(':').collect();
    Ok(match words.as_slice() {
        ["bytes"] => Filter::Bytes,
        ["status"] => Filter::Status,
        ["lines"] => Filter::Lines,
        ["quoted"] => Filter::Quoted,
        ["address"] => Filter::Address,
        ["or", text] => Filter::Or((*text).to_owned()),
        ["count", one, many] => Filter::Count((*one).to_owned(), (*many).to_owned()),
        _ => return Err(format!("unknown filter `{text}`").into()),
    })
}

/// Returns a part, or `None` if a value outside of optional groups is missing.
fn render_part(groups: &[Group], values: Values<'_>) -> Option<String> {
    let mut shown = String::new();
    for group in groups {
        let pieces: Option<Vec<String>> = group
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => Some(text.clone()),
                Piece::Value { path, filters } => value_text(path, filters, values),
            })
            .collect();
        match pieces {
            Some(pieces) => shown.push_str(&pieces.concat()),
            None if group.is_optional => {}
            None => return None,
        }
    }
    Some(shown)
}

fn value_text(path: &[String], filters: &[Filter], values: Values<'_>) -> Option<String> {
    let (first, rest) = path.split_first()?;
    let root = match first.as_str() {
        RESULT if rest.is_empty() && filters == [Filter::Bytes] => {
            return values.size.map(bytes);
        }
        RESULT if rest.is_empty() && filters == [Filter::Status] => {
            return values.status.map(|status| status.to_string());
        }
        RESULT => values.result,
        name => values.input.get(name),
    };
    let mut keys = rest.iter();
    let mut value = root
        .and_then(|root| keys.try_fold(root, |value, key| value.get(key)))
        .map(Cow::Borrowed);
    for filter in filters {
        value = filtered(filter, value);
    }
    plain(value?.as_ref())
}

fn filtered<'v>(filter: &Filter, value: Option<Cow<'v, Value>>) -> Option<Cow<'v, Value>> {
    if let Filter::Or(text) = filter {
        let present = value.filter(|value| plain(value).is_some());
        return present.or_else(|| Some(Cow::Owned(text.as_str().into())));
    }
    let value = value?;
    let text = value.as_str();
    let shown: Value = match filter {
        Filter::Or(_) => return Some(value),
        // Only the host knows it, of the whole result.
        Filter::Status => return None,
        Filter::Bytes => {
            let length = text.map(|text| text.len() as u64);
            bytes(value.as_u64().or(length)?).into()
        }
        Filter::Lines => text?.lines().count().into(),
        Filter::Quoted => quoted(text?).into(),
        Filter::Address => text?.strip_prefix("https://").unwrap_or(text?).into(),
        Filter::Count(one, many) => {
            let length = value.as_array().map(|items| items.len() as u64);
            let number = value.as_u64().or(length)?;
            format!("{number} {}", if number == 1 { one } else { many }).into()
        }
    };
    Some(Cow::Owned(shown))
}

/// Quotes a text, cut so that the quotation mark at its end is shown.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", spaced(text, MAX_VALUE - 3))
}

/// Returns a value on one line of about [`MAX_VALUE`] characters; `None` for one that is empty or
/// has no text, such as an object.
pub(super) fn plain(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => spaced(text, MAX_VALUE),
        Value::Bool(_) => value.to_string(),
        Value::Number(number) => match number.as_f64() {
            // As a browser writes it.
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                format!("{float:.0}")
            }
            _ => number.to_string(),
        },
        Value::Array(items) => {
            let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
            spaced(&texts?.join(", "), MAX_VALUE)
        }
        Value::Null | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Escapes a text onto one line of at most `max` characters, with one space between its words, and
/// with the marks of outcomes escaped, which only the host writes.
pub(super) fn spaced(text: &str, max: usize) -> String {
    // Only the beginning of the text is shown.
    let end = text.char_indices().nth(4 * max).map(|(end, _)| end);
    let start = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
    let words: Vec<&str> = start.split_whitespace().collect();
    let mut line = String::new();
    for character in escape_line(&words.join(" ")).chars() {
        match is_mark(character) {
            true => line.extend(character.escape_unicode()),
            false => line.push(character),
        }
    }
    truncated(line, max)
}

/// Whether a character looks like a mark of an outcome: a check mark, a cross, or a slashed circle.
fn is_mark(character: char) -> bool {
    matches!(
        character,
        '\u{2205}' | '\u{2298}' | '\u{2611}' | '\u{2612}' | '\u{2705}' | '\u{2713}'
            ..='\u{2718}' | '\u{274c}' | '\u{274e}'
    )
}
