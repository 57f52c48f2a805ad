//! The custom sections of a component itself, not of what is nested in it.

use wasmparser::{Parser, Payload};

/// Returns the first section of a name in a component that was compiled before, so it is
/// well-formed. Of several the first counts, as for other hosts.
pub(crate) fn first<'a>(component: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component) {
        match payload {
            Ok(Payload::Version { .. }) => depth += 1,
            Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
            Ok(Payload::CustomSection(section)) if depth == 1 && section.name() == name => {
                return Some(section.data());
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    None
}
