//! The HTTP transport of all providers: one client, one TLS provider, bundled roots, a timeout for
//! every wait, and a limit on every read. A recording can take the place of the network. It knows
//! no provider's JSON.

mod account;
mod body;
mod connection;
mod entry;
pub(crate) mod failure;
mod hint;
mod overflow;
mod record;
mod replay;

pub(crate) use body::Body;
pub(crate) use entry::ModelEntry;
pub use record::Recorder;
pub(crate) use replay::ModelRecording;
pub(crate) use replay::{NO_MODEL, unplayable};

use crate::{
    endpoint::{Endpoint, EndpointError, Timeouts},
    retry::{self, Retry},
    wire::{KeyHeader, ServerError, Wire},
};
use agent_host_engine::model::traceparent;
use agent_host_http_client::{ProxySetting, same_origin_redirects};
use agent_host_types::model::{ModelError, ModelErrorKind};
use body::BodySource;
use bytes::Bytes;
use failure::AttemptError;
use record::{ModelRecorder, ResponseRecorder};
use reqwest::{
    Client, RequestBuilder, Response, StatusCode, Url,
    header::{
        ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION,
        RETRY_AFTER,
    },
};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::time::{Instant, timeout_at};

/// The most that is read of a response, in bytes. A reply that is streamed word by word takes a
/// hundred times its size.
pub(crate) const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The least length of a configured header value or query value that is redacted, in bytes.
const LEAST_SECRET_BYTES: usize = 8;

/// The most that is read of an error response, in bytes.
pub(crate) const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// The header of the trace that a request belongs to (<https://www.w3.org/TR/trace-context/>).
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// One operation of one model server.
#[derive(Debug)]
pub(crate) struct Server {
    transport: Transport,
    recorder: Option<ModelRecorder>,
    key: Option<SecretString>,
    /// The headers of every request, the key included.
    headers: HeaderMap,
    /// The URL of requests without the configured query; it holds no secret.
    pub(crate) url: Url,
    /// The configured parameters of the query.
    query: Vec<(String, SecretString)>,
    /// The configured values of headers and of the query.
    extra_secrets: Vec<SecretString>,
    /// The model that is asked; error texts name it.
    pub(crate) model: String,
    /// The setting of the key; error texts name it.
    pub(crate) key_source: String,
    pub(crate) timeouts: Timeouts,
}

/// The source of responses.
#[derive(Debug)]
enum Transport {
    /// The server itself.
    Network(Client),
    /// A recording, in which this is the model of this index.
    Recording(Arc<ModelRecording>, usize),
}

impl Server {
    /// Checks the endpoint and prepares a client for a path and query below its base URL. Nothing
    /// is sent.
    ///
    /// # Errors
    /// A base URL or a key that cannot be used, or a client that cannot be built.
    pub(crate) fn new(
        endpoint: Endpoint,
        path: &str,
        wire: &Wire,
        model: &str,
    ) -> Result<Self, EndpointError> {
        let url = endpoint.url(path)?;
        let Endpoint {
            key,
            key_source,
            timeouts,
            extras,
            ..
        } = endpoint;
        // A key read from a file often ends in a newline, and an empty one means none.
        let key = key
            .map(|key| SecretString::from(key.expose_secret().trim()))
            .filter(|key| !key.expose_secret().is_empty());
        let mut headers: HeaderMap = wire
            .headers
            .iter()
            .map(|(name, value)| {
                let name = HeaderName::from_static(name);
                (name, HeaderValue::from_static(value))
            })
            .collect();
        for (name, value) in &extras.headers {
            let (name, value) = extra_header(name, value)?;
            headers.insert(name, value);
        }
        if let Some(key) = &key {
            let configured = extras.key_header.as_deref();
            let (name, value) = key_header(key, wire.key_header, configured, &key_source)?;
            headers.insert(name, value);
        }
        let values = extras.headers.iter().chain(&extras.query);
        let extra_secrets = values.map(|(_, value)| value.clone()).collect();
        Ok(Self {
            transport: Transport::Network(
                client(&url, timeouts, &extras.proxy).map_err(EndpointError::Client)?,
            ),
            recorder: None,
            key,
            headers,
            url,
            query: extras.query,
            extra_secrets,
            model: model.to_owned(),
            key_source,
            timeouts,
        })
    }

