//! What to say of a path that is not there: the nearest directory above it, and what that has. A model then mostly finds what it
//! meant. It reads names and nothing else.

use super::locate;

/// The names that an error suggests at most.
const MAX_SUGGESTIONS: usize = 20;

/// The entries that are looked at for suggestions at most.
const MAX_LOOKED_AT: usize = 500;

/// Names the nearest directory above the path that is there, and what it has.
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
