//! How a server ends.

use super::{
    double::Running,
    raw::{Ask, Raw, call, said},
};
use pretty_assertions::assert_eq;
use std::time::Duration;
use tokio::net::TcpStream;

/// Opens the stream of messages that belong to no call; it is open when this returns.
async fn listen(server: &Running, session: &str) -> Raw {
    let mut listener = Raw::connect(server.address).await;
    let ask = Ask::bare("GET")
        .with("Accept", "text/event-stream")
        .and("Mcp-Session-Id", session);
    assert_eq!(listener.ask(&ask).await.status, 200);
    listener
}

/// Calls `wait`, which has started when this returns.
async fn wait(server: &mut Running, session: &str) -> Raw {
    let mut caller = Raw::connect(server.address).await;
    let ask = Ask::post(call(1, "wait")).and("Mcp-Session-Id", session);
    assert_eq!(caller.ask(&ask).await.status, 200);
    assert_eq!(server.began.recv().await.unwrap(), "wait");
    caller
}

#[tokio::test]
async fn shutdown_answers_running_calls_and_accepts_no_more() {
    let mut server = Running::bounded(|limits| limits.grace = Duration::from_secs(3600)).await;
    let mut idle = Raw::connect(server.address).await;
    let session = idle.begin().await;
    let mut listener = listen(&server, &session).await;
    let mut caller = wait(&mut server, &session).await;
    server.shutdown.cancel();
    // Connections without a running call end at once.
    assert_eq!(idle.drain().await, 0);
    assert_eq!(listener.event().await, None);
    assert!(TcpStream::connect(server.address).await.is_err());
    server.stage.go.add_permits(1);
    assert_eq!(caller.event().await, Some(said(1, "waited")));
    assert_eq!(caller.event().await, None);
    (&mut server.task).await.unwrap();
    assert_eq!(server.ended.recv().await.unwrap(), "wait");
}

#[tokio::test]
async fn shutdown_cancels_calls_after_the_grace_period() {
    let mut server = Running::bounded(|limits| limits.grace = Duration::ZERO).await;
    let session = Raw::connect(server.address).await.begin().await;
    let mut caller = wait(&mut server, &session).await;
    // A call whose client is gone ends as well.
    drop(wait(&mut server, &session).await);
    server.shutdown.cancel();
    (&mut server.task).await.unwrap();
    for _ in 0..2 {
        assert_eq!(server.ended.recv().await.unwrap(), "!wait");
    }
    caller.drain().await;
}
