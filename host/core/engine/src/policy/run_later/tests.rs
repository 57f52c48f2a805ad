//! The page of the files that run later.

use super::{git_config::EXECUTING_KEYS, table::TABLE};
use pretty_assertions::assert_eq;

const PAGE: &str = include_str!("../../../RUN_LATER.md");

/// The name in the first column of a line of a table.
fn name(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("| `")?.split_once('`')?;
    Some(name)
}

/// A key of the table with what its value has to be, as on the page.
fn key(key: &str) -> String {
    match (key.strip_suffix('/'), key.strip_suffix('!')) {
        (Some(key), _) => format!("`{key}` (a path)"),
        (_, Some(key)) => format!("`{key}` (a value from `!` on)"),
        _ => format!("`{key}`"),
    }
}

/// The page, which says of each file what runs it, lists the names and keys of the tables.
#[test]
fn run_later_page_lists_the_names_of_the_table() {
    let (files, keys) = PAGE.split_once("\n## Keys of git").unwrap();
    let mut expected = Vec::new();
    for (reason, patterns) in TABLE {
        expected.push(*reason);
        let patterns = patterns.iter();
        expected.extend(patterns.map(|pattern| pattern.trim_start_matches("**/")));
    }
    let lines = files.lines();
    let found = lines.filter_map(|line| line.strip_prefix("## Because ").or_else(|| name(line)));
    assert_eq!(found.collect::<Vec<_>>(), expected);

    let found: Vec<&str> = keys
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    let expected = EXECUTING_KEYS.iter().map(|(section, keys)| {
        let keys: Vec<String> = keys.iter().copied().map(key).collect();
        format!("| `{section}` | {} |", keys.join(", "))
    });
    assert_eq!(found, expected.collect::<Vec<_>>());
}
