//! The connection: a queue of lines to the client, and the requests that wait for its answers.
//!
//! A client displays what it gets, and whatever is written by a model, a tool or a file may be
//! hostile. So every string of every message is escaped here, and nowhere else.

use crate::wire::{ErrorCode, RpcError, notification, request, response};
use agent_host_engine::text::{escape, escape_values};
use agent_host_mcp::Output;
use serde_json::Value;
use std::{
    collections::HashMap,
    io,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::{
    io::AsyncWriteExt as _,
    sync::{mpsc, oneshot},
};
use tokio_util::sync::CancellationToken;

/// Lines that are queued for a client that does not read. Whatever has more to say waits.
const QUEUED_LINES: usize = 64;

/// The keys of a message whose values are not escaped: bytes in base64, a directory that the client
/// sends back, and values of a form that its answer is compared with.
const VERBATIM: [&str; 6] = ["data", "blob", "cwd", "const", "enum", "default"];

/// Why a request has no result.
#[derive(Debug, PartialEq)]
pub(crate) enum NoAnswer {
    /// The prompt was cancelled meanwhile.
    Cancelled,
    /// The client answered with an error, or is gone.
    Failed(RpcError),
}

/// The side of the connection that sends.
#[derive(Debug)]
pub(crate) struct ClientPeer {
    lines: mpsc::Sender<String>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Result<Value, Value>>>>,
    next: AtomicU64,
    /// Cancelled when nothing reaches the client any more.
    pub(crate) closed: CancellationToken,
    /// Cancelled when nothing comes from the client any more.
    pub(crate) ended: CancellationToken,
}

impl ClientPeer {
    /// Creates the connection, and returns the lines to write.
    pub(crate) fn new() -> (Self, mpsc::Receiver<String>) {
        let (lines, queue) = mpsc::channel(QUEUED_LINES);
        let connection = Self {
            lines,
            waiting: Mutex::default(),
            next: AtomicU64::new(1),
            closed: CancellationToken::new(),
            ended: CancellationToken::new(),
        };
        (connection, queue)
    }

    /// Sends a notification.
    pub(crate) async fn notify(&self, method: &str, mut params: Value) {
        escape_values(&mut params, &VERBATIM);
        self.send(notification(method, &params)).await;
    }

    /// Answers a request.
    pub(crate) async fn respond(&self, id: &Value, result: Result<Value, RpcError>) {
        let shown = match result {
            Ok(mut result) => {
                escape_values(&mut result, &VERBATIM);
                Ok(result)
            }
            Err(error) => Err(RpcError {
                message: escape(&error.message),
                ..error
            }),
        };
        self.send(response(id, &shown)).await;
    }

    /// Sends a request, and waits for its answer until `cancel` is cancelled.
    pub(crate) async fn request(
        &self,
        method: &str,
        mut params: Value,
        cancel: &CancellationToken,
    ) -> Result<Value, NoAnswer> {
        escape_values(&mut params, &VERBATIM);
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.waiting().insert(id, answer);
        let result = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(NoAnswer::Cancelled),
            result = async {
                self.send(request(id, method, &params)).await;
                answered.await
            } => match result {
                Ok(Ok(result)) => Ok(result),
                Ok(Err(error)) => Err(unanswered(&format!("the client answered {method} with the error {error}"))),
                Err(_) => Err(unanswered("the client has disconnected")),
            },
            () = self.ended.cancelled() => Err(unanswered("the client has disconnected")),
        };
        self.waiting().remove(&id);
        result
    }

    /// Passes on the answer to a request; one that no request waits for is ignored.
    pub(crate) fn answer(&self, id: Option<u64>, result: Result<Value, Value>) {
        let waiting = id.and_then(|id| self.waiting().remove(&id));
        if let Some(waiting) = waiting {
            // The request may have been cancelled meanwhile.
            let _ = waiting.send(result);
        }
    }

    async fn send(&self, line: String) {
        tokio::select! {
            // A client that is gone reads nothing, and whatever is sent to it is lost.
            _ = self.lines.send(line) => {}
            () = self.closed.cancelled() => {}
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<Result<Value, Value>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unanswered(why: &str) -> NoAnswer {
    let message = format!(
        "{why}, so nothing was decided and the session is still waiting; send another message, or answer with \
         `agent-host run --resume`"
    );
    NoAnswer::Failed(RpcError::new(ErrorCode::Unanswered, message))
}

/// Writes lines until all senders are gone. Cancels `closed` when the client cannot be written to.
pub(crate) async fn write_lines(
    mut lines: mpsc::Receiver<String>,
    mut output: Output,
    closed: CancellationToken,
) -> io::Result<()> {
    let _close = closed.drop_guard();
    while let Some(mut line) = lines.recv().await {
        line.push('\n');
        output.write_all(line.as_bytes()).await?;
        if lines.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}
