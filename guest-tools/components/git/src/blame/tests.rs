use std::fmt::Write as _;
use std::fs;

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Blame, GitBlame, Origins, Search, git_blame, range, shown};
use crate::commit::Commit;
use crate::log::tests::Made;
use crate::refs::commit_of;
use crate::repository::Repository;
use crate::tree::find;

/// A line: its commit, its number there, its file there, and its text.
type Line = (String, usize, String, String);

fn input(made: &Made, file: &str, revision: &str) -> GitBlame {
    GitBlame {
        path: made.path(),
        file: file.to_owned(),
        revision: revision.to_owned(),
        first_line: 1,
        last_line: None,
    }
}

fn blame(input: GitBlame) -> Result<Blame, String> {
    let path = input.path.clone();
    git_blame(input)
        .map(|blame| blame.0)
        .map_err(|failure| failure.to_string().replace(&path, "PATH"))
}

/// The lines by this component, in all parts of the result.
fn ours(made: &Made, file: &str, revision: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    loop {
        let next = GitBlame {
            first_line: lines.len() + 1,
            ..input(made, file, revision)
        };
        let part = blame(next).expect("a result");
        for hunk in part.hunks {
            assert_eq!(hunk.line, lines.len() + 1);
            let file = hunk.original_file.unwrap_or_else(|| file.to_owned());
            for (index, text) in hunk.text.split_inclusive('\n').enumerate() {
                let line = hunk.original_line + index;
                lines.push((hunk.commit.clone(), line, file.clone(), text.to_owned()));
            }
        }
        match part.note {
            None => return lines,
            Some(note) => assert!(note.contains("continues"), "{note}"),
        }
    }
}

/// The lines by Git.
fn theirs(made: &Made, file: &str, revision: &str) -> Vec<Line> {
    let text = made.git(&["blame", "--line-porcelain", revision, "--", file]);
    let (mut lines, mut head, mut name) = (Vec::new(), (String::new(), 0), String::new());
    for line in text.split_inclusive('\n') {
        if let Some(text) = line.strip_prefix('\t') {
            lines.push((head.0.clone(), head.1, name.clone(), text.to_owned()));
        } else if let Some(file) = line.strip_prefix("filename ") {
            name = file.trim_end().to_owned();
        } else {
            let mut words = line.split(' ');
            let id = words.next().unwrap_or_default();
            if id.len() == 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                let number = words.next().and_then(|number| number.parse().ok());
                head = (id.to_owned(), number.expect("a number"));
            }
        }
    }
    // Git ends every line, also one that has no end.
    let whole = made.git(&["show", &format!("{revision}:{file}")]);
    if let Some(last) = lines.last_mut()
        && !whole.ends_with('\n')
    {
        last.3.pop();
    }
    lines
}

/// A repository whose commits are `steps`: each writes files (removes those without a text).
struct History {
    made: Made,
    commits: usize,
}

impl History {
    fn new() -> Self {
        let made = Made {
            directory: tempfile::tempdir().expect("a directory"),
        };
        made.git(&["init", "--quiet", "--initial-branch=main"]);
        Self { made, commits: 0 }
    }

    fn step(&mut self, files: &[(&str, Option<&str>)]) -> String {
        for (name, text) in files {
            match text {
                Some(text) => self.made.write(name, text),
                None => fs::remove_file(self.made.root().join(name)).expect("a file"),
            }
        }
        self.made.git(&["add", "--all"]);
        self.commit(&["commit", "--quiet", "--allow-empty"])
    }

    /// Runs a command that makes a commit, and returns its id.
    fn commit(&mut self, command: &[&str]) -> String {
        self.commits += 1;
        let message = format!("Step {}", self.commits);
        let arguments = [command, &["--message", &message]].concat();
        let date = format!("{} +0000", 1_700_000_000 + self.commits * 100);
        self.made.git_at(&arguments, &date);
        self.made.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }
}

