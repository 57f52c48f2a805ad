//! Why an artifact is not pulled, pushed or verified.

use crate::Reference;
use agent_host_http_client::ClientError;
use agent_host_types::reason::Reason;
use std::io;

/// Why an operation on a registry failed. Text of a server in it is escaped and short.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// There is no such artifact (404).
    #[error("{0}")]
    NotFound(Reason),
    /// The manifest cannot be used.
    #[error("{0}")]
    Manifest(Reason),
    /// Content was discarded: it is longer than allowed, or has another digest.
    #[error("{0}")]
    Content(Reason),
    /// The artifact has no signature, or none by an accepted key.
    #[error("{0}")]
    Signature(Reason),
    /// The network or the registry fails, which may pass.
    #[error("{0}")]
    Passing(Reason),
    /// The registry denies it, or what it is given cannot be used.
    #[error("{0}")]
    Refused(Reason),
    /// The cache cannot be used.
    #[error("cannot use the component cache: {0}")]
    Cache(#[source] io::Error),
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] ClientError),
}

impl RegistryError {
    /// Creates the error of a manifest; `why` is the end of a sentence about the artifact.
    pub(crate) fn manifest(reference: &Reference, why: &Reason) -> Self {
        Self::Manifest(format!("{reference} {why}").into())
    }

    /// Creates the error of an index of components; `why` is the end of a sentence about it.
    #[must_use]
    pub fn index(reference: &Reference, why: &Reason) -> Self {
        Self::Refused(format!("the index {reference} {why}").into())
    }

    /// True for failures that may pass: of the network, the registry, or the disk.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Content(_) | Self::Passing(_) | Self::Cache(_) | Self::Tls(_)
        )
    }
}
