//! The MCP server as a handler of HTTP requests (`wasi:http/incoming-handler`): streamable HTTP
//! (<https://modelcontextprotocol.io/specification/2025-06-18/basic/transports>) without a socket.
//! A call of a tool is answered with an event stream, anything else with JSON. The instance has one
//! session, and refuses what is outside of it.

mod bad;
mod server;
mod tools;

use serde_json::Value;
use std::{
    cell::{Cell, RefCell},
    env,
    io::{self, Read as _, Write as _},
};
use tools::Session;
use wasip2::{
    exports::http::incoming_handler::Guest,
    http::types::{
        Fields, IncomingRequest, Method, OutgoingBody, OutgoingResponse, ResponseOutparam,
    },
};

/// The name of the session.
const SESSION: &str = "the-session";

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

thread_local! {
    static STATE: RefCell<Session> = RefCell::default();
    static HAS_ANSWERED: Cell<bool> = const { Cell::new(false) };
}

struct Handler;

wasip2::http::proxy::export!(Handler);

impl Guest for Handler {
    fn handle(request: IncomingRequest, response: ResponseOutparam) {
        if env::var_os(bad::ONE_REQUEST).is_some() && HAS_ANSWERED.replace(true) {
            return;
        }
        if let Err(error) = respond(&request, response) {
            let _ = writeln!(io::stderr(), "cannot answer: {error}");
        }
    }
}

fn respond(request: &IncomingRequest, to: ResponseOutparam) -> io::Result<()> {
    if request.path_with_query().as_deref() != Some("/mcp") {
        return whole(to, 404, "text/plain", b"the server is at /mcp");
    }
    if !matches!(request.method(), Method::Post) {
        return whole(to, 405, "text/plain", b"send messages with POST");
    }
    let headers = request.headers();
    let has = |name: &str, value: &str| headers.get(name) == [value.as_bytes()];
    let in_session = has("mcp-session-id", SESSION);
    let has_version = has("mcp-protocol-version", server::PROTOCOL);
    let message = body(request)?;
    let parsed: Value = serde_json::from_slice(&message).unwrap_or_default();
    let method = parsed.get("method").and_then(Value::as_str);
    if method != Some("initialize") && !(in_session && has_version) {
        return whole(to, 400, "text/plain", b"no session");
    }
    if parsed.get("id").is_none() {
        return whole(to, 202, JSON, b"");
    }
    let part = |path| parsed.pointer(path).and_then(Value::as_str);
    if part("/params/name") == Some(bad::NAME) {
        return bad::respond(to, part("/params/arguments/with").unwrap_or_default());
    }
    if method == Some("tools/call") {
        return stream(to, 200, EVENTS, |body| {
            answer(&message, &mut |message| {
                write!(body, "event: message\r\ndata: {message}\r\n\r\n")
            })
        });
    }
    let mut answered = Value::Null;
    answer(&message, &mut |message| {
        answered = message.clone();
        Ok(())
    })?;
    if let Some(Value::Array(tools)) = answered.pointer_mut("/result/tools") {
        tools.push(bad::tool());
    }
    whole(to, 200, JSON, format!("{answered:#}").as_bytes())
}

fn answer(message: &[u8], send: &mut server::Send<'_>) -> io::Result<()> {
    STATE.with_borrow_mut(|session| server::answer(session, message, send))
}

fn body(request: &IncomingRequest) -> io::Result<Vec<u8>> {
    let failed = |()| io::Error::other("the body is taken");
    let body = request.consume().map_err(failed)?;
    let mut bytes = Vec::new();
    body.stream().map_err(failed)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Sends a response whose body is known.
fn whole(to: ResponseOutparam, status: u16, kind: &str, body: &[u8]) -> io::Result<()> {
    stream(to, status, kind, |stream| stream.write_all(body))
}

/// Sends a response whose body is written piece by piece.
fn stream(
    to: ResponseOutparam,
    status: u16,
    kind: &str,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    let fields = [("content-type", kind), ("mcp-session-id", SESSION)];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
    let fields = Fields::from_list(&fields).map_err(io::Error::other)?;
    let response = OutgoingResponse::new(fields);
    let failed = |()| io::Error::other("the response is taken");
    response.set_status_code(status).map_err(failed)?;
    let body = response.body().map_err(failed)?;
    ResponseOutparam::set(to, Ok(response));
    let mut stream = body.write().map_err(failed)?;
    write(&mut stream)?;
    drop(stream);
    OutgoingBody::finish(body, None).map_err(io::Error::other)
}
