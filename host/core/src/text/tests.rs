use super::*;
use pretty_assertions::assert_eq;

#[test]
fn deceptive_characters_are_replaced_and_long_text_is_cut() {
    let cases = [
        ("plain\ttext\n", 80, "plain\ttext\n"),
        ("\u{1b}[31mred", 80, "\u{FFFD}[31mred"),
        ("nul\0", 80, "nul\u{FFFD}"),
        ("abc\u{202E}fed", 80, "abc\u{FFFD}fed"),
        ("iso\u{2066}late\u{2069}", 80, "iso\u{FFFD}late\u{FFFD}"),
        ("0123456789", 10, "0123456789"),
        ("0123456789a", 10, "0123456..."),
        ("éééééé", 7, "éé..."),
    ];
    for (text, max_bytes, expected) in cases {
        assert_eq!(shown(text, max_bytes), expected, "{text:?}");
    }
}

#[test]
fn text_cannot_steer_a_terminal() {
    let cases = [
        ("plain", "plain"),
        ("two\nlines\tkept", "two\nlines\tkept"),
        ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
        ("\u{9b}31m", "\\u{9b}31m"),
        ("back\u{8}space\r", "back\\u{8}space\\u{d}"),
        ("abc\u{202e}fed", "abc\\u{202e}fed"),
        ("\u{2066}isolated\u{2069}", "\\u{2066}isolated\\u{2069}"),
        ("zero\u{200b}width\u{feff}", "zero\\u{200b}width\\u{feff}"),
        ("tag\u{e0041}", "tag\\u{e0041}"),
        ("line\u{2028}break", "line\\u{2028}break"),
        (
            "naïve 日本 👍 ❤\u{fe0f} 👨\u{200d}👩",
            "naïve 日本 👍 ❤\u{fe0f} 👨\u{200d}👩",
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(harmless(input), expected, "{input:?}");
    }
    assert_eq!(harmless_line("a\nb\tc"), "a b c");
}

/// Whoever decides by a text sees what is in it.
#[test]
fn two_texts_that_look_the_same_are_told_apart() {
    let cases = [
        ("naïve 日本 👍\n\tkept", "naïve 日本 👍\n\tkept"),
        (
            "no\u{a0}break, em\u{2003}space",
            "no\\u{a0}break, em\\u{2003}space",
        ),
        (
            "a\u{200d}b\u{200c}c\u{fe0f}",
            "a\\u{200d}b\\u{200c}c\\u{fe0f}",
        ),
        ("\u{3164}\u{2800}\u{e0100}", "\\u{3164}\\u{2800}\\u{e0100}"),
        ("\u{1b}[2J\u{202e}", "\\u{1b}[2J\\u{202e}"),
    ];
    for (input, expected) in cases {
        assert_eq!(exact(input), expected, "{input:?}");
    }
}
