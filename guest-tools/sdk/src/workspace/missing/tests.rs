use std::fs;

use pretty_assertions::assert_eq;

use super::describe;

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
        assert_eq!(describe(&path), expected);
    }
}

#[test]
fn suggestions_are_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..30 {
        fs::write(folder.path().join(format!("f{number:02}")), "").expect("a file");
    }
    let path = folder.path().join("x");
    let text = describe(path.to_str().expect("UTF-8"));
    assert!(text.ends_with("f18, f19, and more"), "{text}");
}
