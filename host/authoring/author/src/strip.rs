//! Removes debug information, names and other custom sections from a component.

#[cfg(test)]
mod tests;

use wasm_encoder::{Component, ComponentSection as _, ComponentSectionId, Module, RawSection};
use wasmparser::{BinaryReaderError, Encoding, Parser, Payload};

/// The custom section with the documentation of the interfaces.
const DOCS: &str = "package-docs";

/// The custom sections with function names, which stacks show.
const NAMES: [&str; 2] = ["name", "component-name"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameMode {
    /// Names are removed.
    Strip,
    /// Names stay, for the stack of a trap.
    Keep,
}

/// Strips a component or module, including everything nested.
///
/// # Errors
/// The bytes are neither.
pub(crate) fn strip(bytes: &[u8], names: NameMode) -> Result<Vec<u8>, BinaryReaderError> {
    retain(bytes, |name| {
        name == DOCS || names == NameMode::Keep && NAMES.contains(&name)
    })
}

/// Removes all custom sections except those whose names `kept` accepts.
///
/// # Errors
/// Fails as [`strip`] does.
pub(crate) fn retain(
    bytes: &[u8],
    kept: impl Fn(&str) -> bool,
) -> Result<Vec<u8>, BinaryReaderError> {
    // The enclosing parts as far as written, outermost first, each with the kind of its nested
    // part.
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
