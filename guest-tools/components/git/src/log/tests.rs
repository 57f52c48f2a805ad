use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::{GitLog, git_log};

/// A repository that Git itself made.
pub(crate) struct Made {
    pub(crate) directory: tempfile::TempDir,
}

/// The repository that the tests copy.
static TEMPLATE: LazyLock<Made> = LazyLock::new(Made::build);

impl Made {
    /// A copy of the one repository.
    pub(crate) fn new() -> Self {
        let made = Self {
            directory: tempfile::tempdir().expect("a directory"),
        };
        let copied = Command::new("cp")
            .args(["-a", &format!("{}/.", TEMPLATE.path()), &made.path()])
            .status();
        assert!(copied.expect("cp").success());
        made
    }

    /// Commits, merges, tags, files of all kinds, in a pack with differences and in single files.
    fn build() -> Self {
        let made = Self {
            directory: tempfile::tempdir().expect("a directory"),
        };
        made.git(&["init", "--quiet", "--initial-branch=main"]);
        for round in 0..40_usize {
            let lines: Vec<String> = (0..60)
                .map(|line| {
                    format!(
                        "line {} of {line}",
                        if line % 40 == round % 37 { round } else { 0 }
                    )
                })
                .collect();
            made.write("src/long.txt", &(lines.join("\n") + "\n"));
            made.write(&format!("notes/{}.md", round % 5), &format!("note {round}"));
            made.write("größe.txt", &"ä\n".repeat(round % 3 + 1));
            if round == 7 {
                made.write("data.bin", &format!("\0\u{1}{round}"));
                std::os::unix::fs::symlink("src/long.txt", made.root().join("link"))
                    .expect("a link");
            }
            if round == 20 {
                fs::remove_file(made.root().join("notes/1.md")).expect("a file");
                made.write("src/new/deep.txt", "no end of line");
            }
            made.commit(round);
            if round == 10 {
                made.git(&["tag", "-a", "v1", "-m", "first"]);
                made.git(&["checkout", "--quiet", "-b", "side"]);
                made.write("side.txt", "side\n");
                made.commit(100);
                made.git(&["checkout", "--quiet", "main"]);
            }
            if round == 30 {
                made.git(&["merge", "--quiet", "--no-ff", "-m", "Merge side", "side"]);
                made.git(&["gc", "--quiet"]);
            }
        }
        made
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn path(&self) -> String {
        self.root().to_str().expect("UTF-8").to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn commit(&self, round: usize) {
        self.git(&["add", "--all"]);
        let message = format!("Change {round}\n\nof round {round}\n");
        let date = format!("{} +0130", 1_700_000_000 + round * 1_000);
        self.git_at(&["commit", "--quiet", "--message", &message], &date);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.git_at(arguments, "1700035000 -0800")
    }

    pub(crate) fn git_at(&self, arguments: &[&str], date: &str) -> String {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=Ada",
                "-c",
                "user.email=ada@example.com",
                "-c",
                "core.quotePath=false",
            ])
            .args(arguments)
            .current_dir(self.root())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_DATE", date)
            .env("GIT_COMMITTER_DATE", date)
            .output()
            .expect("git");
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn all_of(path: &str) -> GitLog {
    GitLog {
        path: path.to_owned(),
        revision: "HEAD".to_owned(),
        file: None,
        skip: 0,
        max_commits: 500,
    }
}

fn log(input: GitLog) -> Result<Value, String> {
    let path = input.path.clone();
    git_log(input)
        .map(|log| serde_json::to_value(log.0).expect("JSON"))
        .map_err(|failure| failure.to_string().replace(&path, "PATH"))
}

/// A line for each commit, as Git can write them, too.
fn lines(log: &Value) -> String {
    let commits = log["commits"].as_array().expect("commits").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    commits
        .map(|commit| {
            let merges: Vec<String> = commit["merges"]
                .as_array()
                .into_iter()
                .flatten()
                .map(text)
                .collect();
            format!(
                "{}|{}|{}|{}|{}\n",
                text(&commit["id"]),
                text(&commit["author"]),
                text(&commit["date"]),
                text(&commit["subject"]),
                merges.join(" ")
            )
        })
        .collect()
}

#[test]
fn log_is_that_of_git() {
    let made = Made::new();
    let format = "--format=%H|%an <%ae>|%aI|%s|%P";
    for revision in [
        "HEAD",
        "main",
        "side",
        "v1",
        "refs/heads/main~3",
        "HEAD~9^2",
        "HEAD^^~2",
    ] {
        let ours = log(GitLog {
            revision: revision.to_owned(),
            ..all_of(&made.path())
        })
        .expect("a log");
        let theirs: String = made
            .git(&["log", format, revision])
            .lines()
            .map(|line| {
                // Only merges have their parents shown.
                let (rest, parents) = line.rsplit_once('|').expect("fields");
                let parents = if parents.contains(' ') { parents } else { "" };
                format!("{rest}|{parents}\n")
            })
            .collect();
        assert_eq!(lines(&ours), theirs, "{revision}");
    }
}

#[test]
fn log_of_a_file_is_that_of_git() {
    let made = Made::new();
    for file in ["notes/1.md", "src", "link", "side.txt", "größe.txt", "none"] {
        let ours = log(GitLog {
            file: Some(file.to_owned()),
            ..all_of(&made.path())
        })
        .expect("a log");
        let ids: Vec<&Value> = ours["commits"]
            .as_array()
            .expect("commits")
            .iter()
            .map(|commit| &commit["id"])
            .collect();
        let theirs = made.git(&["log", "--format=%H", "HEAD", "--", file]);
        assert_eq!(ids, theirs.lines().collect::<Vec<_>>(), "{file}");
    }
}

#[test]
fn long_log_has_parts() {
    let made = Made::new();
    let part = |skip| {
        log(GitLog {
            skip,
            max_commits: 30,
            ..all_of(&made.path())
        })
        .expect("a log")
    };
    assert_eq!(part(0)["note"], "30 commits are shown; skip 30 continues");
    assert_eq!(part(30)["note"], Value::Null);
    assert_eq!(
        lines(&part(0)) + &lines(&part(30)),
        lines(&log(all_of(&made.path())).expect("a log"))
    );
}

#[test]
fn revision_that_is_not_there_is_an_error() {
    let made = Made::new();
    let head = made.git(&["rev-parse", "HEAD"]);
    for prefix in [4, 7, 39] {
        let revision = head.get(..prefix).expect("digits").to_owned();
        assert!(
            log(GitLog {
                revision,
                max_commits: 1,
                ..all_of(&made.path())
            })
            .is_ok()
        );
    }
    for revision in [
        "",
        "none",
        "../HEAD",
        "HEAD~999",
        "HEAD^3",
        "HEAD~x",
        "main^{tree}",
        "-x",
        "refs/heads",
        "config",
        "0000",
        "a\0b",
    ] {
        assert_eq!(
            log(GitLog {
                revision: revision.to_owned(),
                ..all_of(&made.path())
            }),
            Err(format!(
                "there is no revision `{revision}` in `PATH`; use HEAD, a branch, a tag, or a commit, with steps such as `~2` and `^2`"
            ))
        );
    }
    let empty = tempfile::tempdir().expect("a directory");
    assert_eq!(
        log(all_of(empty.path().to_str().expect("UTF-8"))),
        Err("`PATH` is no Git repository; give its top directory".to_owned())
    );
    fs::write(empty.path().join(".git"), "gitdir: /elsewhere").expect("a file");
    assert_eq!(
        log(all_of(empty.path().to_str().expect("UTF-8"))),
        Err("`PATH` has a `.git` that names another directory, as submodules and linked worktrees do; give the main repository".to_owned())
    );
}

#[test]
fn repository_without_its_configuration_is_read() {
    let made = Made::new();
    let before = log(all_of(&made.path())).expect("a log");
    fs::remove_file(made.root().join(".git/config")).expect("a file");
    assert_eq!(log(all_of(&made.path())), Ok(before));
}

#[test]
fn shallow_clone_ends_where_it_is_cut() {
    let made = Made::new();
    let clone = tempfile::tempdir().expect("a directory");
    let (url, into) = (
        format!("file://{}", made.path()),
        clone.path().join("clone"),
    );
    made.git(&[
        "clone",
        "--quiet",
        "--bare",
        "--depth",
        "3",
        &url,
        into.to_str().expect("UTF-8"),
    ]);
    let all = lines(&log(all_of(&made.path())).expect("a log"));
    let shallow = lines(&log(all_of(into.to_str().expect("UTF-8"))).expect("a log"));
    assert_eq!(
        shallow.lines().collect::<Vec<_>>(),
        all.lines().take(3).collect::<Vec<_>>()
    );
    let path = into.to_str().expect("UTF-8").to_owned();
    let of_file = log(GitLog {
        file: Some("data.bin".to_owned()),
        ..all_of(&path)
    })
    .expect("a log");
    let last = made.git(&["rev-parse", "HEAD~2"]);
    assert_eq!(of_file["commits"].as_array().map(Vec::len), Some(1));
    assert_eq!(of_file["commits"][0]["id"], last.trim());
    let shown = crate::show::tests::commit_text_of(&path, last.trim());
    assert!(shown.expect("a commit").contains("new file mode 100644"));
}
