//! The embedded contract: parsed, for componentization, and as files, for tools that read WIT. With
//! it are the parts of WASI that SDKs call themselves (`guest-tools/sdk-wit`).

#[cfg(test)]
mod tests;

use crate::{
    embedded,
    error::AuthorError,
    project::Language,
    wit_usage::{HostImport, WASI_HTTP},
};
use agent_host_types::reason::Reason;
use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt::Display,
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};
use wit_component::WitPrinter;
use wit_parser::{PackageId, Resolve, SourceMap, WorldId};

/// The world with every import. A component made from a core module imports only what it calls.
const FULL_WORLD: &str = "full";

/// The packages of WASI in `guest-tools/sdk-wit`, each after those that it uses.
const WASI: [&str; 3] = ["clocks.wit", "io.wit", "http.wit"];

/// The world written by [`unpack`]: the tool's exports and the declared imports.
pub(crate) const WORLD: &str = "project";

/// Parses the contract and returns a world with every import of a tool.
pub(crate) fn full_world() -> Result<(Resolve, WorldId), AuthorError> {
    let mut resolve = Resolve::default();
    for name in WASI {
        let text = wasi_files().find(|(path, _)| *path == name);
        let (path, text) = text.ok_or_else(|| fault(&format!("it has no {name}")))?;
        push(&mut resolve, [(path, text.into())]).map_err(|error| fault(&error))?;
    }
    let every = format!(
        "package agent:tool@0.1.0;\nworld {FULL_WORLD} {{\n    include host;\n    import {WASI_HTTP};\n}}\n"
    );
    let contract = files().map(|(path, text)| (path, text.into()));
    let contract = contract.chain([("full.wit", Cow::Owned(every.into_bytes()))]);
    let package = push(&mut resolve, contract).map_err(|error| fault(&error))?;
    let world = resolve.select_world(&[package], Some(FULL_WORLD));
    let world = world.map_err(|error| fault(&error))?;
    Ok((resolve, world))
}

/// Returns the contract that a tool implements: the package `agent:tool` as one WIT file, with its
/// documentation.
///
/// # Errors
/// The embedded contract is damaged.
pub fn contract_text() -> Result<String, AuthorError> {
    let (resolve, package) = contract()?;
    let mut printer = WitPrinter::default();
    printer
        .print(&resolve, package, &[])
        .map_err(|error| fault(&error))?;
    Ok(String::from(printer.output))
}

/// The contract as a package for registries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContractPackage {
    /// The version.
    pub version: String,
    /// The binary form, with the documentation: a component that exports types alone.
    pub component: Vec<u8>,
    /// The names of its interfaces and worlds, and of what the worlds export; `wkg` lists these of
    /// a package.
    pub exports: BTreeSet<String>,
}

/// Returns the contract that a tool implements as a package for registries.
///
/// # Errors
/// The embedded contract is damaged.
pub fn contract_package() -> Result<ContractPackage, AuthorError> {
    let (resolve, id) = contract()?;
    let package = resolve
        .packages
        .get(id)
        .ok_or_else(|| fault(&"no package"))?;
    let name = &package.name;
    let interfaces = package.interfaces.values();
    let mut exports: BTreeSet<_> = interfaces.filter_map(|it| resolve.id_of(*it)).collect();
    for world in package
        .worlds
        .values()
        .filter_map(|it| resolve.worlds.get(*it))
    {
        exports.insert(name.interface_id(&world.name));
        exports.extend(world.exports.keys().map(|it| resolve.name_world_key(it)));
    }
    Ok(ContractPackage {
        version: name
            .version
            .as_ref()
            .map_or_else(String::new, ToString::to_string),
        component: wit_component::encode(&resolve, id).map_err(|error| fault(&error))?,
        exports,
    })
}

/// Writes the contract's files, one for each interface, into a directory, and returns their paths.
/// Files with that content stay.
///
/// # Errors
/// There is another file of such a name, or the disk fails.
pub fn write_contract(dir: &Path) -> Result<Vec<PathBuf>, AuthorError> {
    let files: Vec<_> = files().map(|(name, text)| (dir.join(name), text)).collect();
    let is_other = |path: &Path, text: &[u8]| match fs::read(path) {
        Ok(there) => there != text,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    };
    if let Some((path, _)) = files.iter().find(|(path, text)| is_other(path, text)) {
        return Err(AuthorError::Usage(format!(
            "{} already exists, and is not overwritten; remove it, or choose another directory",
            path.display()
        )));
    }
    fs::create_dir_all(dir).map_err(|error| AuthorError::disk("make", dir, &error))?;
    for (path, text) in &files {
        let written = File::create_new(path).and_then(|mut file| file.write_all(text));
        match written {
            // It has this content.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            written => written.map_err(|error| AuthorError::disk("write", path, &error))?,
        }
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn contract() -> Result<(Resolve, PackageId), AuthorError> {
    let mut resolve = Resolve::default();
    let contract = files().map(|(path, text)| (path, text.into()));
    let package = push(&mut resolve, contract).map_err(|error| fault(&error))?;
    Ok((resolve, package))
}

fn fault(why: &dyn Display) -> AuthorError {
    AuthorError::internal("read the built-in contract", why)
}

/// Adds the files of a package.
fn push<'a>(
    resolve: &mut Resolve,
    files: impl IntoIterator<Item = (&'a str, Cow<'a, [u8]>)>,
) -> Result<PackageId, Reason> {
    let mut sources = SourceMap::default();
    for (path, text) in files {
        sources.push_str(path, String::from_utf8_lossy(&text));
    }
    let group = sources.parse().map_err(|(_, error)| error.to_string())?;
    resolve
        .push_group(group)
        .map_err(|error| error.to_string().into())
}

/// Unpacks the contract and the world [`WORLD`] with these imports into a directory.
pub(crate) fn unpack(
    dir: &Path,
    language: Language,
    uses: &[HostImport],
) -> Result<(), AuthorError> {
    let contract = files().map(|(path, text)| (path.to_owned(), Cow::Borrowed(text)));
    let of_wasi = |wanted: &HostImport| wanted.interface(language) == Some(WASI_HTTP);
    let wasi = uses.iter().any(of_wasi).then(wasi_files);
    let wasi = wasi.into_iter().flatten();
    let wasi = wasi.map(|(path, text)| (format!("deps/{path}"), Cow::Borrowed(text)));
    let text = world(language, uses).into_bytes();
    let world = (format!("{WORLD}.wit"), Cow::Owned(text));
    let all: Vec<_> = contract.chain(wasi).chain([world]).collect();
    embedded::unpack(dir, &all)
}

fn files() -> impl Iterator<Item = embedded::EmbeddedFile> {
    embedded::below("wit")
        .into_iter()
        .filter(|(path, _)| path.ends_with(".wit"))
}

fn wasi_files() -> impl Iterator<Item = embedded::EmbeddedFile> {
    embedded::below("guest-tools/sdk-wit").into_iter()
}

/// Returns the text of the world [`WORLD`].
fn world(language: Language, uses: &[HostImport]) -> String {
    let imports: String = uses
        .iter()
        .filter_map(|wanted| wanted.interface(language))
        .map(|interface| format!("    import {interface};\n"))
        .collect();
    format!(
        "package agent:tool@0.1.0;\n\n/// The exports of this project's tool, and the interfaces that it declares to use.\nworld {WORLD} {{\n{imports}    export tool;\n}}\n"
    )
}
