//! What comes back, without any form of a secret's value. It holds for every answer to every guest, not only for answers to
//! requests that carried a secret: a server may keep the value and tell it later, or to somebody else.

use crate::secrets::{Redaction, Secrets};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, header};
use http_body::Frame;
use http_body_util::{BodyDataStream, BodyExt, StreamBody};
use std::sync::Arc;
use wasmtime_wasi_http::WasiBody;

/// Asks for an answer as it is. A compressed one would hide a value, so the guest's wish for one is not passed on; a guest
/// that has been promised none must take a plain one (RFC 9110, section 12.5.3).
pub(super) fn ask_for_plain(fields: &mut HeaderMap) {
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
    let state = (BodyDataStream::new(received), Redaction::new(secrets));
    let pieces = stream::unfold(Some(state), |state| async {
        let (mut pieces, mut redaction) = state?;
        loop {
            let shown = match pieces.next().await {
                Some(Ok(piece)) => redaction.push(piece),
                // What was held back is not told: it may be most of a value.
                Some(Err(error)) => return Some((Err(error), None)),
                None => {
                    let rest = redaction.finish();
                    return (!rest.is_empty()).then(|| (Ok(Frame::data(rest)), None));
                }
            };
            if !shown.is_empty() {
                return Some((Ok(Frame::data(shown)), Some((pieces, redaction))));
            }
        }
    });
    StreamBody::new(pieces).boxed_unsync()
}
