use std::fs;
use std::io::{Error, ErrorKind};

use pretty_assertions::assert_eq;

use super::Failure;

#[test]
fn every_kind_says_what_to_do_next() {
    let cases = [
        (
            ErrorKind::PermissionDenied,
            "`a` may not be read: the operator's grants do not allow it; work inside the granted folder, and say so if the task needs more",
        ),
        (
            ErrorKind::ReadOnlyFilesystem,
            "`a` cannot be read: the folder is granted read-only",
        ),
        (
            ErrorKind::NotADirectory,
            "`a` cannot be read: it, or a part of it, is not a folder",
        ),
        (
            ErrorKind::IsADirectory,
            "`a` is a folder and cannot be read as a file; use list_directory to see what it has",
        ),
        (
            ErrorKind::StorageFull,
            "`a` cannot be read: there is no room left",
        ),
        (ErrorKind::TimedOut, "`a` cannot be read: timed out"),
    ];
    for (kind, expected) in cases {
        assert_eq!(
            Failure::io(&Error::from(kind), "read", "a").to_string(),
            expected
        );
    }
}

#[test]
fn a_missing_file_names_its_neighbours() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().to_str().expect("UTF-8").to_owned();
    fs::create_dir(folder.path().join("empty")).expect("a folder");
    fs::write(folder.path().join("notes.md"), "").expect("a file");
    let cases = [
        (
            format!("{root}/note.md"),
            format!(
                "no such file or folder `{root}/note.md`; the folder `{root}` has: empty, notes.md"
            ),
        ),
        (
            format!("{root}/no/such/x"),
            format!(
                "no such file or folder `{root}/no/such/x`; the folder `{root}` has: empty, notes.md"
            ),
        ),
        (
            format!("{root}/empty/x"),
            format!("no such file or folder `{root}/empty/x`; the folder `{root}/empty` is empty"),
        ),
    ];
    for (path, expected) in cases {
        assert_eq!(
            Failure::io(&Error::from(ErrorKind::NotFound), "read", &path).to_string(),
            expected
        );
    }
}

#[test]
fn suggestions_are_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..30 {
        fs::write(folder.path().join(format!("f{number:02}")), "").expect("a file");
    }
    let path = folder.path().join("x");
    let text = Failure::io(
        &Error::from(ErrorKind::NotFound),
        "read",
        path.to_str().expect("UTF-8"),
    )
    .to_string();
    assert!(text.ends_with("f18, f19, and more"), "{text}");
}