    /// Replays the model of this index in a recording.
    ///
    /// # Errors
    /// The recorded URL is invalid.
    pub(crate) fn replayed(
        model: &ModelEntry,
        recording: Arc<ModelRecording>,
        index: usize,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            transport: Transport::Recording(recording, index),
            recorder: None,
            key: model.has_key.then(|| failure::REDACTED.into()),
            headers: HeaderMap::new(),
            url: Url::parse(&model.url)
                .map_err(|error| unplayable(&format!("its URL is invalid ({error})")))?,
            query: Vec::new(),
            extra_secrets: Vec::new(),
            model: model.name.clone(),
            key_source: model.key_source.clone(),
            timeouts: Timeouts::default(),
        })
    }

    /// Records all further exchanges.
    pub(crate) fn record(&mut self, recorder: &Arc<Recorder>, model: ModelEntry) {
        let secrets = self.secrets().cloned().collect();
        self.recorder = Some(ModelRecorder::new(recorder, model, secrets));
    }

    /// Waits before another attempt; returns at once for a recording.
    pub(crate) async fn wait(&self, wait: Duration) {
        if let Transport::Network(_) = self.transport {
            tokio::time::sleep(wait).await;
        }
    }

    /// Returns the URL for texts, without its query.
    pub(crate) fn shown_url(&self) -> Url {
        let mut url = self.url.clone();
        url.set_query(None);
        url
    }

    /// True if a key is sent.
    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Returns the key and the configured values of headers and of the query.
    fn secrets(&self) -> impl Iterator<Item = &SecretString> {
        let extra = self.extra_secrets.iter().filter(|value| {
            // A shorter one, such as `1` or `true`, is no secret, and in many texts.
            value.expose_secret().len() >= LEAST_SECRET_BYTES
        });
        self.key.iter().chain(extra)
    }

    /// Returns the URL with the configured query.
    fn request_url(&self) -> Url {
        let mut url = self.url.clone();
        if !self.query.is_empty() {
            let query = self.query.iter();
            url.query_pairs_mut()
                .extend_pairs(query.map(|(name, value)| (name, value.expose_secret())));
        }
        url
    }

    /// Makes text from the server fit for display.
    pub(crate) fn quote(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in self.secrets() {
            text = text.replace(secret.expose_secret(), failure::REDACTED);
        }
        failure::quote(&text, None)
    }

    /// Sends a JSON request and returns the body of a 2xx response.
    ///
    /// # Errors
    /// A connection error, a timeout or any other status.
    pub(crate) async fn post(&self, body: &Value) -> Result<Body<'_>, AttemptError> {
        let client = match &self.transport {
            Transport::Network(client) => client,
            Transport::Recording(recording, model) => {
                let response = recording.next(*model, body)?;
                let (status, headers) = (response.status, response.headers.clone());
                let body = Body::new(self, headers, BodySource::Recording(response), None);
                return self.accept(status, body).await;
            }
        };
        let request = client
            .post(self.request_url())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream, application/json")
            .body(body.to_string());
        let request = match traceparent() {
            Some(traceparent) => request.header(TRACEPARENT, traceparent),
            None => request,
        };
        let recorder = self.recorder.as_ref();
        let recorder = recorder.map(|recorder| recorder.request(body));
        self.send(request, recorder).await
    }

    /// Requests a JSON document and returns the body of a 2xx response.
    ///
    /// # Errors
    /// Those of [`Server::post`]; a recording has none.
    pub(crate) async fn get(&self) -> Result<Body<'_>, AttemptError> {
        let Transport::Network(client) = &self.transport else {
            let why = "it is a recording, which contains only replies";
            return Err(self.invalid_response(why, Retry::Never));
        };
        let request = client.get(self.request_url());
        let request = request.header(ACCEPT, "application/json");
        self.send(request, None).await
    }

    async fn send<'a>(
        &'a self,
        request: RequestBuilder,
        mut recorder: Option<ResponseRecorder<'a>>,
    ) -> Result<Body<'a>, AttemptError> {
        let deadline = deadline(self.timeouts.first_chunk);
        let request = request.headers(self.headers.clone());
        let response = timeout_at(deadline, request.send())
            .await
            .map_err(|_| self.timeout("no answer", self.timeouts.first_chunk))
            .and_then(|sent| sent.map_err(|error| self.connection_error(&error)))
            .inspect_err(|error| {
                if let Some(recorder) = &mut recorder {
                    recorder.error(error);
                }
            })?;
        let (status, headers) = (response.status(), response.headers().clone());
        if let Some(recorder) = &recorder {
            recorder.head(status, &headers);
        }
        let source = BodySource::Network {
            response,
            deadline: Some(deadline),
        };
        let body = Body::new(self, headers, source, recorder);
        self.accept(status, body).await
    }

    /// Returns the next piece of a response. `first` is the deadline of the first piece, and is
    /// taken.
    async fn receive(
        &self,
        response: &mut Response,
        first: &mut Option<Instant>,
    ) -> Result<Option<Bytes>, AttemptError> {
        let (deadline, what, limit) = match first.take() {
            Some(first) => (first, "no answer", self.timeouts.first_chunk),
            None => {
                let idle = self.timeouts.idle_chunk;
                (deadline(idle), "no more of its answer", idle)
            }
        };
        timeout_at(deadline, response.chunk())
            .await
            .map_err(|_| self.timeout(what, limit))?
            .map_err(|error| self.connection_error(&error))
    }

    /// Returns the body of a 2xx response; any other status is an error.
    async fn accept<'a>(
        &'a self,
        status: StatusCode,
        mut body: Body<'a>,
    ) -> Result<Body<'a>, AttemptError> {
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
        // The status decides: an incomplete body loses only the message.
        let text = body.whole(MAX_ERROR_BODY_BYTES).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let error = ServerError::from_response(status.as_u16(), &text);
        Err(self.server_error(&error, requested_wait(&body.headers)))
    }
}

