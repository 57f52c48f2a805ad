//! Texts with marks of Markdown anywhere, in parts of any size.

use super::{ROWS, hostile::without_colours, markdown, screen, updates};
use proptest::{prelude::*, sample::Index};

/// Splits a text at indices.
fn split<'t>(text: &'t str, at: &[Index]) -> Vec<&'t str> {
    let mut ends: Vec<usize> = at.iter().map(|at| at.index(text.len() + 1)).collect();
    ends.iter_mut()
        .for_each(|end| *end = text.floor_char_boundary(*end));
    ends.extend([0, text.len()]);
    ends.sort_unstable();
    ends.windows(2)
        .map(|pair| text.get(pair[0]..pair[1]).unwrap_or_default())
        .collect()
}

/// Characters that a terminal obeys, reorders or hides.
fn steers(character: char) -> bool {
    let hidden = "\u{61c}\u{200b}\u{200e}\u{200f}\u{202a}\u{202e}\u{2028}\u{2066}\u{2069}\u{feff}\u{ad}\u{e0041}";
    (character.is_control() && character != '\n') || hidden.contains(character)
}

/// Text that has the marks of Markdown in many places.
fn markdown_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,12}",
        2 => Just(" ".to_owned()),
        3 => Just("\n".to_owned()),
        2 => Just("\n\n".to_owned()),
        2 => prop::sample::select(vec![
            "# ", "- ", "1. ", "> ", "```", "~~~", "```rust\n", "| a | b |\n", "|---|---|\n", "---\n", "===\n", "**", "*",
            "_", "`", "[x](y)", "[a]: b\n", "    ", "  ", "\t", "<b>", "&#27;", "&#10;", "\\", "日本", "e\u{301}", "👩‍👩‍👧",
        ])
        .prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The parts in which a text arrives do not matter, on a high screen and on a low one.
    #[test]
    fn chunk_boundaries_do_not_change_the_screen(
        text in markdown_text(),
        at in prop::collection::vec(any::<Index>(), 0..20),
        columns in 12_u16..90,
    ) {
        for rows in [6, ROWS] {
            let whole = screen(&[markdown(&text, columns.into())], rows, columns);
            let parts = screen(&updates(split(&text, &at), rows, columns), rows, columns);
            prop_assert_eq!(&parts, &whole, "{:?} at {} rows", text, rows);
            let each = text.split_inclusive(|_| true);
            let each = screen(&updates(each, rows, columns), rows, columns);
            prop_assert_eq!(&each, &whole, "{:?} at {} rows", text, rows);
        }
    }

    /// Words are neither lost nor reordered.
    #[test]
    fn words_of_plain_text_are_kept(
        words in prop::collection::vec("[a-zA-Z0-9äß日本語,.!?]{1,30}", 0..80),
        breaks in prop::collection::vec(any::<bool>(), 80),
        columns in 12_usize..90,
    ) {
        let pairs = words.iter().zip(&breaks);
        let text: String = pairs.map(|(word, ends)| format!("x{word}{}", if *ends { "\n\n" } else { " " })).collect();
        let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert_eq!(visible(&markdown(&text, columns)), visible(&text));
    }

    /// Nothing but colours and line breaks comes out, whatever comes in.
    #[test]
    fn output_has_no_control_characters(
        pieces in prop::collection::vec(
            prop_oneof![markdown_text(), any::<String>(), any::<char>().prop_map(|c| c.to_string()),
                (0_u32..0x300).prop_map(|code| format!("&#{code};"))],
            0..8,
        ),
        columns in 0_usize..90,
    ) {
        let text = pieces.concat();
        let out = markdown(&text, columns);
        let found: Vec<char> = without_colours(&out).chars().filter(|c| steers(*c)).collect();
        prop_assert_eq!(found, Vec::<char>::new(), "{:?}", text);
    }
}
