//! The HTTP client of all adapters: one builder, one TLS provider, bundled roots, a split time-out for every wait, and a
//! bound on what is read. It knows no provider's JSON.

mod entry;
mod record;
mod replay;

pub(crate) use entry::ModelEntry;
pub use record::Recorder;
pub(crate) use record::Tap;
pub(crate) use replay::Recording;

use crate::{
    endpoint::{Endpoint, Timeouts},
    fault::{self, Fault},
    retry::{self, Retry},
    wire::{KeyHeader, Wire},
};
use agent_host_types::model::{ModelError, ModelErrorKind};
use bytes::Bytes;
use record::Exchange;
use replay::Answer;
use reqwest::{
    Client, RequestBuilder, Response, StatusCode, Url,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
        LOCATION, RETRY_AFTER,
    },
    redirect::Policy,
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::time::{Instant, timeout_at};

/// The most that is read of one answer, in bytes. A long reply streamed word by word is wrapped in a hundred times its size.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The most that is read of an answer that reports an error, in bytes.
pub(crate) const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// How many redirections within the same server are followed.
const MAX_REDIRECTS: usize = 3;

/// One operation of one model server.
#[derive(Debug)]
pub(crate) struct Server {
    transport: Transport,
    /// Where it is written down what goes over the wire.
    tap: Option<Tap>,
    key: Option<SecretString>,
    /// What every request has, the key included.
    headers: HeaderMap,
    /// Where requests go; it holds no secret.
    pub(crate) url: Url,
    /// The model that is asked; error texts name it.
    pub(crate) model: String,
    /// Where a person sets the key.
    pub(crate) key_source: String,
    /// How long to wait.
    pub(crate) timeouts: Timeouts,
}

/// What answers.
#[derive(Debug)]
enum Transport {
    /// The server itself.
    Network(Client),
    /// A recording of it, in which it is the model at this place.
    Recording(Arc<Recording>, usize),
}

impl Server {
    /// Checks the endpoint and prepares a client. Nothing is sent.
    ///
    /// # Errors
    /// A base URL that is none, a key that cannot be sent, or a client that cannot be built.
    pub(crate) fn new(
        endpoint: Endpoint,
        wire: &dyn Wire,
        model: &str,
    ) -> Result<Self, ModelError> {
        Self::at(endpoint, &wire.operation(model), wire, model)
    }

    /// The same for another operation of the server than the wire's own.
    ///
    /// # Errors
    /// As [`Server::new`].
    pub(crate) fn at(
        endpoint: Endpoint,
        operation: &str,
        wire: &dyn Wire,
        model: &str,
    ) -> Result<Self, ModelError> {
        let url = endpoint.url(operation)?;
        let Endpoint {
            key,
            key_source,
            timeouts,
            ..
        } = endpoint;
        // A key read from a file often ends in a newline, and one set to nothing is none.
        let key = key
            .map(|key| SecretString::from(key.expose_secret().trim()))
            .filter(|key| !key.expose_secret().is_empty());
        let mut headers: HeaderMap = wire
            .headers()
            .iter()
            .map(|(name, value)| {
                let name = HeaderName::from_static(name);
                (name, HeaderValue::from_static(value))
            })
            .collect();
        if let Some(key) = &key {
            let (name, value) = key_header(key, wire.key_header(), &key_source)?;
            headers.insert(name, value);
        }
        Ok(Self {
            transport: Transport::Network(client(&url, timeouts)?),
            tap: None,
            key,
            headers,
            url,
            model: model.to_owned(),
            key_source,
            timeouts,
        })
    }

    /// A server whose recorded answers are played in its place.
    ///
    /// # Errors
    /// The recorded address is none.
    pub(crate) fn recorded(
        model: &ModelEntry,
        recording: Arc<Recording>,
        place: usize,
    ) -> Result<Self, ModelError> {
        let url = Url::parse(&model.url).map_err(|error| {
            let text = format!("The recording cannot be played: its address is none ({error}).");
            ModelError::new(ModelErrorKind::Script, text)
        })?;
        Ok(Self {
            transport: Transport::Recording(recording, place),
            tap: None,
            key: model.has_key.then(|| record::STRUCK.into()),
            headers: HeaderMap::new(),
            url,
            model: model.name.clone(),
            key_source: model.key_source.clone(),
            timeouts: Timeouts::default(),
        })
    }

    /// Writes down from now on what goes over the wire.
    pub(crate) fn record(&mut self, recorder: &Arc<Recorder>, model: ModelEntry) {
        self.tap = Some(Tap::new(recorder, model, self.key.clone()));
    }

