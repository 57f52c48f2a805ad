use pretty_assertions::assert_eq;

use super::reflow;

#[test]
fn lines_join_and_paragraphs_and_items_stay() {
    let cases = [
        ("", ""),
        ("One line.", "One line."),
        ("A sentence that\ngoes on.", "A sentence that goes on."),
        ("First.\n\nSecond.\n", "First.\n\nSecond."),
        ("\nLed by a blank.", "Led by a blank."),
        (
            "One of:\n- a\n- b that\n  goes on",
            "One of:\n- a\n- b that goes on",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(reflow(text), expected, "{text:?}");
    }
}
