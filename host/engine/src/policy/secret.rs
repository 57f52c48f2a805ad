//! Whether a secret may be put into a request.

use super::{DEFAULT_DENY, Grants, HttpRequest, Ruling, SecretGrant};
use agent_host_types::tool::is_tool_name;
use std::net::IpAddr;

/// Where in a request a guest asks for a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretPlace {
    /// In a header field's value.
    Header,
    /// In a value of the query.
    Query,
    /// In another part of the URL: the path, or a name in the query.
    Elsewhere,
}

/// Decides whether the secret of this name may be put there. The request itself is decided by [`super::decide_http`]; a grant
/// of a host is no grant of a secret, and the other way round.
#[must_use]
pub fn decide_secret(
    grants: &Grants,
    name: &str,
    place: SecretPlace,
    request: &HttpRequest<'_>,
) -> Ruling {
    let found = grants
        .secrets
        .iter()
        .enumerate()
        .find(|(_, grant)| grant.name == name);
    let Some((index, grant)) = found else {
        // Whether there is such a secret is not for the guest to know.
        return Ruling::Deny {
            rule: DEFAULT_DENY.to_owned(),
            reason: format!("no secret `{}` is granted", name.escape_debug()),
            grant: is_tool_name(name).then(|| format!("[grants]\nsecrets = [\"{name}\"]")),
        };
    };
    let deny = |rule: &str, reason: String, grant| Ruling::Deny {
        rule: format!("secret.{name}.{rule}"),
        reason,
        grant,
    };
    if place == SecretPlace::Elsewhere {
        let reason = "a secret is put into header values and query values and nowhere else";
        return deny("place", reason.to_owned(), None);
    }
    if !is_audience(grant, request) {
        // No grant is offered: a secret has one audience, and the guest is not the one to choose it.
        let audience = grant.audience();
        return deny(
            "audience",
            format!("the secret `{name}` is sent to {audience} and nowhere else"),
            None,
        );
    }
    if place == SecretPlace::Query && !grant.in_query {
        return deny(
            "in-query",
            format!(
                "the secret `{name}` is put into header values only; a query ends up in servers' logs"
            ),
            Some(format!("[[secret]]\nname = \"{name}\"\nin-query = true")),
        );
    }
    Ruling::Allow {
        rule: format!("grants.secrets[{index}]"),
    }
}

/// Scheme, host and port, all three. One address has many spellings, so addresses are compared as addresses.
fn is_audience(grant: &SecretGrant, request: &HttpRequest<'_>) -> bool {
    let same_host = match request.host.parse::<IpAddr>() {
        Ok(address) => grant.host.parse() == Ok(address),
        Err(_) => grant.host.eq_ignore_ascii_case(request.host),
    };
    same_host && grant.scheme == request.scheme && grant.port == request.port
}

impl SecretGrant {
    /// The one server that gets it, as an address.
    #[must_use]
    pub fn audience(&self) -> String {
        let Self {
            scheme, host, port, ..
        } = self;
        if host.contains(':') {
            format!("{scheme}://[{host}]:{port}")
        } else {
            format!("{scheme}://{host}:{port}")
        }
    }
}
