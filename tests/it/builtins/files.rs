//! Tests the tools of `builtin:files` on files as repositories have them.

use super::{call, call_with};
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

/// The content, `old`, `new`, the content after the edit, and the note.
type Edit = (
    &'static [u8],
    &'static str,
    &'static str,
    &'static [u8],
    &'static str,
);

#[test]
fn edit_file_keeps_line_ends_and_encoding() {
    let cases: [Edit; 3] = [
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

#[test]
fn read_file_reads_ranges_of_any_size() {
    let env = TestEnv::new();
    let large = std::fs::File::create(env.work().join("large.log")).unwrap();
    // 10 GB, of which only the first and the last block are on the disk.
    std::os::unix::fs::FileExt::write_all_at(&large, b"first\nsecond\n", 0).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&large, b"\nlast\n", 10_000_000_000).unwrap();
    env.write("min.js", format!("{}needle;\n", "x".repeat(100_000)));
    env.write("wide.txt", b"\xff\xfea\0\n\0");
    let cases = [
        (
            json!({ "path": "large.log", "offset_line": -1 }),
            "last\n[lines -1 to -1 of a file of 10000000006 bytes]",
        ),
        (
            json!({ "path": "large.log", "offset_line": 2, "max_lines": 1 }),
            "second\n[lines 2 to 2 of a file of 10000000006 bytes; offset_line 3 continues]",
        ),
        (
            json!({ "path": "min.js", "offset_column": 100_001 }),
            "needle;\n[line 1 of 1, columns 100001 to 100007 of 100007]",
        ),
        (
            json!({ "path": "wide.txt" }),
            "a\n[the file is UTF-16LE text]",
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(
            call(&env, "files", "read_file", &input),
            json!({ "type": "text", "value": expected })
        );
    }
}

#[test]
fn search_files_honours_ignore_files() {
    let env = TestEnv::new();
    env.write(".gitignore", "target/\n*.log\n");
    env.write("src/.ignore", "generated.rs\n");
    env.write("src/generated.rs", "needle\n");
    env.write("src/main.rs", "\u{feff}needle\r\n");
    env.write("target/debug/out.rs", "needle\n");
    env.write("a.log", "needle\n");
    env.write("b.bin", "needle\0");
    env.write(".env", "needle\n");
    // Above 8 MiB, and with a long line.
    env.write(
        "large.txt",
        format!("{}{}needle\n", "x\n".repeat(6 << 20), "y".repeat(300)),
    );
    let found = call(
        &env,
        "files",
        "search_files",
        &json!({ "pattern": "needle" }),
    );
    assert_eq!(
        found["value"],
        json!({
            "path": ".",
            "matches": [
                { "name": "large.txt", "line": 6_291_457, "column": 301,
                  "text": format!("...{}needle", "y".repeat(60)) },
                { "name": "src/main.rs", "line": 1, "text": "needle" },
            ],
            "files_searched": 4,
            "files_skipped": 1,
            "skipped": ["b.bin (not text)"],
            "ignored_count": 3,
            "ignored": ["a.log", "src/generated.rs", "target/"],
            "truncated": false,
        })
    );
    // The gate hides a file whatever the argument says.
    let all = json!({ "pattern": "needle", "include_ignored": true });
    let all = call(&env, "files", "search_files", &all).to_string();
    assert!(
        all.contains("target/debug/out.rs") && !all.contains(".env"),
        "{all}"
    );
    let named = json!({ "glob": "src/*.rs", "include_ignored": true });
    assert_eq!(
        call(&env, "files", "search_files", &named)["value"]["files"],
        json!([
            { "name": "src/generated.rs", "size_bytes": 7 },
            { "name": "src/main.rs", "size_bytes": 11 },
        ])
    );
}

#[test]
fn search_files_finds_all_of_many() {
    let env = TestEnv::new();
    env.configure("[limits]\ndeadline-ms = 120000\n");
    // More than a search could visit before.
    for directory in 0..21 {
        let path = env.work().join(format!("d{directory:02}"));
        std::fs::create_dir(&path).unwrap();
        for file in 0..1_000 {
            std::fs::write(path.join(format!("{file:03}")), "").unwrap();
        }
    }
    env.write("z/last", "needle");
    let found = call(
        &env,
        "files",
        "search_files",
        &json!({ "pattern": "needle" }),
    );
    assert_eq!(
        found["value"],
        json!({
            "path": ".",
            "matches": [{ "name": "z/last", "line": 1, "text": "needle" }],
            "files_searched": 21_001,
            "files_skipped": 0,
            "truncated": false,
        })
    );
}

#[test]
fn search_files_honours_the_ignore_file_of_the_user() {
    let env = TestEnv::new();
    for name in ["a.log", "a.tmp", "a.txt"] {
        env.write(name, "needle");
    }
    env.write("home/.config/git/ignore", "*.log\n");
    let directory = format!("dir:{}", env.work().display());
    let grants = ["--grant", "env:HOME=/workspace/home", "--grant", &directory];
    let ignored = || {
        let input = json!({ "glob": "a.*" });
        let output = call_with(&env, "files", "search_files", &input, &grants).json();
        output["value"]["ignored"].clone()
    };
    assert_eq!(ignored(), json!(["a.log"]));
    env.write("home/.gitconfig", "[core]\n\texcludesFile = ~/excluded\n");
    env.write("home/excluded", "*.tmp\n");
    assert_eq!(ignored(), json!(["a.tmp"]));
}
