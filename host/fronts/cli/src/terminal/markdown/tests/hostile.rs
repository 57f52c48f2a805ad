//! Text that tries to steer the terminal.

use super::{markdown, updates};
use pretty_assertions::assert_eq;

/// Removes the colours of text for terminals: `ESC [ digits m`.
pub(super) fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| {
        let (digits, rest) = part.split_once('m').unwrap_or(("?", part));
        let is_colour = digits
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b';');
        assert!(is_colour, "a sequence that is no colour: {part:?}");
        out + rest
    })
}

#[test]
fn entities_make_no_control_characters() {
    let cases = [
        ("a&#27;[2Jb", "a\\u{1b}[2Jb\n"),
        ("a&#x9b;31mb", "a\\u{9b}31mb\n"),
        ("a&#x202e;b", "a\\u{202e}b\n"),
        ("a&ZeroWidthSpace;b", "a\\u{200b}b\n"),
        ("a&#13;b", "a\\u{d}b\n"),
        ("a&#9;b", "a b\n"),
        ("a&Tab;b&NewLine;c", "a b\nc\n"),
        ("a\u{1b}[2Jb\u{202e}c", "a\\u{1b}[2Jb\\u{202e}c\n"),
        ("[a](<&#27;]8;;x>)", "a (\\u{1b}]8;;x)\n"),
        ("```&#27;c\nx\n```", "```&#27;c\nx\n```\n"),
        (
            "- ```&#27;c\n  &#27;\n  ```",
            "• ```\\u{1b}c\n  &#27;\n  ```\n",
        ),
        ("| &#27; |\n|---|\n| &#10; |", "\\u{1b}\n──────\n\n"),
    ];
    for (text, expected) in cases {
        assert_eq!(without_colours(&markdown(text, 80)), expected, "{text:?}");
    }
}

/// Nesting neither overflows the stack nor the row.
#[test]
fn deep_nesting_stays_on_the_screen() {
    for mark in [
        "> ", "- ", "1. ", "* - ", "[", "![", "**", "`", "<", "&", "| ",
    ] {
        let out = markdown(&format!("{}deep", mark.repeat(3_000)), 60);
        let out = without_colours(&out);
        assert!(out.contains("deep"), "{mark:?}");
        let widest = out.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(59), "{mark:?}: {widest:?}");
    }
}

/// Each takes far less than a second; a square number of steps would take minutes.
#[test]
fn long_texts_are_rendered_in_time() {
    let texts = [
        "x".repeat(300_000),
        "x ".repeat(30_000),
        "x\n".repeat(50_000),
        "- x\n".repeat(30_000),
        "| x ".repeat(30_000),
        "> x\n".repeat(30_000),
        "[a]: b\n".repeat(30_000),
    ];
    for text in texts {
        let marks = |text: &str| text.matches('x').count();
        let out = updates([text.as_str()], 24, 80).concat();
        assert!(marks(&out) >= marks(&text), "{text:.8}");
    }
}