#[test]
fn blame_is_that_of_git() {
    let made = Made::new();
    for (file, revision) in [
        ("src/long.txt", "HEAD"),
        ("src/long.txt", "HEAD~17"),
        ("notes/2.md", "main"),
        ("notes/1.md", "v1"),
        ("größe.txt", "HEAD"),
        ("side.txt", "HEAD"),
        ("src/new/deep.txt", "HEAD"),
        ("link", "HEAD"),
    ] {
        assert_eq!(
            ours(&made, file, revision),
            theirs(&made, file, revision),
            "{file} {revision}"
        );
    }
}

#[test]
fn merges_reverts_and_ends_of_lines_are_as_in_git() {
    let mut history = History::new();
    let file = "a.txt";
    history.step(&[
        (file, Some("one\ntwo\nthree\nfour\nfive\nsix\n")),
        ("empty", Some("")),
    ]);
    history.step(&[(file, Some("one\nTWO\nthree\nfour\nfive\nsix\n"))]);
    history.made.git(&["checkout", "--quiet", "-b", "side"]);
    history.step(&[(file, Some("one\nTWO\nthree\nfour\nfive\nsix\nseven"))]);
    history.step(&[(file, Some("zero\none\nTWO\nthree\nfour\nfive\nsix\nseven"))]);
    history.made.git(&["checkout", "--quiet", "main"]);
    history.step(&[(file, Some("one\nTWO\nthree\n4\nfive\nsix\n"))]);
    history.commit(&["merge", "--quiet", "--no-ff", "side"]);
    // A merge that changes a line itself.
    history
        .made
        .git(&["checkout", "--quiet", "-b", "other", "HEAD~1"]);
    history.step(&[(file, Some("one\nTWO\nthree\n4\nfive\nSIX\n"))]);
    history.made.git(&["checkout", "--quiet", "main"]);
    history.made.git(&[
        "merge",
        "--quiet",
        "--no-commit",
        "--strategy=ours",
        "other",
    ]);
    history.step(&[(
        file,
        Some("zero\none\nTWO\nthree\n4\nfive by hand\nSIX\nseven"),
    )]);
    // Back to an earlier content: the lines are from where they came back.
    history.step(&[(file, Some("one\ntwo\nthree\nfour\nfive\nsix\n"))]);
    history.step(&[(file, Some("one\r\ntwo\r\nthree\r\nfour\r\nfive\r\nsix\r\n"))]);
    history.step(&[(file, Some("one\r\ntwo\r\nthree\nfour\r\nfive\r\nsix"))]);
    // Two copies of the same lines, and a directory in place of the file for a while.
    history.step(&[(file, Some("one\r\ntwo\r\nthree\none\r\ntwo\r\nthree\n"))]);
    history.step(&[(file, None), ("a.txt/inner", Some("x\n"))]);
    history.step(&[("a.txt/inner", None)]);
    fs::remove_dir(history.made.root().join(file)).unwrap_or_default();
    history.step(&[(file, Some("again\n"))]);
    for back in (0..history.commits).map(|back| format!("HEAD~{back}")) {
        let there = history.made.git(&["ls-tree", "-r", "--name-only", &back]);
        if there.lines().any(|name| name == file) {
            let (ours, theirs) = (
                ours(&history.made, file, &back),
                theirs(&history.made, file, &back),
            );
            assert_eq!(ours, theirs, "{back}");
        }
        if back == "HEAD~9" {
            break;
        }
    }
    assert_eq!(ours(&history.made, "empty", "HEAD"), []);
}

#[test]
fn rename_is_followed_where_nothing_changed() {
    let mut history = History::new();
    let first = history.step(&[
        ("old.txt", Some("one\ntwo\n")),
        ("also.txt", Some("one\ntwo\n")),
        ("src/name.txt", Some("1\n2\n3\n4\n")),
    ]);
    history.step(&[("old.txt", None), ("new.txt", Some("one\ntwo\n"))]);
    let second = history.step(&[("new.txt", Some("one\n2\n"))]);
    history.step(&[
        ("new.txt", None),
        ("src/name.txt", None),
        ("to/new.txt", Some("one\n2\n")),
        ("to/name.txt", Some("1\n2\n3\n4\n")),
    ]);
    for file in ["to/new.txt", "to/name.txt", "also.txt"] {
        assert_eq!(
            ours(&history.made, file, "HEAD"),
            theirs(&history.made, file, "HEAD"),
            "{file}"
        );
    }
    let line = |commit: &str, number, file: &str, text: &str| {
        (commit.to_owned(), number, file.to_owned(), text.to_owned())
    };
    assert_eq!(
        ours(&history.made, "to/new.txt", "HEAD"),
        [
            line(&first, 1, "old.txt", "one\n"),
            line(&second, 2, "new.txt", "2\n")
        ]
    );
    // With a change the renaming commit has all lines.
    let changed = history.step(&[("to/new.txt", None), ("last.txt", Some("one\n2\nthree\n"))]);
    let lines = ours(&history.made, "last.txt", "HEAD");
    assert_eq!(
        lines,
        [(1, "one\n"), (2, "2\n"), (3, "three\n")]
            .map(|(number, text)| line(&changed, number, "last.txt", text))
    );
}

