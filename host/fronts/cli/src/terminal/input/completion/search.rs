//! Searches for files whose paths have the letters of a word in their order.

use std::{collections::VecDeque, fs, path::Path};

/// The maximum number of entries of the tree that are looked at.
const MAX_WALKED: usize = 10_000;

/// The maximum number of paths.
const MAX_FOUND: usize = 20;

/// Directories that hold what tools made, by the names that most projects give them.
const SKIPPED: [&str; 2] = ["node_modules", "target"];

/// Returns the paths below a directory that are like a word, the most similar first. Hidden ones
/// and links are left out.
pub(super) fn files_like(word: &str, directory: &Path) -> Vec<String> {
    let word = word.to_lowercase();
    let mut found: Vec<(u8, usize, String)> = Vec::new();
    let mut directories = VecDeque::from([(directory.to_owned(), String::new())]);
    let mut walked = 0;
    while let Some((place, prefix)) = directories.pop_front() {
        let Ok(entries) = fs::read_dir(place) else {
            continue;
        };
        for entry in entries.flatten() {
            walked += 1;
            if walked > MAX_WALKED {
                return best(found);
            }
            let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
                continue;
            };
            if name.starts_with('.') || name.contains(char::is_control) {
                continue;
            }
            let path = format!("{prefix}{name}");
            if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
                directories.push_back((entry.path(), format!("{path}/")));
            } else if kind.is_file()
                && let Some(rank) = rank(&word, &path.to_lowercase())
            {
                found.push((rank, path.len(), path));
            }
        }
    }
    best(found)
}

fn best(mut found: Vec<(u8, usize, String)>) -> Vec<String> {
    found.sort_unstable();
    let best = found.into_iter().take(MAX_FOUND);
    best.map(|(_, _, path)| path).collect()
}

/// Rates a path: 0 where its name has the word, 1 where the path has it, 2 where the path has the
/// letters in their order.
fn rank(word: &str, path: &str) -> Option<u8> {
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.contains(word) {
        return Some(0);
    }
    if path.contains(word) {
        return Some(1);
    }
    let mut letters = path.chars();
    let has_all = word
        .chars()
        .all(|wanted| letters.any(|letter| letter == wanted));
    has_all.then_some(2)
}
