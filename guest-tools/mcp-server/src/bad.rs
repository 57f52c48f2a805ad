//! A tool whose call is answered badly, to try what the host makes of it.

use crate::{JSON, stream, whole};
use serde_json::{Value, json};
use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    time::Duration,
};
use wasip2::http::types::{ErrorCode, ResponseOutparam};

pub(crate) const NAME: &str = "answer_badly";

/// The variable with which an instance answers one request, as those of some toolchains do.
pub(crate) const ONE_REQUEST: &str = "ONE_REQUEST";

const MIB: usize = 1024 * 1024;

pub(crate) fn tool() -> Value {
    json!({
        "name": NAME,
        "description": "Answers its call badly.",
        "inputSchema": {"type": "object", "properties": {"with": {"type": "string"}}},
    })
}

/// Answers a call with this.
pub(crate) fn respond(to: ResponseOutparam, with: &str) -> io::Result<()> {
    match with {
        "not found" => whole(to, 404, "text/plain", b"no such session"),
        "an error" => whole(to, 500, "text/plain", b"out of order"),
        "an error in JSON" => {
            let error = json!({"code": -32_000, "message": "out of order"});
            let error = json!({"jsonrpc": "2.0", "id": null, "error": error});
            whole(to, 500, JSON, error.to_string().as_bytes())
        }
        "a page" => whole(to, 200, "text/html", b"<html></html>"),
        "half a message" => whole(to, 200, JSON, br#"{"jsonrpc": "2.0", "#),
        "another message" => whole(
            to,
            200,
            JSON,
            br#"{"jsonrpc": "2.0", "id": 0, "result": {}}"#,
        ),
        "acceptance" => whole(to, 202, JSON, b""),
        "an empty stream" => whole(to, 200, "text/event-stream", b": nothing\n\n"),
        "too much" => stream(to, 200, JSON, |body| {
            (0..17).try_for_each(|_| body.write_all(&vec![b' '; MIB]))
        }),
        "a long line" => stream(to, 200, "text/event-stream", |body| {
            body.write_all(b"data: ")?;
            (0..17).try_for_each(|_| body.write_all(&vec![b' '; MIB]))
        }),
        "a refusal" => {
            let why = ErrorCode::InternalError(Some("out of order".to_owned()));
            ResponseOutparam::set(to, Err(why));
            Ok(())
        }
        "a change" => {
            let file = OpenOptions::new().create(true).append(true).open("log.txt");
            file?.write_all(b"x")
        }
        "silence" => {
            std::thread::sleep(Duration::from_secs(3600));
            Ok(())
        }
        _ => Ok(()),
    }
}
