//! Streamable HTTP without a socket: a server in the sandbox that answers requests, as the lines
//! that [`crate::lines`] reads and writes. Each message of the client becomes a POST, and each
//! message of its response a line. A response that cannot be used becomes the error of its request.
//! <https://modelcontextprotocol.io/specification/2025-06-18/basic/transports#streamable-http>

#[cfg(test)]
mod tests;

use crate::{
    lines::{MALFORMED, MAX_MESSAGE_BYTES, TOO_LARGE, as_sent, error, too_large},
    sandboxed::{RequestFault, RequestHandler, ResponseBody},
};
use agent_host_engine::{BoxFuture, text};
use agent_host_process::{Line, LineDecoder};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::{
    StreamExt as _,
    future::{AbortHandle, abortable},
    stream::FuturesUnordered,
};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use rmcp::model::RequestId;
use serde::{
    Deserialize,
    de::{self, IgnoredAny},
};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    io, mem,
    ops::ControlFlow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::io::{
    AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, duplex,
};
use tokio_util::codec::FramedRead;

/// The address of each request. Its host is never resolved.
const ADDRESS: &str = "http://localhost/mcp";

/// The bytes between this and the client, each way.
const PIPE_BYTES: usize = 64 * 1024;

/// The most requests at once. Beyond it, no message of the client is read.
const MAX_POSTS: usize = 64;

/// The most bytes of a response with the status of an error, and the most that are shown of it.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
const SHOWN_BYTES: usize = 200;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Returns the client's ends: what it writes messages to, and what it reads them from.
pub(crate) fn connect(
    server: Arc<dyn RequestHandler>,
    redact: Redact,
) -> (
    Box<dyn AsyncWrite + Send + Unpin>,
    Box<dyn AsyncRead + Send + Unpin>,
) {
    let (input, messages) = duplex(PIPE_BYTES);
    let (answers, output) = duplex(PIPE_BYTES);
    let posts = Posts {
        server,
        redact,
        session: Mutex::default(),
        answers: tokio::sync::Mutex::new(answers),
    };
    tokio::spawn(async move { posts.run(messages).await });
    (Box::new(input), Box::new(output))
}

/// Redacts a text of the server.
pub(crate) type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

struct Posts {
    server: Arc<dyn RequestHandler>,
    redact: Redact,
    /// The headers of the session and of the version, once they are known.
    session: Mutex<HeaderMap>,
    answers: tokio::sync::Mutex<DuplexStream>,
}

type Sent = BoxFuture<'static, Result<Response<ResponseBody>, RequestFault>>;

/// A message that was sent.
struct Post {
    /// Absent for one without a response.
    id: Option<RequestId>,
    is_initialize: bool,
}

/// Why a request has no response.
enum Fault {
    /// The server or the client is gone.
    Gone,
    /// The server does not know its session any more.
    NoSession(String),
    Malformed(String),
    TooLarge,
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Gone,
            _ => Self::Malformed(format!("its answer breaks off: {error}")),
        }
    }
}

/// The parts of a message of the client that matter here.
#[derive(Deserialize)]
struct Message {
    id: Option<RequestId>,
    method: Option<String>,
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    name: Option<String>,
    uri: Option<String>,
    #[serde(rename = "requestId")]
    request: Option<RequestId>,
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
}

#[derive(Deserialize)]
struct Meta {
    /// From 2026-07-28 on.
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

impl Message {
    fn is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }

    /// Returns the headers that each request has since 2026-07-28.
    fn headers(&self) -> Option<[(&'static str, Option<&str>); 3]> {
        let params = self.params.as_ref()?;
        let version = params.meta.as_ref()?.version.as_deref()?;
        let name = params.name.as_deref().or(params.uri.as_deref());
        Some([
            (VERSION, Some(version)),
            ("mcp-method", self.method.as_deref()),
            ("mcp-name", name),
        ])
    }
}

/// The parts of a received message that matter here.
#[derive(Deserialize)]
struct Received {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
}

impl Posts {
    /// Sends the client's messages until it or the server is gone.
    async fn run(self, messages: DuplexStream) {
        let mut messages = FramedRead::new(messages, LineDecoder::new(usize::MAX));
        let (mut posts, mut stops) = (FuturesUnordered::new(), HashMap::new());
        loop {
            tokio::select! {
                Some((id, ended)) = posts.next(), if !posts.is_empty() => {
                    stops.remove(&id);
                    if let Ok(ControlFlow::Break(())) = ended {
                        return;
                    }
                }
                line = messages.next(), if posts.len() < MAX_POSTS => {
                    let Some(Ok(Line::Complete(line))) = line else {
                        return;
                    };
                    let Ok(message) = serde_json::from_slice::<Message>(&line) else {
                        continue;
                    };
                    if message.is("notifications/cancelled") {
                        let cancelled = message.params.as_ref().and_then(|params| params.request.clone());
                        stops.get(&cancelled).into_iter().for_each(AbortHandle::abort);
                    }
                    // It has its place in the queue before the next message is read.
                    let sent = self.server.send(self.request(&message, line.to_vec()));
                    let post = Post {
                        is_initialize: message.is("initialize"),
                        id: message.id.filter(|_| message.method.is_some()),
                    };
                    let id = post.id.clone();
                    let (answered, stop) = abortable(self.answer(post, sent));
                    if id.is_some() {
                        stops.insert(id.clone(), stop);
                    }
                    posts.push(async move { (id, answered.await) });
                }
            }
        }
    }

