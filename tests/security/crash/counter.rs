//! The service that calls have an effect on. It counts every complete request by path and
//! idempotency key, independent of the journal.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// The path of the request with which [`Counter::take`] waits for all earlier ones. It is not
/// counted.
const LAST: &str = "/last";

/// The key of a counter: the request's path and its `idempotency-key`, empty where absent.
pub(crate) type Hit = (String, String);

/// The service. It serves until the tests end, one request at a time.
pub(crate) struct Counter {
    /// Its port on 127.0.0.1.
    pub(crate) port: u16,
    hits: Arc<Mutex<BTreeMap<Hit, usize>>>,
}

impl Counter {
    /// Starts a counting service.
    pub(crate) fn start() -> Self {
        Self::watched(|_| {})
    }

    /// Starts a counting service that reports each request, by its number from 0, before it
    /// answers.
    pub(crate) fn watched(arrived: impl FnMut(usize) + Send + 'static) -> Self {
        Self::gathering(1, arrived)
    }

    /// Starts a counting service that answers and reports nothing before `together` requests have
    /// arrived.
    pub(crate) fn gathering(
        together: usize,
        mut arrived: impl FnMut(usize) + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let hits = Arc::new(Mutex::new(BTreeMap::new()));
        let counted = Arc::clone(&hits);
        thread::spawn(move || {
            let mut number = 0;
            let mut waiting = Vec::new();
            for mut stream in listener.incoming().flatten() {
                let Some(hit) = read(&mut stream) else {
                    continue;
                };
                if hit.0 != LAST {
                    *counted.lock().unwrap().entry(hit).or_default() += 1;
                    number += 1;
                    if number < together {
                        waiting.push(stream);
                        continue;
                    }
                    arrived(number - 1);
                }
                for mut stream in waiting.drain(..).chain([stream]) {
                    // The client may be dead by now.
                    let _ = stream.write_all(
                        b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
                    );
                }
            }
        });
        Self { port, hits }
    }

    /// Takes the counts since the last call, including requests of processes that have ended:
    /// connections are served in order of arrival, so an answer to one more request implies that
    /// all earlier ones were counted.
    pub(crate) fn take(&self) -> BTreeMap<Hit, usize> {
        let mut last = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        last.write_all(format!("GET {LAST} HTTP/1.1\r\n\r\n").as_bytes())
            .unwrap();
        let mut answer = Vec::new();
        last.read_to_end(&mut answer).unwrap();
        std::mem::take(&mut self.hits.lock().unwrap())
    }
}

/// Reads a complete request; `None` if the client died before it sent one.
fn read(stream: &mut TcpStream) -> Option<Hit> {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let field = |name: &str| {
                let prefix = format!("{name}: ");
                head.lines()
                    .find_map(|line| Some(line.strip_prefix(&prefix)?.to_owned()))
            };
            let length = field("content-length").map_or(0, |length| length.parse().unwrap());
            let chunked = field("transfer-encoding").is_some();
            if body.len() >= length && (!chunked || body.ends_with("0\r\n\r\n")) {
                let path = head.split(' ').nth(1)?.to_owned();
                return Some((path, field("idempotency-key").unwrap_or_default()));
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(count) => request.extend_from_slice(&piece[..count]),
        }
    }
}
