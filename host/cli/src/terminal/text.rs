//! Small renderings for people: sizes, times, one line of something long, and text without its dangers.

use agent_host_core::context::Shrunk;
use std::fmt::Write as _;

/// Text of a model or a tool, fit to be shown: control characters (which move cursors, set titles and colours),
/// bidirectional overrides (which make text look like other text) and characters that are not to be seen are written out.
/// Line breaks and tabs stay.
pub(crate) fn harmless(text: &str) -> String {
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
pub(crate) fn exact(text: &str) -> String {
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

/// The same, on one line.
pub(crate) fn harmless_line(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], " ")
}

/// The same, on one line of at most so many characters.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let line = harmless_line(text);
    match line.char_indices().nth(max) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
    }
}

/// What a change of the conversation did to the size of a request.
pub(crate) fn shrunk(size: Shrunk) -> String {
    let Shrunk {
        before_tokens,
        after_tokens,
    } = size;
    format!("about {before_tokens} tokens before, {after_tokens} after")
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

/// A time in UTC, such as `2026-11-21 04:12:35.120`.
pub(crate) fn date(at_ms: u64) -> String {
    let millis = i64::try_from(at_ms).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).map_or_else(
        |_| at_ms.to_string(),
        |time| {
            time.to_zoned(jiff::tz::TimeZone::UTC)
                .strftime("%Y-%m-%d %H:%M:%S%.3f")
                .to_string()
        },
    )
}

/// A number of bytes, such as `12.3 KiB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let mut unit = 0;
    let mut scale = 1_u64;
    while unit + 1 < UNITS.len() && count / scale >= 1024 {
        scale *= 1024;
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    if scale == 1 {
        return format!("{count} {name}");
    }
    let tenths = count.saturating_mul(10) / scale;
    format!("{}.{} {name}", tenths / 10, tenths % 10)
}

/// A time in microseconds, such as `850 µs`, `12.3 ms` or `4.5 s`.
pub(crate) fn micros(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} µs"),
        1_000..1_000_000 => format!("{}.{} ms", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{} s", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, exact, harmless, harmless_line, micros, one_line};
    use pretty_assertions::assert_eq;

    #[test]
    fn text_cannot_steer_the_terminal() {
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
        assert_eq!(one_line("日本語テキスト", 3), "日本語…");
        assert_eq!(one_line("日本語", 3), "日本語");
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

    #[test]
    fn sizes_and_times_read_well() {
        let sizes: Vec<String> = [0, 1023, 1024, 12_595, 1 << 20, u64::MAX]
            .map(bytes)
            .to_vec();
        assert_eq!(
            sizes,
            [
                "0 B",
                "1023 B",
                "1.0 KiB",
                "12.2 KiB",
                "1.0 MiB",
                "1717986918.3 GiB"
            ]
        );
        let times: Vec<String> = [0, 999, 1_000, 12_345, 4_567_890].map(micros).to_vec();
        assert_eq!(times, ["0 µs", "999 µs", "1.0 ms", "12.3 ms", "4.5 s"]);
    }
}