    fn request(&self, message: &Message, body: Vec<u8>) -> Request<Vec<u8>> {
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static(ADDRESS);
        let bytes = request.body().len();
        let headers = request.headers_mut();
        headers.clone_from(&self.session());
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(header::CONTENT_LENGTH, bytes.into());
        let accepted = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, accepted);
        for (name, value) in message.headers().into_iter().flatten() {
            let value = value.map(header_value);
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.insert(name, value);
            }
        }
        request
    }

    fn session(&self) -> MutexGuard<'_, HeaderMap> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the response of a message, and writes its messages, or an error in place of them.
    async fn answer(&self, post: Post, sent: Sent) -> ControlFlow<()> {
        let (code, why, flow) = match self.relay(&post, sent).await {
            Ok(()) => return ControlFlow::Continue(()),
            Err(Fault::Gone) => return ControlFlow::Break(()),
            Err(Fault::NoSession(why)) => (MALFORMED, why, ControlFlow::Break(())),
            Err(Fault::Malformed(why)) => (MALFORMED, why, ControlFlow::Continue(())),
            Err(Fault::TooLarge) => (TOO_LARGE, too_large(), ControlFlow::Continue(())),
        };
        let Some(id) = post.id else {
            tracing::debug!(target: "agent_host::mcp", "a message without a response: {why}");
            return flow;
        };
        let line = serde_json::to_vec(&error(id, code, why)).unwrap_or_default();
        match self.write(line).await {
            Ok(()) => flow,
            Err(_) => ControlFlow::Break(()),
        }
    }

    async fn relay(&self, post: &Post, sent: Sent) -> Result<(), Fault> {
        let sent = sent.await.map_err(|fault| match fault {
            RequestFault::Ended => Fault::Gone,
            RequestFault::Unanswered(why) => Fault::Malformed(self.shown(&String::from(why))),
        });
        let (head, body) = sent?.into_parts();
        if !head.status.is_success() {
            return self.refused(post, head.status, body).await;
        }
        let Some(id) = &post.id else {
            return read(body, MAX_REFUSAL_BYTES).await.map(drop);
        };
        if let (true, Some(session)) = (post.is_initialize, head.headers.get(SESSION)) {
            self.session().insert(SESSION, session.clone());
        }
        let kind = head.headers.get(header::CONTENT_TYPE);
        let kind = String::from_utf8_lossy(kind.map_or(&[], HeaderValue::as_bytes));
        let is = |expected: &str| {
            let begin = kind.as_bytes().get(..expected.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(expected.as_bytes()))
        };
        let is_answered = if matches!(head.status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Err(Fault::Malformed(format!(
                "without a message: HTTP status {}",
                head.status
            )));
        } else if is(EVENTS) {
            self.take_events(post, id, body).await?
        } else if is(JSON) {
            let message = read(body, MAX_MESSAGE_BYTES)
                .await?
                .ok_or(Fault::TooLarge)?;
            self.take(post, id, message).await?
        } else {
            return Err(Fault::Malformed(format!(
                "with the content type \"{}\", and MCP has `{JSON}` and `{EVENTS}`",
                self.shown(&kind).escape_debug()
            )));
        };
        match is_answered {
            true => Ok(()),
            false => Err(Fault::Malformed(
                "without a response to the request".to_owned(),
            )),
        }
    }

    /// Reads an event stream to its end. Returns whether it had the response.
    async fn take_events(
        &self,
        post: &Post,
        id: &RequestId,
        body: ResponseBody,
    ) -> Result<bool, Fault> {
        let mut lines = FramedRead::new(body, LineDecoder::new(MAX_MESSAGE_BYTES));
        let (mut data, mut is_answered) = (Vec::new(), false);
        loop {
            let line = match lines.next().await.transpose()? {
                Some(Line::Oversized) => return Err(Fault::TooLarge),
                Some(Line::Complete(line)) => Some(line),
                None => None,
            };
            let text = line.as_deref().unwrap_or_default();
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            if let Some(more) = text.strip_prefix(b"data:") {
                data.extend_from_slice(more);
                data.push(b'\n');
            }
            if data.len() > MAX_MESSAGE_BYTES {
                return Err(Fault::TooLarge);
            }
            if text.is_empty() && !data.trim_ascii().is_empty() {
                is_answered |= self.take(post, id, mem::take(&mut data)).await?;
            }
            if line.is_none() {
                return Ok(is_answered);
            }
        }
    }

    /// Writes a message of the server to the client. Returns whether it is the response.
    async fn take(&self, post: &Post, id: &RequestId, message: Vec<u8>) -> Result<bool, Fault> {
        let received = match message.trim_ascii_start().first() {
            Some(b'{') => serde_json::from_slice::<Received>(&message),
            _ => Err(de::Error::custom("it does not begin with `{`")),
        };
        let received = received
            .map_err(|why| Fault::Malformed(format!("its answer is not a JSON message: {why}")))?;
        let is_request = received.method.is_some();
        let is_answer = !is_request
            && received
                .id
                .is_some_and(|received| as_sent(&received) == *id);
        if is_answer
            && post.is_initialize
            && let Ok(message) = serde_json::from_slice::<Value>(&message)
            && let Some(version) = message.pointer("/result/protocolVersion")
            && let Some(Ok(version)) = version.as_str().map(HeaderValue::from_str)
        {
            self.session().insert(VERSION, version);
        }
        // Another request waits for its own response.
        if is_answer || is_request {
            self.write(message).await?;
        }
        Ok(is_answer)
    }

    /// Returns the beginning of a text of the server. A part of a secret would not be found in it.
    fn shown(&self, text: &str) -> String {
        text::sanitize(&(self.redact)(text), SHOWN_BYTES)
    }

    /// Takes a response with the status of an error. A JSON-RPC error in it is the response,
    /// whichever request it names, since a server that refuses a request may not read its id; but
    /// not one that refuses the session.
    async fn refused(
        &self,
        post: &Post,
        status: StatusCode,
        body: ResponseBody,
    ) -> Result<(), Fault> {
        let said = read(body, MAX_REFUSAL_BYTES).await?.unwrap_or_default();
        let ends_session = status == StatusCode::NOT_FOUND && self.session().contains_key(SESSION);
        if let Some(id) = &post.id
            && !ends_session
            && let Ok(Value::Object(mut error)) = serde_json::from_slice(&said)
            && error.get("error").is_some_and(Value::is_object)
        {
            error.insert("id".to_owned(), json!(id));
            return self.write(json!(error).to_string().into_bytes()).await;
        }
        let said = self.shown(&String::from_utf8_lossy(&said));
        let why = match said.trim() {
            "" => format!("with the HTTP status {status}"),
            said => format!("with the HTTP status {status}: \"{}\"", said.escape_debug()),
        };
        match ends_session {
            true => Err(Fault::NoSession(why)),
            false => Err(Fault::Malformed(why)),
        }
    }

    /// Writes a line to the client.
    async fn write(&self, mut message: Vec<u8>) -> Result<(), Fault> {
        // Ends of lines in JSON are white space.
        for byte in &mut message {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        message.push(b'\n');
        let written = self.answers.lock().await.write_all(&message).await;
        written.map_err(|_| Fault::Gone)
    }
}

/// Reads a body to its end; `None` if it has more bytes than this.
async fn read(body: ResponseBody, most: usize) -> Result<Option<Vec<u8>>, Fault> {
    let mut bytes = Vec::new();
    let most = most as u64;
    body.take(most + 1).read_to_end(&mut bytes).await?;
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// Encodes the value of a header as the protocol does since 2026-07-28.
fn header_value(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && text.trim() == text;
    match is_plain && !text.starts_with("=?base64?") {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", BASE64_STANDARD.encode(text)),
    }
}
