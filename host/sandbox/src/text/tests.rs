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
