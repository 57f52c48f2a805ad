//! Histories that are written, read again, and damaged.

use super::{History, MAX_ENTRIES, MAX_ENTRY_BYTES, MAX_FILE_BYTES};
use pretty_assertions::assert_eq;
use std::{fs, os::unix::fs::PermissionsExt as _};

fn entries(history: &History) -> Vec<&str> {
    (0..history.len())
        .filter_map(|index| history.get(index))
        .collect()
}

#[test]
fn messages_are_kept_for_the_user_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("history/project");
    let mut history = History::open(file.clone());
    let long = "x".repeat(MAX_ENTRY_BYTES + 1);
    for text in [
        "one",
        "one",
        "two\nlines",
        " a secret",
        "",
        long.as_str(),
        "one",
    ] {
        history.add(text);
    }
    let now = ["one", "two\nlines", " a secret", long.as_str(), "one"];
    assert_eq!(entries(&history), now);
    assert_eq!(
        entries(&History::open(file.clone())),
        ["one", "two\nlines", "one"]
    );
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(file.as_path()), mode(file.parent().unwrap())),
        (0o600, 0o700)
    );
}

#[test]
fn damaged_history_keeps_what_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("history");
    fs::write(&file, b"\"one\"\n\xff\n{}\n\"two\"\n\"thr").unwrap();
    assert_eq!(entries(&History::open(file)), ["one", "two"]);
    let other = dir.path().join("other");
    std::os::unix::fs::symlink("/dev/zero", &other).unwrap();
    assert_eq!(entries(&History::open(other)), [""; 0]);
}

#[test]
fn history_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("history");
    let lines: String = (0..MAX_ENTRIES + 5).map(|n| format!("\"{n}\"\n")).collect();
    fs::write(&file, lines).unwrap();
    let mut history = History::open(file.clone());
    assert_eq!((history.len(), history.get(0)), (MAX_ENTRIES, Some("5")));
    history.add("new");
    assert_eq!((history.len(), history.get(0)), (MAX_ENTRIES, Some("6")));
    let kept = fs::read_to_string(&file).unwrap();
    assert_eq!(kept.lines().count(), MAX_ENTRIES + 1);
}

/// Of a file that is too large, the end is read, and the rest is removed.
#[test]
fn large_history_keeps_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("history");
    let text = |n: usize| format!("{n} {}", "x".repeat(MAX_ENTRY_BYTES - 10));
    let mut history = History::open(file.clone());
    let count = usize::try_from(MAX_FILE_BYTES).unwrap() / MAX_ENTRY_BYTES + 10;
    (0..count).for_each(|n| history.add(&text(n)));
    let size = || fs::metadata(&file).unwrap().len();
    assert!(size() > MAX_FILE_BYTES);
    let history = History::open(file.clone());
    let newest = history.get(history.len() - 1);
    assert_eq!(newest, Some(text(count - 1).as_str()));
    assert!(history.len() > 500 && size() <= MAX_FILE_BYTES);
}

/// A text that is nowhere else is written down, however long it is.
#[test]
fn long_text_that_is_not_sent_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("history");
    let long = "x\n".repeat(1024 * 1024);
    History::open(file.clone()).add_unsent(&long);
    assert_eq!(entries(&History::open(file)), [long]);
}

#[test]
fn search_finds_the_last_message_before_a_place() {
    let mut history = History::default();
    for text in ["make a plan", "list", "make it so"] {
        history.add(text);
    }
    let found = |text, end| history.find(text, end);
    assert_eq!(
        [
            found("make", 3),
            found("make", 2),
            found("make", 0),
            found("none", 3),
            found("", 9)
        ],
        [Some(2), Some(0), None, None, None]
    );
}
