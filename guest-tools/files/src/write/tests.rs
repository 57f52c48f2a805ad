use std::fs;

use agent_tool::Json;
use pretty_assertions::assert_eq;

use super::{EditFile, Edited, MAX_WRITTEN_BYTES, WriteFile, Written, edit_file, write_file};

fn write(path: &str, content: &str) -> Result<Written, String> {
    write_file(WriteFile {
        path: path.to_owned(),
        content: content.to_owned(),
    })
    .map(|Json(written)| written)
    .map_err(|failure| failure.to_string())
}

#[test]
fn files_are_made_with_their_directories_and_replaced_whole() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory
        .path()
        .join("a/b/c.txt")
        .to_str()
        .expect("UTF-8")
        .to_owned();
    for (content, created) in [("a longer text", true), ("short", false)] {
        assert_eq!(
            write(&path, content),
            Ok(Written {
                path: path.clone(),
                created,
                size_bytes: content.len()
            })
        );
        assert_eq!(fs::read_to_string(&path).expect("a file"), content);
    }
}

#[test]
fn failed_writes_are_explained() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().to_str().expect("UTF-8");
    fs::write(directory.path().join("file"), "").expect("a file");
    let cases = [
        (
            root.to_owned(),
            "x".to_owned(),
            format!(
                "`{root}` is a directory and cannot be written as a file; use list_directory to see what it has"
            ),
        ),
        (
            format!("{root}/file/x"),
            "x".to_owned(),
            format!("`{root}/file/x` cannot be written: it, or a part of it, is not a directory"),
        ),
        (
            format!("{root}/large"),
            "x".repeat(MAX_WRITTEN_BYTES + 1),
            "the file would have 4194305 bytes; at most 4194304 can be written".to_owned(),
        ),
    ];
    for (path, content, expected) in cases {
        assert_eq!(write(&path, &content), Err(expected));
    }
}

/// Edits a file of its own; the result, and what is in the file then.
fn edit(content: &[u8], old: &str, new: &str) -> (Result<Edited, String>, Vec<u8>) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory
        .path()
        .join("f")
        .to_str()
        .expect("UTF-8")
        .to_owned();
    fs::write(&path, content).expect("a file");
    let result = edit_file(EditFile {
        path: path.clone(),
        old: old.to_owned(),
        new: new.to_owned(),
    });
    let result = match result {
        Ok(Json(edited)) => Ok(Edited {
            path: "F".to_owned(),
            ..edited
        }),
        Err(failure) => Err(failure.to_string().replace(&path, "F")),
    };
    (result, fs::read(&path).expect("a file"))
}

#[test]
fn single_occurrence_is_replaced() {
    let cases = [
        ("a\nb\nc\n", "b", "B", (2, 1, 1), "a\nB\nc\n"),
        ("a\nb\nc\n", "b\nc\n", "", (2, 2, 0), "a\n"),
        ("é needle é", "needle", "x\ny", (1, 1, 2), "é x\ny é"),
    ];
    for (content, old, new, (line, lines_removed, lines_added), expected) in cases {
        let edited = Edited {
            path: "F".to_owned(),
            line,
            lines_removed,
            lines_added,
            size_bytes: expected.len(),
        };
        assert_eq!(
            edit(content.as_bytes(), old, new),
            (Ok(edited), expected.as_bytes().to_vec())
        );
    }
}

#[test]
fn ambiguous_edit_changes_nothing() {
    let cases: &[(&[u8], &str, &str, &str)] = &[
        (
            b"a b a",
            "a",
            "x",
            "`old` occurs 2 times in `F`; add lines around it until it is unique",
        ),
        (
            b"aaa",
            "aa",
            "x",
            "`old` occurs 2 times in `F`; add lines around it until it is unique",
        ),
        (
            b"a",
            "b",
            "x",
            "`old` does not occur in `F`; read the file again and copy the text exactly, white space included",
        ),
        (
            b"a\r\nb",
            "a\nb",
            "x",
            "`old` does not occur in `F`; it would match but for line ends: the file has `\\r\\n`, so `old` needs it too",
        ),
        (
            b"a",
            "",
            "x",
            "`old` is empty; use write_file to write a whole file",
        ),
        (
            b"a",
            "a",
            "a",
            "`old` and `new` are the same, so there is nothing to change",
        ),
        (
            b"a\xff",
            "a",
            "x",
            "`F` is no UTF-8 text and cannot be edited",
        ),
    ];
    for (content, old, new, expected) in cases {
        assert_eq!(
            edit(content, old, new),
            (Err((*expected).to_owned()), content.to_vec())
        );
    }
}
