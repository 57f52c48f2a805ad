//! HTTP grants: validation, matching, and their lines in `agent.toml`.

use super::{HttpGrant, HttpRequest, toml_text, url_path};
use agent_host_types::reason::Reason;
use std::net::{IpAddr, Ipv6Addr};

/// The longest host name, in bytes ([RFC 1035, section
/// 2.3.4](https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4)).
const MAX_HOST_BYTES: usize = 253;
/// The longest label of a host name, in bytes.
const MAX_LABEL_BYTES: usize = 63;

impl HttpGrant {
    /// Returns the scheme, host, port and path prefix, as far as they are given, as in a URL.
    #[must_use]
    pub fn target(&self) -> String {
        let scheme = self.scheme.iter().map(|scheme| format!("{scheme}://"));
        let host = match self.host.parse::<Ipv6Addr>() {
            Ok(_) => format!("[{}]", self.host),
            Err(_) => self.host.clone(),
        };
        let port = self.port.iter().map(|port| format!(":{port}"));
        let path = self.path_prefix.clone();
        scheme.chain([host]).chain(port).chain(path).collect()
    }

    /// Normalises the grant for matching: scheme and host in lower case, methods in upper case,
    /// addresses in their shortest form, no path for `/`, which covers every path.
    ///
    /// # Errors
    /// The first part that would never match or is ambiguous.
    pub fn checked(self) -> Result<Self, Reason> {
        if self.port == Some(0) {
            return Err(PORT_0.into());
        }
        let methods = self.methods.iter().map(|method| checked_method(method));
        Ok(Self {
            scheme: self.scheme.as_deref().map(checked_scheme).transpose()?,
            host: checked_host(&self.host)?,
            port: self.port,
            methods: methods.collect::<Result<_, _>>()?,
            path_prefix: match self.path_prefix.as_deref() {
                None | Some("/") => None,
                Some(path) => Some(checked_path(path)?),
            },
        })
    }

    /// Whether the grant covers a request.
    #[must_use]
    pub fn covers(&self, request: &HttpRequest<'_>) -> bool {
        self.covers_server(request)
            && self.covers_method(request.method)
            && self.covers_path(request.path)
    }

    /// Whether the grant covers scheme, host and port of a request.
    pub(super) fn covers_server(&self, request: &HttpRequest<'_>) -> bool {
        host_matches(&self.host, request.host)
            && self
                .scheme
                .as_deref()
                .is_none_or(|scheme| scheme.eq_ignore_ascii_case(request.scheme))
            && self.port.unwrap_or(own_port(request.scheme)) == request.port
    }

    /// Methods are case-sensitive ([RFC 9110, section
    /// 9.1](https://www.rfc-editor.org/rfc/rfc9110#section-9.1)).
    pub(super) fn covers_method(&self, method: &str) -> bool {
        self.methods.is_empty() || self.methods.iter().any(|granted| granted == method)
    }

    fn covers_path(&self, path: &str) -> bool {
        self.path_prefix.as_deref().is_none_or(|prefix| {
            url_path::ambiguity(path).is_none() && url_path::is_within(path, prefix)
        })
    }

    /// Returns the grant as lines of `agent.toml`.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut lines = vec![
            "[[grants.http]]".to_owned(),
            format!("host = {}", toml_text::string(&self.host)),
        ];
        if let Some(scheme) = &self.scheme {
            lines.push(format!("scheme = {}", toml_text::string(scheme)));
        }
        if let Some(port) = self.port {
            lines.push(format!("port = {port}"));
        }
        if !self.methods.is_empty() {
            lines.push(format!("methods = {}", toml_text::strings(&self.methods)));
        }
        if let Some(path) = &self.path_prefix {
            lines.push(format!("path = {}", toml_text::string(path)));
        }
        lines.join("\n")
    }
}

