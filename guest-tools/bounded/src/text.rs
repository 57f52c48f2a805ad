//! Text in the encoding that old programs of the west write.

/// The characters of 0x80 to 0x9f (the index of WHATWG's Encoding Standard); the others are those
/// of Unicode.
const WINDOWS_1252: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// The text of bytes in windows-1252, which includes ISO 8859-1. Every byte is a character.
#[must_use]
pub fn windows_1252(bytes: &[u8]) -> String {
    let letter = |byte: u8| match byte {
        0x80..=0x9f => WINDOWS_1252
            .chars()
            .nth(usize::from(byte - 0x80))
            .unwrap_or(char::REPLACEMENT_CHARACTER),
        _ => char::from(byte),
    };
    bytes.iter().map(|&byte| letter(byte)).collect()
}
