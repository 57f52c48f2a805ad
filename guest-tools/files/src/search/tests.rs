use std::fs;

use agent_tool::Json;
use pretty_assertions::assert_eq;

use super::{FileHit, Hits, LineHit, MAX_HITS, SearchFiles, excerpt, search_files};
use crate::budget::MAX_RESULT_BYTES;

fn sample() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    fs::create_dir_all(root.join("src/deep")).expect("directories");
    fs::create_dir_all(root.join(".git")).expect("a directory");
    fs::write(root.join("README.md"), "# Title\nneedle here\n").expect("a file");
    fs::write(
        root.join("src/a.rs"),
        "fn needle() {}\nfn other() {}\n// Needle\n",
    )
    .expect("a file");
    fs::write(root.join("src/deep/b.rs"), "needle\n").expect("a file");
    fs::write(root.join("src/image.png"), b"\x89PNG\r\n\x1a\n\0needle").expect("a file");
    fs::write(root.join(".git/config"), "needle\n").expect("a file");
    std::os::unix::fs::symlink(root.join("README.md"), root.join("link.md")).expect("a link");
    directory
}

/// The hits with the directory's name left out.
fn search(
    directory: &tempfile::TempDir,
    pattern: Option<&str>,
    glob: Option<&str>,
    path: &str,
) -> Result<Hits, String> {
    let root = directory.path().to_str().expect("UTF-8");
    let input = SearchFiles {
        pattern: pattern.map(str::to_owned),
        glob: glob.map(str::to_owned),
        path: format!("{root}{path}"),
        include_ignored: false,
    };
    match search_files(input) {
        Ok(Json(hits)) => Ok(Hits {
            path: path.to_owned(),
            ..hits
        }),
        Err(failure) => Err(failure.to_string().replace(root, "ROOT")),
    }
}

fn line(name: &str, line: usize, text: &str) -> LineHit {
    LineHit {
        name: name.to_owned(),
        line,
        column: None,
        text: text.to_owned(),
    }
}

fn file(name: &str, size_bytes: u64) -> FileHit {
    FileHit {
        name: name.to_owned(),
        size_bytes: Some(size_bytes),
    }
}

#[test]
fn lines_and_files_are_found_in_order() {
    let directory = sample();
    let lines = |matches, files_searched, files_skipped| Hits {
        matches: Some(matches),
        files_searched,
        files_skipped,
        skipped: vec!["src/image.png (not text)".to_owned(); files_skipped],
        ..Hits::default()
    };
    let files = |files| Hits {
        files: Some(files),
        ..Hits::default()
    };
    let b = || line("src/deep/b.rs", 1, "needle");
    let cases = [
        (
            Some("needle"),
            None,
            "",
            lines(
                vec![
                    line("README.md", 2, "needle here"),
                    line("src/a.rs", 1, "fn needle() {}"),
                    b(),
                ],
                3,
                1,
            ),
        ),
        (
            Some("(?i)^// needle$"),
            Some("*.rs"),
            "",
            lines(vec![line("src/a.rs", 3, "// Needle")], 2, 0),
        ),
        (
            Some("needle"),
            Some("src/*.{rs,md}"),
            "",
            lines(vec![line("src/a.rs", 1, "fn needle() {}")], 1, 0),
        ),
        (Some("nothing"), None, "", lines(vec![], 3, 1)),
        (
            Some("needle"),
            None,
            "/src/deep/b.rs",
            lines(vec![line("b.rs", 1, "needle")], 1, 0),
        ),
        // A link is followed if it is asked for.
        (
            Some("needle"),
            None,
            "/link.md",
            lines(vec![line("link.md", 2, "needle here")], 1, 0),
        ),
        (
            None,
            Some("*"),
            "/link.md",
            files(vec![file("link.md", 20)]),
        ),
        (
            Some("needle"),
            None,
            "/.git",
            lines(vec![line("config", 1, "needle")], 1, 0),
        ),
        (
            None,
            Some("*.rs"),
            "",
            files(vec![file("src/a.rs", 39), file("src/deep/b.rs", 7)]),
        ),
        (
            None,
            Some("**/*.png"),
            "",
            files(vec![file("src/image.png", 15)]),
        ),
        (
            None,
            Some("./src/*"),
            "",
            files(vec![file("src/a.rs", 39), file("src/image.png", 15)]),
        ),
        (None, Some("*.md"), "", files(vec![file("README.md", 20)])),
    ];
    for (pattern, glob, path, expected) in cases {
        let expected = Hits {
            path: path.to_owned(),
            ..expected
        };
        assert_eq!(
            search(&directory, pattern, glob, path),
            Ok(expected),
            "{pattern:?} {glob:?} {path}"
        );
    }
}

