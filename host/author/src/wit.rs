//! The embedded contract: parsed, for componentization, and as files, for tools that read WIT.

#[cfg(test)]
mod tests;

use crate::{embedded, error::AuthorError, wit_usage::HostImport};
use std::{borrow::Cow, fmt::Display, path::Path};
use wit_parser::{Resolve, SourceMap, WorldId};

/// The world with every import. A component made from a core module imports only what it calls.
const FULL_WORLD: &str = "host";

/// The world written by [`unpack`]: the tool's exports and the declared imports.
pub(crate) const WORLD: &str = "project";

/// Parses the contract and returns its world with every import.
pub(crate) fn full_world() -> Result<(Resolve, WorldId), AuthorError> {
    let mut sources = SourceMap::default();
    for (path, text) in files() {
        sources.push_str(path, String::from_utf8_lossy(text));
    }
    let fault = |why: &dyn Display| {
        AuthorError::internal("read the contract that this program carries", why)
    };
    let group = sources.parse().map_err(|(_, error)| fault(&error))?;
    let mut resolve = Resolve::default();
    let package = resolve.push_group(group).map_err(|error| fault(&error))?;
    let world = resolve.select_world(&[package], Some(FULL_WORLD));
    let world = world.map_err(|error| fault(&error))?;
    Ok((resolve, world))
}

/// Unpacks the contract and the world [`WORLD`] with these imports into a directory.
pub(crate) fn unpack(dir: &Path, uses: &[HostImport]) -> Result<(), AuthorError> {
    let contract = files().map(|(path, text)| (path.to_owned(), Cow::Borrowed(text)));
    let world = (format!("{WORLD}.wit"), Cow::Owned(world(uses).into_bytes()));
    embedded::unpack(dir, &contract.chain([world]).collect::<Vec<_>>())
}

fn files() -> impl Iterator<Item = embedded::EmbeddedFile> {
    embedded::below("wit")
        .into_iter()
        .filter(|(path, _)| path.ends_with(".wit"))
}

/// Returns the text of the world [`WORLD`].
fn world(uses: &[HostImport]) -> String {
    let imports: String = uses
        .iter()
        .filter_map(|wanted| wanted.interface())
        .map(|interface| format!("    import {interface};\n"))
        .collect();
    format!(
        "package agent:tool@0.1.0;\n\n/// The exports of this project's tool, and the interfaces that it declares to use.\nworld {WORLD} {{\n{imports}    export tool;\n}}\n"
    )
}
