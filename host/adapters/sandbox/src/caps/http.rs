//! wasi:http through the gate. The policy judges the URL as it will be sent and the addresses as
//! they will be connected to; nothing is sent that was not judged. No connection is kept, no
//! redirect followed, no request repeated and no proxy setting read, so one allowed request is one
//! request to one checked address.

mod body;
mod budget;
mod client;
mod error;
mod fields;
mod links;
mod names;
mod own_address;
mod placeholder;
mod recording;
mod redact;
mod target;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use client::HttpClient;
pub use recording::Recording;

use crate::{bindings::types as wit, caps::as_count, gate::Gate, secrets::Redactors};
use agent_host_types::limits::Limits;
use body::HttpExchange;
use budget::{ConnectionPermit, HttpBudget};
use bytes::Bytes;
use error::ExchangeError;
use http::{Method, Request, Response, request};
use http_body::Body;
use recording::RecordedRequest;
use reqwest::Url;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use target::RequestTarget;
use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
};

/// The time to connect, unless the guest asks for less.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The most bytes of a body that the host copies at once.
const BODY_CHUNK_BYTES: usize = 64 * 1024;

/// The bytes of a guest's set of header fields beyond `http-header-bytes`: wasi:http counts some 70
/// for each field besides its text, and the only error that it has for a full set ends the guest.
/// So a set that is somewhat too large is made, and refused with the standard error when it is to
/// be sent. Each open resource may hold this much.
const FIELDS_OVERHEAD_BYTES: u64 = 32 * 1024;

/// Returns whether the gate denies a request by its URL, before any name is resolved. A URL that
/// cannot be sent is not denied.
pub(crate) fn is_denied(method: &str, url: &str, gate: &Arc<Gate>) -> bool {
    let target = RequestTarget::parse(method, url, Arc::clone(gate));
    let checked = target.and_then(|target| target.check());
    matches!(
        checked,
        Err(Error::HttpRequestDenied | Error::DestinationIpProhibited)
    )
}

/// The end of an exchange, whatever the server does.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    end: tokio::time::Instant,
    /// The limit of one exchange in milliseconds; absent if the call ends before.
    limit_ms: Option<u64>,
}

impl Deadline {
    /// Returns the end of a time limit that begins now, at most the end of the exchange.
    fn until(&self, limit: Option<Duration>) -> tokio::time::Instant {
        limit
            .and_then(|limit| tokio::time::Instant::now().checked_add(limit))
            .map_or(self.end, |end| end.min(self.end))
    }

    /// Returns the error, and records the limit if the time of the exchange is over.
    fn record_if_late(&self, target: &RequestTarget, error: Error) -> Error {
        if let Some(limit) = self.limit_ms
            && tokio::time::Instant::now() >= self.end
        {
            target.refuse(
                "limits.http-timeout-ms",
                &format!("one exchange may take at most {limit} ms"),
            );
        }
        error
    }
}

/// wasi:http of one call.
pub(crate) struct HttpCtx {
    wasi: WasiHttpCtx,
    hooks: GatedHttp,
}

impl HttpCtx {
    /// `deadline` is the end of the call.
    pub(crate) fn new(
        gate: Arc<Gate>,
        client: Arc<HttpClient>,
        secrets: Redactors,
        limits: &Limits,
        deadline: Instant,
    ) -> Self {
        let mut wasi = WasiHttpCtx::new();
        let fields = limits
            .http_header_bytes
            .saturating_add(FIELDS_OVERHEAD_BYTES);
        wasi.set_field_size_limit(as_count(fields));
        Self {
            wasi,
            hooks: GatedHttp {
                budget: Arc::new(HttpBudget::new(Arc::clone(&gate), limits)),
                gate,
                client,
                limits: limits.clone(),
                secrets,
                deadline,
            },
        }
    }

    pub(crate) fn view<'a>(&'a mut self, table: &'a mut ResourceTable) -> WasiHttpCtxView<'a> {
        WasiHttpCtxView {
            ctx: &mut self.wasi,
            hooks: &mut self.hooks,
            table,
        }
    }

