//! Attempts on the services that a host offers to every program: environment, standard streams,
//! clocks and randomness.

use serde_json::{Value, json};
use wasip2::cli::{
    environment, exit as cli_exit, stderr as cli_stderr, stdin as cli_stdin, stdout as cli_stdout,
};
use wasip2::cli::{terminal_stderr, terminal_stdin, terminal_stdout};
use wasip2::clocks::monotonic_clock::subscribe_duration;
use wasip2::io::poll::Pollable;
use wasip2::io::streams::{OutputStream, StreamError};
use wasip2::random::random::get_random_bytes;

use crate::run::Outcome;

/// The most bytes of one blocking write to a stream (wasi:io).
const MAX_STREAM_WRITE: usize = 4096;

pub(crate) fn env() -> Value {
    json!(environment::get_environment())
}

pub(crate) fn args() -> Value {
    json!(environment::get_arguments())
}

pub(crate) fn cwd() -> Value {
    json!(environment::initial_cwd())
}

pub(crate) fn stdin() -> Outcome {
    match cli_stdin::get_stdin().blocking_read(1024) {
        Ok(bytes) => Ok(json!(String::from_utf8_lossy(&bytes))),
        Err(error) => Err(stream_error(&error)),
    }
}

pub(crate) fn stdout(text: &str, times: u64) -> Outcome {
    flood(&cli_stdout::get_stdout(), text, times)
}

pub(crate) fn stderr(text: &str, times: u64) -> Outcome {
    flood(&cli_stderr::get_stderr(), text, times)
}

fn flood(stream: &OutputStream, text: &str, times: u64) -> Outcome {
    for _ in 0..times {
        for chunk in text.as_bytes().chunks(MAX_STREAM_WRITE) {
            stream
                .blocking_write_and_flush(chunk)
                .map_err(|error| stream_error(&error))?;
        }
    }
    Ok(Value::Null)
}

fn stream_error(error: &StreamError) -> String {
    match error {
        StreamError::Closed => "closed".to_owned(),
        StreamError::LastOperationFailed(_) => "last-operation-failed".to_owned(),
    }
}

/// The standard streams that the host reports as terminals.
pub(crate) fn terminal() -> Value {
    json!({
        "stdin": terminal_stdin::get_terminal_stdin().is_some(),
        "stdout": terminal_stdout::get_terminal_stdout().is_some(),
        "stderr": terminal_stderr::get_terminal_stderr().is_some(),
    })
}

pub(crate) fn random(bytes: u64) -> Value {
    json!(get_random_bytes(bytes).len())
}

pub(crate) fn sleep(ms: u64) -> Value {
    subscribe_duration(ms.saturating_mul(1_000_000)).block();
    Value::Null
}

pub(crate) fn poll(count: u32, ms: u64) -> Value {
    let pollables: Vec<Pollable> = (0..count)
        .map(|_| subscribe_duration(ms.saturating_mul(1_000_000)))
        .collect();
    let all: Vec<&Pollable> = pollables.iter().collect();
    json!(wasip2::io::poll::poll(&all).len())
}

pub(crate) fn exit(ok: bool) -> Outcome {
    cli_exit::exit(if ok { Ok(()) } else { Err(()) });
    Err("the host came back from exit".to_owned())
}
