//! wasi:http through the gate. The policy judges the URL as it will be sent, and the addresses as they will be connected to;
//! nothing is sent that was not judged. It keeps no connection, follows no redirect, repeats nothing and reads no proxy
//! setting, so that one allowed request is one request to one checked address.

mod body;
mod client;
mod fault;
mod target;
#[cfg(test)]
mod tests;

pub(crate) use client::HttpClient;

use crate::gate::Gate;
use agent_host_core::limits::Limits;
use fault::Fault;
use http::{HeaderMap, Method, Request, Response};
use http_body::Body;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use target::Target;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

/// How long a connection may take to come about, unless the guest asks for less.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why guests cannot be given HTTP at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    /// The TLS library refuses its own defaults.
    #[error("TLS cannot be set up: {0}; this is a defect of the program, please report it")]
    Tls(#[from] rustls::Error),
}

/// What of [`Limits`] holds for HTTP, in bytes.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    header: u64,
    request: u64,
    response: u64,
}

/// One call's wasi:http.
pub(crate) struct GatedHttp {
    gate: Arc<Gate>,
    client: Arc<HttpClient>,
    bounds: Bounds,
    /// When the call ends, whatever the server does.
    deadline: Instant,
}

type Settled = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Answer = Result<(Response<WasiBody>, Settled), Error>;

impl GatedHttp {
    /// The requests of one call.
    pub(crate) fn new(
        gate: Arc<Gate>,
        client: Arc<HttpClient>,
        limits: &Limits,
        deadline: Instant,
    ) -> Self {
        Self {
            gate,
            client,
            bounds: Bounds {
                header: limits.http_header_bytes,
                request: limits.http_request_bytes,
                response: limits.http_response_bytes,
            },
            deadline,
        }
    }

    /// Everything that can be judged before anything waits. What comes out may be sent to the addresses that
    /// [`Target::addresses`] lets through.
    fn admit(&self, request: &Request<WasiBody>) -> Result<Target, Error> {
        let target = Target::new(request, Arc::clone(&self.gate))?;
        if *request.method() == Method::CONNECT {
            return Err(Error::HttpRequestMethodInvalid);
        }
        target.ask()?;
        let header = header_bytes(request.headers());
        if header > self.bounds.header {
            let size = u32::try_from(header).unwrap_or(u32::MAX);
            target.over(
                "limits.http-header-bytes",
                self.bounds.header,
                "request's header fields",
            );
            return Err(Error::HttpRequestHeaderSectionSize(Some(size)));
        }
        let declared = declared_bytes(request);
        if declared > self.bounds.request {
            target.over(
                "limits.http-request-bytes",
                self.bounds.request,
                "request's body",
            );
            return Err(Error::HttpRequestBodySize(Some(declared)));
        }
        Ok(target)
    }
}

impl WasiHttpHooks for GatedHttp {
    /// The client writes the field itself, from the URL that was judged.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _settled: Settled,
    ) -> Box<dyn Future<Output = Answer> + Send> {
        let admitted = self.admit(&request);
        let client = Arc::clone(&self.client);
        let (bounds, deadline) = (self.bounds, self.deadline);
        Box::new(async move {
            let exchange = Exchange {
                target: Arc::new(admitted?),
                bounds,
                deadline: deadline.into(),
                options: options.unwrap_or_default(),
            };
            let response = exchange.run(&client, request).await?;
            let settled: Settled = Box::new(async { Ok(()) });
            Ok((response, settled))
        })
    }
}

/// One admitted request on its way.
struct Exchange {
    target: Arc<Target>,
    bounds: Bounds,
    deadline: tokio::time::Instant,
    options: RequestOptions,
}

impl Exchange {
    async fn run(
        self,
        client: &HttpClient,
        request: Request<WasiBody>,
    ) -> Result<Response<WasiBody>, Error> {
        let connect = self.options.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
        let client = client.for_target(Arc::clone(&self.target), connect.min(CONNECT_TIMEOUT))?;
        let (parts, body) = request.into_parts();
        let mut outgoing = client
            .request(parts.method, self.target.url().clone())
            .headers(parts.headers);
        if body.size_hint().exact() != Some(0) {
            outgoing = outgoing.body(body::outgoing(
                body,
                Arc::clone(&self.target),
                self.bounds.request,
            ));
        }
        let first = self.options.first_byte_timeout;
        let answered = tokio::time::timeout_at(self.until(first), outgoing.send()).await;
        let response = answered
            .map_err(|_| Error::HttpResponseTimeout)?
            .map_err(|error| fault::from_client(&error))?;
        self.receive(response)
    }

    fn receive(self, response: reqwest::Response) -> Result<Response<WasiBody>, Error> {
        let header = header_bytes(response.headers());
        if header > self.bounds.header {
            let size = u32::try_from(header).unwrap_or(u32::MAX);
            let limit = self.bounds.header;
            self.target.over(
                "limits.http-header-bytes",
                limit,
                "response's header fields",
            );
            return Err(Error::HttpResponseHeaderSectionSize(Some(size)));
        }
        // Told at once, a guest gets a proper code; in the middle of a body there is none.
        if let Some(length) = response.content_length()
            && length > self.bounds.response
        {
            let limit = self.bounds.response;
            self.target
                .over("limits.http-response-bytes", limit, "response's body");
            return Err(Error::HttpResponseBodySize(Some(length)));
        }
        let mut answer = Response::builder().status(response.status());
        if let Some(fields) = answer.headers_mut() {
            *fields = response.headers().clone();
        }
        let pause = self.options.between_bytes_timeout;
        let body = body::incoming(
            response,
            self.target,
            self.bounds.response,
            self.deadline,
            pause,
        );
        answer.body(body).map_err(|_| Fault::Protocol.into_error())
    }

    /// The earlier of the call's deadline and a time limit that begins now.
    fn until(&self, limit: Option<Duration>) -> tokio::time::Instant {
        body::until(self.deadline, limit)
    }
}

/// How large the guest says that its body is, at the least. wasmtime has checked that the field is a number.
fn declared_bytes(request: &Request<WasiBody>) -> u64 {
    let field = request.headers().get(http::header::CONTENT_LENGTH);
    let length = field.and_then(|value| value.to_str().ok()?.parse().ok());
    length.unwrap_or_else(|| request.body().size_hint().lower())
}

/// The size of header fields as they are on the wire: name, `: `, value, line end.
fn header_bytes(fields: &HeaderMap) -> u64 {
    const AROUND: usize = 4;
    let size = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        name.as_str().len() + value.len() + AROUND
    };
    u64::try_from(fields.iter().map(size).sum::<usize>()).unwrap_or(u64::MAX)
}
