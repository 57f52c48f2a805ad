//! Recorded exchanges in place of the network, for the tests of a tool's author. The gate has
//! judged a request before it comes here, and the response passes the same limits: a recording
//! widens no grant. It holds no value of a secret: a request is recorded as the guest wrote it,
//! with `secret://NAME`, and every value is redacted from a response.

#[cfg(test)]
mod tests;

use super::error::ExchangeError;
use agent_host_engine::secrets::Secrets;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};
use wasmtime_wasi_http::Error;

/// The version of the format, the only one that is read.
const VERSION: u32 = 1;

/// The header fields of a response that are left out: they are between the server and the author.
const CREDENTIALS: [HeaderName; 3] = [
    header::SET_COOKIE,
    header::WWW_AUTHENTICATE,
    header::PROXY_AUTHENTICATE,
];

/// A recording cannot be replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The first line is not the header of a recording.
    #[error("it does not begin as a recording does; record it again")]
    NotARecording,
    /// The recording has another version of the format.
    #[error(
        "it has version {found} of the format, and this program reads version {VERSION}; record it again"
    )]
    Version {
        /// The version of the recording.
        found: u32,
    },
    /// A line is not an exchange.
    #[error("line {line}: {source}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The fault of the line.
        source: RecordingLineError,
    },
}

/// A line of a recording is not an exchange.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordingLineError {
    /// It is the header of another recording.
    #[error("another recording begins here")]
    SecondHeader,
    /// The JSON has another form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The status is not an HTTP status code.
    #[error("the status is invalid")]
    Status,
    /// A header field cannot be sent.
    #[error("a header field is invalid")]
    HeaderField,
    /// The body is not base64.
    #[error("the body is not base64")]
    Base64(#[from] base64::DecodeError),
}

/// The HTTP exchanges of a component's calls, which are being recorded or replayed. The text form
/// is JSON lines: first a `recording`, then an `exchange` each.
#[derive(Debug)]
pub struct Recording {
    is_replay: bool,
    exchanges: Mutex<Exchanges>,
}

#[derive(Debug, Default)]
struct Exchanges {
    /// Recorded, or yet to be replayed.
    list: Vec<RecordedExchange>,
    /// Requests that no recorded exchange matches.
    unmatched: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
enum Line {
    Recording { version: u32 },
    Exchange(RecordedExchange),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct RecordedExchange {
    request: RecordedRequest,
    outcome: RecordedOutcome,
}

/// The identity of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct RecordedRequest {
    method: String,
    /// As the gate judged it.
    url: String,
    /// The SHA-256 digest of the body in hexadecimal digits; absent for an empty body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_sha256: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RecordedOutcome {
    Response(RecordedResponse),
    Error(RecordedError),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RecordedResponse {
    status: u16,
    /// In their order; a name may come twice.
    headers: Vec<(String, String)>,
    body: RecordedBody,
}

/// A body: as text if it is UTF-8.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RecordedBody {
    Text(String),
    Base64(String),
}

/// A failure of the network. A refusal of the gate is none.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RecordedError {
    UnknownName,
    Unavailable,
    ConnectionRefused,
    ConnectionTerminated,
    ConnectionTimeout,
    ResponseTimeout,
    TlsCertificate,
    TlsProtocol,
    Protocol,
}

impl Recording {
    /// Starts a recording: requests go to the network, and their outcomes are recorded.
    #[must_use]
    pub fn record() -> Self {
        Self {
            is_replay: false,
            exchanges: Mutex::default(),
        }
    }

    /// Parses a recording to be replayed: no request goes to the network.
    ///
    /// # Errors
    /// The text is not a recording of this version, or one of its lines is invalid.
    pub fn replay(text: &str) -> Result<Self, RecordingError> {
        let mut lines = (1_usize..).zip(text.lines());
        match lines.next().map(|(_, line)| serde_json::from_str(line)) {
            Some(Ok(Line::Recording { version: VERSION })) => {}
            Some(Ok(Line::Recording { version: found })) => {
                return Err(RecordingError::Version { found });
            }
            Some(Ok(Line::Exchange(_)) | Err(_)) | None => {
                return Err(RecordingError::NotARecording);
            }
        }
        let exchanges = lines.map(|(line, text)| {
            RecordedExchange::parse(text).map_err(|source| RecordingError::Line { line, source })
        });
        Ok(Self::replaying(exchanges.collect::<Result<_, _>>()?))
    }

    /// An empty recording to be replayed: no request has an answer.
    #[must_use]
    pub fn empty() -> Self {
        Self::replaying(Vec::new())
    }

    fn replaying(list: Vec<RecordedExchange>) -> Self {
        Self {
            is_replay: true,
            exchanges: Mutex::new(Exchanges {
                list,
                unmatched: Vec::new(),
            }),
        }
    }

    /// Returns the text form of what was recorded, or is yet to be replayed.
    #[must_use]
    pub fn text(&self) -> String {
        let header = Line::Recording { version: VERSION };
        let exchanges = self.lock().list.clone();
        let lines = std::iter::once(header).chain(exchanges.into_iter().map(Line::Exchange));
        // Text and numbers always have a JSON form.
        let lines = lines.filter_map(|line| serde_json::to_string(&line).ok());
        lines.map(|line| line + "\n").collect()
    }

    /// Returns the requests that no replayed exchange matched, in their order.
    #[must_use]
    pub fn unmatched(&self) -> Vec<String> {
        self.lock().unmatched.clone()
    }

    /// Returns whether it takes the network's place.
    pub(super) fn is_replay(&self) -> bool {
        self.is_replay
    }

