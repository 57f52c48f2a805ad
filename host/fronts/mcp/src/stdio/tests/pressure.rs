//! Clients that send too much or read too little.

use super::{
    super::{MAX_CALLS, outbox::MAX_UNWRITTEN_BYTES},
    Client, Double, TIMEOUT, call, call_of, initialize, ping, pong, result, serve,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWriteExt as _, ReadBuf};

/// An input that initializes and then sends messages for ever.
struct Endless {
    /// Makes the message with a number. Each request needs its own id to get its own response.
    message: fn(usize) -> Value,
    count: usize,
    sent: Arc<AtomicUsize>,
}

impl AsyncRead for Endless {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let bytes = match self.count {
            0 => line(&initialize()),
            count => line(&(self.message)(count)),
        };
        self.count += 1;
        buffer.put_slice(&bytes);
        self.sent.fetch_add(bytes.len(), Ordering::Relaxed);
        Poll::Ready(Ok(()))
    }
}

/// Lets tasks run until nothing more is read; returns the bytes read.
async fn settled(count: &AtomicUsize) -> usize {
    loop {
        let before = count.load(Ordering::Relaxed);
        for _ in 0..10_000 {
            tokio::task::yield_now().await;
        }
        if count.load(Ordering::Relaxed) == before {
            return before;
        }
    }
}

fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

/// The messages, the most bytes of them that are read, and whether none of them runs on.
type Case = (fn(usize) -> Value, usize, bool);

#[tokio::test]
async fn input_is_not_read_while_output_is_not() {
    let cases: [Case; 3] = [
        // The response to a ping is a little shorter than the ping.
        (ping, MAX_UNWRITTEN_BYTES * 2, true),
        // The response to a line that is no message is longer than the line.
        (|_| json!([]), MAX_UNWRITTEN_BYTES, true),
        // Half of the calls run and do not end; the others are refused at once.
        (
            call,
            MAX_CALLS * line(&call(MAX_CALLS)).len() + MAX_UNWRITTEN_BYTES,
            false,
        ),
    ];
    for (message, most, is_idle) in cases {
        let sent = Arc::<AtomicUsize>::default();
        let input = Endless {
            message,
            count: 0,
            sent: Arc::clone(&sent),
        };
        let (output, from) = tokio::io::duplex(1024);
        let served = serve(Double::letting(0), input, output);
        let read = settled(&sent).await;
        // The reader's buffer is read ahead.
        assert!(read < most + 128 * 1024, "{read} bytes of {}", message(1));
        if is_idle {
            // The connection ends with the client.
            drop(from);
            tokio::time::timeout(TIMEOUT, served)
                .await
                .unwrap()
                .unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flood_of_requests_is_answered_completely() {
    const REQUESTS: usize = 100_000;
    let double = Double::letting(REQUESTS);
    let mut client = Client::start(double.clone());
    client.initialize().await;
    let expected = |id: usize| {
        if id.is_multiple_of(4) {
            result(id)
        } else {
            pong(id)
        }
    };
    let mut to = client.to;
    let sends = tokio::spawn(async move {
        for id in 0..REQUESTS {
            let request = if id % 4 == 0 { call(id) } else { ping(id) };
            to.write_all(&line(&request)).await.unwrap();
        }
        to
    });
    let (to, _) = tokio::io::duplex(1);
    client.to = to;
    let mut open: HashSet<usize> = (0..REQUESTS).collect();
    while !open.is_empty() {
        let message = client.next().await;
        let id = usize::try_from(message["id"].as_u64().unwrap()).unwrap();
        assert!(open.remove(&id), "{id} was answered twice");
        if !is_busy(&message) {
            assert_eq!(message, expected(id));
        }
    }
    assert!(double.most.load(Ordering::Relaxed) <= MAX_CALLS / 2);
    client.to = sends.await.unwrap();
    assert_eq!(client.close().await, [Value::Null; 0]);
}

fn is_busy(answer: &Value) -> bool {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.is_some_and(|text| text.starts_with(r#"{"code":"busy""#))
}

#[tokio::test]
async fn flood_of_one_tool_leaves_others_and_cancellations() {
    const SHARE: usize = MAX_CALLS / 2;
    let double = Double::letting(0);
    let mut client = Client::start(double.clone());
    client.initialize().await;
    for id in 0..SHARE + 2 {
        client.send(call(id).to_string()).await;
    }
    // The calls beyond the tool's share are answered while the others run.
    for id in [SHARE, SHARE + 1] {
        let refused = client.next().await;
        assert_eq!(refused["id"], id);
        assert!(is_busy(&refused), "{refused}");
        assert_eq!(refused["result"]["isError"], true);
    }
    // Cancels a running call, and calls another tool.
    let params = json!({ "requestId": 0 });
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    client.send(cancelled.to_string()).await;
    client.send(call_of("open", SHARE + 2).to_string()).await;
    assert_eq!(client.next().await["id"], SHARE + 2);
    client.send(ping("heard").to_string()).await;
    assert_eq!(client.next().await, pong("heard"));
    double.gate.add_permits(SHARE);
    let mut answers = client.close().await;
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers, (1..SHARE).map(result).collect::<Vec<_>>());
}

#[tokio::test]
async fn requests_before_the_end_are_answered() {
    const CALLS: usize = MAX_CALLS / 2;
    let mut client = Client::start(Double::letting(CALLS));
    client.initialize().await;
    for id in 0..CALLS {
        client.send(call(id).to_string()).await;
    }
    let mut answers = client.close().await;
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers, (0..CALLS).map(result).collect::<Vec<_>>());
}
