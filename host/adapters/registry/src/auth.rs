//! Authentication: the challenge of a registry, and the token that answers it.

#[cfg(test)]
mod tests;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use reqwest::{Url, header::HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The longest challenge that is read, in bytes.
const MAX_CHALLENGE_BYTES: usize = 4096;

/// The issuer of tokens for Docker's own registry, which is in another domain of its own.
const DOCKER_HUB: (&str, &str) = ("registry-1.docker.io", "auth.docker.io");

/// The credentials that a registry asks for with status 401.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// The name and the password.
    Basic,
    /// A token of this issuer.
    Bearer { realm: Url, service: Option<String> },
}

/// The answer of an issuer of tokens.
#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
}

impl Challenge {
    /// Parses the value of a `WWW-Authenticate` header; the first challenge that can be answered
    /// counts. The scope is not taken from it: a server could ask for more than is needed.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        if header.len() > MAX_CHALLENGE_BYTES {
            return None;
        }
        challenges(header).into_iter().find_map(|(scheme, values)| {
            if scheme.eq_ignore_ascii_case("basic") {
                return Some(Self::Basic);
            }
            if !scheme.eq_ignore_ascii_case("bearer") {
                return None;
            }
            Some(Self::Bearer {
                realm: values.get("realm")?.parse().ok()?,
                service: values.get("service").cloned(),
            })
        })
    }
}

/// Splits a header into schemes with their parameters, by RFC 9110.
fn challenges(header: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut found: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    let mut rest = header.trim_start_matches([' ', ',', '\t']);
    while !rest.is_empty() {
        let is_end = |c: char| matches!(c, ' ' | '\t' | ',' | '=');
        let (word, after) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
        match after.strip_prefix('=') {
            Some(value) => {
                let (value, after) = parse_value(value);
                if let Some((_, values)) = found.last_mut() {
                    values.entry(word.to_ascii_lowercase()).or_insert(value);
                }
                rest = after;
            }
            None => {
                found.push((word.to_owned(), BTreeMap::new()));
                rest = after;
            }
        }
        rest = rest.trim_start_matches([' ', ',', '\t']);
    }
    found
}

/// Takes a token or a quoted string, and returns the rest.
fn parse_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        return match text.split_once([',', ' ']) {
            Some((value, rest)) => (value.to_owned(), rest),
            None => (text.to_owned(), ""),
        };
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => value.extend(chars.next()),
            _ => value.push(c),
        }
    }
    (value, chars.as_str())
}

/// True if the credentials for `registry` may go to the issuer at `realm`: the registry itself, a
/// domain of at least two labels that the registry is in, or Docker's issuer.
pub(crate) fn realm_is_accepted(registry: &Url, realm: &Url) -> bool {
    if registry.origin() == realm.origin() {
        return true;
    }
    let (Some(host), Some(issuer)) = (registry.host_str(), realm.host_str()) else {
        return false;
    };
    let is_default = |url: &Url| url.scheme() == "https" && url.port().is_none();
    if !is_default(realm) {
        return false;
    }
    let is_name = |host: &str| host.parse::<std::net::IpAddr>().is_err() && !host.starts_with('[');
    let is_parent = host
        .strip_suffix(issuer)
        .is_some_and(|before| before.ends_with('.'))
        && issuer.contains('.')
        && is_name(host);
    (host, issuer) == DOCKER_HUB || is_parent
}

/// Returns the address that issues a token for one repository.
pub(crate) fn token_url(realm: &Url, service: Option<&str>, repository: &str, push: bool) -> Url {
    let actions = if push { "pull,push" } else { "pull" };
    let mut url = realm.clone();
    // Parameters of the realm's own address would compete with those that follow.
    url.set_query(None);
    url.set_fragment(None);
    let mut query = url.query_pairs_mut();
    if let Some(service) = service {
        query.append_pair("service", service);
    }
    // Without a repository the token is to check the credentials alone.
    if !repository.is_empty() {
        query.append_pair("scope", &format!("repository:{repository}:{actions}"));
    }
    drop(query);
    url
}

/// Returns the address and the form with which an identity token asks for a token, by
/// [the specification](https://distribution.github.io/distribution/spec/auth/oauth/).
pub(crate) fn refresh_form(mut url: Url, token: &SecretString) -> (Url, String) {
    url.query_pairs_mut()
        .append_pair("grant_type", "refresh_token")
        .append_pair("client_id", "agent-host")
        .append_pair("refresh_token", token.expose_secret());
    let form = url.query().unwrap_or_default().to_owned();
    url.set_query(None);
    (url, form)
}

/// Returns the header of a name and a password.
pub(crate) fn basic(name: &str, password: &SecretString) -> Option<HeaderValue> {
    let pair = format!("{name}:{}", password.expose_secret());
    sensitive(&format!("Basic {}", STANDARD.encode(pair)))
}

/// Returns the header of the token in an issuer's answer.
pub(crate) fn bearer(answer: &[u8]) -> Option<HeaderValue> {
    let answer: TokenAnswer = serde_json::from_slice(answer).ok()?;
    let token = answer.token.or(answer.access_token)?;
    sensitive(&format!("Bearer {token}"))
}

/// Returns a header that is not printed.
fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
