//! Text of strangers (models, components, servers), made fit to be shown: bounded, without characters that move the cursor, turn
//! the direction of writing or are not seen. It never decides what a text means.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

/// Whether a character can make text look like something else than it is: controls (but not a line break or a tab), the
/// Unicode characters that set the direction of writing (Unicode Standard Annex 9, section 2), and those that are not seen at
/// all: spaces without width, and the tags (Unicode Standard, section 23.9), which can spell a whole message to a model.
/// Joiners are left alone, since some languages are written with them.
#[must_use]
pub fn is_deceptive(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(
            c,
            '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
                | '\u{200B}' | '\u{2060}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}'
        )
}

/// The text without deceptive characters, cut to a number of bytes.
#[must_use]
pub fn shown(text: &str, max_bytes: usize) -> String {
    const MARK: &str = "...";
    let mut out = String::with_capacity(text.len().min(max_bytes));
    for c in text.chars() {
        let c = if is_deceptive(c) { '\u{FFFD}' } else { c };
        if out.len() + c.len_utf8() > max_bytes {
            out.truncate(out.floor_char_boundary(max_bytes.saturating_sub(MARK.len())));
            out.push_str(MARK);
            break;
        }
        out.push(c);
    }
    out
}

/// Text of a model or a tool, fit to be shown: control characters (which move cursors, set titles and colours),
/// bidirectional overrides (which make text look like other text) and characters that are not to be seen are written out.
/// Line breaks and tabs stay.
#[must_use]
pub fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => out.push(character),
            _ if is_deceptive(character) || is_unseen(character) => {
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

/// More characters that are not seen, or break a line unseen. A tool's description may have them, from the text that its author
/// copied; whoever is shown something sees them written out.
pub(crate) fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{2028}' | '\u{2029}' | '\u{2061}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}'
    )
}

/// Characters without a shape of their own that some writing needs: joiners, variation selectors and fillers.
pub(crate) fn is_joiner(character: char) -> bool {
    matches!(
        character,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200c}' | '\u{200d}'
            | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{e0100}'..='\u{e01ef}'
    )
}
