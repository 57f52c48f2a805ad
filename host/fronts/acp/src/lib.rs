//! The Agent Client Protocol, version 1: editors drive the agents of a host over standard input and
//! output. Updates are a reading of the session's events, and prompts, decisions and answers are
//! inputs that the engine takes; nothing here has logic of a turn.
//!
//! [`serve`] serves one client. `README.md` beside this crate says what maps to what.

mod agent;
mod ask;
mod connection;
mod content;
mod prompt;
mod sessions;
mod tools;
mod updates;
mod wire;

use agent::AcpAgent;
use agent_host_app::Host;
use agent_host_engine::BoxFuture;
use agent_host_mcp::{Input, Output};
use agent_host_process::{Line, LineDecoder};
use connection::{ClientPeer, write_lines};
use futures_util::StreamExt as _;
use std::{io, sync::Arc, time::Duration};
use tokio::time::timeout;
use tokio_util::{codec::FramedRead, sync::CancellationToken};
use wire::{ErrorCode, MAX_LINE_BYTES, RpcError};

/// Time that prompts get to end by themselves when the client or the program is about to.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// Time that cancelled prompts get to record their end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves one client until its input ends or `stop` is cancelled. What runs is drained then: what
/// was started ends, nothing else starts, and each session can be resumed. `agent` is the name of
/// the agent that new sessions talk to; without one it is that of the file's top level.
///
/// # Errors
/// The output cannot be written, and not because the client closed it.
pub fn serve(
    host: Arc<Host>,
    agent: Option<String>,
    input: Input,
    output: Output,
    stop: CancellationToken,
) -> BoxFuture<'static, io::Result<()>> {
    Box::pin(async move {
        let (connection, lines) = ClientPeer::new();
        let writer = tokio::spawn(write_lines(lines, output, connection.closed.clone()));
        let agent = Arc::new(AcpAgent::new(host, agent, connection));
        read_lines(&agent, input, &stop).await;
        agent.end(DRAIN_TIMEOUT, CANCEL_TIMEOUT).await;
        drop(agent);
        match timeout(CANCEL_TIMEOUT, writer).await {
            Ok(Ok(Err(error))) if !is_closed(&error) => Err(error),
            _ => Ok(()),
        }
    })
}

fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionReset)
}

/// Handles the lines of the client, one after the other. A prompt is a task of its own: it waits
/// for answers that come as later lines.
async fn read_lines(agent: &Arc<AcpAgent>, input: Input, stop: &CancellationToken) {
    let decoder = LineDecoder::new(MAX_LINE_BYTES);
    let mut lines = FramedRead::with_capacity(input, decoder, LineDecoder::BUFFER_BYTES);
    let connection = agent.connection();
    loop {
        let line = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = connection.closed.cancelled() => return,
            line = lines.next() => line,
        };
        match line {
            Some(Ok(Line::Complete(line))) if line.trim_ascii().is_empty() => {}
            Some(Ok(Line::Complete(line))) => agent.handle(&line).await,
            Some(Ok(Line::Oversized)) => {
                let message =
                    format!("the message has more than {MAX_LINE_BYTES} bytes; send less at once");
                let error = RpcError::new(ErrorCode::InvalidRequest, message);
                connection
                    .respond(&serde_json::Value::Null, Err(error))
                    .await;
            }
            Some(Err(error)) => {
                tracing::debug!("cannot read the input: {error}");
                return;
            }
            None => return,
        }
    }
}
