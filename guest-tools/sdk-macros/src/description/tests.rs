use pretty_assertions::assert_eq;

use super::reflow;

#[test]
fn lines_join_and_paragraphs_and_items_stay() {
    let cases: &[(&[&str], &str)] = &[
        (&[], ""),
        (&["One line."], "One line."),
        (&["A sentence that", "goes on."], "A sentence that goes on."),
        (&["First.", "", "Second.", ""], "First.\n\nSecond."),
        (&["", "Led by a blank."], "Led by a blank."),
        (
            &["One of:", "- a", "- b that", "goes on"],
            "One of:\n- a\n- b that goes on",
        ),
    ];
    for (lines, expected) in cases {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(reflow(&lines), *expected, "{lines:?}");
    }
}
