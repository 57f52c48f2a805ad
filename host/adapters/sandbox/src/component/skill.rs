//! The skill that comes in a component: a custom section `act:skill` of the component itself, with
//! an uncompressed tar of the skill's directory
//! (<https://github.com/actcore/act-spec/blob/main/spec/ACT-AGENTSKILLS.md>). The caller reads it.

#[cfg(test)]
mod tests;

use wasmparser::{Parser, Payload};

/// The name of the section.
pub const SKILL_SECTION: &str = "act:skill";

/// The maximum size of the archive, in bytes: 8 MiB of files, and their headers.
pub(crate) const MAX_SKILL_BYTES: usize = 12 * 1024 * 1024;

/// Returns the archive in a component that was compiled before, so it is well-formed; empty if it
/// has none, or a longer one. Of several sections the first counts, as for other hosts.
pub(crate) fn read(component: &[u8]) -> &[u8] {
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component) {
        match payload {
            Ok(Payload::Version { .. }) => depth += 1,
            Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
            Ok(Payload::CustomSection(section))
                if depth == 1 && section.name() == SKILL_SECTION =>
            {
                let archive = section.data();
                if archive.len() <= MAX_SKILL_BYTES {
                    return archive;
                }
                tracing::warn!(
                    "a component's skill is left out: it has more than {MAX_SKILL_BYTES} bytes"
                );
                return &[];
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    &[]
}
