//! Components of registries and addresses: pulled through the cache, accepted by their publisher's
//! key or by the user, and pinned in `agent.lock`, so that a tag that moves changes nothing.

use crate::{
    config::{Accepts, Config},
    distribution::PulledComponent,
    error::HostError,
    lock_file::LockFile,
};
use agent_host_registry::{Blobs, Client, PublicKey, Reference, RegistryError, Remote, Resolved};
use agent_host_types::{id::Digest, lock::LockedOrigin, reason::Reason};
use std::path::PathBuf;

/// The directory of pulled components in that of compiled ones.
const DIRECTORY: &str = "components";

/// The reason to pull a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To run it: the pinned one, or a new one that is accepted.
    Run,
    /// To show it: the pinned one, or a new one.
    Inspect,
    /// To accept it: the one that the registry has now.
    Accept,
}

/// Pulls the components of one configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packages<'a> {
    config: &'a Config,
    purpose: Purpose,
    /// A component that was pulled and verified just now, and is not asked for again.
    known: Option<&'a PulledComponent>,
}

/// A pulled component.
#[derive(Clone, Debug)]
pub(crate) struct Pulled {
    /// The file in the cache. Others of this user may change it, so its digest is compared again
    /// when it is loaded.
    pub(crate) file: PathBuf,
    /// The digest of the component.
    pub(crate) digest: Digest,
    /// The pin for `agent.lock`; absent for one at an address, which has its digest there.
    pub(crate) origin: Option<LockedOrigin>,
}

impl<'a> Packages<'a> {
    pub(crate) fn new(config: &'a Config, purpose: Purpose) -> Self {
        Self {
            config,
            purpose,
            known: None,
        }
    }

    /// Returns the receiver of lines for the waiting user.
    pub(crate) fn tell(&self) -> Option<fn(&str)> {
        self.config.tell
    }

    /// Takes a component that was pulled already, to show it.
    pub(crate) fn of_pulled(config: &'a Config, known: &'a PulledComponent) -> Self {
        Self {
            known: Some(known),
            ..Self::new(config, Purpose::Inspect)
        }
    }

    /// Pulls the component with this name in the configuration, or takes it from the cache.
    ///
    /// # Errors
    /// It cannot be pulled, is not accepted, or `agent.lock` cannot be read.
    pub(crate) async fn fetch(&self, name: &str, remote: &Remote) -> Result<Pulled, HostError> {
        if let Some(known) = self.known.filter(|known| known.asked_for == *remote) {
            let directory = self.config.cache_dir.join(DIRECTORY);
            return Ok(Pulled {
                file: directory.join(known.digest.hex()),
                digest: known.digest,
                origin: known.origin(),
            });
        }
        match remote {
            Remote::Registry(reference) => self.fetch_from_registry(name, reference).await,
            Remote::Url(url) => {
                check_unsigned(self.config, name, remote)?;
                let (blobs, directory) = open_blobs(self.config)?;
                let fault = |source| registry_error(name, &source);
                if url.kept(&blobs).map_err(fault)?.is_none() {
                    let settings = self.config.registries.open().await?;
                    url.load(&settings, &blobs).await.map_err(fault)?;
                }
                Ok(Pulled {
                    file: directory.join(url.digest().hex()),
                    digest: url.digest(),
                    origin: None,
                })
            }
        }
    }

    async fn fetch_from_registry(
        &self,
        name: &str,
        reference: &Reference,
    ) -> Result<Pulled, HostError> {
        let lock = LockFile::open(self.config)?;
        let locked = lock.as_ref().and_then(|lock| lock.lock.tool.get(name));
        let pin = locked.and_then(|locked| locked.registry.as_ref());
        let pin = pin.filter(|pin| pin.reference == reference.to_string());
        let wanted = match pin.filter(|_| self.purpose != Purpose::Accept) {
            Some(pin) => reference.with_digest(pin.manifest),
            None => reference.clone(),
        };
        let fault = |source| registry_error(name, &source);
        let keys = accepted_keys(self.config, name, &reference.clone().into())?;
        let (blobs, directory) = open_blobs(self.config)?;
        let mut connection = LazyClient {
            config: self.config,
            client: None,
        };
        let resolved = match Resolved::kept(&wanted, &blobs).map_err(fault)? {
            Some(kept) => kept,
            None => {
                let client = connection.open(name, reference).await?;
                client.resolve(&wanted, &blobs).await.map_err(fault)?
            }
        };
        let pinned_signer = pin
            .filter(|pin| pin.manifest == resolved.digest)
            .and_then(|pin| pin.signer);
        let signer = match keys.as_deref() {
            None => None,
            Some(keys) => match keys
                .iter()
                .find(|key| Some(key.fingerprint()) == pinned_signer)
            {
                Some(key) => Some(key.fingerprint()),
                None => {
                    let client = connection.open(name, reference).await?;
                    let verified = client.verify(&resolved, keys, &blobs).await;
                    Some(verified.map_err(fault)?.0.fingerprint())
                }
            },
        };
        let is_named = reference.digest().is_some() || locked.is_some();
        if self.purpose == Purpose::Run && signer.is_none() && !is_named {
            let reference = resolved.reference;
            return Err(Reason::from(format!(
                "nothing proves who made the component `{name}` ({reference}), and you have not accepted it, so \
                 nothing runs. Review it with `agent-host inspect {name}`, then accept exactly this one with \
                 `agent-host lock --accept {name}`, or everything that a key signs with [[publisher]]"
            ))
            .into());
        }
        if resolved.kept_component(&blobs).map_err(fault)?.is_none() {
            let client = connection.open(name, reference).await?;
            client.component(&resolved, &blobs).await.map_err(fault)?;
        }
        Ok(Pulled {
            file: directory.join(resolved.layer.hex()),
            digest: resolved.layer,
            origin: Some(LockedOrigin {
                reference: reference.to_string(),
                manifest: resolved.digest,
                signer,
            }),
        })
    }
}

