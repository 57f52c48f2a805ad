//! The decision about an HTTP request.

use super::{
    AddressClass, DEFAULT_DENY, Grants, HttpGrant, Ruling, classify, http_grant::smallest, url_path,
};
use agent_host_types::tool::Effect;
use std::net::IpAddr;

/// A request as the sandbox sends it: taken from the parsed URL, never from the guest's string.
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
    /// The path as sent, without the query.
    pub path: &'a str,
}

/// Returns whether requests of a method only read, as HTTP has it (RFC 9110, section 9.2.1): the
/// methods that a read-only tool may send.
#[must_use]
pub fn only_reads(method: &str) -> bool {
    matches!(method, "GET" | "HEAD")
}

/// Decides a request by its URL and the tool's effect. The first grant that covers it is the rule.
/// [`decide_address`] decides on the resolved address.
#[must_use]
pub fn decide_http(grants: &Grants, effect: Effect, request: &HttpRequest<'_>) -> Ruling {
    let too_much = effect == Effect::ReadOnly && !only_reads(request.method);
    let Some(index) = grants.http.iter().position(|grant| grant.covers(request)) else {
        return Ruling::Deny {
            rule: DEFAULT_DENY.to_owned(),
            reason: why_uncovered(&grants.http, request),
            // No grant widens the effect.
            grant: if too_much { None } else { smallest(request) },
        };
    };
    if too_much {
        let method = request.method;
        return Ruling::deny(
            "effect.read-only",
            format!("the tool declares itself read-only, so it may not send {method}"),
        );
    }
    Ruling::allow(format!("grants.http[{index}]"))
        .below(grants, |ceiling| decide_http(ceiling, effect, request))
}

/// Returns why no grant covers a request.
fn why_uncovered(grants: &[HttpGrant], request: &HttpRequest<'_>) -> String {
    let HttpRequest {
        method,
        scheme,
        host,
        port,
        path,
    } = request;
    let server = format!("{scheme}://{host}:{port}");
    let mut near = grants
        .iter()
        .filter(|grant| grant.covers_server(request))
        .peekable();
    if near.peek().is_none() {
        return format!("no HTTP grant covers {server}");
    }
    if !near.any(|grant| grant.covers_method(method)) {
        return format!("no HTTP grant covers {method} to {server}");
    }
    match url_path::ambiguity(path) {
        Some(why) => format!(
            "HTTP grants cover only some paths of {server}, and this path {why}, so a server could read it as \
             another path"
        ),
        None => format!("no HTTP grant covers {method} of this path of {server}"),
    }
}

/// Decides whether a request may connect to an address. A private or otherwise special address, and
/// a public address of this machine (`is_own`), needs a grant of the address itself; a name that
/// resolves to one is refused.
#[must_use]
pub fn decide_address(
    grants: &Grants,
    request: &HttpRequest<'_>,
    address: IpAddr,
    is_own: bool,
) -> Ruling {
    let class = match classify(address) {
        AddressClass::Public if is_own => "own",
        AddressClass::Public => {
            return Ruling::allow("address.public");
        }
        special => special.as_str(),
    };
    let named = request.host.parse() == Ok(address);
    let literal = |grant: &HttpGrant| named && grant.host.parse() == Ok(address);
    match grants
        .http
        .iter()
        .position(|grant| literal(grant) && grant.covers(request))
    {
        Some(index) => Ruling::allow(format!("grants.http[{index}]")).below(grants, |ceiling| {
            decide_address(ceiling, request, address, is_own)
        }),
        None => Ruling::Deny {
            rule: format!("address.{class}"),
            reason: format!(
                "{} resolves to {}; only a grant for that exact address allows it",
                request.host,
                match class {
                    "own" => "this machine".to_owned(),
                    class => format!("a {class} address"),
                }
            ),
            // A grant of the address does not let a name lead there.
            grant: if named { smallest(request) } else { None },
        },
    }
}
