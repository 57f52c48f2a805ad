use std::fs;

use pretty_assertions::assert_eq;

use super::describe;

#[test]
fn missing_file_error_names_its_neighbours() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().to_str().expect("UTF-8").to_owned();
    fs::create_dir(directory.path().join("empty")).expect("a directory");
    fs::write(directory.path().join("notes.md"), "").expect("a file");
    let cases = [
        (
            format!("{root}/note.md"),
            format!(
                "no such file or directory `{root}/note.md`; the directory `{root}` has: empty, notes.md"
            ),
        ),
        (
            format!("{root}/no/such/x"),
            format!(
                "no such file or directory `{root}/no/such/x`; the directory `{root}` has: empty, notes.md"
            ),
        ),
        (
            format!("{root}/empty/x"),
            format!(
                "no such file or directory `{root}/empty/x`; the directory `{root}/empty` is empty"
            ),
        ),
    ];
    for (path, expected) in cases {
        assert_eq!(describe(&path), expected);
    }
}

#[test]
fn suggestions_are_bounded() {
    let directory = tempfile::tempdir().expect("a directory");
    for number in 0..30 {
        fs::write(directory.path().join(format!("f{number:02}")), "").expect("a file");
    }
    let path = directory.path().join("x");
    let text = describe(path.to_str().expect("UTF-8"));
    assert!(text.ends_with("f18, f19, and more"), "{text}");
}