/// Returns the instant after this wait; a wait beyond the range of the clock becomes a day.
fn deadline(wait: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(wait)
        .unwrap_or(now + Duration::from_secs(24 * 60 * 60))
}

fn requested_wait(headers: &HeaderMap) -> Option<Duration> {
    let header = headers.get(RETRY_AFTER)?.to_str().ok()?;
    retry::retry_after(header, SystemTime::now())
}

fn extra_header(
    name: &str,
    value: &SecretString,
) -> Result<(HeaderName, HeaderValue), EndpointError> {
    let unusable = || EndpointError::Header(name.to_owned());
    let mut value = HeaderValue::from_str(value.expose_secret()).map_err(|_| unusable())?;
    value.set_sensitive(true);
    Ok((HeaderName::try_from(name).map_err(|_| unusable())?, value))
}

/// Returns the header with the key: the configured one, or that of the wire format.
fn key_header(
    key: &SecretString,
    header: KeyHeader,
    configured: Option<&str>,
    source: &str,
) -> Result<(HeaderName, HeaderValue), EndpointError> {
    let key = key.expose_secret();
    let unusable = |name: &str| EndpointError::Header(name.to_owned());
    let name = match (configured, header) {
        (Some(name), _) => HeaderName::try_from(name).map_err(|_| unusable(name))?,
        (None, KeyHeader::Bearer) => AUTHORIZATION,
        (None, KeyHeader::Named(name)) => HeaderName::from_static(name),
    };
    let value = if name == AUTHORIZATION {
        format!("Bearer {key}")
    } else {
        key.to_owned()
    };
    let mut value =
        HeaderValue::from_str(&value).map_err(|_| EndpointError::Key(source.to_owned()))?;
    value.set_sensitive(true);
    Ok((name, value))
}

/// Sets up the client. `retry.rs` alone repeats requests.
fn client(url: &Url, timeouts: Timeouts, proxy: &ProxySetting) -> Result<Client, ModelError> {
    let redirects = same_origin_redirects(url);
    let client = proxy.client(url, |client| {
        client.connect_timeout(timeouts.connect).redirect(redirects)
    });
    client.map_err(|why| {
        let text = format!("Could not set up the HTTP client for {url}: {why}.");
        ModelError::new(ModelErrorKind::Unreachable, text)
    })
}