/// Returns the smallest grant that covers a request, as lines of `agent.toml`; `None` if no grant
/// can. A path also grants its descendants; a path that no grant can name is left out.
pub(super) fn smallest(request: &HttpRequest<'_>) -> Option<String> {
    let with_path = |path: Option<&str>| {
        let grant = HttpGrant {
            scheme: Some(request.scheme.to_owned()),
            host: request.host.to_owned(),
            port: Some(request.port).filter(|port| *port != own_port(request.scheme)),
            methods: vec![request.method.to_owned()],
            path_prefix: path.map(str::to_owned),
        };
        grant.checked().ok().filter(|grant| grant.covers(request))
    };
    let grant = with_path(Some(request.path)).or_else(|| with_path(None))?;
    Some(grant.to_toml())
}

fn own_port(scheme: &str) -> u16 {
    if scheme == "https" { 443 } else { 80 }
}

/// Compares addresses by value, since one address has many spellings. A wildcard never covers an
/// address.
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

const PORT_0: &str = "an HTTP grant has port 0, which is not a valid port; write the server's port, or leave it out for \
    the scheme's default";

fn unusable(part: &str, written: &str, reason: &str) -> Reason {
    let written = written.escape_debug();
    format!("invalid {part} `{written}` of an HTTP grant: {reason}").into()
}

fn checked_scheme(written: &str) -> Result<String, Reason> {
    let scheme = written.to_ascii_lowercase();
    if matches!(&*scheme, "http" | "https") {
        return Ok(scheme);
    }
    let written = written.escape_debug();
    Err(format!(
        "the scheme `{written}` of an HTTP grant is neither `http` nor `https`; write one of them, or leave it out for \
         both"
    )
    .into())
}

fn checked_host(written: &str) -> Result<String, Reason> {
    let refuse = |reason| Err(unusable("host", written, reason));
    let bare = written
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(written);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Ok(address.to_string());
    }
    let host = written.to_ascii_lowercase();
    if host == "*" {
        return Ok(host);
    }
    let name = host.strip_prefix("*.").unwrap_or(&host);
    if name.contains(['/', ':', '@']) {
        return refuse(
            "it is more than a host; write only the name, and set the scheme and port with `scheme` and `port`",
        );
    }
    if name.contains('*') {
        return refuse("`*` must stand alone, or before a name as in `*.example.com`");
    }
    if !name.is_ascii() {
        return refuse(
            "it contains letters that are not allowed in host names; write its ASCII form (`xn--...`)",
        );
    }
    if name == "localhost" || name.ends_with(".localhost") {
        return refuse(
            "it resolves to this machine, which can be granted only by address; write 127.0.0.1 or ::1, and let the \
             tool use that",
        );
    }
    let label = |label: &str| {
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if name.len() > MAX_HOST_BYTES || !name.split('.').all(label) {
        return refuse("it is not a host name; write it like `api.example.com`");
    }
    Ok(host)
}

fn checked_method(written: &str) -> Result<String, Reason> {
    let refuse = |reason| Err(unusable("method", written, reason));
    let method = written.to_ascii_uppercase();
    if method == "CONNECT" {
        return refuse("it opens tunnels, which tools cannot use; leave it out");
    }
    let token = |byte: u8| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'_');
    if method.is_empty() || !method.bytes().all(token) {
        return refuse("it is not a method; write it like `GET` or `POST`");
    }
    Ok(method)
}

fn checked_path(written: &str) -> Result<String, Reason> {
    let refuse = |why| {
        let reason = format!("it {why}; write it as it is sent, such as `/v1/` or `/a%20b`");
        Err(unusable("path", written, &reason))
    };
    if let Some(why) = url_path::ambiguity(written) {
        return refuse(why);
    }
    // The URL parser encodes or cuts off these characters, so such a grant would cover nothing.
    let is_never_sent = |c: char| !c.is_ascii_graphic() || "\"#<>?`{}".contains(c);
    if written.contains(is_never_sent) {
        return refuse("has a character that is not allowed in a path");
    }
    Ok(written.to_owned())
}
