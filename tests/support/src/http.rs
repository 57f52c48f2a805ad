//! Reads HTTP requests, for the test servers.

use std::io::BufRead;

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
