//! Text of models and tools, fit to be shown to a person.

use std::fmt::Write as _;

/// Text of a model or a tool, fit to be shown: control characters (which move cursors, set titles and colours),
/// bidirectional overrides (which make text look like other text) and characters that are not to be seen are written out.
/// Line breaks and tabs stay.
#[must_use]
pub fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            _ if character.is_control() || is_bidi(character) || is_unseen(character) => {
                let _ = write!(out, "{}", character.escape_unicode());
            }
            _ => out.push(character),
        }
    }
    out
}

/// The same for what somebody decides by: each character that could be taken for another one, or for none, is written out.
#[must_use]
pub fn exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in harmless(text).chars() {
        let plain = matches!(character, ' ' | '\n' | '\t');
        if !plain && (character.is_whitespace() || is_joiner(character)) {
            let _ = write!(out, "{}", character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    out
}

/// The same as [`harmless`], on one line.
#[must_use]
pub fn harmless_line(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], " ")
}

/// Embeddings, overrides, isolates and marks of the Unicode bidirectional algorithm (UAX #9).
fn is_bidi(character: char) -> bool {
    matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters without a shape that no writing needs: two texts that look the same could differ in them, and the last of these
/// ranges spells out whole sentences that only a model reads. Joiners and variation selectors are not among them: Persian,
/// Hindi and emoji need those.
fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

/// Characters without a shape of their own that some writing needs: joiners, variation selectors and fillers.
fn is_joiner(character: char) -> bool {
    matches!(
        character,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200c}' | '\u{200d}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}'
    )
}

#[cfg(test)]
mod tests {
    use super::{exact, harmless, harmless_line};
    use pretty_assertions::assert_eq;

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
}
