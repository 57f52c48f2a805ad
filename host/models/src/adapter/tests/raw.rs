//! A server that does what well-behaved ones cannot: cut an answer, fall silent, never end.

use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What follows the first bytes of an answer.
#[derive(Clone, Copy)]
pub(super) enum Then {
    /// The connection is closed.
    Close,
    /// Nothing, until the client goes.
    Silence,
    /// These bytes again and again, until the client goes.
    Repeat(&'static str),
}

/// Serves one connection after the other; the last answer is repeated.
pub(super) struct RawServer {
    pub(super) authority: String,
    /// How many connections the client has closed or left.
    pub(super) ended: tokio::sync::watch::Receiver<usize>,
    seen: Arc<Mutex<usize>>,
    task: JoinHandle<()>,
}

impl RawServer {
    pub(super) async fn start(answers: Vec<(String, Then)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let (ended_sender, ended) = tokio::sync::watch::channel(0);
        let seen = Arc::new(Mutex::new(0));
        let count = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let last = answers.len() - 1;
            for index in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                *count.lock().unwrap() += 1;
                let (bytes, then) = &answers[index.min(last)];
                serve(stream, bytes, *then).await;
                ended_sender.send_modify(|ended| *ended += 1);
            }
        });
        Self {
            authority,
            ended,
            seen,
            task,
        }
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://{}/v1", self.authority)
    }

    /// How many connections came.
    pub(super) fn seen(&self) -> usize {
        *self.seen.lock().unwrap()
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads a request as far as it comes at once, which for these tests is whole, and answers.
async fn serve(mut stream: TcpStream, bytes: &str, then: Then) {
    let mut request = [0; 64 * 1024];
    if stream.read(&mut request).await.unwrap_or(0) == 0 {
        return;
    }
    if stream.write_all(bytes.as_bytes()).await.is_err() {
        return;
    }
    match then {
        Then::Close => {}
        // The read ends when the client closes the connection.
        Then::Silence => while stream.read(&mut request).await.is_ok_and(|read| read > 0) {},
        Then::Repeat(more) => while stream.write_all(more.as_bytes()).await.is_ok() {},
    }
}

/// The head of an answer whose length is not known.
pub(super) fn head(status: &str, media_type: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ntransfer-encoding: chunked\r\n\r\n")
}

/// A piece of such an answer.
pub(super) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}
