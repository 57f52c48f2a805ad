//! Converts the client's errors to the guest's codes. The client nests causes, so they are
//! searched; no text of theirs reaches a guest.

use std::error::Error as StdError;
use wasmtime_wasi_http::Error;

/// The reasons of this module to end a request inside the client, which only carries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ExchangeError {
    /// No address of the name may be connected to.
    #[error("the destination's address is prohibited")]
    AddressProhibited,
    #[error("the name is unknown")]
    UnknownName,
    /// The guest sent more than this many bytes.
    #[error("the request's body is larger than {0} bytes")]
    RequestBodySize(u64),
    #[error("the exchange timed out")]
    Timeout,
    #[error("the request's body was not finished")]
    RequestBody,
    #[error("the answer is not HTTP")]
    Protocol,
}

impl ExchangeError {
    /// Returns the guest's code.
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::AddressProhibited => Error::DestinationIpProhibited,
            Self::UnknownName => Error::DnsError {
                rcode: Some("NXDOMAIN".to_owned()),
                info_code: None,
            },
            Self::RequestBodySize(limit) => Error::HttpRequestBodySize(Some(limit)),
            Self::Timeout => Error::HttpResponseTimeout,
            Self::RequestBody | Self::Protocol => Error::HttpProtocolError,
        }
    }
}

/// Returns the guest's code for an error of the client.
pub(super) fn from_client(error: &reqwest::Error) -> Error {
    if let Some(fault) = cause::<ExchangeError>(error) {
        return fault.into_error();
    }
    if let Some(tls) = cause::<rustls::Error>(error) {
        return match tls {
            rustls::Error::InvalidCertificate(_) => Error::TlsCertificateError,
            _ => Error::TlsProtocolError,
        };
    }
    if error.is_timeout() {
        return if error.is_connect() {
            Error::ConnectionTimeout
        } else {
            Error::HttpResponseTimeout
        };
    }
    if error.is_builder() {
        return Error::HttpRequestUriInvalid;
    }
    let Some(io) = cause::<std::io::Error>(error) else {
        return ExchangeError::Protocol.into_error();
    };
    match io.kind() {
        std::io::ErrorKind::ConnectionRefused => Error::ConnectionRefused,
        std::io::ErrorKind::TimedOut => Error::ConnectionTimeout,
        std::io::ErrorKind::HostUnreachable | std::io::ErrorKind::NetworkUnreachable => {
            Error::DestinationUnavailable
        }
        std::io::ErrorKind::ConnectionReset
        | std::io::ErrorKind::ConnectionAborted
        | std::io::ErrorKind::BrokenPipe
        | std::io::ErrorKind::UnexpectedEof => Error::ConnectionTerminated,
        _ => ExchangeError::Protocol.into_error(),
    }
}

/// Returns the first cause of a type. An I/O error may carry a cause that its `source` skips.
fn cause<'e, E: StdError + 'static>(error: &'e (dyn StdError + 'static)) -> Option<&'e E> {
    let mut next = Some(error);
    while let Some(current) = next {
        if let Some(found) = current.downcast_ref() {
            return Some(found);
        }
        if let Some(inner) = current
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::get_ref)
            && let Some(found) = cause::<E>(inner)
        {
            return Some(found);
        }
        next = current.source();
    }
    None
}
