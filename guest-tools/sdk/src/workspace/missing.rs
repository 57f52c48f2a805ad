//! Explains a missing path: names the nearest existing directory above it and its entries, so that
//! a model can correct the path. It reads names and nothing else.

use super::locate;

/// The most names that an error suggests.
const MAX_SUGGESTIONS: usize = 20;

/// The most entries that are read for suggestions.
const MAX_LOOKED_AT: usize = 500;

/// Names the nearest existing directory above the path, and its entries.
pub(super) fn describe(path: &str) -> String {
    let mut above = path.trim_end_matches('/');
    loop {
        above = match above.rsplit_once('/') {
            Some(("", _)) => "/",
            Some((directory, _)) => directory,
            None => ".",
        };
        if let Some(names) = names_in(above) {
            return if names.is_empty() {
                format!("no such file or directory `{path}`; the directory `{above}` is empty")
            } else {
                format!("no such file or directory `{path}`; the directory `{above}` has: {names}")
            };
        }
        if matches!(above, "." | "/") {
            return format!(
                "no such file or directory `{path}`; use list_directory to see what there is"
            );
        }
    }
}

fn names_in(directory: &str) -> Option<String> {
    let entries = std::fs::read_dir(locate(directory).ok()?).ok()?;
    let mut names: Vec<String> = entries
        .take(MAX_LOOKED_AT)
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(MAX_SUGGESTIONS);
    names.truncate(MAX_SUGGESTIONS);
    let mut text = names.join(", ");
    if more > 0 {
        text.push_str(", and more");
    }
    Some(text)
}

#[cfg(test)]
mod tests;