    /// Replays the response to a request; each is replayed once.
    ///
    /// # Errors
    /// The recorded error, or `connection-refused` for a request that matches none.
    pub(super) fn replay_response(
        &self,
        request: &RecordedRequest,
    ) -> Result<Response<Bytes>, Error> {
        let mut exchanges = self.lock();
        let mut list = exchanges.list.iter();
        let Some(index) = list.position(|exchange| exchange.request == *request) else {
            exchanges.unmatched.push(request.to_string());
            return Err(Error::ConnectionRefused);
        };
        match exchanges.list.remove(index).outcome {
            // `parse` has converted every response once.
            RecordedOutcome::Response(response) => {
                Response::try_from(response).map_err(|_| Error::HttpProtocolError)
            }
            RecordedOutcome::Error(error) => Err(error.into_error()),
        }
    }

    /// Records the outcome of a request, with all secrets redacted. A refusal of the gate is not
    /// recorded: it will be refused again.
    pub(super) fn record_outcome(
        &self,
        request: RecordedRequest,
        outcome: Result<&Response<Bytes>, &Error>,
        secrets: &Secrets,
    ) {
        let outcome = match outcome {
            Ok(response) => Some(RecordedOutcome::Response(RecordedResponse::new(
                response, secrets,
            ))),
            Err(error) => RecordedError::new(error).map(RecordedOutcome::Error),
        };
        if let Some(outcome) = outcome {
            let exchange = RecordedExchange { request, outcome };
            self.lock().list.push(exchange);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Exchanges> {
        self.exchanges
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecordedExchange {
    /// Parses a line, so that what cannot be replayed is an error now.
    fn parse(line: &str) -> Result<Self, RecordingLineError> {
        match serde_json::from_str(line)? {
            Line::Exchange(exchange) => {
                if let RecordedOutcome::Response(response) = &exchange.outcome {
                    Response::try_from(response.clone())?;
                }
                Ok(exchange)
            }
            Line::Recording { .. } => Err(RecordingLineError::SecondHeader),
        }
    }
}

impl RecordedRequest {
    /// `url` is the one that was judged, in which secrets are only named.
    pub(super) fn new(method: &str, url: &str, body: &Bytes) -> Self {
        Self {
            method: method.to_owned(),
            url: url.to_owned(),
            body_sha256: (!body.is_empty()).then(|| hex::encode(Sha256::digest(body))),
        }
    }
}

impl fmt::Display for RecordedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.url)?;
        match &self.body_sha256 {
            Some(digest) => write!(f, " with a body of SHA-256 {digest}"),
            None => Ok(()),
        }
    }
}

impl RecordedResponse {
    fn new(response: &Response<Bytes>, secrets: &Secrets) -> Self {
        let fields = super::redact::fields(response.headers(), secrets);
        let headers = fields.iter().filter_map(|(name, value)| {
            let value = value.to_str().ok()?;
            (!CREDENTIALS.contains(name)).then(|| (name.as_str().to_owned(), value.to_owned()))
        });
        let redacted = secrets.redacted(response.body());
        let body = redacted.as_deref().unwrap_or(response.body());
        Self {
            status: response.status().as_u16(),
            headers: headers.collect(),
            body: match std::str::from_utf8(body) {
                Ok(text) => RecordedBody::Text(text.to_owned()),
                Err(_) => RecordedBody::Base64(STANDARD.encode(body)),
            },
        }
    }
}

impl TryFrom<RecordedResponse> for Response<Bytes> {
    type Error = RecordingLineError;

    fn try_from(recorded: RecordedResponse) -> Result<Self, RecordingLineError> {
        let invalid = || RecordingLineError::HeaderField;
        let mut fields = HeaderMap::new();
        for (name, value) in recorded.headers {
            let name: HeaderName = name.parse().map_err(|_| invalid())?;
            fields.append(name, HeaderValue::try_from(value).map_err(|_| invalid())?);
        }
        let mut response = Self::new(match recorded.body {
            RecordedBody::Text(text) => text.into(),
            RecordedBody::Base64(text) => STANDARD.decode(text)?.into(),
        });
        *response.status_mut() =
            StatusCode::from_u16(recorded.status).map_err(|_| RecordingLineError::Status)?;
        *response.headers_mut() = fields;
        Ok(response)
    }
}

impl RecordedError {
    /// Returns the failure of the network; absent for any other error.
    fn new(error: &Error) -> Option<Self> {
        Some(match error {
            Error::DnsError { .. } => Self::UnknownName,
            Error::DestinationUnavailable => Self::Unavailable,
            Error::ConnectionRefused => Self::ConnectionRefused,
            Error::ConnectionTerminated => Self::ConnectionTerminated,
            Error::ConnectionTimeout => Self::ConnectionTimeout,
            Error::HttpResponseTimeout => Self::ResponseTimeout,
            Error::TlsCertificateError => Self::TlsCertificate,
            Error::TlsProtocolError => Self::TlsProtocol,
            Error::HttpProtocolError => Self::Protocol,
            _ => return None,
        })
    }

    fn into_error(self) -> Error {
        match self {
            Self::UnknownName => ExchangeError::UnknownName.into_error(),
            Self::Unavailable => Error::DestinationUnavailable,
            Self::ConnectionRefused => Error::ConnectionRefused,
            Self::ConnectionTerminated => Error::ConnectionTerminated,
            Self::ConnectionTimeout => Error::ConnectionTimeout,
            Self::ResponseTimeout => Error::HttpResponseTimeout,
            Self::TlsCertificate => Error::TlsCertificateError,
            Self::TlsProtocol => Error::TlsProtocolError,
            Self::Protocol => Error::HttpProtocolError,
        }
    }
}
