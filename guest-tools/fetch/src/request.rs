//! Requests: the method, the address, the header fields, the body.

use std::collections::BTreeMap;

use crate::address::Address;
use crate::error::FetchError;

/// The user agent of the component; some servers refuse requests without one.
const USER_AGENT: &str = concat!("agent-host-fetch/", env!("CARGO_PKG_VERSION"));

/// The fields that follow a redirect to another origin. All others may carry what was meant for the
/// first one only: keys and cookies have many names.
const SAFE_FOR_OTHERS: [&str; 4] = ["accept", "accept-language", "content-type", "user-agent"];

/// A method that these tools send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Post,
}

/// Header fields: lower-case names, each once.
pub(crate) type Fields = BTreeMap<String, String>;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) address: Address,
    pub(crate) headers: Fields,
    pub(crate) body: Option<Vec<u8>>,
}

impl Request {
    /// The next request after a redirect with this status.
    pub(crate) fn redirected(mut self, status: u16, to: Address) -> Self {
        // 307 and 308 repeat the request; the older ones turn a POST into a GET, as every browser
        // does (RFC 9110, 15.4).
        if self.method == Method::Post && !matches!(status, 307 | 308) {
            self.method = Method::Get;
            self.body = None;
            for name in ["content-type", "idempotency-key"] {
                self.headers.remove(name);
            }
        }
        if !self.address.same_origin(&to) {
            self.headers
                .retain(|name, _| SAFE_FOR_OTHERS.contains(&name.as_str()));
        }
        self.address = to;
        self
    }
}

/// The fields to send with any request.
pub(crate) fn fields(given: BTreeMap<String, String>) -> Result<Fields, FetchError> {
    let mut fields = Fields::from([
        ("accept".to_owned(), "*/*".to_owned()),
        ("user-agent".to_owned(), USER_AGENT.to_owned()),
    ]);
    for (name, value) in given {
        let value_is_safe = value
            .bytes()
            .all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f));
        if !is_token(&name) || !value_is_safe {
            return Err(FetchError::HeaderField(name));
        }
        fields.insert(name.to_ascii_lowercase(), value);
    }
    Ok(fields)
}

/// The fields to send with a POST: a content type that fits the body, and the key by which a
/// service that knows it tells a repetition from a second order.
pub(crate) fn post_fields(
    given: BTreeMap<String, String>,
    body: &str,
    idempotency_key: &str,
) -> Result<Fields, FetchError> {
    let mut fields = fields(given)?;
    if !body.is_empty() {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
        let content_type = if is_json {
            "application/json"
        } else {
            "text/plain; charset=utf-8"
        };
        fields
            .entry("content-type".to_owned())
            .or_insert_with(|| content_type.to_owned());
    }
    fields
        .entry("idempotency-key".to_owned())
        .or_insert_with(|| idempotency_key.to_owned());
    Ok(fields)
}

/// RFC 9110, section 5.6.2.
fn is_token(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

#[cfg(test)]
mod tests;