    /// Fetches the files that a result names by URL, at most `left` bytes of them.
    pub(crate) async fn fetch_links(&self, output: &mut wit::ToolResultOutput, left: u64) {
        links::fetch(output, &self.hooks, left).await;
    }
}

/// Sends the requests of one call.
#[derive(Clone)]
struct GatedHttp {
    gate: Arc<Gate>,
    client: Arc<HttpClient>,
    budget: Arc<HttpBudget>,
    limits: Limits,
    /// All are redacted from recordings, the granted ones from responses.
    secrets: Redactors,
    /// The end of the call, whatever the server does.
    deadline: Instant,
}

type IoFuture = Box<dyn Future<Output = Result<(), Error>> + Send>;
type SendResult = Result<(Response<WasiBody>, IoFuture), Error>;

impl GatedHttp {
    /// Judges everything that is known before anything waits. The request may be sent to the
    /// addresses of [`RequestTarget::allowed_addresses`], at the returned URL: that of the target,
    /// with the secrets that the guest named. Those in header fields are in the request afterwards.
    fn admit(&self, request: &mut Request<WasiBody>) -> Result<(HttpExchange, Url), Error> {
        let (method, url) = (request.method().as_str(), request.uri().to_string());
        let target = RequestTarget::parse(method, &url, Arc::clone(&self.gate))?;
        if *request.method() == Method::CONNECT {
            return Err(Error::HttpRequestMethodInvalid);
        }
        target.check()?;
        let url = placeholder::fill(&target, request.headers_mut(), &self.secrets.granted)?;
        if self.holds_secrets() {
            redact::request_identity_encoding(request.headers_mut());
        }
        target
            .check_header_bytes("request", request.headers(), self.limits.http_header_bytes)
            .map_err(Error::HttpRequestHeaderSectionSize)?;
        let hint = request.body().size_hint();
        let declared = fields::prepare(request.headers_mut(), hint.exact())?;
        let length = declared.unwrap_or(hint.lower());
        if !self.budget.request().fits(length) {
            target.refuse_body_bytes("request", self.limits.http_request_bytes);
            return Err(Error::HttpRequestBodySize(Some(length)));
        }
        let exchange = HttpExchange {
            _permit: self.permit(&target)?,
            deadline: self.exchange_deadline(),
            budget: Arc::clone(&self.budget),
            target: Arc::new(target),
        };
        Ok((exchange, url))
    }

    /// Returns whether the requests of this call may carry secrets.
    fn holds_secrets(&self) -> bool {
        !self.gate.grants.secrets.is_empty()
    }

    fn permit(&self, target: &RequestTarget) -> Result<ConnectionPermit, Error> {
        self.budget.permit().ok_or_else(|| {
            let limit = self.limits.http_connections;
            target.refuse(
                "limits.http-connections",
                &format!("a call may have at most {limit} exchanges open at once"),
            );
            Error::ConnectionLimitReached
        })
    }

    /// Returns the deadline of an exchange that begins now.
    fn exchange_deadline(&self) -> Deadline {
        let limit_ms = self.limits.http_timeout_ms;
        let call = Deadline {
            end: self.deadline.into(),
            limit_ms: None,
        };
        let end = call.until(Some(Duration::from_millis(limit_ms)));
        Deadline {
            end,
            limit_ms: (end < call.end).then_some(limit_ms),
        }
    }
}

impl WasiHttpHooks for GatedHttp {
    /// The client writes the field from the judged URL.
    fn set_host_header(&mut self) -> bool {
        false
    }

    /// The host's copy of what a guest writes to a body at once, as for files.
    fn p3_outgoing_body_chunk_size(&mut self) -> usize {
        BODY_CHUNK_BYTES
    }

    fn send_request(
        &mut self,
        mut request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _settled: IoFuture,
    ) -> Box<dyn Future<Output = SendResult> + Send> {
        let admitted = self.admit(&mut request);
        let call = self.clone();
        Box::new(async move {
            let (exchange, url) = admitted?;
            let outgoing = OutgoingRequest {
                call,
                exchange,
                url,
                options: options.unwrap_or_default(),
            };
            let response = outgoing.run(request).await?;
            let settled: IoFuture = Box::new(async { Ok(()) });
            Ok((response, settled))
        })
    }
}

