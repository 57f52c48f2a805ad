//! Whether an HTTP request may leave.

use super::{AddressClass, DEFAULT_DENY, Grants, HttpGrant, Ruling, classify};
use crate::tool::Effect;
use std::net::IpAddr;

/// A request as the sandbox will really send it: taken from the parsed URL, never from the guest's string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpRequest<'a> {
    /// The method, upper case.
    pub method: &'a str,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// The host, lower case; an IPv6 literal without brackets.
    pub host: &'a str,
    /// The port.
    pub port: u16,
    /// The path as it is sent, without the query.
    pub path: &'a str,
}

/// Decides a request by its URL and the tool's effect. The address that the name leads to is decided by
/// [`decide_address`].
#[must_use]
pub fn decide_http(grants: &Grants, effect: Effect, request: &HttpRequest<'_>) -> Ruling {
    let Some(index) = covering(grants, request) else {
        return Ruling::Deny {
            rule: DEFAULT_DENY.to_owned(),
            reason: format!(
                "no HTTP grant covers {}://{}:{}",
                request.scheme, request.host, request.port
            ),
            grant: None,
        };
    };
    if effect == Effect::ReadOnly && !matches!(request.method, "GET" | "HEAD") {
        return Ruling::Deny {
            rule: "effect.read-only".to_owned(),
            reason: format!(
                "the tool declares itself read-only, so it may not send {}",
                request.method
            ),
            grant: None,
        };
    }
    Ruling::Allow {
        rule: format!("grants.http[{index}]"),
    }
}

/// Decides whether a request may connect to an address. A private or otherwise special address needs a grant that names
/// that very address: a name that resolves to one is refused, whoever granted the name.
#[must_use]
pub fn decide_address(grants: &Grants, request: &HttpRequest<'_>, address: IpAddr) -> Ruling {
    let class = classify(address);
    if class == AddressClass::Public {
        return Ruling::Allow {
            rule: "address.public".to_owned(),
        };
    }
    let named = request.host.parse() == Ok(address);
    let literal = |grant: &HttpGrant| named && grant.host.parse() == Ok(address);
    match grants
        .http
        .iter()
        .position(|grant| literal(grant) && matches(grant, request))
    {
        Some(index) => Ruling::Allow {
            rule: format!("grants.http[{index}]"),
        },
        None => Ruling::Deny {
            rule: format!("address.{}", class.as_str()),
            reason: format!(
                "{} leads to a {} address; only a grant of that very address opens it",
                request.host,
                class.as_str()
            ),
            grant: None,
        },
    }
}

fn covering(grants: &Grants, request: &HttpRequest<'_>) -> Option<usize> {
    grants.http.iter().position(|grant| matches(grant, request))
}

fn matches(grant: &HttpGrant, request: &HttpRequest<'_>) -> bool {
    let own_port = if request.scheme == "https" { 443 } else { 80 };
    host_matches(&grant.host, request.host)
        && grant
            .scheme
            .as_deref()
            .is_none_or(|scheme| scheme.eq_ignore_ascii_case(request.scheme))
        && grant.port.unwrap_or(own_port) == request.port
}

/// Addresses are compared as addresses, because one address has many spellings; a wildcard never covers an address.
fn host_matches(pattern: &str, host: &str) -> bool {
    if let Ok(address) = host.parse::<IpAddr>() {
        return pattern.parse() == Ok(address);
    }
    if pattern == "*" {
        return true;
    }
    let host = host.to_ascii_lowercase();
    let pattern = pattern.to_ascii_lowercase();
    match pattern.strip_prefix("*.") {
        Some(parent) => host
            .strip_suffix(parent)
            .and_then(|rest| rest.strip_suffix('.'))
            .is_some_and(|below| !below.is_empty()),
        None => pattern == host,
    }
}
