//! Recorded exchanges in the place of the network, for the tests of a tool's author. The gate has judged a request before it
//! comes here, and what comes back passes the same limits: a recording widens no grant. It has no value of a secret: a request
//! is kept as the guest wrote it, with `secret://NAME`, and every value is struck out of an answer.

#[cfg(test)]
mod tests;

use agent_host_engine::secrets::Secrets;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wasmtime_wasi_http::Error;

/// The version of the format. What reads one version reads no other.
const VERSION: u32 = 1;

/// The header fields of an answer that are left out: what they say is between the server and whoever recorded.
const CREDENTIALS: [HeaderName; 3] = [
    header::SET_COOKIE,
    header::WWW_AUTHENTICATE,
    header::PROXY_AUTHENTICATE,
];

/// Why a recording cannot be played. The text names the line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordingError(String);

/// The HTTP exchanges of a component's calls: those that are being made, or those that are played instead. Text of JSON lines,
/// of which the first is `recording` and each other one an `exchange`.
#[derive(Debug)]
pub struct Recording {
    is_played: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Those that were made, or those that are yet to be played.
    exchanges: Vec<Exchange>,
    /// What was asked and is not in it.
    strays: Vec<String>,
}

/// One line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
enum Entry {
    Recording { version: u32 },
    Exchange(Exchange),
}

/// A request and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Exchange {
    request: KeptRequest,
    came: Came,
}

/// What tells one request from another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct KeptRequest {
    method: String,
    /// As the gate judged it.
    url: String,
    /// The SHA-256 digest of its body, in hexadecimal digits; absent where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_sha256: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Came {
    Answer(KeptAnswer),
    Fault(KeptFault),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct KeptAnswer {
    status: u16,
    /// In their order; a name may come twice.
    headers: Vec<(String, String)>,
    body: Body,
}

/// A body: as text where it is some.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Body {
    Text(String),
    Base64(String),
}