/// A client that is made once it is needed, so that a kept component needs no network.
struct LazyClient<'a> {
    config: &'a Config,
    client: Option<Client>,
}

impl LazyClient<'_> {
    async fn open(&mut self, name: &str, reference: &Reference) -> Result<&Client, HostError> {
        let client = match self.client.take() {
            Some(client) => client,
            None => {
                let settings = self.config.registries.open().await?;
                let client = Client::new(reference, &settings).await;
                client.map_err(|source| registry_error(name, &source))?
            }
        };
        Ok(self.client.insert(client))
    }
}

/// Opens the cache of pulled components.
pub(crate) fn open_blobs(config: &Config) -> Result<(Blobs, PathBuf), HostError> {
    let path = config.cache_dir.join(DIRECTORY);
    match Blobs::open(&path, config.sandbox.cache_bytes) {
        Ok(blobs) => Ok((blobs, path)),
        Err(error) => {
            let path = path.display();
            let why = format!("cannot use the component cache {path}: {error}");
            Err(HostError::Passing(why.into()))
        }
    }
}

/// Returns the error of a registry about the component of this name.
pub(crate) fn registry_error(name: &str, error: &RegistryError) -> HostError {
    let why = Reason::from(format!("the component `{name}`: {error}"));
    match error.may_pass() {
        true => HostError::Passing(why),
        false => why.into(),
    }
}

/// Returns the error of a component that needs a signature where none can be. `wanted` is why one
/// is needed, as a clause.
pub(crate) fn not_signable(name: &str, remote: &Remote, wanted: &str) -> HostError {
    Reason::from(format!(
        "the component `{name}` comes from {remote}, where nothing is signed, but {wanted}; use a registry, or correct \
         the `components` of [[publisher]]"
    ))
    .into()
}

/// Checks that no signature is needed for a component that can have none.
pub(crate) fn check_unsigned(
    config: &Config,
    name: &str,
    remote: &Remote,
) -> Result<(), HostError> {
    match accepted_keys(config, name, remote)? {
        None => Ok(()),
        Some(_) => Err(not_signable(
            name,
            remote,
            "a [[publisher]] has keys for it",
        )),
    }
}

/// Returns the keys of which one has to have signed a component; absent where none has to. Every
/// publisher that has the component has to accept it.
pub(crate) fn accepted_keys(
    config: &Config,
    name: &str,
    remote: &Remote,
) -> Result<Option<Vec<PublicKey>>, HostError> {
    let mut common: Option<Vec<PublicKey>> = None;
    let publishers = &config.registries.publishers;
    for publisher in publishers.iter().filter(|it| it.has(remote)) {
        match &publisher.accepts {
            Accepts::None => {
                let publisher = &publisher.name;
                return Err(Reason::from(format!(
                    "the component `{name}` comes from {remote}, for which [[publisher]] `{publisher}` has `accept = \
                     \"none\"`"
                ))
                .into());
            }
            Accepts::Digest => {}
            Accepts::Signed(keys) => {
                common = Some(match common {
                    None => keys.clone(),
                    Some(mut common) => {
                        common.retain(|key| keys.contains(key));
                        common
                    }
                });
            }
        }
    }
    if common.as_ref().is_some_and(Vec::is_empty) {
        return Err(Reason::from(format!(
            "the component `{name}` comes from {remote}, for which several [[publisher]] have keys but none in \
             common; correct their `components`"
        ))
        .into());
    }
    Ok(common)
}
