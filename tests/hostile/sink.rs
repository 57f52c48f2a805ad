//! A listener on loopback that counts who connects: where nothing is granted, nobody may.

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
                // Whoever does connect is not kept waiting; a caller that is gone by now is no fault.
                thread::spawn(move || answer(&stream));
            }
        });
        Self { port, contacts }
    }

    /// Where it listens on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// How many have connected. A connection of a process that has ended is counted: it was accepted by the system in the
    /// order in which it came, so one more connection that comes back tells that all before it were seen.
    pub(crate) fn contacts(&self) -> usize {
        let mut last = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        last.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        last.read_to_end(&mut answer).unwrap();
        self.contacts.fetch_sub(1, Ordering::SeqCst) - 1
    }
}

/// Answers a request. A client that has not sent it yet would take the answer for somebody else's.
fn answer(mut stream: &TcpStream) -> io::Result<()> {
    let head = BufReader::new(stream).lines();
    for line in head {
        if line?.is_empty() {
            break;
        }
    }
    stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
}
