use pretty_assertions::assert_eq;

use super::reflow;

#[test]
fn lines_join_and_paragraphs_and_items_stay() {
    let cases = [
        ("", ""),
        ("One line.", "One line."),
        ("A sentence that\ncontinues.", "A sentence that continues."),
        ("First.\n\nSecond.\n", "First.\n\nSecond."),
        ("\nLed by a blank.", "Led by a blank."),
        (
            "One of:\n- a\n- b that\n  continues",
            "One of:\n- a\n- b that continues",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(reflow(text), expected, "{text:?}");
    }
}
