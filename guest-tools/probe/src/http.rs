//! Attempts through wasi:http.

use serde_json::json;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, HeaderError, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    Scheme, http_error_code,
};
use wasip2::io::streams::StreamError;

use crate::run::Outcome;

/// The most bytes of one blocking write to a stream (wasi:io).
const MAX_STREAM_WRITE: usize = 4096;

/// A request as the script describes it.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) target: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) times: u64,
}

/// Sends the request and waits for the head of the answer.
pub(crate) fn send(request: &Request) -> Result<IncomingResponse, String> {
    let outgoing = outgoing(request)?;
    let body = outgoing.body().map_err(|()| "no body")?;
    let pending = handle(outgoing, None).map_err(|code| code_name(&code))?;
    // An answer may come before the whole body was taken, so the answer is asked for in any case.
    let written = write(body, request);
    pending.subscribe().block();
    match pending.get() {
        Some(Ok(Ok(response))) => written.map(|()| response),
        Some(Ok(Err(code))) => Err(code_name(&code)),
        Some(Err(())) | None => Err("no answer".to_owned()),
    }
}

fn outgoing(request: &Request) -> Result<OutgoingRequest, String> {
    let (scheme, rest) = request.url.split_once("://").ok_or("no scheme")?;
    let (authority, target) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let headers = Fields::new();
    for (name, value) in &request.headers {
        headers
            .append(name, value.as_bytes())
            .map_err(|error| match error {
                HeaderError::InvalidSyntax => "header-invalid-syntax",
                HeaderError::Forbidden => "header-forbidden",
                HeaderError::Immutable => "header-immutable",
            })?;
    }
    let outgoing = OutgoingRequest::new(headers);
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    let target = request.target.as_deref().unwrap_or(target);
    outgoing
        .set_method(&method(&request.method))
        .map_err(|()| "invalid-method")?;
    outgoing
        .set_scheme(Some(&scheme))
        .map_err(|()| "invalid-scheme")?;
    outgoing
        .set_authority(Some(authority))
        .map_err(|()| "invalid-authority")?;
    outgoing
        .set_path_with_query(Some(target))
        .map_err(|()| "invalid-target")?;
    Ok(outgoing)
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "OPTIONS" => Method::Options,
        "TRACE" => Method::Trace,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

fn write(body: OutgoingBody, request: &Request) -> Result<(), String> {
    let stream = body.write().map_err(|()| "no body")?;
    for _ in 0..request.times {
        for chunk in request.body.as_bytes().chunks(MAX_STREAM_WRITE) {
            stream
                .blocking_write_and_flush(chunk)
                .map_err(|error| stream_error(&error))?;
        }
    }
    // A stream belongs to its body and has to go first.
    drop(stream);
    OutgoingBody::finish(body, None).map_err(|code| code_name(&code))
}

/// The answer. Where its body breaks off, `broken` says why.
pub(crate) fn read(response: &IncomingResponse, max_bytes: u64) -> Outcome {
    let headers: Vec<(String, String)> = response
        .headers()
        .entries()
        .into_iter()
        .map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned()))
        .collect();
    let body = response.consume().map_err(|()| "no body")?;
    let stream = body.stream().map_err(|()| "no body")?;
    let mut bytes = Vec::new();
    let mut broken = None;
    while (bytes.len() as u64) < max_bytes {
        match stream.blocking_read(max_bytes - bytes.len() as u64) {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(StreamError::Closed) => break,
            Err(error) => {
                broken = Some(stream_error(&error));
                break;
            }
        }
    }
    let mut answer = json!({ "status": response.status(), "headers": headers, "body": String::from_utf8_lossy(&bytes) });
    if let (Some(why), Some(answer)) = (broken, answer.as_object_mut()) {
        answer.insert("broken".to_owned(), json!(why));
    }
    Ok(answer)
}

fn stream_error(error: &StreamError) -> String {
    match error {
        StreamError::Closed => "closed".to_owned(),
        StreamError::LastOperationFailed(error) => http_error_code(error).map_or_else(
            || "last-operation-failed".to_owned(),
            |code| code_name(&code),
        ),
    }
}

/// The code as WIT writes it, such as `http-request-denied`, without what it carries.
fn code_name(code: &ErrorCode) -> String {
    let text = format!("{code:?}");
    let camel = text.trim_start_matches("ErrorCode::");
    let mut name = String::new();
    for letter in camel.chars().take_while(char::is_ascii_alphanumeric) {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}
