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
                size_bytes: content.len(),
                note: None,
            })
        );
        assert_eq!(fs::read_to_string(&path).expect("a file"), content);
    }
}

#[test]
fn replaced_line_ends_and_marks_are_noted() {
    let cases: &[(&[u8], &str, Option<&str>)] = &[
        (b"a\r\nb\r\n", "a\r\n", None),
        (b"a\r\n", "a", None),
        (b"a", "a\r\n", None),
        (
            b"a\r\nb\r\n",
            "a\nb\n",
            Some("most lines of the file ended with `\\r\\n`, and now with `\\n`"),
        ),
        (
            b"\xef\xbb\xbfa",
            "a",
            Some("the file had a byte order mark, and has none now"),
        ),
        (
            b"\xff\xfea\0",
            "a",
            Some("the file was UTF-16LE text, and is UTF-8 now"),
        ),
    ];
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("f");
    for (old, content, note) in cases {
        fs::write(&path, old).expect("a file");
        let written = write(path.to_str().expect("UTF-8"), content).expect("a write");
        assert_eq!(written.note.as_deref(), *note, "{old:?}");
        // The content is written as it is given.
        assert_eq!(fs::read_to_string(&path).expect("a file"), *content);
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
            note: None,
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
            "`old` occurs 2 times in `F` (lines 1, 1); add lines around it until it is unique",
        ),
        (
            b"aaa",
            "aa",
            "x",
            "`old` occurs 2 times in `F` (lines 1, 1); add lines around it until it is unique",
        ),
        (
            b"a",
            "b",
            "x",
            "`old` does not occur in `F`; read the file again and copy the text exactly, white space included",
        ),
        (
            b"x\nx\n",
            "x",
            "y",
            "`old` occurs 2 times in `F` (lines 1, 2); add lines around it until it is unique",
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
        (b"a\0", "a", "x", "`F` is not text and cannot be edited"),
        // UTF-16 with an unpaired surrogate.
        (
            b"\xff\xfea\0\0\xd8",
            "a",
            "x",
            "`F` is not text and cannot be edited",
        ),
        (
            b"caf\xe9",
            "caf",
            "\u{2192}",
            "`F` is Windows-1252 (Latin-1) text, which has no `\u{2192}`; leave it out of `new`",
        ),
        (
            b"a\r\n",
            "a\r\n",
            "a\n",
            "`old` and `new` differ only in line ends, and those of the file are used for both; use write_file to change them",
        ),
    ];
    for (content, old, new, expected) in cases {
        assert_eq!(
            edit(content, old, new),
            (Err((*expected).to_owned()), content.to_vec())
        );
    }
}

