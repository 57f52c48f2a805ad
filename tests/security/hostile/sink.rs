//! A listener on loopback that counts connections: without a grant there must be none.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// The listener. It serves until the tests end.
pub(crate) struct Sink {
    port: u16,
    contacts: Arc<AtomicUsize>,
}

impl Sink {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let contacts = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&contacts);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counter.fetch_add(1, Ordering::SeqCst);
                // Answers at once; a client that is gone by now is no fault.
                thread::spawn(move || answer(&stream));
            }
        });
        Self { port, contacts }
    }

    /// Its port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The number of connections, including those of processes that have ended: the system accepts
    /// connections in order of arrival, so one more that returns implies that all earlier ones were
    /// counted.
    pub(crate) fn contacts(&self) -> usize {
        let mut last = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        last.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        last.read_to_end(&mut answer).unwrap();
        self.contacts.fetch_sub(1, Ordering::SeqCst) - 1
    }
}

/// Answers a request, after reading it: a client that has not sent it yet would take the answer for
/// another's.
fn answer(mut stream: &TcpStream) -> io::Result<()> {
    let head = BufReader::new(stream).lines();
    for line in head {
        if line?.is_empty() {
            break;
        }
    }
    stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
}
