//! Text that came out of a component, made fit to be shown: bounded, on few lines, without characters that move the cursor or
//! turn the direction of writing. It never decides what a text means.

#[cfg(test)]
mod tests;

/// Whether a character can make text look like something else than it is: controls (but not a line break or a tab), the
/// Unicode characters that set the direction of writing (Unicode Standard Annex 9, section 2), and those that are not seen at
/// all: spaces without width, and the tags (Unicode Standard, section 23.9), which can spell a whole message to a model.
/// Joiners are left alone, since some languages are written with them.
pub(crate) fn is_deceptive(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(
            c,
            '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
                | '\u{200B}' | '\u{2060}' | '\u{FEFF}' | '\u{E0000}'..='\u{E007F}'
        )
}

/// The text without deceptive characters, cut to a number of bytes.
pub(crate) fn shown(text: &str, max_bytes: usize) -> String {
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
