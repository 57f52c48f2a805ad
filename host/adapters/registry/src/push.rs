//! Pushes components in the CNCF's layout of WebAssembly in OCI, and their signatures.

use crate::{
    Client, Descriptor, MAX_COMPONENT_BYTES, Manifest, Reference, RegistryError, SigningKey,
    WasmConfig, WasmInterface, client::ApiRequest, media_type, signature,
};
use agent_host_types::id::Digest;
use bytes::Bytes;
use reqwest::{Method, Response};
use std::collections::BTreeMap;

/// The header in which a registry says that it lists referrers by itself.
const SUBJECT: &str = "oci-subject";

/// A component to push.
#[derive(Clone, Debug)]
pub struct Package {
    /// The bytes of the component.
    pub component: Bytes,
    /// Its interface.
    pub interface: WasmInterface,
    /// The annotations of the manifest, such as `org.opencontainers.image.description`.
    pub annotations: BTreeMap<String, String>,
}

/// The JSON documents of a package in the CNCF's layout.
pub(crate) struct Documents {
    /// The configuration, which the manifest names.
    pub(crate) config: Bytes,
    pub(crate) manifest: Bytes,
}

impl Package {
    /// Returns the documents, which depend on the package alone.
    pub(crate) fn documents(&self) -> serde_json::Result<Documents> {
        let config = WasmConfig::new(Digest::of(&self.component), self.interface.clone());
        let config = serde_json::to_vec(&config)?;
        let manifest = Manifest {
            schema_version: 2,
            media_type: Some(media_type::MANIFEST.to_owned()),
            artifact_type: None,
            config: Descriptor::for_bytes(media_type::WASM_CONFIG, &config),
            layers: vec![Descriptor::for_bytes(media_type::WASM, &self.component)],
            subject: None,
            annotations: self.annotations.clone(),
        };
        Ok(Documents {
            config: config.into(),
            manifest: serde_json::to_vec(&manifest)?.into(),
        })
    }
}

/// A pushed component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The reference with the digest of the manifest.
    pub reference: Reference,
    /// The manifest, as the subject of a signature.
    pub manifest: Descriptor,
    /// The digest of the component.
    pub layer: Digest,
}

impl Client {
    /// Pushes a component under the reference's tag, or by its digest alone.
    ///
    /// # Errors
    /// The component is too large, the reference has another digest, or the registry refuses it.
    pub async fn push(
        &self,
        reference: &Reference,
        package: Package,
    ) -> Result<Pushed, RegistryError> {
        let bytes = package.component.len() as u64;
        if bytes > MAX_COMPONENT_BYTES {
            let why = format!(
                "the component has {bytes} bytes, and the maximum for a push is {MAX_COMPONENT_BYTES}"
            );
            return Err(RegistryError::Refused(why.into()));
        }
        let layer = Digest::of(&package.component);
        let Documents { config, manifest } = package
            .documents()
            .map_err(|error| self.answer(&error.to_string()))?;
        let digest = Digest::of(&manifest);
        if let Some(expected) = reference.digest()
            && expected != digest
        {
            return Err(self.digest_error("the component to push", expected, digest));
        }
        self.push_blob(reference, config).await?;
        self.push_blob(reference, package.component).await?;
        let descriptor = Descriptor::for_bytes(media_type::MANIFEST, &manifest);
        let by_digest = digest.to_string();
        let name = reference.tag().unwrap_or(&by_digest);
        self.push_manifest(reference, name, media_type::MANIFEST, manifest)
            .await?;
        Ok(Pushed {
            reference: reference.with_digest(digest),
            manifest: descriptor,
            layer,
        })
    }