/// What the network can do to a request. A refusal of the gate is none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KeptFault {
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
    /// A recording that begins: requests go to the network, and what came of them is kept.
    #[must_use]
    pub fn record() -> Self {
        Self {
            is_played: false,
            state: Mutex::default(),
        }
    }

    /// A recording that is played: no request goes to the network.
    ///
    /// # Errors
    /// Which line is wrong, and why.
    pub fn replay(text: &str) -> Result<Self, RecordingError> {
        let mut lines = (1_usize..).zip(text.lines());
        match lines.next().map(|(_, line)| serde_json::from_str(line)) {
            Some(Ok(Entry::Recording { version: VERSION })) => {}
            Some(Ok(Entry::Recording { version })) => {
                return Err(RecordingError(format!(
                    "it has version {version} of the format, and this program reads version {VERSION}; record it again"
                )));
            }
            Some(Ok(Entry::Exchange(_)) | Err(_)) | None => {
                return Err(RecordingError(
                    "it does not begin as a recording does; record it again".to_owned(),
                ));
            }
        }
        let mut exchanges = Vec::new();
        for (number, line) in lines {
            let wrong = |why: &str| RecordingError(format!("line {number}: {why}"));
            match serde_json::from_str(line) {
                Ok(Entry::Exchange(exchange)) => {
                    // What could not be played is told now.
                    if let Err(why) = exchange.came.clone().played() {
                        return Err(wrong(why));
                    }
                    exchanges.push(exchange);
                }
                Ok(Entry::Recording { .. }) => return Err(wrong("another recording begins here")),
                Err(error) => return Err(wrong(&error.to_string())),
            }
        }
        Ok(Self::playing(exchanges))
    }

    /// A recording of nothing: every request is a stray.
    #[must_use]
    pub fn empty() -> Self {
        Self::playing(Vec::new())
    }

    fn playing(exchanges: Vec<Exchange>) -> Self {
        Self {
            is_played: true,
            state: Mutex::new(State {
                exchanges,
                strays: Vec::new(),
            }),
        }
    }

    /// What was recorded, or what is yet to be played, as text.
    #[must_use]
    pub fn text(&self) -> String {
        let begin = Entry::Recording { version: VERSION };
        let exchanges = self.lock().exchanges.clone();
        let entries = std::iter::once(begin).chain(exchanges.into_iter().map(Entry::Exchange));
        // Text and numbers always have a JSON form.
        let lines = entries.filter_map(|entry| serde_json::to_string(&entry).ok());
        lines.map(|line| line + "\n").collect()
    }

    /// The requests that were made and are not in what is played, in their order.
    #[must_use]
    pub fn strays(&self) -> Vec<String> {
        self.lock().strays.clone()
    }

    /// Whether it takes the network's place.
    pub(super) fn is_played(&self) -> bool {
        self.is_played
    }

    /// The recorded answer to a request; each is played once.
    ///
    /// # Errors
    /// The recorded fault; or there is no such request, which is then a stray and finds no server.
    pub(super) fn play(&self, request: &KeptRequest) -> Result<Response<Bytes>, Error> {
        let mut state = self.lock();
        let place = state
            .exchanges
            .iter()
            .position(|exchange| exchange.request == *request);
        let Some(place) = place else {
            state.strays.push(request.shown());
            return Err(Error::ConnectionRefused);
        };
        match state.exchanges.remove(place).came.played() {
            Ok(came) => came,
            // Every exchange has been looked at when it was read.
            Err(_) => Err(Error::HttpProtocolError),
        }
    }

    /// Keeps what came of a request, without any value of a secret. What the gate refused is not kept: it will refuse it again.
    pub(super) fn keep(
        &self,
        request: KeptRequest,
        came: Result<&Response<Bytes>, &Error>,
        secrets: &Secrets,
    ) {
        let came = match came {
            Ok(answer) => Some(Came::Answer(KeptAnswer::of(answer, secrets))),
            Err(error) => KeptFault::of(error).map(Came::Fault),
        };
        if let Some(came) = came {
            self.lock().exchanges.push(Exchange { request, came });
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptRequest {
    /// A request with this body. The URL is the one that was judged, in which secrets are only named.
    pub(super) fn new(method: &str, url: &str, body: &Bytes) -> Self {
        Self {
            method: method.to_owned(),
            url: url.to_owned(),
            body_sha256: (!body.is_empty()).then(|| hex::encode(Sha256::digest(body))),
        }
    }

    fn shown(&self) -> String {
        let Self {
            method,
            url,
            body_sha256,
        } = self;
        match body_sha256 {
            Some(digest) => format!("{method} {url} with a body of SHA-256 {digest}"),
            None => format!("{method} {url}"),
        }
    }
}

impl Came {
    /// What a request gets of it.
    fn played(self) -> Result<Result<Response<Bytes>, Error>, &'static str> {
        match self {
            Self::Answer(answer) => answer.played().map(Ok),
            Self::Fault(fault) => Ok(Err(fault.into_error())),
        }
    }
}

impl KeptAnswer {
    fn of(answer: &Response<Bytes>, secrets: &Secrets) -> Self {
        let fields = super::redact::fields(answer.headers(), secrets);
        let kept = fields.iter().filter_map(|(name, value)| {
            let value = value.to_str().ok()?;
            (!CREDENTIALS.contains(name)).then(|| (name.as_str().to_owned(), value.to_owned()))
        });
        let body = secrets.redacted(answer.body());
        Self {
            status: answer.status().as_u16(),
            headers: kept.collect(),
            body: Body::of(body.as_deref().unwrap_or(answer.body())),
        }
    }

    fn played(self) -> Result<Response<Bytes>, &'static str> {
        let mut fields = HeaderMap::new();
        for (name, value) in self.headers {
            let name: HeaderName = name.parse().map_err(|_| "it has an odd header field")?;
            let value = HeaderValue::try_from(value).map_err(|_| "it has an odd header field")?;
            fields.append(name, value);
        }
        let mut answer = Response::new(self.body.bytes()?);
        *answer.status_mut() =
            StatusCode::from_u16(self.status).map_err(|_| "its status is none")?;
        *answer.headers_mut() = fields;
        Ok(answer)
    }
}

impl Body {
    fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(STANDARD.encode(bytes)),
        }
    }

    fn bytes(self) -> Result<Bytes, &'static str> {
        match self {
            Self::Text(text) => Ok(text.into()),
            Self::Base64(text) => STANDARD
                .decode(text)
                .map(Bytes::from)
                .map_err(|_| "its body is no base64"),
        }
    }
}

impl KeptFault {
    /// What the network did; absent where it was not the network.
    fn of(error: &Error) -> Option<Self> {
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
            Self::UnknownName => super::Fault::UnknownName.into_error(),
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