#[test]
fn range_has_its_lines_alone() {
    let made = Made::new();
    let all = ours(&made, "src/long.txt", "HEAD");
    for (first, last) in [(1, Some(1)), (20, Some(41)), (60, None), (59, Some(1_000))] {
        let part = blame(GitBlame {
            first_line: first,
            last_line: last,
            ..input(&made, "src/long.txt", "HEAD")
        })
        .expect("a result");
        let shown: Vec<(&str, &str)> = part
            .hunks
            .iter()
            .flat_map(|hunk| {
                hunk.text
                    .split_inclusive('\n')
                    .map(|text| (&*hunk.commit, text))
            })
            .collect();
        let expected: Vec<(&str, &str)> = all
            .iter()
            .skip(first - 1)
            .take(last.unwrap_or(60).min(60) + 1 - first)
            .map(|(commit, _, _, text)| (&**commit, &**text))
            .collect();
        assert_eq!(shown, expected, "{first} {last:?}");
        assert_eq!(part.hunks.first().map(|hunk| hunk.line), Some(first));
    }
}

#[test]
fn unusable_file_is_explained() {
    let mut history = History::new();
    history.step(&[
        ("data.bin", Some("a\0b\n")),
        ("large.txt", Some(&"x\n".repeat(1_100_000))),
        ("src/a.txt", Some("one\n")),
    ]);
    let head = history.made.git(&["rev-parse", "--short=10", "HEAD"]);
    let head = head.trim();
    for (file, first_line, expected) in [
        (
            "data.bin",
            1,
            "`data.bin` is no text, and has no lines".to_owned(),
        ),
        (
            "large.txt",
            1,
            "`large.txt` has more than 2 MiB, and its lines are not compared".to_owned(),
        ),
        (
            "src",
            1,
            "`src` is a directory; give one of its files".to_owned(),
        ),
        (
            "../src/a.txt",
            1,
            format!(
                "there is no `../src/a.txt` in {head}; list the files with git_show and `file`: `.`"
            ),
        ),
        (
            "src/a.txt",
            2,
            "`src/a.txt` has 1 lines, and none from 2 to 1; correct `first_line` or `last_line`"
                .to_owned(),
        ),
    ] {
        let asked = GitBlame {
            first_line,
            ..input(&history.made, file, "HEAD")
        };
        assert_eq!(blame(asked), Err(expected));
    }
}

#[test]
fn long_result_has_parts_and_long_line_a_note() {
    let mut history = History::new();
    let text = (0..3_000).fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "line {line} of a long file, with enough words");
        text
    });
    history.step(&[
        ("long.txt", Some(&text)),
        ("wide.txt", Some(&"x".repeat(100_000))),
    ]);
    for round in 0..6 {
        let changed = text.replace(&format!("line {}", 400 * (round + 1)), "LINE");
        history.step(&[("long.txt", Some(&changed))]);
    }
    assert_eq!(
        ours(&history.made, "long.txt", "HEAD"),
        theirs(&history.made, "long.txt", "HEAD")
    );
    let wide = blame(input(&history.made, "wide.txt", "HEAD")).expect("a result");
    let first = history.made.git(&["rev-list", "--max-parents=0", "HEAD"]);
    assert_eq!(
        serde_json::to_value(wide).expect("JSON"),
        json!({
            "hunks": [],
            "commits": [],
            "note": format!("line 1 and those after it that are from {} are too long to show", first.trim()),
        })
    );
}

