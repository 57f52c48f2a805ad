//! Skills that come in a component: custom sections `agent-skill` of the component itself, each with
//! the text of a `SKILL.md`. The caller parses them.

#[cfg(test)]
mod tests;

use wasmparser::{Parser, Payload};

/// The name of the sections.
pub const SKILL_SECTION: &str = "agent-skill";

/// The maximum of skills in a component.
const MAX_SKILLS: usize = 16;

/// The longest text of a skill, in bytes: as long as a file that a model reads in some pages.
const MAX_BYTES: usize = 256 * 1024;

/// Reads the skills of a component that was compiled before, so it is well-formed. Further ones than
/// [`MAX_SKILLS`], longer ones and those that are not text are left out.
pub(crate) fn read(component: &[u8]) -> Vec<String> {
    let mut skills = Vec::new();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component) {
        match payload {
            Ok(Payload::Version { .. }) => depth += 1,
            Ok(Payload::End(_)) => depth = depth.saturating_sub(1),
            Ok(Payload::CustomSection(section))
                if depth == 1 && section.name() == SKILL_SECTION =>
            {
                let text = std::str::from_utf8(section.data()).ok();
                let text = text.filter(|text| text.len() <= MAX_BYTES && skills.len() < MAX_SKILLS);
                match text {
                    Some(text) => skills.push(text.to_owned()),
                    None => tracing::warn!("a skill of a component is too large, or no text"),
                }
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    skills
}
