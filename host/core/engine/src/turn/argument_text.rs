//! Renders the arguments of a call as text: shorter to read than JSON, and as exact. Pure.

use serde_json::{Map, Value};

/// The columns of a tab.
const TAB: &str = "    ";

/// Returns arguments as text, one after the other, without those of these names.
///
/// A text of one line stands behind its name, and one of several lines below it, indented. Whatever
/// could be read as something else is JSON: other values, a text that is empty, begins or ends with
/// white space, or is JSON itself, and a name that is not made of letters, digits, `_` and `-`.
#[must_use]
pub fn arguments_text(input: &Map<String, Value>, without: &[&str]) -> String {
    let shown = input.iter();
    let shown = shown.filter(|(name, _)| !without.contains(&name.as_str()));
    let rows: Vec<String> = shown
        .map(|(name, value)| format!("{}:{}", name_text(name), value_text(value)))
        .collect();
    rows.join("\n")
}

fn name_text(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains('\n') => {
            let rows = text
                .split('\n')
                .map(|row| format!("\n  {}", expand_tabs(row)));
            rows.collect()
        }
        Value::String(text) if is_plain(text) => format!(" {}", expand_tabs(text)),
        other => format!(" {other}"),
    }
}

/// Whether a text of one line cannot be read as another value.
fn is_plain(text: &str) -> bool {
    text == text.trim() && !text.is_empty() && serde_json::from_str::<Value>(text).is_err()
}

/// Replaces tabs, whose width depends on the terminal.
#[must_use]
pub fn expand_tabs(text: &str) -> String {
    text.replace('\t', TAB)
}

#[cfg(test)]
mod tests {
    use super::arguments_text;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    #[test]
    fn arguments_are_text_where_they_cannot_be_misread() {
        let table = [
            (json!({"path": "src/a b.rs"}), "path: src/a b.rs"),
            (
                json!({"content": "one\n\ttwo\n"}),
                "content:\n  one\n      two\n  ",
            ),
            (
                json!({"n": 1, "on": true, "to": ["a"]}),
                "n: 1\non: true\nto: [\"a\"]",
            ),
            (
                json!({"n": "1", "on": "true", "q": "\"a\""}),
                "n: \"1\"\non: \"true\"\nq: \"\\\"a\\\"\"",
            ),
            (
                json!({"a": "", "b": " x", "c": "x "}),
                "a: \"\"\nb: \" x\"\nc: \"x \"",
            ),
            (json!({"a: b\nc": "d"}), "\"a: b\\nc\": d"),
            (json!({"": null}), "\"\": null"),
            (json!({}), ""),
        ];
        for (input, expected) in table {
            assert_eq!(arguments_text(input.as_object().unwrap(), &[]), expected);
        }
        let input = json!({"content": "x", "path": "a"});
        let shown = arguments_text(input.as_object().unwrap(), &["content"]);
        assert_eq!(shown, "path: a");
    }
}
