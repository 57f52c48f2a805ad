//! The custom sections of a component itself, not of what is nested in it.

#[cfg(test)]
mod tests;

use wasmparser::{Parser, Payload};

/// Returns the data of the first custom section of a name in a component; `None` if it has none, or
/// is malformed before it. Of several the first counts, as for other hosts.
#[must_use]
pub fn custom_section<'a>(component: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component) {
        match payload.ok()? {
            Payload::Version { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 1 && section.name() == name => {
                return Some(section.data());
            }
            _ => {}
        }
    }
    None
}
