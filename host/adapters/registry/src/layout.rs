//! Packages as image layouts of OCI: directories that other programs copy to registries.

#[cfg(test)]
mod tests;

use crate::{Descriptor, Package, media_type, push::Documents};
use agent_host_types::id::Digest;
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

/// The annotation with the tag of a manifest in the index of a layout.
const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// The reason why a layout is not written.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The directory has files.
    #[error(
        "{} is not empty, and existing files are not overwritten; remove it, or choose another directory",
        .0.display()
    )]
    NotEmpty(PathBuf),
    /// The disk fails.
    #[error("cannot write {}: {source}", path.display())]
    Disk {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A document cannot be written as JSON.
    #[error("cannot describe the package: {0}")]
    Json(#[from] serde_json::Error),
}

/// Writes a package under a tag as an image layout into a directory that is empty or absent, and
/// returns the digest of the manifest. Equal packages make equal files.
///
/// # Errors
/// The directory is not empty, or the disk fails.
pub fn write_layout(dir: &Path, tag: &str, package: &Package) -> Result<Digest, LayoutError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| LayoutError::Disk { path, source }
    };
    let blobs = dir.join("blobs").join("sha256");
    fs::create_dir_all(dir).map_err(failed(dir))?;
    if fs::read_dir(dir).map_err(failed(dir))?.next().is_some() {
        return Err(LayoutError::NotEmpty(dir.to_owned()));
    }
    fs::create_dir_all(&blobs).map_err(failed(&blobs))?;

    let Documents { config, manifest } = package.documents()?;
    let digest = Digest::of(&manifest);
    let descriptor = Descriptor {
        annotations: BTreeMap::from([(REF_NAME.to_owned(), tag.to_owned())]),
        ..Descriptor::for_bytes(media_type::MANIFEST, &manifest)
    };
    let index = json!({
        "schemaVersion": 2,
        "mediaType": media_type::INDEX,
        "manifests": [descriptor],
    });
    let marker = json!({ "imageLayoutVersion": "1.0.0" });
    // The index is last: a directory with one is complete.
    for (path, content) in [
        (
            blobs.join(hex_of(&package.component)),
            &package.component[..],
        ),
        (blobs.join(hex_of(&config)), &config[..]),
        (blobs.join(hex_of(&manifest)), &manifest[..]),
        (dir.join("oci-layout"), marker.to_string().as_bytes()),
        (dir.join("index.json"), index.to_string().as_bytes()),
    ] {
        fs::write(&path, content).map_err(failed(&path))?;
    }
    Ok(digest)
}

/// Returns the name of a blob: its digest without the algorithm.
fn hex_of(bytes: &[u8]) -> String {
    let digest = Digest::of(bytes).to_string();
    digest.trim_start_matches("sha256:").to_owned()
}
