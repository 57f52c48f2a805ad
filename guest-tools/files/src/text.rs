//! Text files as bytes: the encoding of a file, its text, and the bytes of a changed text.

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// A byte order mark is part of the text.
    Utf8,
    /// With a byte order mark, which is not part of the text.
    Utf16Le,
    /// With a byte order mark, which is not part of the text.
    Utf16Be,
    /// Latin-1 with the printable characters that Windows has in 0x80 to 0x9F. Every byte is a
    /// character, so the way back is exact.
    Windows1252,
}

/// A decoded file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
}

/// The characters of Windows-1252 for 0x80 to 0x9F, by the Encoding Standard
/// (<https://encoding.spec.whatwg.org/#index-windows-1252>), which keeps the five free bytes.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl Encoding {
    /// The encoding that a byte order mark announces. That of UTF-32 begins like that of UTF-16.
    pub(crate) fn marked(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0xff, 0xfe, 0, 0, ..] => None,
            [0xff, 0xfe, ..] => Some(Self::Utf16Le),
            [0xfe, 0xff, ..] => Some(Self::Utf16Be),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Windows1252 => "Windows-1252 (Latin-1)",
        }
    }

    /// The bytes of a text in this encoding; the error is a character that it does not have.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, char> {
        let units = |bytes: fn(u16) -> [u8; 2]| {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(bytes).collect()
        };
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Utf16Le => Ok(units(u16::to_le_bytes)),
            Self::Utf16Be => Ok(units(u16::to_be_bytes)),
            Self::Windows1252 => text.chars().map(windows_byte).collect(),
        }
    }
}

/// Decodes the bytes of a text file.
///
/// # Errors
/// The bytes, if they are no text. Text has no zero characters, and is UTF-8, UTF-16 with a byte
/// order mark, or made of bytes that are printable in Windows-1252. PDF is checked first because
/// some PDF files are all ASCII; other signatures only where bytes are not UTF-8, because short
/// ones, such as BMP's `BM`, also begin sentences.
pub(crate) fn decode(bytes: Vec<u8>) -> Result<Text, Vec<u8>> {
    if let Some(encoding) = Encoding::marked(&bytes) {
        return match wide_text(&bytes, encoding) {
            Some(text) => Ok(Text { text, encoding }),
            None => Err(bytes),
        };
    }
    if bytes.contains(&0) || infer::archive::is_pdf(&bytes) {
        return Err(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Text {
            text,
            encoding: Encoding::Utf8,
        }),
        Err(error) if is_latin(error.as_bytes()) => Ok(Text {
            text: latin_text(error.as_bytes()),
            encoding: Encoding::Windows1252,
        }),
        Err(error) => Err(error.into_bytes()),
    }
}

/// The text of UTF-16 with a byte order mark; `None` where the way back would not be exact.
fn wide_text(bytes: &[u8], encoding: Encoding) -> Option<String> {
    let (pairs, []) = bytes.as_chunks::<2>() else {
        return None;
    };
    let unit = match encoding {
        Encoding::Utf16Be => u16::from_be_bytes,
        _ => u16::from_le_bytes,
    };
    let text = char::decode_utf16(pairs.iter().skip(1).map(|pair| unit(*pair)))
        .collect::<Result<String, _>>()
        .ok()?;
    (!text.contains('\0')).then_some(text)
}

/// True for bytes that are no known binary format and have no control characters but those of
/// texts: tab, line ends, form feed and escape.
pub(crate) fn is_latin(bytes: &[u8]) -> bool {
    let is_printable = |byte: &u8| matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | 0x1b | b' '..);
    let is_binary = |kind: infer::Type| kind.matcher_type() != infer::MatcherType::Text;
    bytes.iter().all(is_printable) && !infer::get(bytes).is_some_and(is_binary)
}

/// The text of bytes in Windows-1252.
pub(crate) fn latin_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| windows_char(*byte)).collect()
}

fn windows_char(byte: u8) -> char {
    usize::from(byte)
        .checked_sub(0x80)
        .and_then(|index| WINDOWS.get(index))
        .map_or(char::from(byte), |found| *found)
}

fn windows_byte(character: char) -> Result<u8, char> {
    if let Some(index) = WINDOWS.iter().position(|found| *found == character) {
        return u8::try_from(0x80 + index).map_err(|_| character);
    }
    match u8::try_from(character) {
        Ok(byte) if !(0x80..0xa0).contains(&byte) => Ok(byte),
        _ => Err(character),
    }
}

#[cfg(test)]
mod tests;
