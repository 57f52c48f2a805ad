//! Tools for HTTP.

use agent_tool::{input, tool};
use serde_json::{Value, json};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme,
    http_error_code,
};
use wasip2::io::streams::{InputStream, StreamError};

/// A byte of a streamed body says in which block of this size it is. It is also the most bytes of
/// one write to a stream (wasi:io).
const BLOCK_BYTES: usize = 4096;

/// The size of one read, in bytes.
const READ_BYTES: u64 = 64 * 1024;

#[input]
pub(crate) struct Message {
    /// The method.
    method: String,
    /// The URL.
    url: String,
    /// The name of header fields.
    #[serde(default)]
    name: String,
    /// Their values.
    #[serde(default)]
    values: Vec<String>,
    /// The body.
    body: Option<String>,
}

#[input]
pub(crate) struct Stream {
    /// The URL.
    url: String,
    /// The size of a body to send, in bytes.
    #[serde(default)]
    size: u64,
    /// True if the response is to be held as a whole.
    #[serde(default)]
    whole: bool,
}

/// Sends a request and gives the response.
#[tool(effect = "effectful")]
pub(crate) fn http(input: Message) -> Result<Value, String> {
    let fields = Fields::new();
    for value in &input.values {
        let added = fields.append(&input.name, value.as_bytes());
        added.map_err(|_| "invalid-request".to_owned())?;
    }
    let body = input.body.as_deref().map(str::as_bytes);
    if let Some(body) = body {
        let length = body.len().to_string();
        let added = fields.append("content-length", length.as_bytes());
        added.map_err(|_| "invalid-request".to_owned())?;
    }
    let pieces = body.map(|body| body.chunks(BLOCK_BYTES).map(<[u8]>::to_vec));
    let response = send(&input.method, &input.url, fields, pieces)?;
    let mut body = Vec::new();
    read(&response, |piece| body.extend_from_slice(piece))?;
    Ok(json!({
        "status": response.status(),
        "answer": answer(&response),
        "body": String::from_utf8_lossy(&body),
    }))
}

/// Sends and receives a body in pieces, and counts what it receives.
#[tool(effect = "effectful")]
pub(crate) fn stream_http(input: Stream) -> Result<Value, String> {
    let method = if input.size > 0 { "POST" } else { "GET" };
    let pieces = (input.size > 0).then(|| made(input.size));
    let response = send(method, &input.url, Fields::new(), pieces)?;
    let mut measured = Meter::default();
    if input.whole {
        let mut held = Vec::new();
        read(&response, |piece| held.extend_from_slice(piece))?;
        measured.add(&held);
    } else {
        read(&response, |piece| measured.add(piece))?;
    }
    Ok(json!({
        "bytes": measured.bytes,
        "sum": measured.sum,
        "answer": answer(&response),
    }))
}

fn send(
    method: &str,
    url: &str,
    fields: Fields,
    body: Option<impl Iterator<Item = Vec<u8>>>,
) -> Result<IncomingResponse, String> {
    let outgoing = outgoing(method, url, fields).ok_or("invalid-request")?;
    let out = body.map(|pieces| (outgoing.body(), pieces));
    let pending = handle(outgoing, None).map_err(|code| kind(&code))?;
    if let Some((Ok(body), pieces)) = out {
        write(body, pieces);
    }
    pending.subscribe().block();
    match pending.get() {
        Some(Ok(sent)) => sent.map_err(|code| kind(&code)),
        _ => Err("protocol".to_owned()),
    }
}

fn outgoing(method: &str, url: &str, fields: Fields) -> Option<OutgoingRequest> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = match scheme {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        _ => return None,
    };
    let (authority, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
    let method = match method {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        other => Method::Other(other.to_owned()),
    };
    let outgoing = OutgoingRequest::new(fields);
    outgoing.set_method(&method).ok()?;
    outgoing.set_scheme(Some(&scheme)).ok()?;
    outgoing.set_authority(Some(authority)).ok()?;
    outgoing.set_path_with_query(Some(path)).ok()?;
    Some(outgoing)
}

/// Writes a body, until the server reads no more.
fn write(body: OutgoingBody, pieces: impl Iterator<Item = Vec<u8>>) {
    let Ok(stream) = body.write() else { return };
    for piece in pieces {
        if stream.blocking_write_and_flush(&piece).is_err() {
            return;
        }
    }
    drop(stream);
    // A failure is in the response, too.
    let _ = OutgoingBody::finish(body, None);
}

fn read(response: &IncomingResponse, mut take: impl FnMut(&[u8])) -> Result<(), String> {
    let body = response.consume().map_err(|()| "protocol".to_owned())?;
    let stream: InputStream = body.stream().map_err(|()| "protocol".to_owned())?;
    loop {
        match stream.blocking_read(READ_BYTES) {
            Ok(piece) => take(&piece),
            Err(StreamError::Closed) => return Ok(()),
            Err(StreamError::LastOperationFailed(error)) => {
                let code = http_error_code(&error);
                return Err(code.map_or_else(|| "interrupted".to_owned(), |code| kind(&code)));
            }
        }
    }
}

/// Returns the values of the field `x-answer`, joined.
fn answer(response: &IncomingResponse) -> Option<String> {
    let values = response.headers().get("x-answer");
    let values: Vec<_> = values
        .iter()
        .map(|value| String::from_utf8_lossy(value))
        .collect();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Returns the name that all SDKs have for a failure.
fn kind(code: &ErrorCode) -> String {
    let kind = match code {
        ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited => "denied",
        ErrorCode::ConnectionRefused => "unreachable",
        ErrorCode::HttpResponseTimeout => "timeout",
        ErrorCode::ConnectionTerminated | ErrorCode::HttpResponseIncomplete => "interrupted",
        _ => "protocol",
    };
    kind.to_owned()
}

/// Returns a body of this size, in blocks.
fn made(size: u64) -> impl Iterator<Item = Vec<u8>> {
    let block = BLOCK_BYTES as u64;
    (0..size.div_ceil(block)).map(move |index| {
        let length = block.min(size - index * block);
        let byte = u8::try_from(index % 251).unwrap_or_default();
        vec![byte; usize::try_from(length).unwrap_or_default()]
    })
}

/// The size of a body, and the sum of the first bytes of its blocks, each times its number.
#[derive(Default)]
struct Meter {
    bytes: usize,
    sum: u64,
}

impl Meter {
    fn add(&mut self, piece: &[u8]) {
        let first = (BLOCK_BYTES - self.bytes % BLOCK_BYTES) % BLOCK_BYTES;
        for (at, byte) in piece.iter().enumerate().skip(first).step_by(BLOCK_BYTES) {
            let number = (self.bytes + at) / BLOCK_BYTES + 1;
            self.sum += u64::from(*byte) * number as u64;
        }
        self.bytes += piece.len();
    }
}