#[test]
fn mistakes_are_explained() {
    let directory = sample();
    let cases = [
        (None, None, "", "give a `pattern`, a `glob`, or both"),
        (
            Some("("),
            None,
            "",
            "the pattern is not a valid regular expression: found open group without closing ')'",
        ),
        (
            Some(r"\w{1000}{1000}"),
            None,
            "",
            "the pattern is not a valid regular expression: compiled regex exceeded size limit",
        ),
        (
            None,
            Some("{a"),
            "",
            "the glob `{a` is not valid: `{` and `}` are not in pairs",
        ),
        (
            Some("a"),
            None,
            "/none",
            "no such file or directory `ROOT/none`; the directory `ROOT` has: .git, README.md, link.md, src",
        ),
    ];
    for (pattern, glob, path, expected) in cases {
        assert_eq!(
            search(&directory, pattern, glob, path),
            Err(expected.to_owned())
        );
    }
}

#[test]
fn hits_are_bounded_and_a_note_says_so() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(
        directory.path().join("many.txt"),
        "x\n".repeat(MAX_HITS + 1),
    )
    .expect("a file");
    for number in 0..MAX_HITS {
        fs::write(directory.path().join(format!("f{number}")), "").expect("a file");
    }
    let note = |reason: &str| {
        Some(format!(
            "the search is not complete: {reason}; search a directory inside, or narrow the glob or the pattern"
        ))
    };
    let hits = search(&directory, Some("x"), Some("*.txt"), "").expect("hits");
    assert_eq!(
        (
            hits.matches.map(|lines| lines.len()),
            hits.files_skipped,
            hits.truncated,
            hits.note
        ),
        (Some(MAX_HITS), 0, true, note("there are more matches"))
    );
    let hits = search(&directory, None, Some("*"), "").expect("hits");
    assert_eq!(
        (
            hits.files.map(|files| files.len()),
            hits.truncated,
            hits.note
        ),
        (Some(MAX_HITS), true, note("there are more files"))
    );
}

#[test]
fn hits_stay_below_the_hosts_inline_size() {
    let directory = tempfile::tempdir().expect("a directory");
    let name = "n".repeat(200);
    fs::write(
        directory.path().join(&name),
        format!("{}\n", "é".repeat(199)).repeat(150),
    )
    .expect("a file");
    let hits = search(&directory, Some("é"), None, "").expect("hits");
    let json = serde_json::to_string(&hits).expect("JSON").len();
    assert!(hits.truncated && json <= MAX_RESULT_BYTES + 1024, "{json}");
    for number in 0..150 {
        fs::write(
            directory
                .path()
                .join(format!("{}{number}", "\u{1}".repeat(60))),
            "",
        )
        .expect("a file");
    }
    let hits = search(&directory, None, Some("*"), "").expect("hits");
    let json = serde_json::to_string(&hits).expect("JSON").len();
    assert!(hits.truncated && json <= MAX_RESULT_BYTES + 1024, "{json}");
}

#[test]
fn long_lines_show_the_part_around_the_match() {
    let long = format!("{}needle{}", "é".repeat(300), "x".repeat(300));
    let shown = excerpt(&long, 600);
    assert_eq!(
        shown,
        format!("...{}needle{}...", "é".repeat(60), "x".repeat(134))
    );
    let cases = [
        ("short  ", 0, "short".to_owned()),
        (
            "x".repeat(300).as_str(),
            0,
            format!("{}...", "x".repeat(200)),
        ),
    ]
    .map(|(a, b, c)| (a.to_owned(), b, c));
    for (line, start, expected) in cases {
        assert_eq!(excerpt(&line, start), expected);
    }
}

#[test]
fn ignored_and_skipped_files_are_counted_and_named() {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, bytes) in [
        (".gitignore", &b"out*\n"[..]),
        ("a.txt", b"needle"),
        ("b.bin", b"needle\0"),
        ("large.txt", &b"x\n".repeat(5 << 20)),
        ("long.js", format!("{}needle", "x".repeat(300)).as_bytes()),
    ] {
        fs::write(directory.path().join(name), bytes).expect("a file");
    }
    for number in 0..12 {
        fs::write(directory.path().join(format!("out{number:02}")), "needle").expect("a file");
    }
    let hits = search(&directory, Some("needle"), None, "");
    let long = LineHit {
        column: Some(301),
        ..line("long.js", 1, &format!("...{}needle", "x".repeat(60)))
    };
    assert_eq!(
        hits,
        Ok(Hits {
            path: String::new(),
            matches: Some(vec![line("a.txt", 1, "needle"), long]),
            files_searched: 4,
            files_skipped: 1,
            skipped: vec!["b.bin (not text)".to_owned()],
            ignored_count: 12,
            ignored: (0..10).map(|number| format!("out{number:02}")).collect(),
            ..Hits::default()
        })
    );
}
