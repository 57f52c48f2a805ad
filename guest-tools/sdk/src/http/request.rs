//! Requests: the method, the address, the header fields, the body.

use std::collections::BTreeMap;

use super::address::Address;
use super::error::HttpError;

/// The user agent; some servers refuse requests without one.
const USER_AGENT: &str = concat!("agent-host/", env!("CARGO_PKG_VERSION"));

/// The fields that follow a redirect to another origin. All others may carry what was meant for the
/// first one only: keys and cookies have many names.
const SAFE_FOR_OTHERS: [&str; 4] = ["accept", "accept-language", "content-type", "user-agent"];

/// A method. A read-only call sends GET and HEAD only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of RFC 9110 and RFC 5789")]
pub enum Method {
    Get,
    Head,
    Post,
    Put,
    Patch,
    Delete,
    Options,
}

/// Header fields: lower-case names, each once.
pub type Fields = BTreeMap<String, String>;

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where it goes.
    pub address: Address,
    /// The header fields, checked by [`fields`].
    pub headers: Fields,
    /// The body.
    pub body: Option<Vec<u8>>,
}

impl Request {
    /// A request with the default fields and without a body.
    #[must_use]
    pub fn new(method: Method, address: Address) -> Self {
        Self {
            method,
            address,
            headers: defaults(),
            body: None,
        }
    }

    /// The next request after a redirect with this status.
    pub(super) fn redirected(mut self, status: u16, to: Address) -> Self {
        // 307 and 308 repeat the request. The older ones turn a POST into a GET, as every browser
        // does, and 303 all but HEAD (RFC 9110, 15.4).
        let turns = match status {
            307 | 308 => false,
            303 => self.method != Method::Head,
            _ => self.method == Method::Post,
        };
        if turns {
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

fn defaults() -> Fields {
    Fields::from([
        ("accept".to_owned(), "*/*".to_owned()),
        ("user-agent".to_owned(), USER_AGENT.to_owned()),
    ])
}

/// Returns the given fields with lower-case names, beside those that every request has.
///
/// # Errors
/// [`HttpError::HeaderField`]: HTTP does not allow the name or the value.
pub fn fields(given: BTreeMap<String, String>) -> Result<Fields, HttpError> {
    let mut fields = defaults();
    for (name, value) in given {
        let value_is_safe = value
            .bytes()
            .all(|byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f));
        if !is_token(&name) || !value_is_safe {
            return Err(HttpError::HeaderField(name));
        }
        fields.insert(name.to_ascii_lowercase(), value);
    }
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
