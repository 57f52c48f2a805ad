//! Redacts responses to a guest: every form of the secrets that its tool was granted, in every
//! response, whether or not the request carried one, since a server may keep a value and send it
//! later.
//!
//! Other tools' secrets are never searched for: a mark in a response that the guest had echoed
//! would confirm its guess.

use agent_host_engine::secrets::{Redaction, Secrets};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, header};
use http_body::Frame;
use http_body_util::{BodyDataStream, BodyExt, StreamBody};
use std::{future::ready, sync::Arc};
use wasmtime_wasi_http::WasiBody;

/// Requests an identity encoding. A compressed response would hide a value, so the guest's own wish
/// is replaced; it must accept a plain one (RFC 9110, section 12.5.3).
pub(super) fn request_identity_encoding(fields: &mut HeaderMap) {
    fields.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
}

/// Returns whether a response is encoded all the same, or declares an encoding that cannot be read.
pub(super) fn is_encoded(fields: &HeaderMap) -> bool {
    let other_than = |name, plain: &str| {
        fields
            .get_all(name)
            .iter()
            .any(|value| !value.as_bytes().eq_ignore_ascii_case(plain.as_bytes()))
    };
    other_than(header::CONTENT_ENCODING, "identity")
        || other_than(header::TRANSFER_ENCODING, "chunked")
}

/// Redacts header fields. The length of the body is left out, since redaction changes it.
pub(super) fn fields(received: &HeaderMap, secrets: &Secrets) -> HeaderMap {
    if secrets.is_empty() {
        return received.clone();
    }
    let mut shown = HeaderMap::with_capacity(received.keys_len());
    for (name, value) in received {
        let named = secrets.redacted(name.as_str().as_bytes()).is_some();
        if named || *name == header::CONTENT_LENGTH {
            continue;
        }
        let value = match secrets.redacted(value.as_bytes()) {
            None => Some(value.clone()),
            // Marks are printable, so no field is lost here.
            Some(redacted) => HeaderValue::from_bytes(&redacted).ok(),
        };
        if let Some(value) = value {
            shown.append(name.clone(), value);
        }
    }
    shown
}

pub(super) fn body(received: WasiBody, secrets: Arc<Secrets>) -> WasiBody {
    if secrets.is_empty() {
        return received;
    }
    let mut redaction = Redaction::new(secrets);
    let pieces = BodyDataStream::new(received).map(Some);
    let end = stream::once(ready(None));
    let redacted = pieces.chain(end).flat_map(move |piece| {
        let (shown, error) = match piece {
            Some(Ok(piece)) => (redaction.push(&piece), None),
            // The held back bytes are due as well: their absence would tell that they begin a
            // value.
            Some(Err(error)) => (redaction.finish(), Some(Err(error))),
            None => (redaction.finish(), None),
        };
        let shown = (!shown.is_empty()).then(|| Ok(Frame::data(shown.into())));
        stream::iter(shown.into_iter().chain(error))
    });
    StreamBody::new(redacted).boxed_unsync()
}
