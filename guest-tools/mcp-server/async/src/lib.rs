//! The MCP server with WASI 0.3. It has both ways in: a main function that reads and writes its
//! standard streams (`wasi:cli/run`), and a handler of HTTP requests (`wasi:http/handler`), which
//! answers several at once.

#![cfg(target_family = "wasm")]

#[path = "../../src/server.rs"]
mod server;
#[path = "../../src/tools.rs"]
mod tools;

use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use tools::Session;
use wasip3::{
    cli::{stdin, stdout},
    clocks::monotonic_clock,
    http::types::{ErrorCode, Fields, Request, Response},
    wit_bindgen::{StreamReader, StreamResult},
    wit_future, wit_stream,
};

const CHUNK_BYTES: usize = 16 * 1024;

/// A tool whose calls wait until two of them run.
const MEET: &str = "meet";

thread_local! {
    static STATE: RefCell<Session> = RefCell::default();
    /// The calls of [`MEET`] so far.
    static CAME: Cell<u32> = const { Cell::new(0) };
}

struct Server;

wasip3::cli::command::export!(Server);
wasip3::http::service::export!(Server);

impl wasip3::exports::cli::run::Guest for Server {
    async fn run() -> Result<(), ()> {
        let (mut input, _) = stdin::read_via_stream();
        let (mut output, written) = wit_stream::new();
        let _written = stdout::write_via_stream(written);
        let mut line = Vec::new();
        loop {
            let (result, bytes) = input.read(Vec::with_capacity(CHUNK_BYTES)).await;
            for byte in bytes {
                line.push(byte);
                if byte == b'\n' {
                    for message in answers(&std::mem::take(&mut line)).await {
                        let rest = output.write_all(format!("{message}\n").into_bytes()).await;
                        if !rest.is_empty() {
                            return Err(());
                        }
                    }
                }
            }
            if !matches!(result, StreamResult::Complete(_)) {
                return Ok(());
            }
        }
    }
}

impl wasip3::exports::http::handler::Guest for Server {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        let message = body(request).await;
        let messages = answers(&message).await;
        let (mut writer, reader) = wit_stream::new();
        let (_, no_trailers) = wit_future::new(|| Ok(None));
        let is_silent = messages.is_empty();
        let kind = ("content-type".to_owned(), b"text/event-stream".to_vec());
        let fields = Fields::from_list(&[kind]).map_err(|_| ErrorCode::InternalError(None))?;
        let (response, _) = Response::new(fields, Some(reader), no_trailers);
        if is_silent {
            let _ = response.set_status_code(202);
        }
        // The rest of the answer is sent after this has returned.
        wasip3::spawn_local(async move {
            for message in messages {
                writer
                    .write_all(format!("data: {message}\n\n").into_bytes())
                    .await;
            }
        });
        Ok(response)
    }
}

async fn body(request: Request) -> Vec<u8> {
    let (_, taken) = wit_future::new(|| Ok(()));
    let (body, _) = Request::consume_body(request, taken);
    StreamReader::collect(body).await
}

/// Returns the messages that answer one.
async fn answers(message: &[u8]) -> Vec<Value> {
    let parsed: Value = serde_json::from_slice(message).unwrap_or_default();
    if parsed.pointer("/params/name").and_then(Value::as_str) == Some(MEET) {
        let result = json!({"content": [{"type": "text", "text": meet().await}]});
        return vec![json!({"jsonrpc": "2.0", "id": parsed.get("id"), "result": result})];
    }
    let mut messages = Vec::new();
    let answered = STATE.with_borrow_mut(|session| {
        server::answer(session, message, &mut |message| {
            messages.push(message.clone());
            Ok(())
        })
    });
    if answered.is_err() {
        messages.clear();
    }
    messages
}

/// Waits for another call.
async fn meet() -> String {
    CAME.set(CAME.get() + 1);
    while CAME.get() < 2 {
        monotonic_clock::wait_for(1_000_000).await;
    }
    "met".to_owned()
}
