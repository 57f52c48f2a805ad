//! HTTP grants: of `[[grants.http]]` and of `--grant http:...`, and their conversion to the latter.

use super::{
    ConfigError,
    parse::parse,
    raw::{RawConfig, RawHttpGrant},
};
use agent_host_engine::policy::HttpGrant;
use std::{net::Ipv6Addr, path::Path};

/// Resolves a grant of the configuration.
pub(super) fn from_raw(raw: RawHttpGrant) -> Result<HttpGrant, ConfigError> {
    let RawHttpGrant {
        host,
        scheme,
        port,
        methods,
        path,
    } = raw;
    if methods.as_ref().is_some_and(Vec::is_empty) {
        return Err(ConfigError::new(
            "methods",
            "`methods` of an HTTP grant is empty, so that it would allow nothing",
            "list methods, or leave it out for all",
        )
        .with_value("[]"));
    }
    let grant = HttpGrant {
        scheme,
        host,
        port,
        methods: methods.unwrap_or_default(),
        path_prefix: path,
    };
    grant.checked().map_err(|error| {
        let text = error.to_string();
        let (reason, fix) = text.rsplit_once("; ").unwrap_or((&text, "correct it"));
        ConfigError::new("", reason, fix)
    })
}

/// Resolves a grant of the command line, `[METHOD[,METHOD]...=][SCHEME://]HOST[:PORT][/PATH]`.
pub(super) fn from_argument(argument: &str) -> Result<HttpGrant, ConfigError> {
    // No host has a `=`, but a path may.
    let (methods, url) = match argument.split_once('=') {
        Some((methods, url)) if !methods.contains(['/', ':', '.']) => (Some(methods), url),
        Some(_) | None => (None, argument),
    };
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (Some(scheme), rest),
        None => (None, url),
    };
    let (server, path) = match rest
        .find('/')
        .and_then(|slash| rest.split_at_checked(slash))
    {
        Some((server, path)) => (server, Some(path)),
        None => (rest, None),
    };
    // Without brackets, an address with several colons is all host.
    let (host, port) = match server.rsplit_once(':') {
        Some(_) if server.parse::<Ipv6Addr>().is_ok() => (server, None),
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        Some(_) | None => (server, None),
    };
    let port = match port.map(str::parse::<u16>) {
        None => None,
        Some(Ok(port)) => Some(port),
        Some(Err(_)) => {
            let argument = argument.escape_debug();
            let reason = format!(
                "the grant `http:{argument}` cannot be used: its port is not a number from 1 to 65535"
            );
            let fix = "write it like `http:api.example.com`, `http:[::1]:8080` or \
                       `http:GET,HEAD=https://api.example.com:8443/v1/`";
            return Err(ConfigError::new("--grant", reason, fix));
        }
    };
    from_raw(RawHttpGrant {
        host: host.to_owned(),
        scheme: scheme.map(str::to_owned),
        port,
        methods: methods.map(|methods| methods.split(',').map(str::to_owned).collect()),
        path: path.map(str::to_owned),
    })
    .map_err(|error| error.with_key("--grant"))
}

/// Returns the argument of `--grant` that is equivalent to these lines of `agent.toml`, where they
/// are one HTTP grant.
pub(crate) fn argument_of(lines: &str) -> Option<String> {
    let raw: RawConfig = parse(Path::new("agent.toml"), lines).ok()?;
    let [grant] = <[_; 1]>::try_from(raw.grants?.http).ok()?;
    from_raw(grant).ok().map(|grant| to_argument(&grant))
}

/// Returns the argument that is equivalent to a checked grant.
pub(super) fn to_argument(grant: &HttpGrant) -> String {
    let HttpGrant {
        scheme,
        host,
        port,
        methods,
        path_prefix,
    } = grant;
    let methods = match methods.as_slice() {
        [] => String::new(),
        methods => format!("{}=", methods.join(",")),
    };
    let scheme = scheme
        .as_ref()
        .map_or_else(String::new, |scheme| format!("{scheme}://"));
    let host = if host.parse::<Ipv6Addr>().is_ok() {
        format!("[{host}]")
    } else {
        host.clone()
    };
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let path = path_prefix.as_deref().unwrap_or_default();
    format!("http:{methods}{scheme}{host}{port}{path}")
}
