//! Which lines are commands.

use super::{Arguments, Command, Line, ROWS, help, parse, words};
use pretty_assertions::assert_eq;

#[test]
fn line_is_a_command_or_a_message() {
    let unknown = |name, near| Line::Unknown { name, near };
    let cases = [
        ("hello", Line::Message("hello")),
        (" /help", Line::Message(" /help")),
        ("//help me", Line::Message("/help me")),
        (
            "/usr/bin/env is there?",
            Line::Message("/usr/bin/env is there?"),
        ),
        ("/help", Line::Command(Command::Help, "")),
        ("/help  me ", Line::Command(Command::Help, "me")),
        ("/hlep", unknown("/hlep", Some("/help"))),
        ("/qiut now", unknown("/qiut", Some("/quit"))),
        ("/xyzzy", unknown("/xyzzy", None)),
        ("/", unknown("/", None)),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text), expected, "{text:?}");
    }
}

#[test]
fn every_command_parses_completes_and_is_explained() {
    let completed: Vec<String> = words(&Arguments::default())
        .into_iter()
        .map(|word| word.name)
        .collect();
    for (row, name) in ROWS.iter().zip(&completed) {
        assert_eq!(row.name, name);
        assert_eq!(parse(row.name), Line::Command(row.command, ""));
        assert!(help().contains(row.help), "{name}");
    }
    assert_eq!(completed.len(), ROWS.len());
}
