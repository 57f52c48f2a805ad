//! Header fields: their size, and the selection of a guest's fields that are sent.

use super::error::ExchangeError;
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{
        CONNECTION, CONTENT_LENGTH, EXPECT, HOST, PROXY_AUTHORIZATION, TE, TRAILER,
        TRANSFER_ENCODING, UPGRADE,
    },
};
use wasmtime_wasi_http::Error;

/// Fields that frame a message, name its host or steer its connection (RFC 9110, sections 7.2,
/// 7.6.1 and 10.1.1). Only the client writes them: two servers that read a guest's field
/// differently would see two requests where one was judged. wasmtime refuses most of them before,
/// but this does not rely on that.
const NOT_THE_GUESTS: [HeaderName; 11] = [
    HOST,
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
    PROXY_AUTHORIZATION,
    UPGRADE,
    TRANSFER_ENCODING,
    TE,
    TRAILER,
    EXPECT,
];

/// Removes the fields that may not be sent, and returns the length of the body if the guest
/// declares one. `body` is the real length, if known.
///
/// # Errors
/// The declared length is not one number, or not that of the body.
pub(super) fn prepare(fields: &mut HeaderMap, body: Option<u64>) -> Result<Option<u64>, Error> {
    for name in NOT_THE_GUESTS {
        fields.remove(name);
    }
    let mut lengths = fields.get_all(CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else {
        return Ok(None);
    };
    let invalid = || ExchangeError::Protocol.into_error();
    if lengths.next().is_some() || !first.as_bytes().iter().all(u8::is_ascii_digit) {
        return Err(invalid());
    }
    let length: u64 = first
        .to_str()
        .ok()
        .and_then(|length| length.parse().ok())
        .ok_or_else(invalid)?;
    if body.is_some_and(|body| body != length) {
        return Err(Error::HttpRequestBodySize(body));
    }
    // Rewritten in the canonical spelling of the number.
    fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
    Ok(Some(length))
}

/// Returns the size of header fields on the wire: name, `: `, value, line end.
pub(super) fn bytes(fields: &HeaderMap) -> u64 {
    const AROUND: usize = 4;
    let size =
        |(name, value): (&HeaderName, &HeaderValue)| name.as_str().len() + value.len() + AROUND;
    u64::try_from(fields.iter().map(size).sum::<usize>()).unwrap_or(u64::MAX)
}
