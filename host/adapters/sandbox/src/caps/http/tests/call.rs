//! The HTTP of one call, with a builder for tests.

use super::super::{HttpClient, HttpCtx, names::NameLookup};
use crate::{
    bindings::types as wit,
    gate::{CallStats, Gate},
    secrets::Redactors,
};
use agent_host_engine::{
    policy::{Grants, HttpGrant, SecretGrant},
    secrets::Secrets,
};
use agent_host_types::{limits::Limits, tool::Effect};
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use std::{
    io,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use wasmtime_wasi_http::{RequestOptions, WasiBody, WasiHttpHooks};

/// Names that resolve to addresses of the test's choice.
#[derive(Default)]
pub(super) struct Names {
    addresses: Vec<IpAddr>,
    pub(super) lookups: AtomicUsize,
}

impl NameLookup for Names {
    fn addresses(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        Ok(self.addresses.clone())
    }
}

pub(super) fn names(addresses: &[&str]) -> Arc<Names> {
    Arc::new(Names {
        addresses: addresses
            .iter()
            .map(|address| address.parse().unwrap())
            .collect(),
        lookups: AtomicUsize::new(0),
    })
}

pub(super) fn grant(scheme: Option<&str>, host: &str, port: Option<u16>) -> HttpGrant {
    HttpGrant {
        scheme: scheme.map(str::to_owned),
        host: host.to_owned(),
        port,
        ..HttpGrant::default()
    }
}

/// The settings of one call.
pub(super) struct Call {
    pub(super) grants: Vec<HttpGrant>,
    pub(super) secret_grants: Vec<SecretGrant>,
    pub(super) secrets: Arc<Secrets>,
    pub(super) effect: Effect,
    pub(super) limits: Limits,
    pub(super) names: Arc<Names>,
    pub(super) time: Duration,
}

impl Call {
    pub(super) fn to(grants: Vec<HttpGrant>) -> Self {
        Self {
            grants,
            secret_grants: Vec::new(),
            secrets: Arc::default(),
            effect: Effect::Effectful,
            limits: Limits::default(),
            names: Arc::default(),
            time: Duration::from_secs(20),
        }
    }

    pub(super) fn start(self) -> Running {
        let client = HttpClient::with_names(Arc::clone(&self.names) as Arc<dyn NameLookup>);
        self.start_with(Arc::new(client.unwrap()))
    }

    /// Starts the call with a client that other calls share. Its names are not the call's own.
    pub(super) fn start_with(self, client: Arc<HttpClient>) -> Running {
        let grants = Grants {
            http: self.grants,
            secrets: self.secret_grants,
            ..Grants::default()
        };
        let gate = Gate::new(Arc::new(grants), self.effect, &self.limits);
        let deadline = Instant::now() + self.time;
        let secrets = Redactors {
            granted: gate.granted_secrets(&self.secrets),
            all: self.secrets,
        };
        Running {
            http: HttpCtx::new(Arc::clone(&gate), client, secrets, &self.limits, deadline),
            gate,
        }
    }
}

pub(super) struct Running {
    http: HttpCtx,
    gate: Arc<Gate>,
}

pub(super) fn request(method: &str, url: &str) -> Request<WasiBody> {
    with_body(method, url, Bytes::new())
}

pub(super) fn with_body(method: &str, url: &str, body: Bytes) -> Request<WasiBody> {
    let body = Full::new(body)
        .map_err(|never| match never {})
        .boxed_unsync();
    Request::builder()
        .method(method)
        .uri(url)
        .body(body)
        .unwrap()
}

impl Running {
    /// Sends, and returns status, fields of interest and body; or the error, by name.
    pub(super) async fn send(&mut self, request: Request<WasiBody>) -> String {
        self.send_with(request, None).await
    }

    pub(super) async fn send_with(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> String {
        let response = match self.answer(request, options).await {
            Ok(response) => response,
            Err(error) => return error,
        };
        let status = response.status().as_u16();
        let location = response.headers().get("location").cloned();
        let location = location.map_or_else(String::new, |value| {
            format!(" to {}", value.to_str().unwrap())
        });
        match response.into_body().collect().await {
            Ok(body) => format!(
                "{status}{location} {}",
                String::from_utf8_lossy(&body.to_bytes())
            ),
            Err(error) => format!("{status} then {error:?}"),
        }
    }

    /// Sends, and returns the response with its body unread; or the error, by name.
    pub(super) async fn open(
        &mut self,
        request: Request<WasiBody>,
    ) -> Result<Response<WasiBody>, String> {
        self.answer(request, None).await
    }

    pub(super) async fn answer(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Response<WasiBody>, String> {
        let nothing = Box::new(async { Ok(()) });
        let future = self.http.hooks.send_request(request, options, nothing);
        let answer = Pin::from(future).await;
        answer
            .map(|(response, _)| response)
            .map_err(|error| format!("{error:?}"))
    }

    /// Sends, and returns the header fields and body of the response as the guest receives them.
    pub(super) async fn exchange(&mut self, request: Request<WasiBody>) -> (HeaderMap, Bytes) {
        let nothing = Box::new(async { Ok(()) });
        let answer = Pin::from(self.http.hooks.send_request(request, None, nothing)).await;
        let (response, _) = answer.ok().unwrap();
        let (parts, body) = response.into_parts();
        (parts.headers, body.collect().await.ok().unwrap().to_bytes())
    }

    pub(super) async fn get(&mut self, url: &str) -> String {
        self.send(request("GET", url)).await
    }

    pub(super) async fn fetch_links(&self, output: &mut wit::ToolResultOutput) {
        let left = self.http.hooks.limits.output_bytes;
        self.http.fetch_links(output, left).await;
    }

    pub(super) fn stats(&self) -> CallStats {
        self.gate.stats()
    }
}

pub(super) const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
