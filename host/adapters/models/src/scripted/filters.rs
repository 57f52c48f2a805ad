//! Filters and tests for scripts beyond minijinja's own. Pure functions.

#[cfg(test)]
mod tests;

use minijinja::{
    Environment, Error, ErrorKind,
    value::{Rest, Serde, Value},
};

/// The longest name or title that `oneline` shows, in characters.
const MAX_ONELINE_CHARS: usize = 300;

/// Registers all of them.
pub(super) fn add_to(environment: &mut Environment<'static>) {
    environment.add_filter("fromjson", from_json);
    environment.add_filter("filesize", file_size);
    environment.add_filter("basename", base_name);
    environment.add_filter("counted", counted);
    environment.add_filter("heading", heading);
    environment.add_filter("oneline", one_line);
    environment.add_test("like", like);
}

/// `text | fromjson`: the value of a JSON text.
fn from_json(text: &str) -> Result<Value, Error> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| {
        Error::new(
            ErrorKind::InvalidOperation,
            format!("the input of `fromjson` is not JSON ({error})"),
        )
    })?;
    Ok(Value::from(Serde(value)))
}

/// `bytes | filesize`: a readable size, in powers of 1024.
fn file_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return counted(bytes, "byte", None);
    }
    let mut tenths = u128::from(bytes) * 10;
    let mut unit = "";
    for next in UNITS {
        if tenths < 10_240 {
            break;
        }
        // Rounded to the nearest tenth of the next unit.
        tenths = (tenths + 512) / 1024;
        unit = next;
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

/// `path | basename`: what follows the last slash.
fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

/// `number | counted("file")`: `1 file`, `2 files`; an irregular plural is the second argument.
fn counted(number: u64, one: &str, many: Option<&str>) -> String {
    match (number, many) {
        (1, _) => format!("1 {one}"),
        (_, Some(many)) => format!("{number} {many}"),
        (_, None) => format!("{number} {one}s"),
    }
}

/// `text | heading`: the first `# ` heading of a Markdown text outside code fences, if any.
fn heading(text: &str) -> Option<String> {
    let mut fence: Option<&str> = None;
    for line in text.trim_start_matches('\u{feff}').lines() {
        let line = line.trim();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| line.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let title = line
                    .strip_prefix("# ")
                    .map(|title| title.trim_end_matches('#').trim());
                if let Some(title) = title.filter(|title| !title.is_empty()) {
                    return Some(title.to_owned());
                }
            }
        }
    }
    None
}

/// `text | oneline`: the text with control characters escaped, truncated.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for (count, character) in text.trim().chars().enumerate() {
        if count == MAX_ONELINE_CHARS {
            line.push('…');
            break;
        }
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// `name is like("*.png", "*.jpg")`: true if the whole name matches one of the patterns, in which
/// `*` matches any text. Case is ignored.
#[expect(
    clippy::needless_pass_by_value,
    reason = "minijinja hands a test its arguments by value"
)]
fn like(name: &str, patterns: Rest<String>) -> bool {
    let name = name.to_lowercase();
    patterns
        .iter()
        .any(|pattern| matches(&name, &pattern.to_lowercase()))
}

/// Matches greedily from the left, which is correct for `*`: an earlier match of a piece never
/// prevents a later one.
fn matches(name: &str, pattern: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let Some(mut rest) = name.strip_prefix(head) else {
        return false;
    };
    let (middle, last) = tail.rsplit_once('*').unwrap_or(("", tail));
    for piece in middle.split('*').filter(|piece| !piece.is_empty()) {
        let Some((_, after)) = rest.split_once(piece) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}
