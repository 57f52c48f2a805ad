//! Escapes of labels. Characters that are not plain in a notation are replaced, whatever they mean.

use std::fmt::Write as _;

/// The longest label, in characters.
const MAX_LABEL: usize = 120;

/// Returns the characters of a label, cut to its bound.
fn cut(label: &str) -> impl Iterator<Item = char> {
    let is_long = label.chars().nth(MAX_LABEL).is_some();
    let most = if is_long { MAX_LABEL - 1 } else { MAX_LABEL };
    label.chars().take(most).chain(is_long.then_some('…'))
}

/// Whether a character is shown as itself everywhere: not a control, and not one that reorders or
/// hides text.
fn is_visible(c: char) -> bool {
    !c.is_control()
        && !matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns a label for one line of a terminal.
pub(super) fn line(label: &str) -> String {
    let mut escaped = String::new();
    for c in cut(label) {
        match c {
            '\n' | '\t' => escaped.push(' '),
            c if is_visible(c) => escaped.push(c),
            c => escaped.extend(c.escape_unicode()),
        }
    }
    escaped
}

/// Returns a label for a quoted text of Mermaid: all but plain characters are entities, which it
/// writes with `#` in place of `&#`.
pub(super) fn mermaid(label: &str) -> String {
    let mut escaped = String::new();
    for c in cut(label) {
        let is_plain = c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | ',' | ':' | '…');
        match c {
            c if is_plain => escaped.push(c),
            '\n' | '\t' => escaped.push(' '),
            c if is_visible(c) => {
                // Writing to a string does not fail.
                let _ = write!(escaped, "#{};", u32::from(c));
            }
            _ => escaped.push('\u{fffd}'),
        }
    }
    escaped
}

/// Returns a label for a quoted text of DOT. Entities such as `&lt;` are read there, so `&` is one.
pub(super) fn dot(label: &str) -> String {
    let mut escaped = String::new();
    for c in cut(label) {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\t' => escaped.push(' '),
            c if is_visible(c) => escaped.push(c),
            _ => escaped.push('\u{fffd}'),
        }
    }
    escaped
}
