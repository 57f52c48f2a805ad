use std::fs;
use std::ops::ControlFlow;

use pretty_assertions::assert_eq;

use super::{Filter, Ignores, Tree};

/// A project with generated files; returns the files that a walk finds and what it leaves out.
fn walk(glob: Option<&str>, path: &str, include_ignored: bool) -> (Vec<String>, Vec<String>) {
    let directory = tempfile::tempdir().expect("a directory");
    for (path, text) in [
        (".git/info/exclude", "notes.txt\n"),
        (".git/config", ""),
        (".gitignore", "/target/\n*.log\n!keep.log\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("notes.txt", ""),
        ("node_modules/x/index.js", ""),
        ("src/.ignore", "generated.rs\n"),
        ("src/generated.rs", ""),
        ("src/main.rs", ""),
        ("src/target/mod.rs", ""),
        ("target/debug/x.rs", ""),
    ] {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }
    let filter = glob.map(|glob| Filter::new(glob).expect("a glob"));
    let mut tree = Tree::new(filter.as_ref(), (!include_ignored).then(Ignores::default));
    let mut found = Vec::new();
    let root = directory.path().join(path);
    let walked = tree.walk(root.as_path(), &mut |file| {
        found.push(file.path.to_owned());
        ControlFlow::Continue(())
    });
    walked.expect("a walk");
    assert!(tree.is_complete && tree.unread.count == 0);
    assert_eq!(tree.ignored.count, tree.ignored.names.len());
    (found, tree.ignored.names)
}

#[test]
fn ignored_files_are_left_out_and_named() {
    type Case<'a> = (Option<&'a str>, &'a str, bool, &'a [&'a str], &'a [&'a str]);
    let cases: &[Case<'_>] = &[
        (
            None,
            "",
            false,
            &[
                ".gitignore",
                "keep.log",
                "src/.ignore",
                "src/main.rs",
                "src/target/mod.rs",
            ],
            &[
                "a.log",
                "node_modules/",
                "notes.txt",
                "src/generated.rs",
                "target/",
            ],
        ),
        (
            None,
            "",
            true,
            &[
                ".gitignore",
                "a.log",
                "keep.log",
                "node_modules/x/index.js",
                "notes.txt",
                "src/.ignore",
                "src/generated.rs",
                "src/main.rs",
                "src/target/mod.rs",
                "target/debug/x.rs",
            ],
            &[],
        ),
        (
            Some("*.rs"),
            "",
            false,
            &["src/main.rs", "src/target/mod.rs"],
            &["node_modules/", "src/generated.rs", "target/"],
        ),
        // The rules above the start count, but not for the start itself.
        (Some("*.log"), "src", false, &[], &[]),
        (None, "target", false, &["debug/x.rs"], &[]),
        (None, ".git/info", false, &["exclude"], &[]),
        // A glob of one directory enters no other.
        (
            Some("src/*.rs"),
            "",
            false,
            &["src/main.rs"],
            &["src/generated.rs"],
        ),
        (
            Some("src/**/mod.rs"),
            "",
            false,
            &["src/target/mod.rs"],
            &[],
        ),
        (Some("target/**"), "", false, &[], &["target/"]),
        (Some("target/**"), "", true, &["target/debug/x.rs"], &[]),
        (Some("none/*.rs"), "", false, &[], &[]),
    ];
    for (glob, path, include_ignored, found, ignored) in cases {
        let expected = (
            found.iter().map(ToString::to_string).collect(),
            ignored.iter().map(ToString::to_string).collect(),
        );
        assert_eq!(
            walk(*glob, path, *include_ignored),
            expected,
            "{glob:?} {path:?}"
        );
    }
}
