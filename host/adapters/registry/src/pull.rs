//! Pulls components: from a reference to a manifest, and from that to bytes. After the tag is
//! resolved, everything is named by digest, so a tag that moves meanwhile changes nothing.

use crate::{
    Blobs, Client, Descriptor, MAX_COMPONENT_BYTES, MAX_DOCUMENT_BYTES, MAX_MANIFEST_BYTES,
    Manifest, Reference, RegistryError, WasmConfig,
    client::ApiRequest,
    manifest::{component_layer, policy_layers},
    media_type,
};
use agent_host_types::{id::Digest, reason::Reason};
use reqwest::{
    Method, Response,
    header::{CONTENT_TYPE, HeaderMap},
};

/// The types that a registry is asked for. Those that are refused are among them, so that the user
/// is told what the artifact is; without them registries convert it or hide it.
const ACCEPTED: &str = "application/vnd.oci.image.manifest.v1+json, \
    application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json, \
    application/vnd.docker.distribution.manifest.list.v2+json";

/// The header with the digest of a manifest.
const CONTENT_DIGEST: &str = "docker-content-digest";

/// A component in a registry whose manifest is known and checked.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The reference with the digest of the manifest.
    pub reference: Reference,
    /// The digest of the manifest.
    pub digest: Digest,
    /// The manifest. Its annotations are untrusted text.
    pub manifest: Manifest,
    /// The digest of the component.
    pub layer: Digest,
    /// The size of the component by the manifest, in bytes.
    pub layer_bytes: u64,
    /// The size of the manifest, in bytes.
    pub(crate) manifest_bytes: u64,
}

/// A policy that came with a component: the permissions that its author asks for. It is shown, and
/// never applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyLayer {
    /// The type of the layer.
    pub media_type: String,
    /// The untrusted text.
    pub text: String,
}

impl Resolved {
    /// Reads the manifest of a component.
    fn new(
        reference: &Reference,
        bytes: &[u8],
        content_type: Option<&str>,
    ) -> Result<Self, Reason> {
        let manifest = Manifest::parse(bytes, content_type)?;
        let (layer, layer_bytes) = component_layer(&manifest)?.bounded(MAX_COMPONENT_BYTES)?;
        let digest = Digest::of(bytes);
        Ok(Self {
            reference: reference.with_digest(digest),
            digest,
            layer,
            layer_bytes,
            manifest,
            manifest_bytes: bytes.len() as u64,
        })
    }

    /// Describes the manifest, as the subject of a signature.
    #[must_use]
    pub fn descriptor(&self) -> Descriptor {
        Descriptor {
            media_type: media_type::MANIFEST.to_owned(),
            digest: self.digest.to_string(),
            size: self.manifest_bytes,
            artifact_type: None,
            annotations: Default::default(),
        }
    }
}

impl Client {
    /// Resolves a reference to a manifest, and keeps the manifest. One with a digest is resolved
    /// without a request if the manifest is kept.
    ///
    /// # Errors
    /// There is no such artifact, it cannot be read, or it is not one component.
    pub async fn resolve(
        &self,
        reference: &Reference,
        blobs: &Blobs,
    ) -> Result<Resolved, RegistryError> {
        if let Some(found) = Resolved::kept(reference, blobs)? {
            return Ok(found);
        }
        let wanted = match (reference.digest(), reference.tag()) {
            (Some(digest), _) => digest.to_string(),
            (None, tag) => tag.unwrap_or_default().to_owned(),
        };
        let found = self
            .manifest(reference, &wanted, MAX_MANIFEST_BYTES)
            .await?;
        let what = format!("{}:{wanted}", reference.name());
        let (bytes, content_type) = found.ok_or_else(|| self.not_found(&what))?;
        let resolved = Resolved::new(reference, &bytes, content_type.as_deref());
        let resolved = resolved.map_err(|why| RegistryError::manifest(reference, &why))?;
        blobs.put(&bytes).map_err(RegistryError::Cache)?;
        Ok(resolved)
    }