    /// Waits before it is asked again; not for one that is recorded.
    pub(crate) async fn wait(&self, wait: Duration) {
        if let Transport::Network(_) = self.transport {
            tokio::time::sleep(wait).await;
        }
    }

    /// Whether a key is sent.
    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Makes the server's words fit to be shown.
    pub(crate) fn quote(&self, words: &str) -> String {
        fault::quote(words, self.key.as_ref().map(ExposeSecret::expose_secret))
    }

    /// Sends a JSON request and returns a 2xx answer.
    ///
    /// # Errors
    /// Everything else, as a fault that says whether to ask again.
    pub(crate) async fn post(&self, body: &Value) -> Result<Body<'_>, Fault> {
        let client = match &self.transport {
            Transport::Network(client) => client,
            Transport::Recording(recording, place) => {
                let answer = recording.answer(*place, body)?;
                let (status, headers) = (answer.status, answer.headers.clone());
                let body = Body::new(self, headers, Source::Recording(answer), None);
                return self.accept(status, body).await;
            }
        };
        let request = client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(body.to_string());
        let exchange = self.tap.as_ref().map(|tap| tap.request(body));
        self.send(request, exchange).await
    }

    /// Asks for a JSON document and returns a 2xx answer.
    ///
    /// # Errors
    /// As [`Server::post`].
    pub(crate) async fn get(&self) -> Result<Body<'_>, Fault> {
        let Transport::Network(client) = &self.transport else {
            return Err(self.garbled("it is a recording, which has replies only", Retry::Never));
        };
        let request = client.get(self.url.clone());
        let request = request.header(ACCEPT, "application/json");
        self.send(request, None).await
    }

    async fn send<'a>(
        &'a self,
        request: RequestBuilder,
        mut exchange: Option<Exchange<'a>>,
    ) -> Result<Body<'a>, Fault> {
        let deadline = deadline(self.timeouts.first_chunk);
        let request = request.headers(self.headers.clone());
        let response = timeout_at(deadline, request.send())
            .await
            .map_err(|_| self.slow("no answer", self.timeouts.first_chunk))
            .and_then(|sent| sent.map_err(|error| self.broken(&error)))
            .inspect_err(|fault| {
                if let Some(exchange) = &mut exchange {
                    exchange.fault(fault);
                }
            })?;
        let (status, headers) = (response.status(), response.headers().clone());
        if let Some(exchange) = &exchange {
            exchange.answer(status, &headers);
        }
        let source = Source::Network {
            response,
            deadline: Some(deadline),
        };
        let body = Body::new(self, headers, source, exchange);
        self.accept(status, body).await
    }

    /// The next piece of an answer. `first` is the end of the wait for the first one, and is taken.
    async fn receive(
        &self,
        response: &mut Response,
        first: &mut Option<Instant>,
    ) -> Result<Option<Bytes>, Fault> {
        let (deadline, what, limit) = match first.take() {
            Some(first) => (first, "no answer", self.timeouts.first_chunk),
            None => {
                let idle = self.timeouts.idle_chunk;
                (deadline(idle), "nothing more of its answer", idle)
            }
        };
        timeout_at(deadline, response.chunk())
            .await
            .map_err(|_| self.slow(what, limit))?
            .map_err(|error| self.broken(&error))
    }

    /// The body of an answer with a 2xx status; of any other, what it says.
    async fn accept<'a>(
        &'a self,
        status: StatusCode,
        mut body: Body<'a>,
    ) -> Result<Body<'a>, Fault> {
        if status.is_success() {
            return Ok(body);
        }
        if status.is_redirection() && status != StatusCode::NOT_MODIFIED {
            let target = body
                .headers
                .get(LOCATION)
                .and_then(|value| value.to_str().ok());
            return Err(self.redirected(status, target));
        }
        // The status is what matters: a body that does not come whole loses only the words.
        let text = body.whole(MAX_ERROR_BODY_BYTES).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let status = fault::status_in(status, &text);
        let words = fault::words_in(&text);
        Err(self.refused(status, words.as_deref(), wait_asked_for(&body.headers)))
    }
}

/// The body of an answer, read piece by piece under its time-outs and its bound.
pub(crate) struct Body<'a> {
    server: &'a Server,
    headers: HeaderMap,
    source: Source,
    exchange: Option<Exchange<'a>>,
    read_bytes: usize,
}

/// Where a body comes from.
enum Source {
    Network {
        response: Response,
        /// The end of the wait for the first piece; taken when that came.
        deadline: Option<Instant>,
    },
    Recording(Answer),
}

