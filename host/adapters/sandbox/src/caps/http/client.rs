//! The HTTP client: the settings that keep one request one request, and the resolver that pins
//! names to checked addresses.

use super::{
    Recording,
    error::ExchangeError,
    names::{NameLookup, SystemLookup, ToolLookups},
    target::RequestTarget,
};
use agent_host_http_client::{builder, tls_config};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use wasmtime_wasi_http::Error;

/// The most fields in the head of a response. A field of one letter has six bytes on the wire and a
/// hundred in memory, so the limit of bytes alone does not bound the cost; honest servers send a
/// tenth of this.
const MAX_RESPONSE_FIELDS: usize = 100;

/// The client of one tool: its name lookups, and the sandbox's TLS configuration. No connection is
/// shared.
pub(crate) struct HttpClient {
    tls: rustls::ClientConfig,
    names: Arc<ToolLookups>,
    recording: Option<Arc<Recording>>,
}

impl HttpClient {
    /// Configures TLS.
    ///
    /// # Errors
    /// The provider does not support the protocol versions.
    pub(crate) fn new() -> Result<Self, rustls::Error> {
        Self::with_names(Arc::new(SystemLookup))
    }

    pub(super) fn with_names(names: Arc<dyn NameLookup>) -> Result<Self, rustls::Error> {
        let mut tls = tls_config()?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            tls,
            names: Arc::new(ToolLookups::new(names)),
            recording: None,
        })
    }

    /// Returns the client of a tool, whose exchanges may be recorded or replayed.
    pub(crate) fn for_tool(&self, recording: Option<Arc<Recording>>) -> Arc<Self> {
        Arc::new(Self {
            tls: self.tls.clone(),
            names: Arc::new(self.names.for_another_tool()),
            recording,
        })
    }

    pub(super) fn recording(&self) -> Option<&Recording> {
        self.recording.as_deref()
    }

    /// Returns a client for one request. Building one takes microseconds, and it takes its
    /// connections with it.
    pub(super) fn for_target(
        &self,
        target: Arc<RequestTarget>,
        connect_timeout: Duration,
    ) -> Result<reqwest::Client, Error> {
        let names = Arc::clone(&self.names);
        // No redirect is followed: the guest sees it and decides; its next request passes the gate
        // like any other.
        builder(self.tls.clone())
            // A proxy variable of the environment would carry a checked request to an unchecked
            // address.
            .no_proxy()
            // The client reads a head of at most 408 KiB, which cannot be lowered; the parsed head
            // is bounded here and by `http-header-bytes`. A body is read only as fast as the guest
            // reads it.
            .http1_max_headers(MAX_RESPONSE_FIELDS)
            // A connection that outlives its request could serve one that was never checked.
            .pool_max_idle_per_host(0)
            // Name lookup, connection and TLS together; the whole exchange has its own deadline.
            .connect_timeout(connect_timeout)
            // Connections are made to checked addresses only.
            .dns_resolver(Arc::new(PinnedResolver { target, names }))
            .build()
            .map_err(|_| Error::ConfigurationError)
    }
}

/// The resolver of one request.
pub(super) struct PinnedResolver {
    pub(super) target: Arc<RequestTarget>,
    pub(super) names: Arc<ToolLookups>,
}

impl Resolve for PinnedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (target, names) = (Arc::clone(&self.target), Arc::clone(&self.names));
        Box::pin(async move {
            let found = names.addresses(name.as_str().to_owned()).await;
            let found = found.map_err(|_| ExchangeError::UnknownName)?;
            let allowed = target
                .allowed_addresses(found)
                .map_err(|_| ExchangeError::AddressProhibited)?;
            if allowed.is_empty() {
                return Err(ExchangeError::UnknownName.into());
            }
            // Port 0 stands for the URL's port.
            let allowed = allowed
                .into_iter()
                .map(|address| SocketAddr::new(address, 0));
            Ok::<Addrs, _>(Box::new(allowed))
        })
    }
}
