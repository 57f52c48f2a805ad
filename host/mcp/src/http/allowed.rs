//! The names that clients may use for the server, and the pages that may use it. A page in a browser can send requests to this
//! machine, and can make its own name point to it; both are told by what the browser writes into `Host` and `Origin`.

use http::{
    HeaderMap, Uri,
    header::{HOST, ORIGIN},
    uri::{Authority, Scheme},
};
use std::{net::SocketAddr, str::FromStr};

/// A name that clients may call the server by: `HOST`, with any port, or `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedHost {
    /// In small letters; an address of IPv6 in brackets.
    host: String,
    /// Any where there is none.
    port: Option<u16>,
}

/// A page, or a site of pages: `SCHEME://HOST`, or with `:PORT` where it is not the scheme's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedOrigin {
    scheme: String,
    /// In small letters.
    host: String,
    port: u16,
}

/// What was written is no host or no origin. The text says what one looks like.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAllowable(&'static str);

impl FromStr for AllowedHost {
    type Err = NotAllowable;

    fn from_str(text: &str) -> Result<Self, NotAllowable> {
        authority(text).ok_or(NotAllowable(
            "this is no host; write a name or an address, such as mcp.example.org, mcp.example.org:8443 or [::1]:8443, without \
             a scheme and a path",
        ))
    }
}

impl FromStr for AllowedOrigin {
    type Err = NotAllowable;

    fn from_str(text: &str) -> Result<Self, NotAllowable> {
        origin(text).ok_or(NotAllowable(
            "this is no origin; write scheme, host and, where it is not the scheme's own, port, such as https://app.example.org \
             or http://localhost:3000; `null` and `*` stand for everybody and are not taken",
        ))
    }
}

/// The names of a server that listens there, with those that the operator added.
pub(super) fn hosts(address: SocketAddr, mut added: Vec<AllowedHost>) -> Vec<AllowedHost> {
    let port = Some(address.port());
    let mut ours = |host: &str| {
        added.push(AllowedHost {
            host: host.to_owned(),
            port,
        });
    };
    let ip = address.ip().to_canonical();
    if ip.is_loopback() || ip.is_unspecified() {
        ours("localhost");
        ours("127.0.0.1");
        ours("[::1]");
    }
    if !ip.is_unspecified() {
        // A name can be made to point here; an address cannot.
        ours(&match ip {
            std::net::IpAddr::V4(ip) => ip.to_string(),
            std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        });
    }
    added
}

/// Whether a request names the server, and by a name of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// By this name.
    Ours(AllowedHost),
    /// By a name that is not the server's.
    Foreign,
    /// By none, by several, or by what is no name.
    Unreadable,
}

impl Host {
    /// Reads the name from the `Host` field. A request line may have one as well, which must be the server's too.
    pub(super) fn of(uri: &Uri, headers: &HeaderMap, allowed: &[AllowedHost]) -> Self {
        let mut fields = headers.get_all(HOST).iter();
        let (Some(field), None) = (fields.next(), fields.next()) else {
            return Self::Unreadable;
        };
        let Some(named) = field.to_str().ok().and_then(authority) else {
            return Self::Unreadable;
        };
        let line = match uri.authority() {
            None => None,
            Some(line) => match authority(line.as_str()) {
                None => return Self::Unreadable,
                line => line,
            },
        };
        let is_ours = |named: &AllowedHost| allowed.iter().any(|allowed| allowed.covers(named));
        if is_ours(&named) && line.as_ref().is_none_or(is_ours) {
            Self::Ours(named)
        } else {
            Self::Foreign
        }
    }
}

impl AllowedHost {
    /// Whether this, as an entry of the list, allows that, as what a client wrote.
    fn covers(&self, named: &Self) -> bool {
        self.host == named.host
            && self
                .port
                .is_none_or(|port| port == named.port.unwrap_or(HTTP_PORT))
    }
}

/// Which page a request comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// From none: no browser sent it, or it is the server's own.
    None,
    /// From one that the operator named.
    Allowed,
    /// From any other.
    Foreign,
}

impl Page {
    /// Reads the page from the `Origin` field of a request to this host.
    pub(super) fn of(headers: &HeaderMap, host: &AllowedHost, allowed: &[AllowedOrigin]) -> Self {
        let mut fields = headers.get_all(ORIGIN).iter();
        let field = match (fields.next(), fields.next()) {
            (None, _) => return Self::None,
            (Some(field), None) => field,
            (Some(_), Some(_)) => return Self::Foreign,
        };
        match field.to_str().ok().and_then(origin) {
            Some(page) if allowed.contains(&page) => Self::Allowed,
            Some(page) if page.is_at(host) => Self::None,
            Some(_) | None => Self::Foreign,
        }
    }
}

impl AllowedOrigin {
    /// Whether the pages of this origin are the server's own, if that is its name.
    fn is_at(&self, host: &AllowedHost) -> bool {
        let port = host.port.or_else(|| default_port(&self.scheme));
        self.host == host.host && port == Some(self.port)
    }
}

/// The port of `http`, which a `Host` field leaves out.
const HTTP_PORT: u16 = 80;

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(HTTP_PORT),
        "https" => Some(443),
        _ => None,
    }
}

/// Reads `HOST` or `HOST:PORT`.
fn authority(text: &str) -> Option<AllowedHost> {
    let authority = Authority::from_str(text).ok()?;
    let is_plain = !authority.host().is_empty() && !text.contains(['@', '*']);
    // A port that is no number is none of ours, and no port at all is not what was written either.
    let has_port = text.len() > authority.host().len();
    let port = authority.port_u16();
    (is_plain && has_port == port.is_some()).then(|| AllowedHost {
        host: authority.host().to_ascii_lowercase(),
        port,
    })
}

/// Reads `SCHEME://HOST` or `SCHEME://HOST:PORT`.
fn origin(text: &str) -> Option<AllowedOrigin> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = Scheme::from_str(scheme).ok()?.as_str().to_ascii_lowercase();
    let AllowedHost { host, port } = authority(rest)?;
    Some(AllowedOrigin {
        port: port.or_else(|| default_port(&scheme))?,
        scheme,
        host,
    })
}