    /// Signs a manifest in the form of cosign 3, and pushes the signature. Returns the digest of
    /// the signature's manifest.
    ///
    /// # Errors
    /// The key cannot sign, or the registry refuses the signature.
    pub async fn sign(
        &self,
        reference: &Reference,
        subject: &Descriptor,
        key: &SigningKey,
    ) -> Result<Digest, RegistryError> {
        let subject_digest = subject
            .sha256()
            .map_err(|why| RegistryError::manifest(reference, &why))?;
        let bundle = signature::sign(subject_digest, key)
            .map_err(|why| RegistryError::Refused(format!("cannot use the key: {why}").into()))?;
        let bundle = Bytes::from(bundle);
        let empty = Bytes::from_static(b"{}");
        let annotations = BTreeMap::from([
            (
                "dev.sigstore.bundle.content".to_owned(),
                "dsse-envelope".to_owned(),
            ),
            (
                "dev.sigstore.bundle.predicateType".to_owned(),
                signature::PREDICATE.to_owned(),
            ),
        ]);
        let manifest = Manifest {
            schema_version: 2,
            media_type: Some(media_type::MANIFEST.to_owned()),
            artifact_type: Some(media_type::BUNDLE.to_owned()),
            config: Descriptor::for_bytes(media_type::EMPTY, &empty),
            layers: vec![Descriptor::for_bytes(media_type::BUNDLE, &bundle)],
            subject: Some(subject.clone()),
            annotations: annotations.clone(),
        };
        let manifest = self.json(&manifest)?;
        let digest = Digest::of(&manifest);
        self.push_blob(reference, empty).await?;
        self.push_blob(reference, bundle).await?;
        let descriptor = Descriptor {
            artifact_type: Some(media_type::BUNDLE.to_owned()),
            annotations,
            ..Descriptor::for_bytes(media_type::MANIFEST, &manifest)
        };
        let by_digest = digest.to_string();
        let pushed = self.push_manifest(reference, &by_digest, media_type::MANIFEST, manifest);
        if !pushed.await?.headers().contains_key(SUBJECT) {
            self.add_to_referrers_tag(reference, subject_digest, descriptor)
                .await?;
        }
        Ok(digest)
    }

    /// Pushes a blob, unless the registry has it.
    pub(crate) async fn push_blob(
        &self,
        reference: &Reference,
        bytes: Bytes,
    ) -> Result<(), RegistryError> {
        let digest = Digest::of(&bytes);
        let request = |method, url, body| ApiRequest {
            method,
            url,
            repository: reference.name(),
            push: true,
            accept: "",
            body,
            what: format!("the blob {digest}"),
        };
        let at = self.url(reference.name(), &format!("blobs/{digest}"));
        if self
            .send_optional(&request(Method::HEAD, at, None))
            .await?
            .is_some()
        {
            return Ok(());
        }
        let uploads = self.url(reference.name(), "blobs/uploads/");
        let nothing = Some(("application/octet-stream", Bytes::new()));
        let started = self.send(&request(Method::POST, uploads, nothing)).await?;
        let mut at = self.location(&started)?;
        at.query_pairs_mut()
            .append_pair("digest", &digest.to_string());
        let body = Some(("application/octet-stream", bytes));
        self.send(&request(Method::PUT, at, body)).await.map(drop)
    }

    /// Pushes a manifest under a tag or its digest.
    pub(crate) async fn push_manifest(
        &self,
        reference: &Reference,
        name: &str,
        media_type: &str,
        manifest: Bytes,
    ) -> Result<Response, RegistryError> {
        let request = ApiRequest {
            method: Method::PUT,
            url: self.url(reference.name(), &format!("manifests/{name}")),
            repository: reference.name(),
            push: true,
            accept: "",
            body: Some((media_type, manifest)),
            what: format!("the manifest {name}"),
        };
        self.send(&request).await
    }

    pub(crate) fn json(&self, value: &impl serde::Serialize) -> Result<Bytes, RegistryError> {
        serde_json::to_vec(value)
            .map(Bytes::from)
            .map_err(|error| self.answer(&error.to_string()))
    }
}
