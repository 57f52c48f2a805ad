use ignore::gitignore::GitignoreBuilder;
use pretty_assertions::assert_eq;

use super::{Ignores, Level, Source};

/// The rules of files: the directory, which ends with a slash, the kind, and the text.
fn ignores(files: &[(&str, Source, &str)], repositories: &[&str]) -> Ignores {
    let mut ignores = Ignores::default();
    let mut bases: Vec<&str> = files.iter().map(|(base, ..)| *base).collect();
    bases.extend(repositories);
    bases.sort_unstable();
    bases.dedup();
    for base in bases {
        let mut level = Level::new(base, repositories.contains(&base));
        for (other, source, text) in files {
            if *other == base {
                level.add(*source, text.as_bytes());
            }
        }
        ignores.push(level);
    }
    ignores
}

fn is_ignored(ignores: &Ignores, path: &str) -> bool {
    let (path, is_directory) = match path.strip_suffix('/') {
        Some(path) => (path, true),
        None => (path, false),
    };
    let name = path.rsplit('/').next().expect("a name");
    ignores.is_ignored(path, name, is_directory)
}

#[test]
fn first_kind_and_innermost_directory_decide() {
    type Case<'a> = (
        &'a [(&'a str, Source, &'a str)],
        &'a [&'a str],
        &'a str,
        bool,
    );
    let cases: &[Case<'_>] = &[
        (&[("", Source::GitIgnore, "*.log")], &[], "a/b.log", true),
        (
            &[("", Source::GitIgnore, "*.log\n!b.log")],
            &[],
            "a/b.log",
            false,
        ),
        (
            &[
                ("", Source::GitIgnore, "*.log"),
                ("a/", Source::GitIgnore, "!b.log"),
            ],
            &[],
            "a/b.log",
            false,
        ),
        // `.ignore` of an outer directory goes before `.gitignore` of an inner one.
        (
            &[
                ("", Source::Ignore, "*.log"),
                ("a/", Source::GitIgnore, "!b.log"),
            ],
            &[],
            "a/b.log",
            true,
        ),
        (
            &[
                ("", Source::Exclude, "*.log"),
                ("", Source::GitIgnore, "!*.log"),
            ],
            &[],
            "b.log",
            false,
        ),
        // A repository in a repository has its own `.gitignore` files only.
        (
            &[("", Source::GitIgnore, "*.log")],
            &["a/"],
            "a/b.log",
            false,
        ),
        (&[("", Source::Ignore, "*.log")], &["a/"], "a/b.log", true),
        (&[("a/", Source::GitIgnore, "/b")], &[], "a/b", true),
        (&[("a/", Source::GitIgnore, "/b")], &[], "a/c/b", false),
    ];
    for (files, repositories, path, expected) in cases {
        let ignores = ignores(files, repositories);
        assert_eq!(is_ignored(&ignores, path), *expected, "{path}");
    }
    let mut global = ignores(&[("", Source::GitIgnore, "!kept.tmp")], &[]);
    global.set_global(b"*.tmp\n");
    assert_eq!(
        ["a/x.tmp", "kept.tmp", "x.rs"].map(|path| is_ignored(&global, path)),
        [true, false, false]
    );
}

#[test]
fn lines_are_read_as_the_crate_does() {
    for line in [
        "target/", "/target", "a/b", "**/b", "a/**", "a/**/b", "*.log", "!a", "#a", "\\#a", "\\!a",
        "a ", "a\\ ", "/", "!", "**", "*", "a*b", "[ab]", "[!a]", "{a,b}", "?", "a/*", "\\a", "",
        "/**", "**/a/**", ".*", "a.b", "*.", "a/", "/a/b/", "!/a", "é", "*é", "a//b",
    ] {
        compare(
            line,
            &[
                "a", "b", "a/", "target/", "x/target", "a/b", "x/a/b", "a/b/", "a b", "x.log",
                "#a", "!a", "a ", "é", "aé", ".x", "a.b", "x/a/b/c", "{a,b}",
            ],
        );
    }
}

/// Random files and paths.
#[test]
fn paths_are_ignored_as_the_crate_does() {
    let mut state = 9_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(state >> 33).expect("small") % below
    };
    const PARTS: [&str; 13] = [
        "a", "b", "c", "/", "/", "*", "**", "**/", "/**", "?", "[ab]", "!", ".",
    ];
    for _ in 0..3_000 {
        let file: Vec<String> = (0..random(3) + 1)
            .map(|_| {
                (0..random(5) + 1)
                    .map(|_| PARTS[random(PARTS.len())])
                    .collect()
            })
            .collect();
        // Git and the crate differ in what an empty name and more than two stars are.
        let file = file.iter().map(|line| {
            let mut line = line.clone();
            while line.contains("//") {
                line = line.replace("//", "/");
            }
            while line.contains("***") {
                line = line.replace("***", "**");
            }
            line
        });
        let file: Vec<String> = file.collect();
        let paths: Vec<String> = (0..6)
            .map(|_| {
                let names: Vec<&str> = (0..random(3) + 1)
                    .map(|_| ["a", "b", "ab", "a.c"][random(4)])
                    .collect();
                names.join("/") + ["", "/"][random(2)]
            })
            .collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        compare(&file.join("\n"), &paths);
    }
}

/// Compares with the crate, for each path whose directories are not ignored.
fn compare(file: &str, paths: &[&str]) {
    let mut builder = GitignoreBuilder::new("");
    for line in file.lines() {
        // A pattern that is not valid is left out.
        let _ = builder.add_line(None, line);
    }
    let theirs = builder.build().expect("rules");
    let ours = ignores(&[("", Source::GitIgnore, file)], &[]);
    for path in paths {
        let (plain, is_directory) = (path.trim_end_matches('/'), path.ends_with('/'));
        let expected = theirs.matched(plain, is_directory).is_ignore();
        assert_eq!(is_ignored(&ours, path), expected, "{path} by {file:?}");
    }
}

#[test]
fn patterns_that_cost_too_much_are_left_out() {
    let braces = "{a,a}".repeat(5);
    let long = "a".repeat(513);
    let ignores = ignores(
        &[("", Source::GitIgnore, &format!("{braces}\n{long}\nb"))],
        &[],
    );
    assert_eq!(
        ["aaaaa", long.as_str(), "b"].map(|path| is_ignored(&ignores, path)),
        [false, false, true]
    );
}
