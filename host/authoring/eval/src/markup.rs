//! Text in XML and HTML: of models, tools and files, so hostile.

#[cfg(test)]
mod tests;

use agent_host_engine::text;

/// Escapes text for an element or a quoted attribute. Characters that XML does not allow, and those
/// that hide or reorder text, become visible as `\u{...}`.
pub(crate) fn escape(text: &str) -> String {
    let visible = text::escape(text);
    let mut out = String::with_capacity(visible.len());
    for character in visible.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML 1.0 excludes them (https://www.w3.org/TR/xml/#charsets).
            '\u{fffe}' | '\u{ffff}' => out.extend(character.escape_unicode()),
            _ => out.push(character),
        }
    }
    out
}

/// Escapes text for an attribute: line breaks and tabs become spaces, as a reader of XML makes
/// them.
pub(crate) fn escape_attribute(text: &str) -> String {
    escape(text).replace(['\n', '\t'], " ")
}
