//! What a component does not need to run is taken out of it: debug information, names, and whatever else a toolchain left in
//! custom sections.

#[cfg(test)]
mod tests;

use wasm_encoder::{Component, ComponentSection as _, ComponentSectionId, Module, RawSection};
use wasmparser::{BinaryReaderError, Encoding, Parser, Payload};

/// The custom section with what is said of the interfaces.
const DOCS: &str = "package-docs";

/// The custom sections with the names of functions, which a stack shows.
const NAMES: [&str; 2] = ["name", "component-name"];

/// Whether the names of functions stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// They go.
    Strip,
    /// They stay, so that the stack of a trap says where it was.
    Keep,
}

/// Takes what is not needed out of a component or a module, and of all that is inside it.
///
/// # Errors
/// When the bytes are neither.
pub(crate) fn strip(bytes: &[u8], names: Names) -> Result<Vec<u8>, BinaryReaderError> {
    retain(bytes, |name| {
        name == DOCS
            || match names {
                Names::Strip => false,
                Names::Keep => NAMES.contains(&name),
            }
    })
}

/// Keeps of all custom sections those with such a name.
///
/// # Errors
/// As [`strip`].
pub(crate) fn retain(
    bytes: &[u8],
    kept: impl Fn(&str) -> bool,
) -> Result<Vec<u8>, BinaryReaderError> {
    // What is around the part that is read, outermost first, each as far as it is written, with the kind of the part inside.
    let mut outer: Vec<(Vec<u8>, ComponentSectionId)> = Vec::new();
    let mut written = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        match &payload {
            Payload::Version { encoding, .. } => written.extend_from_slice(match encoding {
                Encoding::Module => &Module::HEADER,
                Encoding::Component => &Component::HEADER,
            }),
            Payload::ModuleSection { .. } => {
                outer.push((std::mem::take(&mut written), ComponentSectionId::CoreModule));
            }
            Payload::ComponentSection { .. } => {
                outer.push((std::mem::take(&mut written), ComponentSectionId::Component));
            }
            Payload::End(_) => {
                if let Some((around, kind)) = outer.pop() {
                    let inside = std::mem::replace(&mut written, around);
                    append(kind as u8, &inside, &mut written);
                }
            }
            Payload::CustomSection(section) if !kept(section.name()) => {}
            _ => {
                if let Some((id, range)) = payload.as_section() {
                    append(id, bytes.get(range).unwrap_or_default(), &mut written);
                }
            }
        }
    }
    Ok(written)
}

fn append(id: u8, data: &[u8], to: &mut Vec<u8>) {
    RawSection { id, data }.append_to_component(to);
}
