//! The settings that all HTTP clients of the host share: requests to models, to MCP servers, and of
//! tools. Each caller adds its own timeouts, redirects and proxy. Where a server may lead a client
//! is decided in one place, [`Reachable`].
//!
//! ```
//! use agent_host_http_client::{builder, same_origin_redirects, tls_config};
//!
//! let url = "https://models.example/v1".parse()?;
//! let client = builder(tls_config()?)
//!     .redirect(same_origin_redirects(&url))
//!     .build()?;
//! # let _: reqwest::Client = client;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod proxy;
mod reachable;
mod roots;
mod verifier;

use reqwest::{Client, ClientBuilder, StatusCode, redirect::Policy};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::sync::Arc;
use verifier::RootsVerifier;

pub use proxy::{ProxySetting, is_loopback};
pub use reachable::Reachable;
pub use reqwest::Url;
pub use roots::{AuthorityError, authorities, roots};

/// The `User-Agent` of requests that the host makes for itself, not for a tool.
pub const USER_AGENT: &str = concat!("agent-host/", env!("CARGO_PKG_VERSION"));

/// The maximum of redirects that [`same_origin_redirects`] follows.
const MAX_REDIRECTS: usize = 3;

/// Why a client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// The proxy's address or another setting cannot be used.
    #[error(transparent)]
    Build(#[from] reqwest::Error),
}

/// Returns the TLS configuration: ring, whatever the process default is, and the authorities of the
/// program and of the machine, which are read at the first connection.
///
/// # Errors
/// The provider does not support the protocol versions.
pub fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = RootsVerifier::new(Arc::clone(&provider));
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth())
}

/// Returns the TLS configuration of [`tls_config`] with other authorities.
///
/// # Errors
/// The provider does not support the protocol versions.
pub fn tls_config_with(authorities: Arc<RootCertStore>) -> Result<ClientConfig, rustls::Error> {
    Ok(
        ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(authorities)
            .with_no_client_auth(),
    )
}

/// Returns a builder of clients that send each request once: it follows no redirect, repeats
/// nothing, and sends no `Referer`. It speaks HTTP/1.1 only; HTTP/2 would add header compression
/// bombs and shared connections.
pub fn builder(tls: ClientConfig) -> ClientBuilder {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .http1_only()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
}

/// Returns the policy that follows at most 3 redirects within the scheme, host and port of `url`,
/// so that the token and the conversation stay with the server that the operator chose; and only
/// those with status 307 and 308, which keep a POST a POST.
pub fn same_origin_redirects(url: &Url) -> Policy {
    let origin = url.origin();
    Policy::custom(move |attempt| {
        let keeps_method = matches!(
            attempt.status(),
            StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
        );
        let same_origin = attempt.url().origin() == origin;
        if keeps_method && same_origin && attempt.previous().len() <= MAX_REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}
