//! Tests the tools of `builtin:files` on files as repositories have them.

use super::call_with;
use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Edits a file with these bytes; returns the result and the bytes after it.
fn edit(content: &[u8], old: &str, new: &str) -> (Value, Vec<u8>) {
    let env = TestEnv::new();
    env.write("f.txt", content);
    let input = json!({ "path": "f.txt", "old": old, "new": new });
    let output = call_with(&env, "files", "edit_file", &input, &["--write"]).json();
    (output, std::fs::read(env.work().join("f.txt")).unwrap())
}

#[test]
fn edit_file_keeps_line_ends_and_encoding() {
    let cases: [(&[u8], &str, &str, &[u8], &str); 3] = [
        (
            b"one\r\ntwo\r\n",
            "two",
            "2\n3",
            b"one\r\n2\r\n3\r\n",
            "the new text has the file's line ends, `\\r\\n`",
        ),
        (
            b"a\r\nb\r\nc\n",
            "c\n",
            "d\n",
            b"a\r\nb\r\nd\r\n",
            "the file has mixed line ends, 2 `\\r\\n` and 1 `\\n`: `\\r\\n` is in the new text, \
             and the others stay",
        ),
        (
            b"caf\xe9\n",
            "caf\u{e9}",
            "th\u{e9}",
            b"th\xe9\n",
            "the file is Windows-1252 (Latin-1) text, as before",
        ),
    ];
    for (content, old, new, expected, note) in cases {
        let (output, bytes) = edit(content, old, new);
        assert_eq!(
            (output["value"]["note"].as_str(), bytes.as_slice()),
            (Some(note), expected),
            "{output}"
        );
    }
}

#[test]
fn edit_file_names_the_nearest_place() {
    let content = b"fn one() {\n\tcall(1);\n}\n";
    let (output, bytes) = edit(content, "fn one() {\n    call(1);\n}", "x");
    assert_eq!(
        (output, bytes.as_slice()),
        (
            json!({ "type": "error-text", "value": "`old` does not occur in `f.txt`; the nearest \
                place is lines 1 to 3:\nfn one() {\n\tcall(1);\n}\nThe first difference is in \
                line 2, column 1: the file has a tab, `old` has a space" }),
            content.as_slice()
        )
    );
}