/// An admitted request.
struct OutgoingRequest {
    call: GatedHttp,
    exchange: HttpExchange,
    /// The target's URL, or one with a secret in its query, which is never shown.
    url: Url,
    options: RequestOptions,
}

impl OutgoingRequest {
    async fn run(self, request: Request<WasiBody>) -> Result<Response<WasiBody>, Error> {
        let (parts, body) = request.into_parts();
        let Some(recording) = self.call.client.recording() else {
            let body = match body.size_hint().exact() {
                Some(0) => None,
                Some(_) | None => Some(body::outgoing(body, self.exchange.clone())),
            };
            let response = self.send(parts, body).await?;
            return self.receive(response);
        };
        let body = body::read_request(body, &self.exchange).await?;
        let target = &self.exchange.target;
        let recorded = RecordedRequest::new(parts.method.as_str(), target.url.as_str(), &body);
        let response = if recording.is_replay {
            recording.replay_response(&recorded)?
        } else {
            let body = (!body.is_empty()).then(|| body.into());
            let response = self.send_buffered(parts, body).await;
            recording.record_outcome(recorded, response.as_ref(), &self.call.secrets.all);
            response?
        };
        self.receive(response.into())
    }

    /// Sends the request, and reads the whole response, at most what the call may receive.
    async fn send_buffered(
        &self,
        parts: request::Parts,
        body: Option<reqwest::Body>,
    ) -> Result<Response<Bytes>, Error> {
        let response = self.send(parts, body).await?;
        let (parts, body) = Response::<reqwest::Body>::from(response).into_parts();
        let body = body::read_response(body, &self.exchange).await?;
        Ok(Response::from_parts(parts, body))
    }

    async fn send(
        &self,
        parts: request::Parts,
        body: Option<reqwest::Body>,
    ) -> Result<reqwest::Response, Error> {
        let (target, deadline) = (&self.exchange.target, &self.exchange.deadline);
        let connect = self.options.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
        let client = &self.call.client;
        let client = client.for_target(Arc::clone(target), connect.min(CONNECT_TIMEOUT))?;
        let mut outgoing = client
            .request(parts.method, self.url.clone())
            .headers(parts.headers);
        if let Some(body) = body {
            outgoing = outgoing.body(body);
        }
        let until = deadline.until(self.options.first_byte_timeout);
        match tokio::time::timeout_at(until, outgoing.send()).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(deadline.record_if_late(target, error::from_client(&error))),
            Err(_) => Err(deadline.record_if_late(target, Error::HttpResponseTimeout)),
        }
    }

    fn receive(self, response: reqwest::Response) -> Result<Response<WasiBody>, Error> {
        let HttpExchange { target, budget, .. } = &self.exchange;
        let holds_secrets = self.call.holds_secrets();
        let (limits, secrets) = (&self.call.limits, self.call.secrets.granted);
        target.record_status(response.status().as_u16());
        target
            .check_header_bytes("response", response.headers(), limits.http_header_bytes)
            .map_err(Error::HttpResponseHeaderSectionSize)?;
        if holds_secrets && redact::is_encoded(response.headers()) {
            target.refuse(
                "secrets.content-encoding",
                "a tool that may use secrets cannot receive encoded responses, because secrets could not be redacted \
                 in them",
            );
            return Err(Error::HttpResponseContentCoding(None));
        }
        // The guest gets a proper code now; in the middle of a body there is none.
        if let Some(length) = response.content_length()
            && !budget.response().fits(length)
        {
            target.refuse_body_bytes("response", budget.response().limit);
            return Err(Error::HttpResponseBodySize(Some(length)));
        }
        let mut redacted = Response::builder().status(response.status());
        if let Some(fields) = redacted.headers_mut() {
            *fields = redact::fields(response.headers(), &secrets);
        }
        let pause = self.options.between_bytes_timeout;
        let body = body::incoming(response, self.exchange, pause);
        let body = redact::body(body, secrets);
        redacted
            .body(body)
            .map_err(|_| ExchangeError::Protocol.into_error())
    }
}
