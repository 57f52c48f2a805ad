//! Clients that send too much or read too little.

use super::{
    super::{MAX_CALLS, MAX_QUEUED, outbox::MAX_UNWRITTEN_BYTES},
    Client, Double, TIMEOUT, call, initialize, ping, pong, result, serve,
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

/// The messages, the most bytes of them that are read, and whether they have responses that are not
/// read.
type Case = (fn(usize) -> Value, usize, bool);

#[tokio::test]
async fn input_is_not_read_while_output_is_not() {
    let calls = MAX_CALLS + MAX_QUEUED + 1;
    let cases: [Case; 3] = [
        // The response to a ping is a little shorter than the ping.
        (ping, MAX_UNWRITTEN_BYTES * 2, true),
        // The response to a line that is no message is longer than the line.
        (|_| json!([]), MAX_UNWRITTEN_BYTES, true),
        // Calls wait for running ones, which do not end.
        (call, calls * line(&call(calls)).len(), false),
    ];
    for (message, most, has_answers) in cases {
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
        if has_answers {
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
        assert_eq!(message, expected(id));
    }
    assert!(double.most.load(Ordering::Relaxed) <= MAX_CALLS);
    client.to = sends.await.unwrap();
    assert_eq!(client.close().await, [Value::Null; 0]);
}

#[tokio::test]
async fn cancellations_and_pings_pass_queued_calls() {
    let double = Double::letting(0);
    let mut client = Client::start(double.clone());
    client.initialize().await;
    for id in 0..MAX_CALLS + 3 {
        client.send(call(id).to_string()).await;
    }
    // Cancels a queued call and a running one.
    for id in [MAX_CALLS + 1, 0] {
        let params = json!({ "requestId": id });
        let cancelled =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        client.send(cancelled.to_string()).await;
    }
    client.send(ping("heard").to_string()).await;
    assert_eq!(client.next().await, pong("heard"));
    double.gate.add_permits(MAX_CALLS + 3);
    let mut answers = client.close().await;
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let expected = (1..MAX_CALLS + 3).filter(|id| *id != MAX_CALLS + 1);
    assert_eq!(answers, expected.map(result).collect::<Vec<_>>());
    assert_eq!(double.most.load(Ordering::Relaxed), MAX_CALLS);
}

#[tokio::test]
async fn requests_before_the_end_are_answered() {
    let mut client = Client::start(Double::letting(MAX_CALLS * 4));
    client.initialize().await;
    for id in 0..MAX_CALLS * 3 {
        client.send(call(id).to_string()).await;
    }
    let mut answers = client.close().await;
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert_eq!(answers, (0..MAX_CALLS * 3).map(result).collect::<Vec<_>>());
}