#[test]
fn search_without_time_tells_how_far_it_went() {
    let made = Made::new();
    let repository = Repository::open(&made.path()).expect("a repository");
    let start = commit_of(&repository, "HEAD").expect("a commit");
    let commit = Commit::read(&repository, &start).expect("a commit");
    let entry = find(&repository, &commit.tree, "src/long.txt").expect("a tree");
    let wanted = range("src/long.txt", 1, None, 60).expect("lines");
    let now = std::time::Instant::now();
    let search = Search::new(
        &repository,
        start,
        "src/long.txt",
        entry.expect("a file"),
        wanted,
    );
    let Origins { found, note } = search
        .run(now - std::time::Duration::from_millis(1))
        .expect("origins");
    let told = format!(
        "the history is long, and was followed to {} alone: some lines are from commits before those that are named; ask for fewer lines",
        start.short()
    );
    assert_eq!(note, Some(told.clone()));
    let text = made.git(&["show", "HEAD:src/long.txt"]);
    let lines = super::split(text.as_bytes());
    let all =
        shown(&repository, &lines, Origins { found, note }, "src/long.txt").expect("a result");
    assert_eq!(all.hunks.len(), 1);
    assert_eq!(
        all.hunks.first().map(|hunk| hunk.commit.clone()),
        Some(start.to_string())
    );
    assert_eq!(all.note, Some(told));
}

#[test]
fn commits_are_listed_once() {
    let mut history = History::new();
    let first = history.step(&[("a", Some("1\n2\n3\n"))]);
    let second = history.step(&[("a", Some("1\ntwo\n3\n"))]);
    let made = blame(input(&history.made, "a", "HEAD")).expect("a result");
    let hunk = |line: usize, commit: &str, text: &str| json!({ "line": line, "commit": commit, "original_line": line, "text": text });
    let commit = |id: &str, round: usize| {
        let date = format!(
            "2023-11-14T22:{:02}:{:02}+00:00",
            13 + (20 + round * 100) / 60,
            (20 + round * 100) % 60
        );
        json!({
            "id": id,
            "author": "Ada <ada@example.com>",
            "date": date,
            "subject": format!("Step {round}"),
        })
    };
    assert_eq!(
        serde_json::to_value(made).expect("JSON"),
        json!({
            "hunks": [hunk(1, &first, "1\n"), hunk(2, &second, "two\n"), hunk(3, &first, "3\n")],
            "commits": [commit(&first, 1), commit(&second, 2)],
        }) as Value
    );
}

/// An edit of a list of lines: takes some out, puts others in.
fn edit() -> impl Strategy<Value = (usize, usize, usize)> {
    (0..40_usize, 0..4_usize, 0..4_usize)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Edits on two branches that are merged: each line is where Git has it, if no two lines are
    /// alike, since then there is one difference alone.
    #[test]
    fn edits_of_distinct_lines_are_blamed_as_by_git(
        edits in proptest::collection::vec((edit(), any::<bool>()), 3..9),
    ) {
        let mut history = History::new();
        let mut next = 0;
        let mut new_lines = |count: usize| -> Vec<String> {
            next += count;
            (next - count..next).map(|line| format!("line {line}\n")).collect()
        };
        let mut lines = new_lines(30);
        history.step(&[("f", Some(&lines.concat()))]);
        for ((at, removed, added), merges) in edits {
            let at = at.min(lines.len());
            let end = (at + removed).min(lines.len());
            if merges {
                history.made.git(&["checkout", "--quiet", "-b", &format!("b{}", history.commits)]);
            }
            lines.splice(at..end, new_lines(added));
            history.step(&[("f", Some(&lines.concat()))]);
            if merges {
                let branch = history.made.git(&["rev-parse", "--abbrev-ref", "HEAD"]);
                history.made.git(&["checkout", "--quiet", "main"]);
                history.commit(&["merge", "--quiet", "--no-ff", branch.trim()]);
            }
        }
        prop_assert_eq!(ours(&history.made, "f", "HEAD"), theirs(&history.made, "f", "HEAD"));
    }
}