    /// Returns the bytes and the type of a manifest, by tag or digest; absent if there is none.
    pub(crate) async fn manifest(
        &self,
        reference: &Reference,
        wanted: &str,
        max_bytes: u64,
    ) -> Result<Option<(Vec<u8>, Option<String>)>, RegistryError> {
        let what = format!("the manifest {wanted}");
        let request = ApiRequest {
            method: Method::GET,
            url: self.url(reference.name(), &format!("manifests/{wanted}")),
            repository: reference.name(),
            push: false,
            accept: ACCEPTED,
            body: None,
            what: what.clone(),
        };
        let Some(response) = self.send_optional(&request).await? else {
            return Ok(None);
        };
        let header = |headers: &HeaderMap, name: &str| {
            let value = headers.get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        let content_type = header(response.headers(), CONTENT_TYPE.as_str());
        let claimed = header(response.headers(), CONTENT_DIGEST);
        let bytes = self.read(response, max_bytes, &what).await?;
        let found = Digest::of(&bytes);
        for expected in [Some(wanted), claimed.as_deref()].into_iter().flatten() {
            if let Ok(expected) = expected.parse::<Digest>()
                && expected != found
            {
                return Err(self.digest_error(&what, expected, found));
            }
        }
        Ok(Some((bytes, content_type)))
    }

    /// Returns the bytes of a component, from the cache or the registry, which are kept.
    ///
    /// # Errors
    /// They cannot be pulled, or are not those of the manifest. Nothing is kept then.
    pub async fn component(
        &self,
        resolved: &Resolved,
        blobs: &Blobs,
    ) -> Result<Vec<u8>, RegistryError> {
        if let Some(found) = resolved.kept_component(blobs)? {
            return Ok(found);
        }
        let what = "the component".to_owned();
        let response = self
            .blob(&resolved.reference, resolved.layer, &what)
            .await?;
        self.keep(response, resolved.layer, resolved.layer_bytes, what, blobs)
            .await
    }

    /// Reads a component of at most `max_bytes` into the cache, and returns it. Nothing is kept
    /// unless it has the digest.
    pub(crate) async fn keep(
        &self,
        response: Response,
        digest: Digest,
        max_bytes: u64,
        what: String,
        blobs: &Blobs,
    ) -> Result<Vec<u8>, RegistryError> {
        let mut new = blobs.start().map_err(RegistryError::Cache)?;
        self.read_chunks(response, max_bytes, &what, |chunk| {
            new.write(chunk).map_err(RegistryError::Cache)
        })
        .await?;
        let found = new.digest();
        if found != digest {
            return Err(self.digest_error(&what, digest, found));
        }
        new.keep(found).map_err(RegistryError::Cache)?;
        let kept = blobs.get(digest, MAX_COMPONENT_BYTES);
        kept.map_err(RegistryError::Cache)?.ok_or_else(|| {
            RegistryError::Cache(std::io::Error::other(
                "a pulled component is missing; is the cache too small for it?",
            ))
        })
    }

    /// Returns the configuration of a component; absent if it is of another type.
    ///
    /// # Errors
    /// It cannot be pulled, or does not have the form.
    pub async fn wasm_config(
        &self,
        resolved: &Resolved,
    ) -> Result<Option<WasmConfig>, RegistryError> {
        let config = &resolved.manifest.config;
        if config.media_type != media_type::WASM_CONFIG {
            return Ok(None);
        }
        let bytes = self
            .document(&resolved.reference, config, "the configuration")
            .await?;
        let parsed = serde_json::from_slice(&bytes);
        parsed
            .map(Some)
            .map_err(|_| self.answer("the configuration of the component is malformed"))
    }

    /// Returns the policies that came with a component.
    ///
    /// # Errors
    /// One cannot be pulled, or is not text.
    pub async fn policies(&self, resolved: &Resolved) -> Result<Vec<PolicyLayer>, RegistryError> {
        let layers = policy_layers(&resolved.manifest)
            .map_err(|why| RegistryError::manifest(&resolved.reference, &why))?;
        let mut policies = Vec::new();
        for (layer, _) in layers {
            let bytes = self
                .document(&resolved.reference, layer, "a policy")
                .await?;
            let text = String::from_utf8(bytes).map_err(|_| self.answer("a policy is not text"))?;
            policies.push(PolicyLayer {
                media_type: layer.media_type.clone(),
                text,
            });
        }
        Ok(policies)
    }

    /// Returns the bytes of a blob of at most 64 KiB.
    pub(crate) async fn document(
        &self,
        reference: &Reference,
        descriptor: &Descriptor,
        what: &str,
    ) -> Result<Vec<u8>, RegistryError> {
        self.bounded_blob(reference, descriptor, MAX_DOCUMENT_BYTES, what)
            .await
    }

    /// Returns the bytes of a blob of at most `max_bytes`.
    pub(crate) async fn bounded_blob(
        &self,
        reference: &Reference,
        descriptor: &Descriptor,
        max_bytes: u64,
        what: &str,
    ) -> Result<Vec<u8>, RegistryError> {
        let bounded = descriptor.bounded(max_bytes);
        let (expected, bytes) = bounded.map_err(|why| RegistryError::manifest(reference, &why))?;
        let response = self.blob(reference, expected, what).await?;
        let body = self.read(response, bytes, what).await?;
        let found = Digest::of(&body);
        match found == expected {
            true => Ok(body),
            false => Err(self.digest_error(what, expected, found)),
        }
    }

    async fn blob(
        &self,
        reference: &Reference,
        digest: Digest,
        what: &str,
    ) -> Result<Response, RegistryError> {
        let request = ApiRequest {
            method: Method::GET,
            url: self.url(reference.name(), &format!("blobs/{digest}")),
            repository: reference.name(),
            push: false,
            accept: "",
            body: None,
            what: format!("{what} ({digest})"),
        };
        self.send(&request).await
    }

    pub(crate) fn digest_error(
        &self,
        what: &str,
        expected: Digest,
        found: Digest,
    ) -> RegistryError {
        let registry = &self.registry;
        let why = format!(
            "{what} of {registry} has the digest {found} instead of {expected}, so it was discarded: it was damaged \
             or replaced in transit"
        );
        RegistryError::Content(why.into())
    }
}

impl Resolved {
    /// Returns what a reference with a digest is, if its manifest is kept.
    ///
    /// # Errors
    /// The cache cannot be read, or the kept manifest is not one of a component.
    pub fn kept(reference: &Reference, blobs: &Blobs) -> Result<Option<Self>, RegistryError> {
        let Some(digest) = reference.digest() else {
            return Ok(None);
        };
        let kept = blobs
            .get(digest, MAX_MANIFEST_BYTES)
            .map_err(RegistryError::Cache)?;
        let kept = kept
            .map(|bytes| Self::new(reference, &bytes, None))
            .transpose();
        kept.map_err(|why| RegistryError::manifest(reference, &why))
    }

    /// Returns the bytes of the component, if they are kept.
    ///
    /// # Errors
    /// The cache cannot be read.
    pub fn kept_component(&self, blobs: &Blobs) -> Result<Option<Vec<u8>>, RegistryError> {
        let kept = blobs.get(self.layer, MAX_COMPONENT_BYTES);
        kept.map_err(RegistryError::Cache)
    }
}
