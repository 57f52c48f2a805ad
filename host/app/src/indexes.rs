//! Indexes of components, in a directory or in a registry.

use crate::{
    config::Config, distribution::connect, error::HostError, packages::registry_error, trusted_file,
};
use agent_host_registry::{
    INDEX_FILE, Index, IndexEntry, MAX_INDEX_BYTES, Reference, RegistryError,
};
use agent_host_types::reason::Reason;
use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// Where an index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexSource {
    /// In this directory, as `index.json`.
    Directory(PathBuf),
    /// In a registry.
    Registry(Reference),
}

impl fmt::Display for IndexSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Registry(reference) => reference.fmt(f),
        }
    }
}

/// Reads an index.
///
/// # Errors
/// There is none, or it cannot be read.
pub async fn read_index(config: &Config, source: &IndexSource) -> Result<Index, HostError> {
    let found = find(config, source).await?;
    Ok(found.ok_or_else(|| {
        Reason::from(format!(
            "no component index was found at {source}; create one with `agent-host push --index`"
        ))
    })?)
}

/// Adds a component to an index, in place of another version of it. Makes the index if there is
/// none.
///
/// # Errors
/// The index cannot be read or written, or is full.
pub async fn add_to_index(
    config: &Config,
    source: &IndexSource,
    entry: IndexEntry,
) -> Result<(), HostError> {
    match source {
        IndexSource::Directory(directory) => {
            let path = directory.join(INDEX_FILE);
            let shown = path.display();
            let write = |error| Reason::from(format!("cannot write {shown}: {error}"));
            // One at a time, so that no entry is lost.
            let _alone = trusted_file::lock(&path).map_err(write)?;
            let mut index = read_file(&path)?.unwrap_or_default();
            let added = index.add(entry);
            added.map_err(|error| Reason::from(format!("{shown} {error}")))?;
            trusted_file::replace(&path, &index.to_json(), 0o644).map_err(write)?;
            Ok(())
        }
        IndexSource::Registry(reference) => {
            let fault = |source| registry_error(reference.name(), &source);
            let client = connect(config, reference).await?;
            let found = client.index(reference).await.map_err(fault)?;
            let mut index = found.unwrap_or_default();
            let added = index.add(entry);
            added.map_err(|why| fault(RegistryError::index(reference, &why)))?;
            let pushed = client.push_index(reference, &index).await;
            Ok(pushed.map(drop).map_err(fault)?)
        }
    }
}

async fn find(config: &Config, source: &IndexSource) -> Result<Option<Index>, HostError> {
    match source {
        IndexSource::Directory(directory) => Ok(read_file(&directory.join(INDEX_FILE))?),
        IndexSource::Registry(reference) => {
            let client = connect(config, reference).await?;
            let found = client.index(reference).await;
            found.map_err(|source| registry_error(reference.name(), &source))
        }
    }
}

fn read_file(path: &Path) -> Result<Option<Index>, Reason> {
    let text = match trusted_file::read(path, MAX_INDEX_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(Reason::from(format!(
                "cannot read {}: {error}",
                path.display()
            )));
        }
    };
    let parsed = Index::parse(text.as_bytes());
    parsed
        .map(Some)
        .map_err(|error| format!("{} {error}", path.display()).into())
}
