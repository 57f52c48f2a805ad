//! The URL of one request as it will be sent, and its standing with the gate. Never the guest's text: only what the parser
//! made of it, which is also what the client sends.

use crate::gate::Gate;
use agent_host_core::policy::HttpRequest;
use http::Request;
use reqwest::Url;
use std::{net::IpAddr, sync::Arc};
use wasmtime_wasi_http::{Error, WasiBody};

/// One request's destination.
pub(super) struct Target {
    gate: Arc<Gate>,
    url: Url,
    method: String,
    /// Lower case; an IPv6 literal without brackets.
    host: String,
    port: u16,
    /// The address, where the host is one.
    literal: Option<IpAddr>,
}

impl Target {
    /// Parses the request's URL the way the client will.
    ///
    /// # Errors
    /// Not a URL with a host, or one that carries a user name.
    pub(super) fn new(request: &Request<WasiBody>, gate: Arc<Gate>) -> Result<Self, Error> {
        let invalid = || Error::HttpRequestUriInvalid;
        let url = Url::parse(&request.uri().to_string()).map_err(|_| invalid())?;
        let method = request.method().as_str().to_owned();
        if !url.username().is_empty() || url.password().is_some() {
            // `https://example.com@evil.example/` is a trick, and credentials in a URL end up in logs.
            gate.refuse(
                &format!("{method} {}", without_user(&url)),
                "url.userinfo",
                "a URL with a user name or password is never sent",
            );
            return Err(Error::HttpRequestDenied);
        }
        let host = url.host_str().ok_or_else(invalid)?;
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        Ok(Self {
            literal: host.parse().ok(),
            port: url.port_or_known_default().ok_or_else(invalid)?,
            host,
            method,
            url,
            gate,
        })
    }

    /// Asks the gate for the URL, and for the address where the URL names one: the client asks no resolver for it.
    pub(super) fn ask(&self) -> Result<(), Error> {
        self.gate
            .http(&self.request(), self.url.as_str())
            .map_err(|_| Error::HttpRequestDenied)?;
        if let Some(address) = self.literal {
            self.addresses([address])?;
        }
        Ok(())
    }

    /// Those of the addresses that may be connected to.
    ///
    /// # Errors
    /// None of them may.
    pub(super) fn addresses(
        &self,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Result<Vec<IpAddr>, Error> {
        let allowed = self
            .gate
            .addresses(&self.request(), self.url.as_str(), addresses)
            .map_err(|_| Error::DestinationIpProhibited)?;
        if !allowed.is_empty() {
            self.gate.contacted(&self.host);
        }
        Ok(allowed)
    }

    /// Writes down that a limit ended the exchange.
    pub(super) fn over(&self, rule: &str, limit: u64, what: &str) {
        let reason = format!("the {what} may have at most {limit} bytes");
        self.gate
            .refuse(&format!("{} {}", self.method, self.url), rule, &reason);
    }

    pub(super) fn gate(&self) -> &Gate {
        &self.gate
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    fn request(&self) -> HttpRequest<'_> {
        HttpRequest {
            method: &self.method,
            scheme: self.url.scheme(),
            host: &self.host,
            port: self.port,
            path: self.url.path(),
        }
    }
}

/// The URL for the ledger: what was refused is a secret perhaps.
fn without_user(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    format!("{}://(user)@{host}{}", url.scheme(), url.path())
}
