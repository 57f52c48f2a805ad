//! The candidates for texts.

use super::{CommandWords, Completer, Words, common_prefix};
use pretty_assertions::assert_eq;
use std::fs;

fn completer(directory: &std::path::Path) -> Completer {
    let command = |name: &str, words| CommandWords {
        name: name.to_owned(),
        help: format!("about {name}"),
        words,
    };
    let models = ["ollama:a", "ollama:b", "openai:c"].map(str::to_owned);
    Completer {
        commands: vec![
            command("/model", Words::List(models.into())),
            command("/more", Words::Any),
            command("/image", Words::File),
        ],
        directory: directory.to_owned(),
    }
}

#[test]
fn text_completes_by_its_place() {
    let dir = tempfile::tempdir().unwrap();
    for file in [
        "notes.txt",
        "nothing.md",
        ".hidden",
        "line\nbreak",
        "sub/deep.txt",
    ] {
        let file = dir.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, "").unwrap();
    }
    let completer = completer(dir.path());
    let cases: [(&str, usize, &[&str]); 18] = [
        ("/mo", 0, &["/model ", "/more "]),
        ("/x", 0, &[]),
        ("//mo", 0, &[]),
        ("/model oll", 7, &["ollama:a", "ollama:b"]),
        ("/more ./no", 6, &["./notes.txt", "./nothing.md"]),
        ("/image not", 7, &["notes.txt", "nothing.md"]),
        ("read @no", 6, &["notes.txt", "nothing.md"]),
        ("read @su", 6, &["sub/"]),
        ("read sub/", 5, &["sub/deep.txt"]),
        ("read @.", 6, &[".hidden"]),
        ("read no", 7, &[]),
        ("see sub/none/x", 4, &[]),
        ("@", 1, &["notes.txt", "nothing.md", "sub/"]),
        // Without a file that begins so, the letters in this order anywhere in a path.
        ("read @deep", 6, &["sub/deep.txt"]),
        ("read @NTS", 6, &["notes.txt"]),
        ("read @txt", 6, &["notes.txt", "sub/deep.txt"]),
        ("read @hidden", 6, &[]),
        ("read @zzz", 6, &[]),
    ];
    for (text, start, candidates) in cases {
        let completion = completer.complete(text, text.len());
        assert_eq!(completion.candidates, candidates, "{text:?}");
        assert_eq!(completion.range, start..text.len(), "{text:?}");
    }
}

#[test]
fn begun_commands_are_hinted() {
    let completer = completer(std::path::Path::new("."));
    assert_eq!(
        completer.hints("/mo"),
        ["/model      about /model", "/more       about /more"]
    );
    for text in ["", "mo", "//mo", "/model x", "/usr/bin"] {
        assert_eq!(completer.hints(text), [""; 0], "{text:?}");
    }
}

#[test]
fn candidates_share_a_prefix() {
    let cases: [(&[&str], &str); 5] = [
        (&[], ""),
        (&["one"], "one"),
        (&["notes", "nothing"], "not"),
        (&["é", "è"], ""),
        (&["a", "b"], ""),
    ];
    for (candidates, expected) in cases {
        let candidates: Vec<String> = candidates.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(common_prefix(&candidates), expected);
    }
}
