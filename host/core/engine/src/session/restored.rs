//! The note to the model about files that the user had restored.

use crate::text::escape_json;
use serde_json::json;

/// The most paths that a record names.
pub(super) const MAX_PATHS: usize = 1_000;

/// The most paths that the model is told.
const MAX_TOLD: usize = 20;

/// Returns the text that precedes the user's next message; none if nothing was restored. The names
/// were chosen by tools, so that they are quoted.
pub(super) fn note(paths: &[String]) -> Option<String> {
    let told: Vec<&String> = paths.iter().take(MAX_TOLD).collect();
    if told.is_empty() {
        return None;
    }
    let others = match paths.len() - told.len() {
        0 => String::new(),
        count => format!(", and {count} more"),
    };
    let told = json!(told).to_string();
    Some(format!(
        "[The user has undone changes of your calls. These paths are as they were before: {}{others}. Read a file again \
         before you change it.]",
        escape_json(&told)
    ))
}

#[cfg(test)]
mod tests {
    use super::note;
    use pretty_assertions::assert_eq;

    #[test]
    fn note_quotes_names_and_counts_the_rest() {
        let paths = |count: usize| vec!["/w/\"a\"\n\u{202e}".to_owned(); count];
        let told = |names: &str| {
            format!(
                "[The user has undone changes of your calls. These paths are as they were before: {names}. Read a file \
                 again before you change it.]"
            )
        };
        let name = r#""/w/\"a\"\n\u202e""#;
        let twenty = vec![name; 20].join(",");
        let table = [
            (0, None),
            (1, Some(told(&format!("[{name}]")))),
            (20, Some(told(&format!("[{twenty}]")))),
            (22, Some(told(&format!("[{twenty}], and 2 more")))),
        ];
        for (count, expected) in table {
            assert_eq!(note(&paths(count)), expected, "{count}");
        }
    }
}
