//! A server that sends the same to every client.

use agent_host_engine::policy::HttpGrant;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// The part of a request that it waits for.
#[derive(Clone, Copy)]
enum Hears {
    Head,
    Everything,
}

/// The action after the response.
#[derive(Clone)]
enum After {
    Close,
    Hang,
    /// Sends this repeatedly until the client disconnects.
    Repeat(String, Duration),
}

/// A server on a free port of this machine. It stops when it is dropped.
pub(crate) struct Server {
    pub(crate) port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Answers each connection's one request with these bytes and closes.
    pub(crate) async fn start(response: impl AsRef<[u8]>) -> Self {
        Self::run(response.as_ref(), Hears::Everything, After::Close).await
    }

    /// Sends this, and keeps the connection open.
    pub(crate) async fn silent(response: &str) -> Self {
        Self::run(response.as_bytes(), Hears::Everything, After::Hang).await
    }

    /// Sends this after the head of a request, and keeps the connection open.
    pub(crate) async fn hasty(response: &str) -> Self {
        Self::run(response.as_bytes(), Hears::Head, After::Hang).await
    }

    /// Sends this, and then something else without end: as fast as possible, or with a pause
    /// between two pieces.
    pub(crate) async fn endless(response: &str, again: &str, pause: Duration) -> Self {
        let at_once = if pause.is_zero() { 1_000 } else { 1 };
        let after = After::Repeat(again.repeat(at_once), pause);
        Self::run(response.as_bytes(), Hears::Everything, after).await
    }

    async fn run(response: &[u8], hears: Hears, after: After) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let (response, record) = (response.to_owned(), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read_request(&mut stream, hears).await;
                record.lock().unwrap().push(request);
                let _ = stream.write_all(&response).await;
                match &after {
                    After::Close => {
                        let _ = stream.shutdown().await;
                    }
                    After::Hang => open.push(stream),
                    After::Repeat(text, pause) => {
                        while stream.write_all(text.as_bytes()).await.is_ok() {
                            tokio::time::sleep(*pause).await;
                        }
                    }
                }
            }
        });
        Self { port, seen, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The grant that allows it.
    pub(crate) fn grant(&self) -> HttpGrant {
        HttpGrant {
            scheme: Some("http".to_owned()),
            host: "127.0.0.1".to_owned(),
            port: Some(self.port),
            ..HttpGrant::default()
        }
    }

    /// The received requests as they were on the wire.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The first byte of a TLS handshake (RFC 8446, section 5.1), which this server does not speak.
const TLS: u8 = 0x16;

/// Reads the head, and the body that it announces.
async fn read_request(stream: &mut TcpStream, hears: Hears) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4_096];
    loop {
        if bytes.first() == Some(&TLS) {
            return "TLS".to_owned();
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            if matches!(hears, Hears::Head) {
                return text;
            }
            let head = head.to_lowercase();
            let announced = head.split("content-length: ").nth(1);
            let announced: usize = announced
                .and_then(|rest| rest.split("\r\n").next()?.parse().ok())
                .unwrap_or(0);
            let chunked = head.contains("transfer-encoding: chunked");
            if body.len() >= announced && (!chunked || body.ends_with("0\r\n\r\n")) {
                return text;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return text,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}
