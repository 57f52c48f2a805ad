//! `pull` and `push`: components from registries apart from any configuration of tools.

use crate::{
    config::Config,
    error::HostError,
    packages::{accepted_keys, check_unsigned, not_signable, open_blobs, registry_error},
};
use agent_host_registry::{
    Client, Login, Package, PinnedUrl, PolicyLayer, PublicKey, Pushed, Reference, Remote,
    SignatureForm, SigningKey,
};
use agent_host_types::{id::Digest, lock::LockedOrigin};
use std::collections::BTreeMap;

/// A component that was pulled from a registry.
#[derive(Clone, Debug)]
pub struct PulledComponent {
    /// The component as it was asked for.
    pub asked_for: Remote,
    /// The same with a digest.
    pub exact: Remote,
    /// The digest of the manifest; absent for a component at an address.
    pub manifest: Option<Digest>,
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
    remote: &Remote,
    key: Option<PublicKey>,
) -> Result<PulledComponent, HostError> {
    match remote {
        Remote::Registry(reference) => pull_from_registry(config, reference, key).await,
        Remote::Url(url) => load(config, remote, url, key.is_some()).await,
    }
}

async fn load(
    config: &Config,
    remote: &Remote,
    url: &PinnedUrl,
    has_key: bool,
) -> Result<PulledComponent, HostError> {
    let name = remote.short_name();
    if has_key {
        return Err(not_signable(&name, remote, "a key was named"));
    }
    check_unsigned(config, &name, remote)?;
    let (blobs, _) = open_blobs(config)?;
    let settings = config.registries.open().await?;
    let loaded = url.load(&settings, &blobs).await;
    let bytes = loaded.map_err(|source| registry_error(&name, &source))?;
    Ok(PulledComponent {
        asked_for: remote.clone(),
        exact: remote.clone(),
        manifest: None,
        digest: url.digest(),
        bytes,
        signer: None,
        annotations: BTreeMap::new(),
        policies: Vec::new(),
    })
}

async fn pull_from_registry(
    config: &Config,
    reference: &Reference,
    key: Option<PublicKey>,
) -> Result<PulledComponent, HostError> {
    let asked_for = Remote::from(reference.clone());
    let fault = |source| registry_error(reference.name(), &source);
    let keys = match key {
        Some(key) => Some(vec![key]),
        None => accepted_keys(config, reference.name(), &asked_for)?,
    };
    let (blobs, _) = open_blobs(config)?;
    let client = connect(config, reference).await?;
    let resolved = client.resolve(reference, &blobs).await.map_err(fault)?;
    let signer = match &keys {
        None => None,
        Some(keys) => {
            let verified = client.verify(&resolved, keys, &blobs).await;
            let (key, form) = verified.map_err(fault)?;
            Some((key.fingerprint(), form))
        }
    };
    let policies = client.policies(&resolved).await.map_err(fault)?;
    let bytes = client.component(&resolved, &blobs).await.map_err(fault)?;
    Ok(PulledComponent {
        asked_for,
        exact: resolved.reference.into(),
        manifest: Some(resolved.digest),
        digest: resolved.layer,
        bytes,
        signer,
        annotations: resolved.manifest.annotations,
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
    let fault = |source| registry_error(reference.name(), &source);
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

impl PulledComponent {
    /// Returns the pin for `agent.lock`; absent for a component at an address.
    pub(crate) fn origin(&self) -> Option<LockedOrigin> {
        Some(LockedOrigin {
            reference: self.asked_for.to_string(),
            manifest: self.manifest?,
            signer: self.signer.map(|(key, _)| key),
        })
    }
}

/// Asks a registry whether it accepts the credentials that are known for it.
///
/// # Errors
/// It refuses them or there are none, or it cannot be reached.
pub async fn check_login(config: &Config, reference: &Reference) -> Result<Login, HostError> {
    let client = connect(config, reference).await?;
    let checked = client.check_login().await;
    checked.map_err(|source| registry_error(&reference.registry(), &source))
}

/// Connects to the registry of a reference.
pub(crate) async fn connect(config: &Config, reference: &Reference) -> Result<Client, HostError> {
    let settings = config.registries.open().await?;
    let client = Client::new(reference, &settings).await;
    client.map_err(|source| registry_error(reference.name(), &source))
}
