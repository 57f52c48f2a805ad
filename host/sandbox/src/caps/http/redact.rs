//! Redacts what comes back to a guest: every form of the secrets that its tool was granted, in every answer, whether or not its
//! request carried one, since a server may keep a value and tell it later.
//!
//! It never looks for another tool's secrets: a mark in an answer that the guest had echoed would confirm its guess.

use agent_host_core::secrets::{Redaction, Secrets};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, header};
use http_body::Frame;
use http_body_util::{BodyDataStream, BodyExt, StreamBody};
use std::{future::ready, sync::Arc};
use wasmtime_wasi_http::WasiBody;

/// Asks for an answer as it is. A compressed one would hide a value, so the guest's wish for one is not passed on; a guest
/// that has been promised none must take a plain one (RFC 9110, section 12.5.3).
pub(super) fn request_identity_encoding(fields: &mut HeaderMap) {
    fields.insert(
        header::ACCEPT_ENCODING,
        HeaderValue::from_static("identity"),
    );
}

/// Whether an answer is encoded all the same, or says that it is in a way that cannot be read.
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

/// An answer's header fields. The body's length is left out, since it changes with what is taken out of the body.
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
            // Marks are printable, so this never leaves a field out.
            Some(redacted) => HeaderValue::from_bytes(&redacted).ok(),
        };
        if let Some(value) = value {
            shown.append(name.clone(), value);
        }
    }
    shown
}

/// An answer's body.
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
            // What was held back is due, too: its absence would tell that it begins a value.
            Some(Err(error)) => (redaction.finish(), Some(Err(error))),
            None => (redaction.finish(), None),
        };
        let shown = (!shown.is_empty()).then(|| Ok(Frame::data(shown.into())));
        stream::iter(shown.into_iter().chain(error))
    });
    StreamBody::new(redacted).boxed_unsync()
}
