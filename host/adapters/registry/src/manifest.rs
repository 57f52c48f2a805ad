//! Manifests of OCI: parsed from untrusted bytes, and the one layer of a component.

#[cfg(test)]
mod tests;

use crate::{MAX_COMPONENT_BYTES, MAX_DOCUMENT_BYTES, media_type};
use agent_host_types::{id::Digest, reason::Reason};
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
    pub fn sha256(&self) -> Result<Digest, Reason> {
        self.digest.parse().map_err(|_| {
            let algorithm = self.digest.split(':').next().unwrap_or_default();
            let algorithm: String = algorithm.chars().take(32).collect();
            format!("has a digest of the algorithm `{algorithm}`; only sha256 is supported").into()
        })
    }

    /// Returns digest and size, if the size is at most `max_bytes`.
    pub(crate) fn bounded(&self, max_bytes: u64) -> Result<(Digest, u64), Reason> {
        if self.size > max_bytes {
            let (media_type, bytes) = (shown(&self.media_type), self.size);
            return Err(format!(
                "has a part of type `{media_type}` with {bytes} bytes; at most {max_bytes} are read"
            )
            .into());
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

/// The reasons for which a manifest is not used are ends of sentences that begin with the reference.
const IS_AN_INDEX: &str = "is an index of several artifacts; name the digest of one of them, `oci://HOST/NAME@sha256:HEX`";
const OF_DOCKER: &str =
    "is in Docker's image format instead of OCI's; ask its publisher to push it as an OCI artifact";

fn malformed(why: &str) -> Reason {
    format!("has a malformed manifest ({why}); ask its publisher to push it again").into()
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
    pub fn parse(bytes: &[u8], content_type: Option<&str>) -> Result<Self, Reason> {
        let invalid = |error: serde_json::Error| malformed(&shown(&error.to_string()));
        let value: Value = serde_json::from_slice(bytes).map_err(invalid)?;
        // Bytes that are an image manifest and an index at once mean different things to different
        // readers under one digest.
        if value.get("manifests").is_some() {
            return Err(IS_AN_INDEX.into());
        }
        let own_type = value.get("mediaType").and_then(Value::as_str);
        for found in [content_type, own_type].into_iter().flatten() {
            let found = found.split(';').next().unwrap_or_default().trim();
            match found {
                media_type::MANIFEST | "application/json" | "application/octet-stream" => {}
                media_type::INDEX | "application/vnd.docker.distribution.manifest.list.v2+json" => {
                    return Err(IS_AN_INDEX.into());
                }
                _ if found.starts_with("application/vnd.docker.") => {
                    return Err(OF_DOCKER.into());
                }
                _ => {
                    let why = format!("has a manifest of the unknown type `{}`", shown(found));
                    return Err(why.into());
                }
            }
        }
        if value.get("schemaVersion").and_then(Value::as_u64) == Some(1) {
            return Err(OF_DOCKER.into());
        }
        let manifest: Self = serde_json::from_value(value).map_err(invalid)?;
        if manifest.schema_version != SCHEMA_VERSION {
            let why = format!("its schema version is {}", manifest.schema_version);
            return Err(malformed(&why));
        }
        if manifest.layers.len() > MAX_LAYERS {
            let why = format!("it has {} layers", manifest.layers.len());
            return Err(malformed(&why));
        }
        Ok(manifest)
    }
}

/// Returns the layer with the component.
///
/// # Errors
/// There is none or more than one, or it is too large, or of another digest than SHA-256.
pub fn component_layer(manifest: &Manifest) -> Result<&Descriptor, Reason> {
    let is_component =
        |layer: &&Descriptor| media_type::COMPONENT_LAYERS.contains(&&*layer.media_type);
    let mut found = manifest.layers.iter().filter(is_component);
    let layer = found.next().ok_or_else(|| {
        let count = manifest.layers.len();
        let found = match manifest
            .layers
            .first()
            .map(|layer| shown(&layer.media_type))
        {
            None => "it has no layers".to_owned(),
            Some(first) => format!("its {count} layers are of types such as `{first}`"),
        };
        Reason::from(format!("contains no WebAssembly component: {found}"))
    })?;
    match found.count() {
        0 => layer.bounded(MAX_COMPONENT_BYTES).map(|_| layer),
        more => {
            let count = more + 1;
            Err(format!("has {count} WebAssembly layers, but a component has exactly one").into())
        }
    }
}

/// Returns the layers with permissions that the author asks for, each with digest and size.
pub(crate) fn policy_layers(manifest: &Manifest) -> Result<Vec<(&Descriptor, Digest)>, Reason> {
    let is_policy = |layer: &&Descriptor| media_type::POLICY_LAYERS.contains(&&*layer.media_type);
    let layers = manifest.layers.iter().filter(is_policy).take(MAX_LAYERS);
    layers
        .map(|layer| Ok((layer, layer.bounded(MAX_DOCUMENT_BYTES)?.0)))
        .collect()
}
