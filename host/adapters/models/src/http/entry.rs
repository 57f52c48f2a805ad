//! The lines of a recording file.

use super::failure::AttemptError;
use crate::{
    retry::{Retry, RetryPolicy},
    settings::ModelSettings,
    wire::Capabilities,
};
use agent_host_types::model::ModelErrorKind;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, LOCATION, RETRY_AFTER};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};

/// The version of the format, the only one that is read.
pub(super) const VERSION: u32 = 1;

/// The response headers that are read.
pub(super) const RECORDED_HEADERS: [HeaderName; 4] =
    [CONTENT_TYPE, CONTENT_ENCODING, RETRY_AFTER, LOCATION];

/// A line. First `recording`, then the models in the order in which they are asked, then the
/// exchanges: `request`, followed by `fault` or by `answer` with its pieces up to `end` or `fault`.
/// An answer that was not read to its end has neither.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum RecordingEntry {
    Recording {
        version: u32,
    },
    Model(Box<ModelEntry>),
    Request {
        /// The index of the model that was asked.
        model: usize,
        body: Value,
    },
    Answer {
        status: u16,
        headers: BTreeMap<String, String>,
    },
    Piece(Piece),
    End,
    Fault(RecordedError),
}

/// A model, with everything that requests and error texts depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelEntry {
    /// The provider's name in `--model PROVIDER:NAME`.
    pub(crate) provider: String,
    /// The name of the wire format, if the provider has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wire: Option<String>,
    /// The model's name.
    pub(crate) name: String,
    /// The URL of requests.
    pub(crate) url: String,
    /// True if a key was sent.
    pub(crate) has_key: bool,
    /// The setting of the key.
    pub(crate) key_source: String,
    /// The accepted request.
    #[serde(flatten)]
    pub(crate) capabilities: Capabilities,
    /// The settings of replies.
    #[serde(default, skip_serializing_if = "ModelSettings::is_empty")]
    pub(crate) settings: ModelSettings,
    retries: u32,
    first_wait_ms: u64,
    longest_wait_ms: u64,
    total_wait_ms: u64,
}

impl ModelEntry {
    /// Describes a model at this server.
    pub(crate) fn new(
        provider: &str,
        server: &super::Server,
        capabilities: Capabilities,
        retry: RetryPolicy,
    ) -> Self {
        let ms = |wait: Duration| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        Self {
            provider: provider.to_owned(),
            wire: None,
            name: server.model.clone(),
            url: server.url.to_string(),
            has_key: server.has_key(),
            key_source: server.key_source.clone(),
            capabilities,
            settings: ModelSettings::default(),
            retries: retry.retries,
            first_wait_ms: ms(retry.first_wait),
            longest_wait_ms: ms(retry.longest_wait),
            total_wait_ms: ms(retry.total_wait),
        }
    }

    pub(crate) fn retry(&self) -> RetryPolicy {
        RetryPolicy {
            retries: self.retries,
            first_wait: Duration::from_millis(self.first_wait_ms),
            longest_wait: Duration::from_millis(self.longest_wait_ms),
            total_wait: Duration::from_millis(self.total_wait_ms),
        }
    }
}

/// Bytes as they arrived: text if they are UTF-8.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Piece {
    Text { text: String },
    Base64 { base64: String },
}

impl Piece {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text {
                text: text.to_owned(),
            },
            Err(_) => Self::Base64 {
                base64: STANDARD.encode(bytes),
            },
        }
    }

    /// Returns the bytes.
    ///
    /// # Errors
    /// Invalid base64.
    pub(super) fn bytes(self) -> Result<Bytes, base64::DecodeError> {
        match self {
            Self::Text { text } => Ok(Bytes::from(text)),
            Self::Base64 { base64 } => STANDARD.decode(base64).map(Bytes::from),
        }
    }
}

/// A transport error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RecordedError {
    kind: ModelErrorKind,
    pub(super) message: String,
    /// True if another attempt may succeed.
    passing: bool,
}

impl RecordedError {
    pub(super) fn from_error(failed: &AttemptError) -> Self {
        Self {
            kind: failed.error.kind,
            message: failed.error.message.clone(),
            passing: failed.retry != Retry::Never,
        }
    }

    pub(super) fn into_error(self) -> AttemptError {
        let retry = if self.passing {
            Retry::Backoff
        } else {
            Retry::Never
        };
        AttemptError::new(self.kind, self.message, retry)
    }
}
