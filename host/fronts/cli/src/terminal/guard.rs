//! The last step of all text for a terminal and the log: the program's styles stay, and everything
//! else that a terminal obeys, reorders or hides is escaped.
//!
//! Untrusted text is escaped where it is put into a line, since only there it can be told from the
//! styles around it. A place that forgets that shows hostile text in colours, and nothing worse.

use agent_host_engine::text::is_hidden;
use std::{
    borrow::Cow,
    io::{self, Write},
};

/// Escapes text except for its styles.
pub(crate) fn guarded(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_hidden) else {
        return Cow::Borrowed(text);
    };
    let mut out = String::with_capacity(text.len());
    let (before, mut rest) = text.split_at(first);
    out.push_str(before);
    while let Some(character) = rest.chars().next() {
        let kept = match character {
            '\u{1b}' => style_bytes(rest).unwrap_or(0),
            character if is_hidden(character) => 0,
            _ => rest.find(is_hidden).unwrap_or(rest.len()),
        };
        let length = match kept {
            0 => {
                out.extend(character.escape_unicode());
                character.len_utf8()
            }
            kept => {
                out.push_str(rest.get(..kept).unwrap_or_default());
                kept
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Cow::Owned(out)
}

/// Returns the length of the style that a text begins with: the control function "Select Graphic
/// Rendition" (ECMA-48, section 8.3.117), unless it conceals (parameter 8).
fn style_bytes(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let (parameters, after) = parameters.split_at(end);
    let is_style = after.starts_with('m') && parameters.split(';').all(|it| it != "8");
    is_style.then(|| "\u{1b}[m".len() + end)
}

/// A writer of whole lines to stderr, guarded.
pub(crate) struct GuardedStderr;

impl Write for GuardedStderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        io::stderr().lock().write_all(guarded(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().lock().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::guarded;
    use pretty_assertions::assert_eq;

    #[test]
    fn guard_keeps_styles_and_escapes_the_rest() {
        let cases = [
            ("plain\n\ttext", "plain\n\ttext"),
            (
                "\u{1b}[1m\u{1b}[31mbold\u{1b}[0m, \u{1b}[38;5;12mblue\u{1b}[m",
                "\u{1b}[1m\u{1b}[31mbold\u{1b}[0m, \u{1b}[38;5;12mblue\u{1b}[m",
            ),
            ("\u{1b}[8mhidden", "\\u{1b}[8mhidden"),
            ("\u{1b}[1;8mhidden", "\\u{1b}[1;8mhidden"),
            (
                "\u{1b}[2J\u{1b}]0;title\u{7}",
                "\\u{1b}[2J\\u{1b}]0;title\\u{7}",
            ),
            ("\u{1b}[1", "\\u{1b}[1"),
            ("\u{1b}", "\\u{1b}"),
            ("a\u{9b}31mb\r", "a\\u{9b}31mb\\u{d}"),
            (
                "é\u{202e}日\u{200b}\u{e0041}",
                "é\\u{202e}日\\u{200b}\\u{e0041}",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(guarded(text), expected, "{text:?}");
        }
    }
}
