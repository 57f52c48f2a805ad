use std::fs;

use pretty_assertions::assert_eq;

use super::{GitDiff, git_diff};
use crate::log::tests::Made;

fn diff(made: &Made, from: &str, to: &str, only: Option<&str>) -> Result<String, String> {
    let mut whole = String::new();
    loop {
        let part = git_diff(GitDiff {
            path: made.path(),
            from: from.to_owned(),
            to: to.to_owned(),
            only: only.map(ToOwned::to_owned),
            offset: whole.len(),
        })
        .map_err(|failure| failure.to_string())?;
        let Some(at) = part.rfind("[bytes ") else {
            return Ok(part);
        };
        let (text, note) = part.split_at(at);
        whole.push_str(text);
        if !note.contains("continues") {
            return Ok(whole);
        }
    }
}

#[test]
fn simple_difference_is_that_of_git() {
    let made = Made::new();
    for (from, to, only) in [
        ("HEAD~1", "HEAD", None),
        ("v1", "v1~1", Some("notes")),
        ("HEAD", "HEAD", None),
    ] {
        let arguments: Vec<&str> = ["diff", "--no-renames", from, to]
            .into_iter()
            .chain(only.map(|_| "--"))
            .chain(only)
            .collect();
        let theirs: String = made
            .git(&arguments)
            .lines()
            .filter(|line| !line.starts_with("index "))
            .map(|line| format!("{line}\n"))
            .collect();
        // Git names the function that a hunk is in.
        let plain = |text: &str| -> String {
            text.lines()
                .map(|line| match (line.strip_prefix("@@ "), line.rfind(" @@")) {
                    (Some(_), Some(end)) => line.get(..end + 3).unwrap_or(line).to_owned() + "\n",
                    _ => format!("{line}\n"),
                })
                .collect()
        };
        let expected = if theirs.is_empty() {
            "[no differences]\n".to_owned()
        } else {
            plain(&theirs)
        };
        assert_eq!(
            diff(&made, from, to, only).map(|text| plain(&text)),
            Ok(expected),
            "{from} {to}"
        );
    }
}

#[test]
fn difference_makes_one_revision_the_other() {
    let made = Made::new();
    // From before the file that is no text, since a patch has none of it.
    for (from, to) in [
        ("HEAD~2", "HEAD"),
        ("HEAD", "HEAD~12"),
        ("HEAD~30", "HEAD~33"),
        ("v1", "HEAD"),
        ("side", "main"),
    ] {
        let text = diff(&made, from, to, None).expect("a diff");
        let patch = made.root().join(".git/patch");
        fs::write(&patch, &text).expect("a file");
        made.git(&["checkout", "--quiet", "--detach", "--force", from]);
        made.git(&[
            "apply",
            "--index",
            "--whitespace=nowarn",
            patch.to_str().expect("UTF-8"),
        ]);
        let tree = made.git(&["write-tree"]);
        made.git(&["reset", "--quiet", "--hard"]);
        made.git(&["checkout", "--quiet", "main"]);
        assert_eq!(
            tree,
            made.git(&["rev-parse", &format!("{to}^{{tree}}")]),
            "{from} {to}"
        );
    }
}
