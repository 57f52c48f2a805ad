use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::page;
use crate::{Failure, MAX_RESULT_BYTES};

#[test]
fn short_text_is_whole() {
    for text in ["", "a", "a\nb\n"] {
        assert_eq!(page(text, 0), Ok(text.to_owned()));
    }
    assert_eq!(page("abc", 1), Ok("bc\n[bytes 1 to 3 of 3]".to_owned()));
    assert_eq!(
        page("abc", 4),
        Err(Failure::new(
            "the text has 3 bytes, so there is none from offset 4 on"
        ))
    );
}

#[test]
fn long_text_is_cut_after_a_line() {
    let line = "x".repeat(MAX_RESULT_BYTES - 10) + "\n";
    let text = format!("{line}{line}");
    let end = line.len();
    assert_eq!(
        page(&text, 0),
        Ok(format!(
            "{line}[bytes 0 to {end} of {}; offset {end} continues]",
            text.len()
        ))
    );
}

proptest! {
    #[test]
    fn pages_together_are_the_text(part in "\\PC{0,40}\n?", repeat in 1usize..5_000) {
        let text = part.repeat(repeat);
        let (mut offset, mut joined) = (0, String::new());
        loop {
            let shown = page(&text, offset).expect("a page");
            if text.len() <= MAX_RESULT_BYTES && offset == 0 {
                prop_assert_eq!(&shown, &text);
                return Ok(());
            }
            let at = shown.rfind("[bytes ").expect("a note");
            let numbers: Vec<usize> = shown
                .get(at..)
                .unwrap_or_default()
                .split(|letter: char| !letter.is_ascii_digit())
                .filter_map(|digits| digits.parse().ok())
                .collect();
            prop_assert_eq!(numbers[0], offset);
            let piece = text.get(offset..numbers[1]).expect("whole characters");
            joined.push_str(piece);
            prop_assert!(shown.starts_with(piece));
            if numbers.len() == 3 { break; }
            prop_assert!(numbers[3] > offset);
            offset = numbers[3];
        }
        prop_assert_eq!(joined, text);
    }
}
