//! HTTP grants: of `[[grants.http]]` and of `--grant http:...`, and their conversion to the latter.

use super::{
    ConfigError,
    problem::config_error,
    review::{Danger, Review, quoted},
    section::section,
};
use agent_host_engine::policy::HttpGrant;
use schemars::{Schema, SchemaGenerator, json_schema};
use std::net::Ipv6Addr;

section! {
    /// `[[grants.http]]` and `[[tool.http]]`.
    #[derive(Eq)]
    pub(super) struct RawHttpGrant {
        /// A name, `*.` followed by a name, `*`, or an address.
        host: String => together;
        /// `http` or `https`; absent for both.
        #[schemars(schema_with = "http_scheme")]
        scheme: Option<String> => together;
        /// The port; absent for the scheme's default.
        port: Option<u16> => together;
        /// The methods; absent for every method.
        methods: Option<Vec<String>> => together;
        /// The path, with all paths below it; absent for every path.
        path: Option<String> => together;
    }
}

/// Returns the schema of `scheme` of a grant, which may be in capitals.
fn http_scheme(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            { "enum": ["http", "https"] },
            { "type": "string", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?$" },
        ]
    })
}

/// Demands a host.
pub(super) fn demand(raw: &RawHttpGrant, who: &str, review: &mut Review<'_>) {
    if !review.is_offline() {
        let grant = quoted(&to_text(&raw.clone().into()));
        review.demand(
            Danger::Network,
            format!("lets {who} send HTTP requests to {grant}"),
        );
    }
}

impl From<RawHttpGrant> for HttpGrant {
    fn from(raw: RawHttpGrant) -> Self {
        Self {
            scheme: raw.scheme,
            host: raw.host,
            port: raw.port,
            methods: raw.methods.unwrap_or_default(),
            path_prefix: raw.path,
        }
    }
}

/// Resolves a grant of the configuration.
pub(super) fn from_raw(raw: RawHttpGrant) -> Result<HttpGrant, ConfigError> {
    if raw.methods.as_ref().is_some_and(Vec::is_empty) {
        return Err(config_error!(
            "methods",
            "`methods` of an HTTP grant is empty, which would allow nothing",
            "list methods, or leave it out to allow all"
        )
        .with_value("[]"));
    }
    let checked = HttpGrant::from(raw).checked();
    checked.map_err(|error| ConfigError::of_message(&error))
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
    let path = rest.find('/').and_then(|slash| rest.get(slash..));
    let server = rest.strip_suffix(path.unwrap_or("")).unwrap_or(rest);
    // Without brackets, an address with several colons is all host.
    let (host, port) = match server.rsplit_once(':') {
        Some(_) if server.parse::<Ipv6Addr>().is_ok() => (server, None),
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        Some(_) | None => (server, None),
    };
    let Ok(port) = port.map(str::parse::<u16>).transpose() else {
        let argument = argument.escape_debug();
        return Err(config_error!(
            "--grant",
            "invalid grant `http:{argument}`: its port is not a number from 1 to 65535",
            "write it like `http:api.example.com`, `http:[::1]:8080` or \
             `http:GET,HEAD=https://api.example.com:8443/v1/`"
        ));
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

/// Writes a grant in the form of the command line.
pub(super) fn to_text(grant: &HttpGrant) -> String {
    let methods = grant.methods.join(",");
    let equals = if methods.is_empty() { "" } else { "=" };
    format!("{methods}{equals}{}", grant.target())
}