impl<'a> Body<'a> {
    fn new(
        server: &'a Server,
        headers: HeaderMap,
        source: Source,
        exchange: Option<Exchange<'a>>,
    ) -> Self {
        Self {
            server,
            headers,
            source,
            exchange,
            read_bytes: 0,
        }
    }

    /// The media type without parameters, in lower case; empty where the server names none.
    pub(crate) fn media_type(&self) -> String {
        let header = self.headers.get(CONTENT_TYPE);
        let text = header.and_then(|value| value.to_str().ok()).unwrap_or("");
        let media_type = text.split(';').next().unwrap_or("");
        media_type.trim().to_ascii_lowercase()
    }

    /// How the body is encoded, where it is: nothing was asked for, and nothing is decoded.
    pub(crate) fn content_encoding(&self) -> Option<String> {
        let header = self.headers.get(CONTENT_ENCODING)?;
        let encoding = String::from_utf8_lossy(header.as_bytes());
        let encoding = encoding.trim();
        (!encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity"))
            .then(|| encoding.to_owned())
    }

    /// The next piece; none at the end.
    ///
    /// # Errors
    /// A wait that is too long, a connection that breaks, or more than [`MAX_BODY_BYTES`].
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        let server = self.server;
        let piece = match &mut self.source {
            Source::Network { response, deadline } => server.receive(response, deadline).await,
            Source::Recording(answer) => answer.next(),
        };
        if let Some(exchange) = &mut self.exchange {
            match &piece {
                Ok(Some(bytes)) => exchange.piece(bytes),
                Ok(None) => exchange.end(),
                Err(fault) => exchange.fault(fault),
            }
        }
        let piece = piece?;
        self.read_bytes += piece.as_ref().map_or(0, Bytes::len);
        if self.read_bytes > MAX_BODY_BYTES {
            let why = format!("it is longer than {MAX_BODY_BYTES} bytes");
            return Err(server.garbled(&why, Retry::Never));
        }
        Ok(piece)
    }

    /// What is left of the body, cut at `limit` bytes.
    ///
    /// # Errors
    /// As [`Body::next`].
    pub(crate) async fn whole(&mut self, limit: usize) -> Result<Vec<u8>, Fault> {
        let mut whole = Vec::new();
        while whole.len() < limit {
            let Some(piece) = self.next().await? else {
                break;
            };
            whole.extend_from_slice(&piece);
        }
        whole.truncate(limit);
        Ok(whole)
    }
}

/// A moment from now. A wait too long for the clock is a day, which nobody sits out.
fn deadline(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait)
        .unwrap_or(now + Duration::from_secs(24 * 60 * 60))
}

fn wait_asked_for(headers: &HeaderMap) -> Option<Duration> {
    let header = headers.get(RETRY_AFTER)?.to_str().ok()?;
    retry::retry_after(header, SystemTime::now())
}

fn key_header(
    key: &SecretString,
    header: KeyHeader,
    source: &str,
) -> Result<(HeaderName, HeaderValue), ModelError> {
    let key = key.expose_secret();
    let (name, value) = match header {
        KeyHeader::Bearer => (AUTHORIZATION, format!("Bearer {key}")),
        KeyHeader::Named(name) => (HeaderName::from_static(name), key.to_owned()),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| {
        ModelError::new(
            ModelErrorKind::Unauthorized,
            format!(
                "The key in {source} contains characters that cannot be sent. Set {source} to the key alone, on one line."
            ),
        )
    })?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// The one client builder. HTTP/1.1, no decompression, no transparent repetition: `retry.rs` alone repeats.
fn client(url: &Url, timeouts: Timeouts) -> Result<Client, ModelError> {
    let failed = |why: String| {
        let text = format!("The HTTP client for {url} could not be set up: {why}.");
        ModelError::new(ModelErrorKind::Unreachable, text)
    };
    let roots = rustls::RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("agent-host/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeouts.connect)
        .redirect(same_server(url))
        .retry(reqwest::retry::never())
        .referer(false);
    if is_loopback(url) {
        // A proxy of the environment cannot reach this machine's own servers.
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| failed(error.without_url().to_string()))
}

/// Follows redirections within one scheme, host and port only, so that the key and the conversation stay with the server
/// that the person chose; and only those two kinds that keep a POST a POST.
fn same_server(url: &Url) -> Policy {
    let origin = url.origin();
    Policy::custom(move |attempt| {
        let stays_post = matches!(
            attempt.status(),
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        let stays_here = attempt.url().origin() == origin;
        if stays_post && stays_here && attempt.previous().len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// Whether nothing that is sent there leaves this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or("");
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}
