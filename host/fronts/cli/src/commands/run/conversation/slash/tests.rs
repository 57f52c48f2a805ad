//! Which lines are commands.

use super::{ArgumentWords, ROWS, SlashCommand, UserLine, help, parse, words};
use pretty_assertions::assert_eq;

#[test]
fn line_is_a_command_or_a_message() {
    let unknown = |name, near| UserLine::Unknown { name, near };
    let cases = [
        ("hello", UserLine::Message("hello")),
        (" /help", UserLine::Message(" /help")),
        ("//help me", UserLine::Message("/help me")),
        (
            "/usr/bin/env is there?",
            UserLine::Message("/usr/bin/env is there?"),
        ),
        ("/help", UserLine::Command(SlashCommand::Help, "")),
        ("/help  me ", UserLine::Command(SlashCommand::Help, "me")),
        ("/hlep", unknown("/hlep", Some("/help"))),
        ("/qiut now", unknown("/qiut", Some("/quit"))),
        ("/xyzzy", unknown("/xyzzy", None)),
        ("/", unknown("/", None)),
        ("!ls", UserLine::Shell),
        (" !ls", UserLine::Message(" !ls")),
        ("!", UserLine::Message("!")),
        ("! ls", UserLine::Message("! ls")),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text), expected, "{text:?}");
    }
}

#[test]
fn every_command_parses_completes_and_is_explained() {
    let completed: Vec<String> = words(&ArgumentWords::default())
        .into_iter()
        .map(|word| word.name)
        .collect();
    for (row, name) in ROWS.iter().zip(&completed) {
        assert_eq!(row.name, name);
        assert_eq!(parse(row.name), UserLine::Command(row.command, ""));
        assert!(help().contains(row.help), "{name}");
    }
    assert_eq!(completed.len(), ROWS.len());
}
