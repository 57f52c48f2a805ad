//! HTTP grants: from `[[grants.http]]` and from `--grant http:[SCHEME://]HOST[:PORT]`.

use super::{ConfigError, RawHttpGrant};
use agent_host_core::policy::HttpGrant;
use std::net::{IpAddr, Ipv6Addr};

/// The longest host name (RFC 1035, section 2.3.4), in bytes.
const MAX_HOST_BYTES: usize = 253;
/// The longest part of a host name between two dots, in bytes.
const MAX_LABEL_BYTES: usize = 63;

/// A grant of the configuration.
pub(super) fn from_raw(raw: RawHttpGrant) -> Result<HttpGrant, ConfigError> {
    let RawHttpGrant { host, scheme, port } = raw;
    let scheme = scheme.map(|scheme| scheme.to_ascii_lowercase());
    if let Some(other) = scheme
        .as_deref()
        .filter(|scheme| !matches!(*scheme, "http" | "https"))
    {
        return Err(ConfigError::new(format!(
            "the scheme `{}` of an HTTP grant is neither `http` nor `https`; write one of them, or leave it out for both",
            other.escape_debug()
        )));
    }
    if port == Some(0) {
        return Err(ConfigError::new(
            "an HTTP grant has port 0, which no server has; write its port, or leave it out for the scheme's own",
        ));
    }
    Ok(HttpGrant {
        scheme,
        host: host_pattern(&host)?,
        port,
        methods: Vec::new(),
        path_prefix: None,
    })
}

/// A grant of the command line, `[SCHEME://]HOST[:PORT]`.
pub(super) fn from_argument(argument: &str) -> Result<HttpGrant, ConfigError> {
    let refuse = |why: &str| {
        ConfigError::new(format!(
            "the grant `http:{}` cannot be used: {why}; write it like `http:api.example.com`, \
             `http:https://api.example.com:8443` or `http:[::1]:8080`",
            argument.escape_debug()
        ))
    };
    let (scheme, rest) = match argument.split_once("://") {
        Some((scheme, rest)) => (Some(scheme.to_owned()), rest),
        None => (None, argument),
    };
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    if rest.contains('/') {
        return Err(refuse("a grant covers a whole host, not a path"));
    }
    // Without brackets, an address with several colons is all host.
    let (host, port) = match rest.rsplit_once(':') {
        Some(_) if rest.parse::<Ipv6Addr>().is_ok() => (rest, None),
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        Some(_) | None => (rest, None),
    };
    let port = match port.map(str::parse::<u16>) {
        None => None,
        Some(Ok(port)) => Some(port),
        Some(Err(_)) => return Err(refuse("its port is not a number from 1 to 65535")),
    };
    from_raw(RawHttpGrant {
        host: host.to_owned(),
        scheme,
        port,
    })
}

/// The host in the form in which requests are compared with it: lower case, addresses in their shortest form.
fn host_pattern(written: &str) -> Result<String, ConfigError> {
    let refuse = |why: &str| {
        ConfigError::new(format!(
            "the host `{}` of an HTTP grant cannot be used: {why}",
            written.escape_debug()
        ))
    };
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
    if name.contains("//") || name.contains(['/', ':', '@']) {
        return Err(refuse(
            "it is more than a host; write only the name, and the scheme and port in `scheme` and `port`",
        ));
    }
    if name.contains('*') {
        return Err(refuse(
            "`*` stands alone or for all names below one, as in `*.example.com`; write one of these",
        ));
    }
    if !name.is_ascii() {
        return Err(refuse(
            "it has letters that names on the network do not have; write its ASCII form (`xn--...`)",
        ));
    }
    if name == "localhost" || name.ends_with(".localhost") {
        return Err(refuse(
            "it leads to this machine, which only its address opens; write 127.0.0.1 or ::1, and have the tool ask that",
        ));
    }
    let label = |label: &str| {
        (1..=MAX_LABEL_BYTES).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if name.len() > MAX_HOST_BYTES || !name.split('.').all(label) {
        return Err(refuse(
            "it is not a host name; write it like `api.example.com`",
        ));
    }
    Ok(host)
}
