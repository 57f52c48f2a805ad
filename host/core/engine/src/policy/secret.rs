//! The decision whether a secret may be sent in a request.

use super::{DEFAULT_DENY, Grants, HttpRequest, Ruling, SecretGrant};
use agent_host_types::tool::is_tool_name;
use std::net::IpAddr;

/// The part of a request that contains the placeholder of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretPlace {
    /// The value of a header field.
    Header,
    /// A value of the query.
    Query,
    /// Another part of the URL: the path, or a name in the query.
    Elsewhere,
}

/// Decides whether a secret may be sent in this part of a request. [`super::decide_http`] decides
/// about the request itself: a grant of a host does not grant a secret, nor the reverse.
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
        // The guest must not learn whether such a secret exists.
        return Ruling::Deny {
            rule: DEFAULT_DENY.to_owned(),
            reason: format!("no secret `{}` is granted", name.escape_debug()),
            grant: is_tool_name(name).then(|| format!("[grants]\nsecrets = [\"{name}\"]")),
        };
    };
    let rule = |part: &str| format!("secret.{name}.{part}");
    if place == SecretPlace::Elsewhere {
        let reason = "a secret can be used only in header values and query values";
        return Ruling::deny(rule("place"), reason);
    }
    if !is_audience(grant, request) {
        // No grant is suggested: a secret has one audience, and the guest must not choose it.
        let audience = grant.audience();
        let reason = format!("the secret `{name}` can be sent only to {audience}");
        return Ruling::deny(rule("audience"), reason);
    }
    if place == SecretPlace::Query && !grant.in_query {
        return Ruling::Deny {
            rule: rule("in-query"),
            reason: format!(
                "the secret `{name}` can be used only in header values, because queries end up in server logs"
            ),
            grant: Some(format!("[[secret]]\nname = \"{name}\"\nin-query = true")),
        };
    }
    Ruling::allow(format!("grants.secrets[{index}]")).below(grants, |ceiling| {
        decide_secret(ceiling, name, place, request)
    })
}

/// Compares scheme, host and port. Addresses are compared by value, since one address has many
/// spellings.
fn is_audience(grant: &SecretGrant, request: &HttpRequest<'_>) -> bool {
    let same_host = match request.host.parse::<IpAddr>() {
        Ok(address) => grant.host.parse() == Ok(address),
        Err(_) => grant.host.eq_ignore_ascii_case(request.host),
    };
    same_host && grant.scheme == request.scheme && grant.port == request.port
}

impl SecretGrant {
    /// Returns the URL of the one server that receives it.
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
