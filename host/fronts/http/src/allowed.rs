//! Which `Host` and `Origin` values are accepted. Browsers set both: a foreign page can send
//! requests to this machine, and can make its own name resolve to it (DNS rebinding).

use crate::Refusal;
use http::{
    HeaderMap, StatusCode, Uri,
    header::{HOST, ORIGIN},
    uri::{Authority, Scheme},
};
use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    str::FromStr,
};

/// The port of `http`, which a `Host` field omits.
pub(crate) const HTTP_PORT: u16 = 80;

/// The port of `https`, which a `Host` field omits.
pub(crate) const HTTPS_PORT: u16 = 443;

/// A `Host` value that is accepted: `HOST`, with any port, or `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    /// Lower case; an IPv6 address in brackets.
    host: String,
    /// Any port if absent.
    port: Option<u16>,
}

/// An `Origin` value that is accepted: `SCHEME://HOST` or `SCHEME://HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedOrigin {
    scheme: String,
    /// Lower case.
    host: String,
    port: u16,
}

const NOT_A_HOST: &str = "this is not a host; write a name or an address, such as mcp.example.org, \
    mcp.example.org:8443 or [::1]:8443, without a scheme or a path";
const NOT_AN_ORIGIN: &str = "this is not an origin; write the scheme, the host and, if it is not the scheme's default, \
    the port, such as https://app.example.org or http://localhost:3000; `null` and `*` would allow every origin and \
    are not accepted";

impl FromStr for AllowedHost {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        parse_host(text).ok_or(NOT_A_HOST)
    }
}

impl fmt::Display for AllowedHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => f.write_str(&self.host),
        }
    }
}

impl FromStr for AllowedOrigin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        parse_origin(text).ok_or(NOT_AN_ORIGIN)
    }
}

/// Returns the names of a server bound to `address`.
pub(crate) fn own_hosts(address: SocketAddr) -> Vec<AllowedHost> {
    let ip = address.ip().to_canonical();
    let mut hosts = Vec::new();
    if ip.is_loopback() || ip.is_unspecified() {
        hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(str::to_owned));
    }
    if !ip.is_unspecified() {
        // A foreign name can resolve to this address; the address itself names nothing else.
        hosts.push(match ip {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        });
    }
    let port = Some(address.port());
    let hosts = hosts.into_iter();
    hosts.map(|host| AllowedHost { host, port }).collect()
}

const FOREIGN_HOST: Refusal = Refusal::new(
    StatusCode::FORBIDDEN,
    "this Host is not allowed; the server's operator can allow it with --allow-host",
);
const INVALID_HOST: Refusal = Refusal::new(
    StatusCode::BAD_REQUEST,
    "the request needs exactly one Host field, with a name or an address",
);
const FOREIGN_ORIGIN: Refusal = Refusal::new(
    StatusCode::FORBIDDEN,
    "pages of this Origin may not use the server; its operator can allow them with --allow-origin",
);

/// Returns the `Host` of a request. The authority of an absolute request target, if there is one,
/// must be allowed as well. `default_port` is that of a field without one.
pub(crate) fn check_host(
    uri: &Uri,
    headers: &HeaderMap,
    allowed: &[AllowedHost],
    default_port: u16,
) -> Result<AllowedHost, Refusal> {
    let parse = |text| parse_host(text).ok_or(INVALID_HOST);
    let mut fields = headers.get_all(HOST).iter();
    let (Some(field), None) = (fields.next(), fields.next()) else {
        return Err(INVALID_HOST);
    };
    let host = parse(field.to_str().map_err(|_| INVALID_HOST)?)?;
    let target = uri.authority().map(Authority::as_str);
    let target = target.map(parse).transpose()?;
    let is_allowed = |host: &AllowedHost| {
        allowed
            .iter()
            .any(|allowed| allowed.covers(host, default_port))
    };
    if is_allowed(&host) && target.as_ref().is_none_or(is_allowed) {
        Ok(host)
    } else {
        Err(FOREIGN_HOST)
    }
}

/// Returns true if a request to `host` comes from a web page of an allowed origin, and false if it
/// comes from none or from a page of the server itself.
pub(crate) fn check_origin(
    headers: &HeaderMap,
    host: &AllowedHost,
    allowed: &[AllowedOrigin],
) -> Result<bool, Refusal> {
    let mut fields = headers.get_all(ORIGIN).iter();
    let field = match (fields.next(), fields.next()) {
        (None, _) => return Ok(false),
        (Some(field), None) => field,
        (Some(_), Some(_)) => return Err(FOREIGN_ORIGIN),
    };
    match field.to_str().ok().and_then(parse_origin) {
        Some(origin) if allowed.contains(&origin) => Ok(true),
        Some(origin) if origin.is_at(host) => Ok(false),
        Some(_) | None => Err(FOREIGN_ORIGIN),
    }
}

impl AllowedHost {
    /// Returns true if this entry of the list allows the `host` of a request.
    fn covers(&self, host: &Self, default_port: u16) -> bool {
        self.host == host.host
            && self
                .port
                .is_none_or(|port| port == host.port.unwrap_or(default_port))
    }
}

impl AllowedOrigin {
    /// Returns true if this is the origin of the pages of `host`.
    fn is_at(&self, host: &AllowedHost) -> bool {
        let port = host.port.or_else(|| default_port(&self.scheme));
        self.host == host.host && port == Some(self.port)
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(HTTP_PORT),
        "https" => Some(HTTPS_PORT),
        _ => None,
    }
}

fn parse_host(text: &str) -> Option<AllowedHost> {
    let authority = Authority::from_str(text).ok()?;
    let is_plain = !authority.host().is_empty() && !text.contains(['@', '*']);
    // `HOST:` and a port that is no number have no `port_u16`.
    let has_port = text.len() > authority.host().len();
    let port = authority.port_u16();
    (is_plain && has_port == port.is_some()).then(|| AllowedHost {
        host: authority.host().to_ascii_lowercase(),
        port,
    })
}

fn parse_origin(text: &str) -> Option<AllowedOrigin> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = Scheme::from_str(scheme).ok()?.as_str().to_ascii_lowercase();
    let AllowedHost { host, port } = parse_host(rest)?;
    Some(AllowedOrigin {
        port: port.or_else(|| default_port(&scheme))?,
        scheme,
        host,
    })
}
