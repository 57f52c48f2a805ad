//! Indexes of components as artifacts of a registry: one layer with the JSON, without a
//! configuration.

use crate::{
    Client, Descriptor, Index, MAX_INDEX_BYTES, MAX_MANIFEST_BYTES, Manifest, Reference,
    RegistryError, media_type,
};
use agent_host_types::{id::Digest, reason::Reason};
use bytes::Bytes;

/// The reason for which an artifact is not used as an index.
const ANOTHER_TYPE: &str = "is not a component index but an artifact of another type";

impl Client {
    /// Returns the index under a reference; absent if there is none.
    ///
    /// # Errors
    /// It cannot be pulled, or is no index.
    pub async fn index(&self, reference: &Reference) -> Result<Option<Index>, RegistryError> {
        let fault = |why: Reason| RegistryError::index(reference, &why);
        let tag = reference.tag().unwrap_or_default();
        let wanted = reference.digest();
        let wanted = wanted.map_or(tag.to_owned(), |digest| digest.to_string());
        let found = self
            .manifest(reference, &wanted, MAX_MANIFEST_BYTES)
            .await?;
        let Some((bytes, content_type)) = found else {
            return Ok(None);
        };
        let manifest = Manifest::parse(&bytes, content_type.as_deref());
        let manifest = manifest.map_err(|why| RegistryError::manifest(reference, &why))?;
        let layer = match manifest.layers.as_slice() {
            [layer] if layer.media_type == media_type::INDEX_OF_COMPONENTS => layer,
            _ => return Err(fault(ANOTHER_TYPE.into())),
        };
        let bytes = self
            .bounded_blob(reference, layer, MAX_INDEX_BYTES, "the index")
            .await?;
        Index::parse(&bytes).map(Some).map_err(fault)
    }

    /// Pushes an index. Of two pushes at once the later one counts.
    ///
    /// # Errors
    /// The registry refuses it.
    pub async fn push_index(
        &self,
        reference: &Reference,
        index: &Index,
    ) -> Result<Digest, RegistryError> {
        let empty = Bytes::from_static(b"{}");
        let layer = Bytes::from(index.to_json());
        let manifest = Manifest {
            schema_version: 2,
            media_type: Some(media_type::MANIFEST.to_owned()),
            artifact_type: Some(media_type::INDEX_OF_COMPONENTS.to_owned()),
            config: Descriptor::for_bytes(media_type::EMPTY, &empty),
            layers: vec![Descriptor::for_bytes(
                media_type::INDEX_OF_COMPONENTS,
                &layer,
            )],
            subject: None,
            annotations: Default::default(),
        };
        let manifest = self.json(&manifest)?;
        let digest = Digest::of(&manifest);
        self.push_blob(reference, empty).await?;
        self.push_blob(reference, layer).await?;
        let by_digest = digest.to_string();
        let name = reference.tag().unwrap_or(&by_digest);
        self.push_manifest(reference, name, media_type::MANIFEST, manifest)
            .await?;
        Ok(digest)
    }
}
