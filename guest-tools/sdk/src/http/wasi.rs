//! Sends requests through wasi:http. The host's policy decides whether they are sent.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingBody, IncomingResponse, Method as WasiMethod, OutgoingBody,
    OutgoingRequest, Scheme, http_error_code,
};
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

use super::Host;
use super::error::HttpError;
use super::follow::Transport;
use super::request::{Method, Request};
use super::response::Response;

/// The most bytes of one write (`blocking-write-and-flush` in wasi:io).
const MAX_WRITE_BYTES: usize = 4096;

/// The size of one read, in bytes.
const READ_BYTES: u64 = 64 * 1024;

impl Transport for Host {
    fn send(&self, request: &Request, max_bytes: usize) -> Result<Response, HttpError> {
        let host = request.address.authority();
        let outgoing = outgoing(request)?;
        let body = outgoing
            .body()
            .map_err(|()| internal(host, "the request has no body to write"))?;
        let pending = handle(outgoing, None).map_err(|code| explain(&code, host))?;
        // The other end may answer before it has read everything, so a failed write is not yet a
        // failed request.
        let written = write(body, request.body.as_deref().unwrap_or_default());
        pending.subscribe().block();
        let response = match pending.get() {
            Some(Ok(Ok(response))) => response,
            Some(Ok(Err(code))) => return Err(explain(&code, host)),
            Some(Err(())) | None => return Err(internal(host, "the host gave no answer")),
        };
        match written {
            Some(code @ ErrorCode::HttpRequestBodySize(_)) => Err(explain(&code, host)),
            Some(_) | None => read(&response, host, max_bytes),
        }
    }
}

fn internal(host: &str, detail: &str) -> HttpError {
    HttpError::Protocol {
        host: host.to_owned(),
        detail: detail.to_owned(),
    }
}

fn outgoing(request: &Request) -> Result<OutgoingRequest, HttpError> {
    let headers = Fields::new();
    for (name, value) in &request.headers {
        headers
            .append(name, value.as_bytes())
            .map_err(|_| HttpError::HeaderField(name.clone()))?;
    }
    if let Some(body) = &request.body {
        let length = body.len().to_string();
        // Where the host counts the length itself, it refuses ours.
        let _ = headers.append("content-length", length.as_bytes());
    }
    let outgoing = OutgoingRequest::new(headers);
    let method = match request.method {
        Method::Get => WasiMethod::Get,
        Method::Head => WasiMethod::Head,
        Method::Post => WasiMethod::Post,
        Method::Put => WasiMethod::Put,
        Method::Patch => WasiMethod::Patch,
        Method::Delete => WasiMethod::Delete,
        Method::Options => WasiMethod::Options,
    };
    let scheme = if request.address.is_secure() {
        Scheme::Https
    } else {
        Scheme::Http
    };
    outgoing
        .set_method(&method)
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(request.address.authority())))
        .and_then(|()| outgoing.set_path_with_query(Some(&request.address.path_and_query())))
        .map_err(|()| HttpError::Address {
            url: request.address.as_str().to_owned(),
            why: "the host does not take it".to_owned(),
        })?;
    Ok(outgoing)
}

/// Writes the body and ends it. The error code of a write that failed, where it has one.
fn write(body: OutgoingBody, bytes: &[u8]) -> Option<ErrorCode> {
    let stream = body.write().ok()?;
    for chunk in bytes.chunks(MAX_WRITE_BYTES) {
        if let Err(error) = stream.blocking_write_and_flush(chunk) {
            return stream_code(&error);
        }
    }
    end(stream, body)
}

fn end(stream: OutputStream, body: OutgoingBody) -> Option<ErrorCode> {
    // A stream belongs to its body and has to go first.
    drop(stream);
    OutgoingBody::finish(body, None).err()
}

fn stream_code(error: &StreamError) -> Option<ErrorCode> {
    match error {
        StreamError::LastOperationFailed(error) => http_error_code(error),
        StreamError::Closed => None,
    }
}

fn read(response: &IncomingResponse, host: &str, max_bytes: usize) -> Result<Response, HttpError> {
    let status = response.status();
    let headers = response
        .headers()
        .entries()
        .into_iter()
        .map(|(name, value)| {
            (
                name.to_ascii_lowercase(),
                String::from_utf8_lossy(&value).into_owned(),
            )
        });
    let headers = headers.collect();
    let body = response
        .consume()
        .map_err(|()| internal(host, "the answer has no body to read"))?;
    let (body, whole) = read_body(&body, host, max_bytes)?;
    Ok(Response {
        status,
        headers,
        body,
        whole,
    })
}

fn read_body(
    body: &IncomingBody,
    host: &str,
    max_bytes: usize,
) -> Result<(Vec<u8>, bool), HttpError> {
    let stream: InputStream = body
        .stream()
        .map_err(|()| internal(host, "the answer has no body to read"))?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(READ_BYTES) {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(StreamError::Closed) => return Ok((bytes, true)),
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(http_error_code(&error).map_or_else(
                    || HttpError::BrokenOff(host.to_owned()),
                    |code| explain(&code, host),
                ));
            }
        }
        if bytes.len() > max_bytes {
            bytes.truncate(max_bytes);
            return Ok((bytes, false));
        }
    }
}

/// Maps the host's error code to an error that a model can act on.
fn explain(code: &ErrorCode, host: &str) -> HttpError {
    let host = host.to_owned();
    match code {
        ErrorCode::HttpRequestDenied => HttpError::Denied(host),
        ErrorCode::DestinationIpProhibited => HttpError::Prohibited(host),
        ErrorCode::DnsError(_) | ErrorCode::DestinationNotFound => HttpError::Name(host),
        ErrorCode::DestinationUnavailable
        | ErrorCode::DestinationIpUnroutable
        | ErrorCode::ConnectionRefused
        | ErrorCode::ConnectionLimitReached => HttpError::Unreachable(host),
        ErrorCode::DnsTimeout
        | ErrorCode::ConnectionTimeout
        | ErrorCode::ConnectionReadTimeout
        | ErrorCode::ConnectionWriteTimeout
        | ErrorCode::HttpResponseTimeout => HttpError::TimedOut(host),
        ErrorCode::TlsProtocolError
        | ErrorCode::TlsCertificateError
        | ErrorCode::TlsAlertReceived(_) => HttpError::Tls(host),
        ErrorCode::HttpRequestBodySize(_) => HttpError::RequestTooLarge,
        ErrorCode::HttpResponseBodySize(_)
        | ErrorCode::HttpResponseHeaderSectionSize(_)
        | ErrorCode::HttpResponseHeaderSize(_) => HttpError::TooLarge(host),
        ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete => {
            HttpError::BrokenOff(host)
        }
        ErrorCode::InternalError(Some(detail)) => HttpError::Protocol {
            host,
            detail: detail.clone(),
        },
        // The remaining codes of the contract are protocol errors, and their names say which.
        other => HttpError::Protocol {
            host,
            detail: format!("{other:?}")
                .trim_start_matches("ErrorCode::")
                .to_owned(),
        },
    }
}
