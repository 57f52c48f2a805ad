//! The contract as the program carries it: parsed, for making components of core modules, and as files, for tools that read WIT.

#[cfg(test)]
mod tests;

use crate::{carried, error::AuthorError, uses::Use};
use std::{borrow::Cow, path::Path};
use wit_parser::{Resolve, SourceMap, WorldId};

/// The world with every import. A component that is made of a core module imports only what the module calls.
const EVERYTHING: &str = "host";

/// The world that [`unpack`] writes: what the tool exports, with the imports that its project declares.
pub(crate) const WORLD: &str = "project";

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

/// Makes a folder hold the contract, with the world [`WORLD`] for these uses.
pub(crate) fn unpack(dir: &Path, uses: &[Use]) -> Result<(), AuthorError> {
    let contract = files().map(|(path, text)| (path.to_owned(), Cow::Borrowed(text)));
    let world = (format!("{WORLD}.wit"), Cow::Owned(world(uses).into_bytes()));
    carried::unpack(dir, &contract.chain([world]).collect::<Vec<_>>())
}

fn files() -> impl Iterator<Item = carried::CarriedFile> {
    carried::below("wit")
        .into_iter()
        .filter(|(path, _)| path.ends_with(".wit"))
}

/// The text of the world [`WORLD`].
fn world(uses: &[Use]) -> String {
    let imports: String = uses
        .iter()
        .filter_map(|wanted| wanted.interface())
        .map(|interface| format!("    import {interface};\n"))
        .collect();
    format!(
        "package agent:tool@0.1.0;\n\n/// What this project's tool exports, and what it declares to use.\nworld {WORLD} {{\n{imports}    export tool;\n}}\n"
    )
}
