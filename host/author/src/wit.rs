//! The contract as the program carries it: parsed, for making components of core modules, and as files, for tools that read WIT.

#[cfg(test)]
mod tests;

use crate::{carried, error::AuthorError, uses::Use};
use std::path::Path;
use wit_parser::{Resolve, SourceMap, WorldId};

/// The world with every import. A component that is made of a core module imports only what the module calls.
const EVERYTHING: &str = "host";

/// The world that [`unpack`] writes: what the tool exports, with the imports that its project declares.
pub(crate) const DECLARED: &str = "declared";

/// The contract's world with every import, parsed.
pub(crate) fn everything() -> Result<(Resolve, WorldId), AuthorError> {
    let mut sources = SourceMap::default();
    for (path, text) in files() {
        sources.push_str(path, String::from_utf8_lossy(text));
    }
    let own_fault = |why: String| {
        AuthorError::failed(format!(
            "cannot read the contract that this program carries: {why}. This is a fault of agent-host; please report it"
        ))
    };
    let group = sources
        .parse()
        .map_err(|(_, error)| own_fault(error.to_string()))?;
    let mut resolve = Resolve::default();
    let package = resolve
        .push_group(group)
        .map_err(|error| own_fault(error.to_string()))?;
    let world = resolve
        .select_world(&[package], Some(EVERYTHING))
        .map_err(|error| own_fault(error.to_string()))?;
    Ok((resolve, world))
}

/// Writes the contract into a folder, with the world [`DECLARED`] for these uses. Its own files come out as they are: an old one is
/// written again, and one that is not ours stays.
pub(crate) fn unpack(dir: &Path, uses: &[Use]) -> Result<(), AuthorError> {
    for (path, text) in files() {
        carried::write(&dir.join(path), text)?;
    }
    carried::write(&dir.join("declared.wit"), declared(uses).as_bytes())
}

fn files() -> impl Iterator<Item = carried::CarriedFile> {
    carried::below("wit").filter(|(path, _)| path.ends_with(".wit"))
}

/// The text of the world [`DECLARED`].
fn declared(uses: &[Use]) -> String {
    let imports: String = uses
        .iter()
        .filter_map(|declared| declared.interface())
        .map(|interface| format!("    import {interface};\n"))
        .collect();
    format!(
        "package agent:tool@0.1.0;\n\n/// What this project's tool exports, and what it declares to use.\nworld {DECLARED} {{\n{imports}    export tool;\n}}\n"
    )
}
