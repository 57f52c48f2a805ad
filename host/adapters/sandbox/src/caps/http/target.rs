//! The URL of one request as it will be sent, and its checks by the gate. Never the guest's text:
//! only the parsed form, which is also what the client sends.

use super::{fields, own_address::is_own};
use crate::gate::Gate;
use agent_host_engine::policy::{HttpRequest, SecretPlace};
use agent_host_types::audit::AuditRequest;
use http::HeaderMap;
use reqwest::Url;
use std::{net::IpAddr, sync::Arc};
use wasmtime_wasi_http::Error;

/// The method and URL of one request.
pub(super) struct RequestTarget {
    pub(super) gate: Arc<Gate>,
    pub(super) url: Url,
    method: String,
    /// In lower case; an IPv6 literal without brackets.
    host: String,
    port: u16,
    /// The address, if the host is one.
    literal: Option<IpAddr>,
}

impl RequestTarget {
    /// Parses a URL as the client will.
    ///
    /// # Errors
    /// The URL has no host, or has a user name or password.
    pub(super) fn parse(method: &str, url: &str, gate: Arc<Gate>) -> Result<Self, Error> {
        let invalid = || Error::HttpRequestUriInvalid;
        let url = Url::parse(url).map_err(|_| invalid())?;
        let method = method.to_owned();
        if !url.username().is_empty() || url.password().is_some() {
            // `https://example.com@evil.example/` misleads, and credentials in a URL end up in
            // logs.
            gate.refuse(
                AuditRequest::http(&method, &without_user(&url)),
                "url.userinfo",
                "a URL must not contain a user name or password",
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

    /// Checks the URL, and its address if the host is one: the client resolves no literal.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.gate
            .check_http(&self.request(), self.url.as_str())
            .map_err(|_| Error::HttpRequestDenied)?;
        if let Some(address) = self.literal {
            self.allowed_addresses([address])?;
        }
        Ok(())
    }

    /// Returns those of the addresses that may be connected to.
    ///
    /// # Errors
    /// None of them may be.
    pub(super) fn allowed_addresses(
        &self,
        addresses: impl IntoIterator<Item = IpAddr>,
    ) -> Result<Vec<IpAddr>, Error> {
        let addresses = addresses
            .into_iter()
            .map(|address| (address, is_own(address)));
        let allowed = self
            .gate
            .allowed_addresses(&self.request(), self.url.as_str(), addresses)
            .map_err(|_| Error::DestinationIpProhibited)?;
        if !allowed.is_empty() {
            self.gate.record_host(&self.host);
        }
        Ok(allowed)
    }

    pub(super) fn check_secret(&self, name: &str, place: SecretPlace) -> Result<(), Error> {
        self.gate
            .check_secret(name, place, &self.request(), self.url.as_str())
            .map_err(|_| Error::HttpRequestDenied)
    }

    /// Records the status of the response.
    pub(super) fn record_status(&self, status: u16) {
        let request = AuditRequest::http(&self.method, self.url.as_str());
        self.gate.record_status(request, status);
    }

    /// Records that a limit or another fixed rule ended the exchange.
    pub(super) fn refuse(&self, rule: &str, reason: &str) {
        self.gate.refuse(
            AuditRequest::http(&self.method, self.url.as_str()),
            rule,
            reason,
        );
    }

    /// Checks the size of the header fields of a `message`: `request` or `response`.
    ///
    /// # Errors
    /// Their size, if it is over the limit.
    pub(super) fn check_header_bytes(
        &self,
        message: &str,
        fields: &HeaderMap,
        limit: u64,
    ) -> Result<(), Option<u32>> {
        let size = fields::bytes(fields);
        if size <= limit {
            return Ok(());
        }
        let reason = format!("the {message}'s header fields may have at most {limit} bytes");
        self.refuse("limits.http-header-bytes", &reason);
        Err(Some(u32::try_from(size).unwrap_or(u32::MAX)))
    }

    /// Records the limit of the bodies of a call's `message`s: `request` or `response`.
    pub(super) fn refuse_body_bytes(&self, message: &str, limit: u64) {
        let reason =
            format!("the bodies of a call's {message}s may have at most {limit} bytes in total");
        self.refuse(&format!("limits.http-{message}-bytes"), &reason);
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

/// The URL for the audit log: the refused part may be a secret.
fn without_user(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    format!("{}://(user)@{host}{}", url.scheme(), url.path())
}
