//! Finds the signatures of an artifact: by the referrers API, by the tag that stands for it where a
//! registry has none, and by cosign's older tag.

use crate::{
    Blobs, Client, Descriptor, MAX_DOCUMENT_BYTES, MAX_MANIFEST_BYTES, MAX_REFERRERS, Manifest,
    PublicKey, Reference, RegistryError, Resolved, SignatureForm,
    client::ApiRequest,
    media_type,
    signature::{
        OTHER_ARTIFACT, OTHER_BUNDLE, malformed, signature_count, verify_bundle, verify_simple,
    },
};
use agent_host_types::{id::Digest, reason::Reason};
use reqwest::Method;
use serde::{Deserialize, Serialize};

/// The annotation with the signature of a simple-signing payload.
const SIMPLE_SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// An index of OCI, of referrers.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReferrersIndex {
    schema_version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    manifests: Vec<Descriptor>,
}

/// The signatures that are not valid.
#[derive(Default)]
struct Failed {
    looked_at: usize,
    first: Option<Reason>,
}

impl Failed {
    fn add(&mut self, error: Reason) {
        self.looked_at += 1;
        self.first.get_or_insert(error);
    }
}

impl Client {
    /// Verifies that one of the keys signed an artifact. Returns the key, and the form of its
    /// signature. A bundle that verified is kept: what a key signed it does not take back, so the
    /// registry is not asked again.
    ///
    /// # Errors
    /// The artifact has no signature, none is valid, or the registry or the cache cannot be read.
    pub async fn verify<'k>(
        &self,
        resolved: &Resolved,
        keys: &'k [PublicKey],
        blobs: &Blobs,
    ) -> Result<(&'k PublicKey, SignatureForm), RegistryError> {
        let kept = blobs.signature(resolved.digest);
        if let Some(kept) = kept.map_err(RegistryError::Cache)?
            && let Ok(key) = verify_bundle(&kept, resolved.digest, keys)
        {
            return Ok((key, SignatureForm::Bundle));
        }
        let mut failed = Failed::default();
        for referrer in self.referrers(&resolved.reference, resolved.digest).await? {
            let bundle = match self.bundle(resolved, &referrer).await? {
                None => continue,
                Some(Err(error)) => {
                    failed.add(error);
                    continue;
                }
                Some(Ok(bundle)) => bundle,
            };
            match verify_bundle(&bundle, resolved.digest, keys) {
                Ok(key) => {
                    let kept = blobs.put_signature(resolved.digest, &bundle);
                    kept.map_err(RegistryError::Cache)?;
                    return Ok((key, SignatureForm::Bundle));
                }
                Err(error) => failed.add(error),
            }
        }
        if let Some(key) = self.verify_older(resolved, keys, &mut failed).await? {
            return Ok((key, SignatureForm::Simple));
        }
        let reference = resolved.reference.to_string();
        Err(match failed.first {
            None => RegistryError::Signature(format!("{reference} is not signed").into()),
            Some(first) => {
                let (keys, looked_at) = (keys.len(), failed.looked_at);
                let why = format!(
                    "{reference} has no valid signature by any of the {keys} accepted keys; {looked_at} signatures \
                     were checked, at most {MAX_REFERRERS} of each kind: {first}"
                );
                RegistryError::Signature(why.into())
            }
        })
    }

    /// Returns the first referrers of a manifest, those of the type of bundles before others. The
    /// type in an index is a hint: not every registry has it right.
    async fn referrers(
        &self,
        reference: &Reference,
        digest: Digest,
    ) -> Result<Vec<Descriptor>, RegistryError> {
        let what = "the list of signatures";
        let mut url = self.url(reference.name(), &format!("referrers/{digest}"));
        url.query_pairs_mut()
            .append_pair("artifactType", media_type::BUNDLE);
        let request = ApiRequest {
            method: Method::GET,
            url,
            repository: reference.name(),
            push: false,
            accept: media_type::INDEX,
            body: None,
            what: what.to_owned(),
        };
        let bytes = match self.send_optional(&request).await? {
            Some(response) => Some(self.read(response, MAX_MANIFEST_BYTES, what).await?),
            None => self.tagged(reference, digest, "").await?,
        };
        let Some(bytes) = bytes else {
            return Ok(Vec::new());
        };
        let index: ReferrersIndex = serde_json::from_slice(&bytes)
            .map_err(|_| self.answer("the list of signatures is malformed"))?;
        let mut found = index.manifests;
        let is_bundle = |it: &Descriptor| it.artifact_type.as_deref() == Some(media_type::BUNDLE);
        found.sort_by_key(|it| !is_bundle(it));
        found.truncate(MAX_REFERRERS);
        Ok(found)
    }

    /// Returns the manifest under the tag `sha256-HEX` with this ending, if there is one.
    async fn tagged(
        &self,
        reference: &Reference,
        digest: Digest,
        ending: &str,
    ) -> Result<Option<Vec<u8>>, RegistryError> {
        let tag = format!("sha256-{}{ending}", digest.hex());
        let found = self.manifest(reference, &tag, MAX_MANIFEST_BYTES).await?;
        Ok(found.map(|(bytes, _)| bytes))
    }

    /// Returns the bundle of a referrer; absent if it carries none. A referrer that is not there or
    /// is malformed is not valid, and does not hide the others.
    async fn bundle(
        &self,
        resolved: &Resolved,
        referrer: &Descriptor,
    ) -> Result<Option<Result<Vec<u8>, Reason>>, RegistryError> {
        let malformed = |why| Ok(Some(Err(malformed(why))));
        let Ok((digest, _)) = referrer.bounded(MAX_DOCUMENT_BYTES) else {
            return malformed("its manifest is too long or has no SHA-256 digest");
        };
        let wanted = digest.to_string();
        let found = self.manifest(&resolved.reference, &wanted, MAX_DOCUMENT_BYTES);
        let Some((bytes, content_type)) = self.tolerate(found.await)?.flatten() else {
            return malformed("its manifest is missing");
        };
        let Ok(manifest) = Manifest::parse(&bytes, content_type.as_deref()) else {
            return malformed("its manifest cannot be read");
        };
        if manifest.artifact_type.as_deref() != Some(media_type::BUNDLE) {
            return Ok(None);
        }
        let subject = manifest.subject.as_ref().map(|it| it.digest.as_str());
        if subject != Some(&resolved.digest.to_string()) {
            return Ok(Some(Err(OTHER_ARTIFACT.into())));
        }
        let [layer] = manifest.layers.as_slice() else {
            return malformed("it does not have exactly one layer");
        };
        if layer.media_type != media_type::BUNDLE {
            return Ok(Some(Err(OTHER_BUNDLE.into())));
        }
        let bundle = self
            .document(&resolved.reference, layer, "a signature")
            .await;
        let Some(bundle) = self.tolerate(bundle)? else {
            return malformed("its bundle is missing, too long or damaged");
        };
        Ok(Some(Ok(bundle)))
    }

    /// Verifies the layers under cosign's older tag.
    async fn verify_older<'k>(
        &self,
        resolved: &Resolved,
        keys: &'k [PublicKey],
        failed: &mut Failed,
    ) -> Result<Option<&'k PublicKey>, RegistryError> {
        let Some(bytes) = self
            .tagged(&resolved.reference, resolved.digest, ".sig")
            .await?
        else {
            return Ok(None);
        };
        let Ok(manifest) = Manifest::parse(&bytes, None) else {
            failed.add(malformed("its manifest cannot be read"));
            return Ok(None);
        };
        for layer in manifest.layers.iter().take(MAX_REFERRERS) {
            if layer.media_type != media_type::SIMPLE_SIGNING {
                continue;
            }
            let Some(signature) = layer.annotations.get(SIMPLE_SIGNATURE) else {
                failed.add(signature_count(0));
                continue;
            };
            let payload = self
                .document(&resolved.reference, layer, "a signature")
                .await;
            let verified = match self.tolerate(payload)? {
                None => Err(malformed("its payload is missing, too long or damaged")),
                Some(payload) => verify_simple(&payload, signature, resolved.digest, keys),
            };
            match verified {
                Ok(key) => return Ok(Some(key)),
                Err(error) => failed.add(error),
            }
        }
        Ok(None)
    }

    /// Returns nothing for content that is not what it should be: other content may be. A registry
    /// that cannot be reached or denies access is an error.
    fn tolerate<T>(&self, result: Result<T, RegistryError>) -> Result<Option<T>, RegistryError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(
                RegistryError::NotFound(_) | RegistryError::Content(_) | RegistryError::Manifest(_),
            ) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Adds a referrer to the index under the tag that stands for the referrers API.
    pub(crate) async fn add_to_referrers_tag(
        &self,
        reference: &Reference,
        subject: Digest,
        referrer: Descriptor,
    ) -> Result<(), RegistryError> {
        let mut manifests = match self.tagged(reference, subject, "").await? {
            None => Vec::new(),
            Some(bytes) => {
                let index: ReferrersIndex = serde_json::from_slice(&bytes)
                    .map_err(|_| self.answer("the list of signatures is malformed"))?;
                index.manifests
            }
        };
        if manifests.iter().any(|it| it.digest == referrer.digest) {
            return Ok(());
        }
        manifests.push(referrer);
        let index = self.json(&ReferrersIndex {
            schema_version: 2,
            media_type: Some(media_type::INDEX.to_owned()),
            manifests,
        })?;
        if index.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(self.answer("its list of signatures is full"));
        }
        let tag = format!("sha256-{}", subject.hex());
        let pushed = self.push_manifest(reference, &tag, media_type::INDEX, index);
        pushed.await.map(drop)
    }
}
