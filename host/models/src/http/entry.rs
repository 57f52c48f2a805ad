//! The lines of a recording.

use crate::{Capabilities, RetryPolicy, fault::Fault, retry::Retry};
use agent_host_types::model::{ModelError, ModelErrorKind};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, LOCATION, RETRY_AFTER};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};

/// The version of the format. What reads one version reads no other.
pub(super) const VERSION: u32 = 1;

/// The headers of an answer that mean something here.
pub(super) const KEPT_HEADERS: [HeaderName; 4] =
    [CONTENT_TYPE, CONTENT_ENCODING, RETRY_AFTER, LOCATION];

/// One line. First `recording`, then the models in the order in which they are asked, then the exchanges: `request`, and what came of
/// it: `fault`, or `answer` with its pieces up to `end` or `fault`. An answer that was not read to its end has neither.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum Entry {
    Recording {
        version: u32,
    },
    Model(ModelEntry),
    Request {
        /// The place of the model that was asked.
        model: usize,
        body: Value,
    },
    Answer {
        status: u16,
        headers: BTreeMap<String, String>,
    },
    Piece(Piece),
    End,
    Fault(KeptFault),
}

/// A model, with all that a request and the texts of errors depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelEntry {
    /// As in `--model PROVIDER:NAME`.
    pub(crate) provider: String,
    /// The model's name there.
    pub(crate) name: String,
    /// Where requests went.
    pub(crate) url: String,
    /// Whether a key was sent.
    pub(crate) has_key: bool,
    /// Where it is set.
    pub(crate) key_source: String,
    /// What it could take.
    #[serde(flatten)]
    pub(crate) capabilities: Capabilities,
    retries: u32,
    first_wait_ms: u64,
    longest_wait_ms: u64,
    total_wait_ms: u64,
}

impl ModelEntry {
    /// A model at the server with this address.
    pub(crate) fn new(
        provider: &str,
        server: &super::Server,
        capabilities: Capabilities,
        retry: RetryPolicy,
    ) -> Self {
        let ms = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Self {
            provider: provider.to_owned(),
            name: server.model.clone(),
            url: server.url.to_string(),
            has_key: server.has_key(),
            key_source: server.key_source.clone(),
            capabilities,
            retries: retry.retries,
            first_wait_ms: ms(retry.first_wait),
            longest_wait_ms: ms(retry.longest_wait),
            total_wait_ms: ms(retry.total_wait),
        }
    }

    /// How often it was asked again.
    pub(crate) fn retry(&self) -> RetryPolicy {
        RetryPolicy {
            retries: self.retries,
            first_wait: Duration::from_millis(self.first_wait_ms),
            longest_wait: Duration::from_millis(self.longest_wait_ms),
            total_wait: Duration::from_millis(self.total_wait_ms),
        }
    }
}

/// Bytes as they arrived: as text where they are some.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Piece {
    Text { text: String },
    Base64 { base64: String },
}

impl Piece {
    pub(super) fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text {
                text: text.to_owned(),
            },
            Err(_) => Self::Base64 {
                base64: STANDARD.encode(bytes),
            },
        }
    }

    /// The bytes.
    ///
    /// # Errors
    /// It is no base64.
    pub(super) fn bytes(self) -> Result<Bytes, base64::DecodeError> {
        match self {
            Self::Text { text } => Ok(Bytes::from(text)),
            Self::Base64 { base64 } => STANDARD.decode(base64).map(Bytes::from),
        }
    }
}

/// A fault of the transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct KeptFault {
    kind: ModelErrorKind,
    pub(super) message: String,
    /// Whether it may pass.
    passing: bool,
}

impl KeptFault {
    pub(super) fn of(fault: &Fault) -> Self {
        Self {
            kind: fault.error.kind,
            message: fault.error.message.clone(),
            passing: fault.retry != Retry::Never,
        }
    }

    pub(super) fn into_fault(self) -> Fault {
        let retry = if self.passing {
            Retry::Backoff
        } else {
            Retry::Never
        };
        Fault {
            error: ModelError::new(self.kind, self.message),
            retry,
        }
    }
}
