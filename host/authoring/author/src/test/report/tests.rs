use super::Mismatch;
use pretty_assertions::assert_eq;

#[test]
fn mismatch_is_shown_as_line_diff() {
    let numbered = |range: std::ops::Range<u32>| {
        range
            .map(|number| format!("{number}\n"))
            .collect::<String>()
    };
    let table: [(String, String, Vec<String>); 5] = [
        (
            "text: one".to_owned(),
            "text: two".to_owned(),
            vec!["- text: one".to_owned(), "+ text: two".to_owned()],
        ),
        (
            "text: one".to_owned(),
            "text: one\n".to_owned(),
            vec![
                "- text: one (no line end)".to_owned(),
                "+ text: one".to_owned(),
            ],
        ),
        (
            numbered(0..10),
            numbered(0..10).replace('5', "five"),
            ["  3", "  4", "- 5", "+ five", "  6", "  7"]
                .map(str::to_owned)
                .to_vec(),
        ),
        (
            "a".repeat(1_000),
            String::new(),
            vec![format!(
                "- {} ...600 bytes... {}",
                "a".repeat(200),
                "a".repeat(200)
            )],
        ),
        (
            String::new(),
            numbered(0..100),
            (0..60)
                .map(|number| format!("+ {number}"))
                .chain(["  ... and 40 more lines".to_owned()])
                .collect(),
        ),
    ];
    for (expected, got, lines) in table {
        assert_eq!(Mismatch::new("result", expected, got).lines(), lines);
    }
    // Cut at a character boundary.
    let lines = Mismatch::new("result", "é".repeat(301), "").lines();
    assert_eq!(lines.len(), 1);
}
