//! Why an artifact is not pulled, pushed or verified.

use crate::{
    IndexError, KeyError, MAX_REFERRERS, credentials::CredentialsError, manifest::ManifestError,
    reference::ReferenceError, signature::SignatureError,
};
use agent_host_http_client::ClientError;
use agent_host_types::id::Digest;
use std::io;

/// Why an operation on a registry failed. Text of a server in it is escaped and short.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The text is not a reference.
    #[error("`{}` {source}", text.escape_debug())]
    Reference {
        /// The text.
        text: String,
        /// Why.
        source: ReferenceError,
    },
    /// The manifest cannot be used.
    #[error("{reference} {source}")]
    Manifest {
        /// The artifact.
        reference: String,
        /// Why.
        source: ManifestError,
    },
    /// The registry does not allow it (401 or 403).
    #[error("{registry} does not allow you to {action}: {reason}")]
    Denied {
        /// The registry.
        registry: String,
        /// The action, such as "pull acme/resize".
        action: String,
        /// Why, and the next step.
        reason: Denied,
    },
    /// There is no such artifact (404).
    #[error(
        "{registry} does not have {what}; check the name and the tag (a registry may also hide what you may not read)"
    )]
    NotFound {
        /// The registry.
        registry: String,
        /// The missing thing.
        what: String,
    },
    /// The registry wants fewer requests (429).
    #[error("{registry} is limiting requests (429){}", again(*retry_after_s))]
    Throttled {
        /// The registry.
        registry: String,
        /// The time to wait by the registry, in seconds.
        retry_after_s: Option<u64>,
    },
    /// The registry answered with another status.
    #[error("{registry} answered {status} to a request for {what}{message}")]
    Status {
        /// The registry.
        registry: String,
        /// The status.
        status: u16,
        /// The requested thing.
        what: String,
        /// The message of the registry with a separator before it, or nothing.
        message: String,
    },
    /// No answer could be had.
    #[error("{registry} cannot be reached: {reason}")]
    Unreachable {
        /// The registry.
        registry: String,
        /// Why.
        reason: String,
    },
    /// An address of a redirection, realm or upload is not one that may be reached.
    #[error("{registry} points to {address}, which {reason}")]
    Address {
        /// The registry.
        registry: String,
        /// The address.
        address: String,
        /// Why it is not requested, as the end of a sentence.
        reason: &'static str,
    },
    /// The content is longer than allowed or than announced.
    #[error("{what} of {registry} is longer than {max_bytes} bytes, so it was discarded")]
    TooLong {
        /// The registry.
        registry: String,
        /// The content.
        what: String,
        /// The bound.
        max_bytes: u64,
    },
    /// The content has another digest than was asked for.
    #[error(
        "{what} of {registry} has the digest {found} instead of {expected}, so it was discarded: it was damaged or \
         replaced in transit"
    )]
    Digest {
        /// The registry.
        registry: String,
        /// The content.
        what: String,
        /// The digest that was asked for.
        expected: Digest,
        /// The digest of the received bytes.
        found: Digest,
    },
    /// The answer has no usable form.
    #[error("{registry} sent an unusable answer: {reason}")]
    Answer {
        /// The registry.
        registry: String,
        /// Why.
        reason: String,
    },
    /// The artifact has no signature.
    #[error("{reference} is not signed")]
    Unsigned {
        /// The artifact.
        reference: String,
    },
    /// No signature is one of the keys.
    #[error(
        "{reference} has no valid signature by any of the {keys} accepted keys; {looked_at} signatures were checked, \
         at most {MAX_REFERRERS} of each kind: {first}"
    )]
    NotVerified {
        /// The artifact.
        reference: String,
        /// The number of accepted keys.
        keys: usize,
        /// The number of signatures.
        looked_at: usize,
        /// Why the first one is not valid.
        first: SignatureError,
    },
    /// An index of components cannot be used.
    #[error("the index {reference} {source}")]
    Index {
        /// Its reference.
        reference: String,
        /// Why.
        source: IndexError,
    },
    /// A key cannot be used.
    #[error("cannot use the key: {0}")]
    Key(#[from] KeyError),
    /// Credentials cannot be read.
    #[error("cannot read the credentials for {registry}: {source}")]
    Credentials {
        /// The registry.
        registry: String,
        /// Why.
        source: CredentialsError,
    },
    /// The cache cannot be used.
    #[error("cannot use the component cache: {0}")]
    Cache(#[source] io::Error),
    /// The component to push is too large.
    #[error(
        "the component has {bytes} bytes, and the maximum for a push is {}",
        crate::MAX_COMPONENT_BYTES
    )]
    TooLargeToPush {
        /// Its size.
        bytes: u64,
    },
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] ClientError),
}

impl RegistryError {
    /// True for failures that may pass: of the network, the registry, or the disk.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::Throttled { .. }
                | Self::Status { .. }
                | Self::Unreachable { .. }
                | Self::TooLong { .. }
                | Self::Digest { .. }
                | Self::Answer { .. }
                | Self::Cache(_)
                | Self::Tls(_)
        )
    }
}

/// Why a registry denies access, with the next step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// No credentials are known for the registry.
    #[error(
        "there are no credentials for it; log in with `docker login {registry}` (its configuration is used), or set \
         `AGENT_HOST_REGISTRY_CREDENTIALS` to `{registry}=NAME:TOKEN`"
    )]
    NoCredentials {
        /// The registry.
        registry: String,
    },
    /// The credentials were refused.
    #[error("the credentials of {source_name} were refused (status {status})")]
    Refused {
        /// Where the credentials are from.
        source_name: String,
        /// The status.
        status: u16,
    },
    /// The tokens are issued elsewhere, and credentials do not go there.
    #[error(
        "its tokens are issued by {realm}, but your credentials are sent only to {registry} itself or its parent \
         domains"
    )]
    Realm {
        /// The host of the realm.
        realm: String,
        /// The registry.
        registry: String,
    },
}

fn again(seconds: Option<u64>) -> String {
    match seconds {
        Some(seconds) => format!("; try again in {seconds} s"),
        None => "; try again later".to_owned(),
    }
}
