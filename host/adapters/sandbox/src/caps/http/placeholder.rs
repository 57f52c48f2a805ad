//! Replaces `secret://NAME` in a guest's request by the value, in the host's copy of the request,
//! after the URL was judged.
//!
//! A placeholder is replaced anywhere in the value of a header field, such as `Bearer
//! secret://github`, and in a value of the query if the grant allows that. A name ends where its
//! letters, digits, `-` and `_` end, so `secret://git` is never a part of `secret://github`. In the
//! path and in names of the query a placeholder is refused. Field names cannot hold one, and the
//! guest cannot set the host field. In a body it is only text, and is sent as such.
//!
//! `Basic` credentials are base64, which a guest cannot make of a value that it does not have:
//! store them as the value.

use super::target::RequestTarget;
use agent_host_engine::{policy::SecretPlace, secrets::Secrets};
use http::{HeaderMap, HeaderValue};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use reqwest::Url;
use secrecy::ExposeSecret as _;
use wasmtime_wasi_http::Error;

const SCHEME: &str = "secret://";

/// In a query, all but unreserved characters are encoded (RFC 3986, section 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The most placeholders of one request, which bounds the growth of short names into values.
const MAX_PLACEHOLDERS: u32 = 16;

/// Replaces the placeholders in the header fields, and returns the URL with those in its query
/// replaced.
///
/// # Errors
/// A placeholder is refused, with the reason in the audit log; the request must not be sent.
pub(super) fn fill(
    target: &RequestTarget,
    fields: &mut HeaderMap,
    secrets: &Secrets,
) -> Result<Url, Error> {
    let mut filler = Filler {
        target,
        secrets,
        left: MAX_PLACEHOLDERS,
    };
    filler.refuse_any(target.url.path().as_bytes())?;
    for value in fields.values_mut() {
        if let Some(filled) = filler.fill(value.as_bytes(), SecretPlace::Header)? {
            let mut filled = HeaderValue::from_bytes(&filled)
                .map_err(|_| filler.denied("secrets.value", "the value cannot be sent"))?;
            // Debug output shows this field as `Sensitive`.
            filled.set_sensitive(true);
            *value = filled;
        }
    }
    let mut url = target.url.clone();
    if let Some(query) = filler.query(url.query().unwrap_or_default())? {
        url.set_query(Some(&query));
    }
    Ok(url)
}

/// The state of filling one request.
struct Filler<'a> {
    target: &'a RequestTarget,
    secrets: &'a Secrets,
    /// The placeholders that may still follow.
    left: u32,
}

impl Filler<'_> {
    /// Returns the text with values; absent if it has no placeholders.
    fn fill(&mut self, text: &[u8], place: SecretPlace) -> Result<Option<Vec<u8>>, Error> {
        let (mut out, mut rest) = (Vec::new(), text);
        while let Some(found) = Placeholder::first(rest) {
            out.extend_from_slice(found.before);
            out.extend_from_slice(self.value(found.name, place)?.as_bytes());
            rest = found.after;
        }
        if rest.len() == text.len() {
            return Ok(None);
        }
        out.extend_from_slice(rest);
        Ok(Some(out))
    }

    /// Returns the value of a secret, if the gate allows it.
    fn value(&mut self, name: &str, place: SecretPlace) -> Result<&str, Error> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            let reason = format!("a request may name at most {MAX_PLACEHOLDERS} secrets");
            self.denied("secrets.placeholders", &reason)
        })?;
        self.target.check_secret(name, place)?;
        let value = self.secrets.value(name).ok_or_else(|| {
            self.denied(
                "secrets.value",
                "the secret is granted, but its value was not given to the sandbox",
            )
        })?;
        Ok(value.expose_secret())
    }

    /// Returns the query with values; absent if it has no placeholders. Pieces without one stay as
    /// the guest wrote them.
    fn query(&mut self, query: &str) -> Result<Option<String>, Error> {
        let mut changed = false;
        let mut pieces = Vec::new();
        for piece in query.split('&') {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            self.refuse_any(&decoded(name))?;
            pieces.push(match self.fill(&decoded(value), SecretPlace::Query)? {
                Some(filled) => {
                    changed = true;
                    format!("{name}={}", percent_encode(&filled, UNRESERVED))
                }
                None => piece.to_owned(),
            });
        }
        Ok(changed.then(|| pieces.join("&")))
    }

    /// Refuses all placeholders.
    fn refuse_any(&self, text: &[u8]) -> Result<(), Error> {
        match Placeholder::first(text) {
            None => Ok(()),
            Some(found) => {
                self.target
                    .check_secret(found.name, SecretPlace::Elsewhere)?;
                Err(Error::HttpRequestDenied)
            }
        }
    }

    fn denied(&self, rule: &str, reason: &str) -> Error {
        self.target.refuse(rule, reason);
        Error::HttpRequestDenied
    }
}

/// Decodes a piece of a query as servers do.
fn decoded(piece: &str) -> Vec<u8> {
    percent_decode_str(&piece.replace('+', " ")).collect()
}

/// The first placeholder of a text, and the text around it.
struct Placeholder<'a> {
    before: &'a [u8],
    name: &'a str,
    after: &'a [u8],
}

impl<'a> Placeholder<'a> {
    fn first(text: &'a [u8]) -> Option<Self> {
        let at = text
            .windows(SCHEME.len())
            .position(|window| window == SCHEME.as_bytes())?;
        let (before, found) = text.split_at_checked(at)?;
        let (_, found) = found.split_at_checked(SCHEME.len())?;
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let end = found.iter().take_while(|byte| is_name(byte)).count();
        let (name, after) = found.split_at_checked(end)?;
        Some(Self {
            before,
            name: std::str::from_utf8(name).ok()?,
            after,
        })
    }
}
