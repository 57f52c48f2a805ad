use agent_tool::{Output, Part};
use pretty_assertions::assert_eq;

use super::{GitShow, git_show};
use crate::log::tests::Made;

fn show(made: &Made, revision: &str, file: Option<&str>) -> Result<Output, String> {
    git_show(GitShow {
        path: made.path(),
        revision: revision.to_owned(),
        file: file.map(ToOwned::to_owned),
        offset: 0,
    })
    .map_err(|failure| failure.to_string().replace(&made.path(), "PATH"))
}

/// A commit as text.
pub(crate) fn commit_text_of(path: &str, revision: &str) -> Result<String, String> {
    let input = GitShow {
        path: path.to_owned(),
        revision: revision.to_owned(),
        file: None,
        offset: 0,
    };
    match git_show(input) {
        Ok(Output::Text(text)) => Ok(text),
        Ok(other) => Err(format!("{other:?}")),
        Err(failure) => Err(failure.to_string()),
    }
}

#[test]
fn file_is_that_of_git() {
    let made = Made::new();
    for (revision, file) in [
        ("HEAD", "src/long.txt"),
        ("v1", "src/long.txt"),
        ("HEAD~25", "notes/1.md"),
        ("HEAD", "link"),
        ("HEAD", "größe.txt"),
        ("HEAD", "src/new/deep.txt"),
    ] {
        let theirs = made.git(&["show", &format!("{revision}:{file}")]);
        assert_eq!(
            show(&made, revision, Some(file)),
            Ok(Output::text(theirs)),
            "{revision} {file}"
        );
    }
    let binary = Part::bytes("application/octet-stream", b"\0\x017".to_vec()).named("data.bin");
    assert_eq!(
        show(&made, "HEAD", Some("data.bin")),
        Ok(Output::content([binary]))
    );
    assert_eq!(
        show(&made, "HEAD", Some(".")),
        Ok(Output::text(
            "file data.bin\nfile größe.txt\nsymlink link\ndirectory notes\nfile side.txt\ndirectory src\n"
        ))
    );
    let id = made.git(&["rev-parse", "--short=10", "HEAD"]);
    let missing = format!(
        "there is no `src/none` in {}; show its directory, or `.`",
        id.trim()
    );
    assert_eq!(show(&made, "HEAD", Some("src/none")), Err(missing));
}

#[test]
fn commit_is_that_of_git() {
    let made = Made::new();
    for revision in ["HEAD", "HEAD~3", "side"] {
        let theirs: String = made
            .git(&[
                "show",
                "--no-renames",
                "--format=commit %H%nAuthor: %an <%ae>%nDate: %aI%n%n%w(0,4,4)%B",
                revision,
            ])
            .lines()
            .filter(|line| !line.starts_with("index "))
            .map(|line| match (line.strip_prefix("@@ "), line.rfind(" @@")) {
                (Some(_), Some(end)) => line.get(..end + 3).unwrap_or(line).to_owned() + "\n",
                _ => line.to_owned() + "\n",
            })
            .collect();
        // Git indents empty lines, too, and leaves one more of them after the message.
        let theirs = theirs.replace("\n    \n", "\n\n");
        let theirs = theirs.replace("\n\n\ndiff", "\n\ndiff");
        assert_eq!(
            show(&made, revision, None),
            Ok(Output::text(theirs)),
            "{revision}"
        );
    }
}
