//! Stand-in until the files of the sibling branch are merged: every request is denied.

use crate::gate::Gate;
use agent_host_core::limits::Limits;
use std::{sync::Arc, time::Instant};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

/// The client of the whole sandbox.
pub(crate) struct HttpClient;

/// Why the client cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("no client")]
pub(crate) struct HttpError;

impl HttpClient {
    pub(crate) fn new() -> Result<Self, HttpError> {
        Ok(Self)
    }
}

/// The hooks of one call.
pub(crate) struct GatedHttp {
    gate: Arc<Gate>,
}

impl GatedHttp {
    pub(crate) fn new(
        gate: Arc<Gate>,
        _client: Arc<HttpClient>,
        _limits: &Limits,
        _deadline: Instant,
    ) -> Self {
        Self { gate }
    }
}

type Sent = Result<
    (
        ::http::Response<WasiBody>,
        Box<dyn Future<Output = Result<(), Error>> + Send>,
    ),
    Error,
>;

impl WasiHttpHooks for GatedHttp {
    fn send_request(
        &mut self,
        request: ::http::Request<WasiBody>,
        _options: Option<RequestOptions>,
        _result: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Sent> + Send> {
        self.gate
            .deny(format!("{} {}", request.method(), request.uri()));
        Box::new(async { Err(Error::HttpRequestDenied) })
    }
}
