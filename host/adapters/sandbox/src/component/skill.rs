//! The skill that comes in a component: a custom section `act:skill` of the component itself, with
//! an uncompressed tar of the skill's directory
//! (<https://github.com/actcore/act-spec/blob/main/spec/ACT-AGENTSKILLS.md>). The caller reads it.

#[cfg(test)]
mod tests;

use crate::component::section::custom_section;

/// The name of the section.
pub const SKILL_SECTION: &str = "act:skill";

/// The maximum size of the archive, in bytes: 8 MiB of files, and their headers.
pub(crate) const MAX_SKILL_BYTES: usize = 12 * 1024 * 1024;

/// Returns the archive in a component that was compiled before; empty if it has none, or a longer
/// one.
pub(crate) fn read(component: &[u8]) -> &[u8] {
    let archive = custom_section(component, SKILL_SECTION).unwrap_or_default();
    if archive.len() <= MAX_SKILL_BYTES {
        return archive;
    }
    tracing::warn!("a component's skill is left out: it has more than {MAX_SKILL_BYTES} bytes");
    &[]
}
