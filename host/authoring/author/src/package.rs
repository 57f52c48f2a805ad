//! Reads from a component what a registry is told of it: its interface, and what its author wrote
//! into it.

#[cfg(test)]
mod tests;

use crate::decode::decode;
use agent_host_types::reason::Reason;
use std::collections::BTreeMap;
use wasmparser::{BinaryReaderError, Parser, Payload};
use wit_component::DecodedWasm;

/// The maximum of bytes of one annotation; longer text is left out.
const MAX_ANNOTATION_BYTES: usize = 4096;

/// The custom sections, each with the annotation that it becomes.
const SECTIONS: [(&str, &str); 7] = [
    ("authors", "authors"),
    ("description", "description"),
    ("homepage", "url"),
    ("licenses", "licenses"),
    ("revision", "revision"),
    ("source", "source"),
    ("version", "version"),
];

/// The description of a component for a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackageInfo {
    /// The names of what it exports.
    pub exports: Vec<String>,
    /// The names of what it imports.
    pub imports: Vec<String>,
    /// The annotations of OCI, such as `org.opencontainers.image.description`.
    pub annotations: BTreeMap<String, String>,
}

impl PackageInfo {
    /// Reads a component. The parsing libraries may panic on malformed bytes: call it where a panic
    /// is harmless.
    ///
    /// # Errors
    /// The bytes are not a component, as the end of a sentence.
    pub fn from_component(component: &[u8]) -> Result<Self, Reason> {
        if !Parser::is_component(component) {
            return Err("it is not a component".into());
        }
        let decoded = decode(component)?;
        let DecodedWasm::Component(resolve, world) = &decoded else {
            return Err("it is a WIT package".into());
        };
        let world = resolve
            .worlds
            .get(*world)
            .ok_or_else(|| "it has no world".to_owned())?;
        let names = |keys: Vec<&wit_parser::WorldKey>| {
            let names = keys.into_iter().map(|key| resolve.name_world_key(key));
            names.collect()
        };
        let annotations = annotations(component).map_err(|error| error.to_string())?;
        Ok(Self {
            exports: names(world.exports.keys().collect()),
            imports: names(world.imports.keys().collect()),
            annotations,
        })
    }
}

/// Returns the annotations by
/// [the image
/// specification](https://github.com/opencontainers/image-spec/blob/main/annotations.md), from the
/// custom sections that wasm-tools writes. Those of parts inside are of others.
fn annotations(component: &[u8]) -> Result<BTreeMap<String, String>, BinaryReaderError> {
    let mut found = BTreeMap::new();
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::CustomSection(section) if depth == 0 => {
                let key = SECTIONS.iter().find(|(name, _)| *name == section.name());
                let text = std::str::from_utf8(section.data());
                if let (Some((_, key)), Ok(text)) = (key, text)
                    && !text.is_empty()
                    && text.len() <= MAX_ANNOTATION_BYTES
                {
                    let key = format!("org.opencontainers.image.{key}");
                    found.insert(key, text.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(found)
}