#[test]
fn line_ends_are_those_of_the_file() {
    const CRLF: &str = "the new text has the file's line ends, `\\r\\n`";
    const LF: &str = "the new text has the file's line ends, `\\n`";
    const CR: &str = "the new text has the file's line ends, `\\r`";
    const MIXED: &str = "the file has mixed line ends, 2 `\\r\\n` and 1 `\\n`: `\\r\\n` is in the new text, and the others stay";
    const UNENDED: &str = "the file still has no line end after its last line";
    let cases: &[(&str, &str, &str, &str, Option<&str>)] = &[
        // One line by several, which would have been mixed.
        ("a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n", Some(CRLF)),
        ("a\r\nb\r\n", "b", "x\r\ny", "a\r\nx\r\ny\r\n", None),
        // Lines that are given with the other end.
        ("a\r\nb\r\nc", "a\nb\n", "x\n", "x\r\nc", Some(CRLF)),
        ("a\nb\nc", "a\r\nb\r\n", "x\r\n", "x\nc", Some(LF)),
        ("a\rb\rc", "a\nb", "x\ny", "x\ry\rc", Some(CR)),
        // A pair is never cut.
        ("a\r\nb\r\n", "\nb", "\nx", "a\r\nx\r\n", Some(CRLF)),
        ("a\r\nb\r\n", "a\n", "", "b\r\n", None),
        // A mixed file stays as it is elsewhere.
        (
            "a\r\nb\r\nc\nd",
            "a",
            "x\ny",
            "x\r\ny\r\nb\r\nc\nd",
            Some(MIXED),
        ),
        ("a\r\nb\r\nc\nd", "d", "e", "a\r\nb\r\nc\ne", Some(MIXED)),
        // Two places that differ in their ends: the one that is given exactly.
        ("a\nb\r\na\r\nb", "a\nb", "x", "x\r\na\r\nb", Some(MIXED)),
        // A text of one line has none.
        ("a", "a", "x\r\ny", "x\r\ny", None),
        // The last line has no end, and gets none.
        ("a\nb", "b\n", "x\n", "a\nx", Some(UNENDED)),
        ("a\nb", "a\nb\n", "x\n", "x", Some(UNENDED)),
        ("a\nb", "b", "x\n", "a\nx\n", None),
        // A byte order mark stays.
        ("\u{feff}a\r\n", "a\n", "b\n", "\u{feff}b\r\n", Some(CRLF)),
    ];
    for (content, old, new, expected, note) in cases {
        let (result, bytes) = edit(content.as_bytes(), old, new);
        let found = result.map(|edited| edited.note);
        let bytes = String::from_utf8(bytes).expect("UTF-8");
        assert_eq!(
            (found, bytes.as_str()),
            (Ok(note.map(str::to_owned)), *expected),
            "{content:?} {old:?}"
        );
    }
}

#[test]
fn other_encodings_are_edited_exactly() {
    type Case<'a> = (&'a [u8], &'a str, &'a str, &'a [u8], &'a str);
    let cases: &[Case<'_>] = &[
        (
            b"caf\xe9 \x93x\x94\r\n",
            "caf\u{e9}",
            "th\u{e9}\n\u{20ac}",
            b"th\xe9\r\n\x80 \x93x\x94\r\n",
            "the new text has the file's line ends, `\\r\\n`; the file is Windows-1252 (Latin-1) text, as before",
        ),
        (
            b"\xff\xfea\0\n\0",
            "a",
            "\u{1f600}",
            b"\xff\xfe\x3d\xd8\0\xde\n\0",
            "the file is UTF-16LE text, as before",
        ),
        (
            b"\xfe\xff\0a\0\n",
            "a",
            "b",
            b"\xfe\xff\0b\0\n",
            "the file is UTF-16BE text, as before",
        ),
    ];
    for (content, old, new, expected, note) in cases {
        let (result, bytes) = edit(content, old, new);
        let found = result.map(|edited| edited.note);
        assert_eq!(
            (found, bytes.as_slice()),
            (Ok(Some((*note).to_owned())), *expected)
        );
    }
}

/// Random files and edits: the result is that of the same edit in a file with line feeds only.
#[test]
fn edit_with_any_line_ends_is_the_one_with_line_feeds() {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    for _ in 0..300 {
        let mut text = |lines: u64| {
            let mut text = String::new();
            for _ in 0..random(lines) + 1 {
                for _ in 0..random(4) {
                    text.push(['a', 'b', '\u{e9}'][usize::try_from(random(3)).expect("small")]);
                }
                text.push_str(["\n", "\r\n"][usize::try_from(random(2)).expect("small")]);
            }
            text.truncate(text.len() - usize::try_from(random(2)).expect("small"));
            text.trim_end_matches('\r').to_owned()
        };
        let (content, old, new) = (text(6), text(2), text(3));
        let plain = |text: &str| text.replace("\r\n", "\n");
        let (result, bytes) = edit(content.as_bytes(), &old, &new);
        let (expected, plain_bytes) = edit(plain(&content).as_bytes(), &plain(&old), &plain(&new));
        if let (Ok(_), Ok(_)) = (&result, &expected) {
            let bytes = String::from_utf8(bytes).expect("UTF-8");
            let plain_bytes = String::from_utf8(plain_bytes).expect("UTF-8");
            assert_eq!(plain(&bytes), plain_bytes, "{content:?} {old:?} {new:?}");
        }
    }
}
