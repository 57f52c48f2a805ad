//! Manifests of OCI: parsed from untrusted bytes, and the one layer of a component.

#[cfg(test)]
mod tests;

use crate::{MAX_COMPONENT_BYTES, MAX_DOCUMENT_BYTES, media_type};
use agent_host_types::id::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The schema version of every manifest of OCI.
const SCHEMA_VERSION: u64 = 2;

/// The maximum of layers of a manifest; components have one or two.
const MAX_LAYERS: usize = 64;

/// A description of content in a manifest. Its `urls`, from which foreign layers would be loaded,
/// are not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The type of the content.
    pub media_type: String,
    /// The digest of the content, of any algorithm.
    pub digest: String,
    /// The size of the content, in bytes.
    pub size: u64,
    /// The type of the artifact, in an index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// Annotations of the content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Descriptor {
    /// Describes bytes.
    #[must_use]
    pub fn for_bytes(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes).to_string(),
            size: bytes.len() as u64,
            artifact_type: None,
            annotations: BTreeMap::new(),
        }
    }

    /// Returns the digest.
    ///
    /// # Errors
    /// It is not of SHA-256, or no digest.
    pub fn sha256(&self) -> Result<Digest, ManifestError> {
        self.digest.parse().map_err(|_| {
            let algorithm = self.digest.split(':').next().unwrap_or_default();
            ManifestError::Digest(algorithm.chars().take(32).collect())
        })
    }

    /// Returns digest and size, if the size is at most `max_bytes`.
    pub(crate) fn bounded(&self, max_bytes: u64) -> Result<(Digest, u64), ManifestError> {
        if self.size > max_bytes {
            return Err(ManifestError::TooLarge {
                media_type: shown(&self.media_type),
                bytes: self.size,
                max_bytes,
            });
        }
        Ok((self.sha256()?, self.size))
    }
}

/// An image manifest of OCI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// 2, always.
    pub schema_version: u64,
    /// The type of the manifest itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The type of the artifact, where it is no image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The configuration.
    pub config: Descriptor,
    /// The layers.
    pub layers: Vec<Descriptor>,
    /// The manifest that this one is about, such as a signed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
    /// Annotations of the artifact. They are untrusted text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// Why a manifest is not used. The texts are ends of sentences that begin with the reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is not JSON of the form.
    #[error("has a malformed manifest ({0}); ask its publisher to push it again")]
    Malformed(String),
    /// It is an index.
    #[error(
        "is an index of several artifacts; name the digest of one of them, `oci://HOST/NAME@sha256:HEX`"
    )]
    Index,
    /// It is of Docker's own format.
    #[error(
        "is in Docker's image format instead of OCI's; ask its publisher to push it as an OCI artifact"
    )]
    Docker,
    /// It is of another type.
    #[error("has a manifest of the unknown type `{0}`")]
    Type(String),
    /// A digest is of another algorithm, which `0` names, or is no digest.
    #[error("has a digest of the algorithm `{0}`; only sha256 is supported")]
    Digest(String),
    /// It has no layer with a component.
    #[error(
        "contains no WebAssembly component: {}", found(.0)
    )]
    NoComponent(Vec<String>),
    /// It has several layers with components.
    #[error("has {0} WebAssembly layers, but a component has exactly one")]
    SeveralComponents(usize),
    /// A part is too large.
    #[error("has a part of type `{media_type}` with {bytes} bytes; at most {max_bytes} are read")]
    TooLarge {
        /// The type of the part.
        media_type: String,
        /// Its size by the manifest.
        bytes: u64,
        /// The maximum.
        max_bytes: u64,
    },
}

fn found(types: &[String]) -> String {
    match types {
        [] => "it has no layers".to_owned(),
        [first, ..] => format!("its {} layers are of types such as `{first}`", types.len()),
    }
}

/// Returns untrusted text, escaped and at most 100 characters of it.
pub(crate) fn shown(text: &str) -> String {
    text.chars()
        .take(100)
        .flat_map(char::escape_debug)
        .collect()
}

impl Manifest {
    /// Parses a manifest. `content_type` is the type by the registry, which has to agree with the
    /// manifest.
    ///
    /// # Errors
    /// It is no image manifest of OCI, or would be read as another kind by another program.
    pub fn parse(bytes: &[u8], content_type: Option<&str>) -> Result<Self, ManifestError> {
        let malformed =
            |error: serde_json::Error| ManifestError::Malformed(shown(&error.to_string()));
        let value: Value = serde_json::from_slice(bytes).map_err(malformed)?;
        // Bytes that are an image manifest and an index at once mean different things to different
        // readers under one digest.
        if value.get("manifests").is_some() {
            return Err(ManifestError::Index);
        }
        let own_type = value.get("mediaType").and_then(Value::as_str);
        for found in [content_type, own_type].into_iter().flatten() {
            let found = found.split(';').next().unwrap_or_default().trim();
            match found {
                media_type::MANIFEST | "application/json" | "application/octet-stream" => {}
                media_type::INDEX | "application/vnd.docker.distribution.manifest.list.v2+json" => {
                    return Err(ManifestError::Index);
                }
                _ if found.starts_with("application/vnd.docker.") => {
                    return Err(ManifestError::Docker);
                }
                _ => return Err(ManifestError::Type(shown(found))),
            }
        }
        if value.get("schemaVersion").and_then(Value::as_u64) == Some(1) {
            return Err(ManifestError::Docker);
        }
        let manifest: Self = serde_json::from_value(value).map_err(malformed)?;
        if manifest.schema_version != SCHEMA_VERSION {
            let why = format!("its schema version is {}", manifest.schema_version);
            return Err(ManifestError::Malformed(why));
        }
        if manifest.layers.len() > MAX_LAYERS {
            let why = format!("it has {} layers", manifest.layers.len());
            return Err(ManifestError::Malformed(why));
        }
        Ok(manifest)
    }
}

/// Returns the layer with the component.
///
/// # Errors
/// There is none or more than one, or it is too large, or of another digest than SHA-256.
pub fn component_layer(manifest: &Manifest) -> Result<&Descriptor, ManifestError> {
    let is_component =
        |layer: &&Descriptor| media_type::COMPONENT_LAYERS.contains(&&*layer.media_type);
    let mut found = manifest.layers.iter().filter(is_component);
    let layer = found.next().ok_or_else(|| {
        let types = manifest.layers.iter();
        ManifestError::NoComponent(types.map(|layer| shown(&layer.media_type)).collect())
    })?;
    match found.count() {
        0 => layer.bounded(MAX_COMPONENT_BYTES).map(|_| layer),
        more => Err(ManifestError::SeveralComponents(more + 1)),
    }
}

/// Returns the layers with permissions that the author asks for, each with digest and size.
pub(crate) fn policy_layers(
    manifest: &Manifest,
) -> Result<Vec<(&Descriptor, Digest)>, ManifestError> {
    let is_policy = |layer: &&Descriptor| media_type::POLICY_LAYERS.contains(&&*layer.media_type);
    let layers = manifest.layers.iter().filter(is_policy).take(MAX_LAYERS);
    layers
        .map(|layer| Ok((layer, layer.bounded(MAX_DOCUMENT_BYTES)?.0)))
        .collect()
}
