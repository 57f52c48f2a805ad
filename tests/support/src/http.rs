//! Reads HTTP requests, for the test servers, and serves a page.

use std::{
    io::{BufRead, BufReader, Write as _},
    net::TcpListener,
    thread,
};

/// A request. Its body has a `content-length`, as our client sends it.
#[derive(Clone, Debug)]
pub struct Received {
    /// The request line and the header fields, with the empty line that ends them.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Received {
    /// Reads one request; `None` if the client sends no further one.
    pub fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut head = String::new();
        loop {
            let before = head.len();
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
            if head[before..].trim().is_empty() {
                break;
            }
        }
        let mut received = Self {
            head,
            body: Vec::new(),
        };
        let length = received.field("content-length");
        received.body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut received.body).ok()?;
        Some(received)
    }

    /// The value of a header field, with its name in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(':'));
        let (_, value) = fields.find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        Some(value.trim())
    }

    /// The request target: the second word of the request line.
    pub fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }
}

/// Serves a page at every path on loopback, as long as the process runs, and returns the port.
pub fn page(media_type: &'static str, body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            if Received::read(&mut reader).is_some() {
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\
                     connection: close\r\n\r\n{body}"
                );
            }
        }
    });
    port
}
