//! `pull` and `push`: components of registries apart from any configuration of tools.

use crate::{
    config::Config,
    error::HostError,
    packages::{PackageError, accepted_keys, open_blobs},
};
use agent_host_registry::{
    Client, Package, PolicyLayer, PublicKey, Pushed, Reference, RegistryError, Resolved,
    SignatureForm, SigningKey,
};
use agent_host_types::id::Digest;
use std::collections::BTreeMap;

/// A component that was pulled from a registry.
#[derive(Clone, Debug)]
pub struct PulledComponent {
    /// The reference with the digest of the manifest.
    pub reference: Reference,
    /// The digest of the component.
    pub digest: Digest,
    /// The bytes of the component.
    pub bytes: Vec<u8>,
    /// The key that signed it, with the form of its signature; absent where no key was asked for.
    pub signer: Option<(Digest, SignatureForm)>,
    /// The annotations of its manifest. They are untrusted text.
    pub annotations: BTreeMap<String, String>,
    /// The permissions that its author asks for. They are untrusted text, and never applied.
    pub policies: Vec<PolicyLayer>,
}

/// A component that was pushed to a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedComponent {
    /// The reference with the digest of the manifest.
    pub reference: Reference,
    /// The digest of the component.
    pub digest: Digest,
    /// The key that signed it.
    pub signer: Option<Digest>,
}

/// Pulls a component into the cache. With a key, it has to have signed the component; without, one
/// of those that the configuration has for it.
///
/// # Errors
/// It cannot be pulled, or is not signed as it has to be.
pub async fn pull(
    config: &Config,
    reference: &Reference,
    key: Option<PublicKey>,
) -> Result<PulledComponent, HostError> {
    let name = reference.name();
    let fault = |source| fault(reference, source);
    let keys = match key {
        Some(key) => Some(vec![key]),
        None => accepted_keys(config, name, reference)?,
    };
    let (blobs, _) = open_blobs(config)?;
    let client = connect(config, reference).await?;
    let resolved = client.resolve(reference, &blobs).await.map_err(fault)?;
    let signer = match &keys {
        None => None,
        Some(keys) => {
            let (key, form) = client.verify(&resolved, keys).await.map_err(fault)?;
            Some((key.fingerprint(), form))
        }
    };
    let policies = client.policies(&resolved).await.map_err(fault)?;
    let bytes = client.component(&resolved, &blobs).await.map_err(fault)?;
    let Resolved {
        reference,
        layer,
        manifest,
        ..
    } = resolved;
    Ok(PulledComponent {
        reference,
        digest: layer,
        bytes,
        signer,
        annotations: manifest.annotations,
        policies,
    })
}

/// Pushes a component, and signs it if there is a key.
///
/// # Errors
/// The registry refuses it.
pub async fn push(
    config: &Config,
    reference: &Reference,
    package: Package,
    key: Option<&SigningKey>,
) -> Result<PushedComponent, HostError> {
    let fault = |source| fault(reference, source);
    let client = connect(config, reference).await?;
    let pushed = client.push(reference, package).await.map_err(fault)?;
    if let Some(key) = key {
        let Pushed { manifest, .. } = &pushed;
        let signed = client.sign(reference, manifest, key).await;
        signed.map_err(fault)?;
    }
    Ok(PushedComponent {
        reference: pushed.reference,
        digest: pushed.layer,
        signer: key.map(|key| key.public().fingerprint()),
    })
}

async fn connect(config: &Config, reference: &Reference) -> Result<Client, HostError> {
    let settings = config.registries.open().await?;
    let client = Client::new(reference, &settings).await;
    client.map_err(|source| fault(reference, source))
}

fn fault(reference: &Reference, source: RegistryError) -> HostError {
    PackageError::Registry {
        name: reference.name().to_owned(),
        source: Box::new(source),
    }
    .into()
}
