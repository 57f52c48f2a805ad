//! Recorded exchanges in place of the network, for the tests of a tool's author. The gate has
//! judged a request before it comes here, and the response passes the same limits: a recording
//! widens no grant. It holds no value of a secret: a request is recorded as the guest wrote it,
//! with `secret://NAME`, and every value is redacted from a response.

#[cfg(test)]
mod tests;

use super::error::ExchangeError;
use crate::mutex::lock;
use agent_host_engine::secrets::Secrets;
use agent_host_types::reason::Reason;
use bytes::Bytes;
use http::{HeaderName, Response, header};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::{fmt, sync::Mutex};
use wasmtime_wasi_http::Error;

/// The version of the format, the only one that is read.
const VERSION: u32 = 1;

/// The header fields of a response that are left out: they are between the server and the author.
const CREDENTIALS: [HeaderName; 3] = [
    header::SET_COOKIE,
    header::WWW_AUTHENTICATE,
    header::PROXY_AUTHENTICATE,
];

/// The HTTP exchanges of a component's calls, which are being recorded or replayed. The text form
/// is JSON lines: first a `recording`, then an `exchange` each.
#[derive(Debug)]
pub struct Recording {
    /// True if the recording takes the network's place.
    pub(super) is_replay: bool,
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
#[expect(clippy::large_enum_variant, reason = "there is one value at a time")]
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
    Response(#[serde(with = "response_text")] Response<Bytes>),
    Error(RecordedError),
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
    pub fn replay(text: &str) -> Result<Self, Reason> {
        let mut lines = (1_usize..).zip(text.lines());
        match lines.next().map(|(_, line)| serde_json::from_str(line)) {
            Some(Ok(Line::Recording { version: VERSION })) => {}
            Some(Ok(Line::Recording { version: found })) => {
                return Err(Reason::from(format!(
                    "its format has version {found}, and this program reads version {VERSION}; record it again"
                )));
            }
            Some(Ok(Line::Exchange(_)) | Err(_)) | None => {
                return Err("it does not start like a recording; record it again".into());
            }
        }
        let exchanges = lines.map(|(line, text)| match serde_json::from_str(text) {
            Ok(Line::Exchange(exchange)) => Ok(exchange),
            Ok(Line::Recording { .. }) => {
                Err(format!("line {line}: another recording begins here").into())
            }
            Err(error) => Err(format!("line {line}: {error}").into()),
        });
        Ok(Self::replaying(exchanges.collect::<Result<_, Reason>>()?))
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
        let exchanges = lock(&self.exchanges).list.clone();
        let lines = std::iter::once(header).chain(exchanges.into_iter().map(Line::Exchange));
        // Text and numbers always have a JSON form.
        let lines = lines.filter_map(|line| serde_json::to_string(&line).ok());
        lines.map(|line| line + "\n").collect()
    }

    /// Returns the requests that no replayed exchange matched, in their order.
    #[must_use]
    pub fn unmatched(&self) -> Vec<String> {
        lock(&self.exchanges).unmatched.clone()
    }

    /// Replays the response to a request; each is replayed once.
    ///
    /// # Errors
    /// The recorded error, or `connection-refused` for a request that matches none.
    pub(super) fn replay_response(
        &self,
        request: &RecordedRequest,
    ) -> Result<Response<Bytes>, Error> {
        let mut exchanges = lock(&self.exchanges);
        let mut list = exchanges.list.iter();
        let Some(index) = list.position(|exchange| exchange.request == *request) else {
            exchanges.unmatched.push(request.to_string());
            return Err(Error::ConnectionRefused);
        };
        match exchanges.list.remove(index).outcome {
            RecordedOutcome::Response(response) => Ok(response),
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
            Ok(response) => Some(RecordedOutcome::Response(redacted(response, secrets))),
            Err(error) => RecordedError::new(error).map(RecordedOutcome::Error),
        };
        if let Some(outcome) = outcome {
            let exchange = RecordedExchange { request, outcome };
            lock(&self.exchanges).list.push(exchange);
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

/// Returns a copy of a response without credentials and values of secrets.
fn redacted(response: &Response<Bytes>, secrets: &Secrets) -> Response<Bytes> {
    let body = secrets.redacted(response.body()).map(Bytes::from);
    let mut redacted = Response::new(body.unwrap_or_else(|| response.body().clone()));
    *redacted.status_mut() = response.status();
    *redacted.headers_mut() = super::redact::fields(response.headers(), secrets);
    for name in CREDENTIALS {
        redacted.headers_mut().remove(name);
    }
    redacted
}

/// The text form of a response.
mod response_text {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use bytes::Bytes;
    use http::Response;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct ResponseText {
        status: u16,
        /// In their order; a name may come twice.
        headers: Vec<(String, String)>,
        body: BodyText,
    }

    /// Text if the body is UTF-8.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum BodyText {
        Text(String),
        Base64(String),
    }

    pub(super) fn serialize<S: Serializer>(
        response: &Response<Bytes>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let headers = response.headers().iter().filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        });
        let text = ResponseText {
            status: response.status().as_u16(),
            headers: headers.collect(),
            body: match std::str::from_utf8(response.body()) {
                Ok(text) => BodyText::Text(text.to_owned()),
                Err(_) => BodyText::Base64(STANDARD.encode(response.body())),
            },
        };
        text.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Response<Bytes>, D::Error> {
        let text = ResponseText::deserialize(deserializer)?;
        let body = match text.body {
            BodyText::Text(text) => text.into(),
            BodyText::Base64(text) => {
                let body = STANDARD.decode(text);
                body.map_err(|_| D::Error::custom("the body is not base64"))?
            }
        };
        let mut response = Response::builder().status(text.status);
        for (name, value) in text.headers {
            response = response.header(name, value);
        }
        response.body(body.into()).map_err(D::Error::custom)
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
