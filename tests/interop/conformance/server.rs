//! An HTTP server on loopback for the tools of the suite, and the body that it streams.

use std::{
    io::{self, BufRead as _, BufReader, Read, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A byte of a streamed body says in which block of this size it is.
const BLOCK_BYTES: usize = 4096;

/// A server that ends with the process.
pub(super) struct Server {
    pub(super) port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&heads);
        thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let log = Arc::clone(&log);
                // A client that leaves early is no fault of the server's.
                thread::spawn(move || serve(stream, &log));
            }
        });
        Self { port, heads }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Returns the request heads since the last time.
    pub(super) fn heads(&self) -> Vec<String> {
        std::mem::take(&mut self.heads.lock().unwrap())
    }
}

fn serve(mut stream: TcpStream, log: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    log.lock().unwrap().push(head.clone());
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    match path {
        "/text" => {
            let fields = "x-answer: one\r\nx-answer: two\r\n";
            answer(&mut stream, "200 OK", fields, "Grüße ☃")
        }
        "/echo" => {
            let mut body = Vec::new();
            read_body(&head, &mut reader, |piece| body.extend_from_slice(piece))?;
            let (fields, body) = (field(&head, "x-many"), String::from_utf8_lossy(&body));
            let echo = format!("{method} [{fields}] {body}");
            answer(&mut stream, "201 Created", "", &echo)
        }
        "/moved" => answer(&mut stream, "302 Found", "location: /text\r\n", "moved"),
        "/secret" => {
            let echo = format!("you said {}", field(&head, "authorization"));
            answer(&mut stream, "200 OK", "", &echo)
        }
        "/never" => reader.read_line(&mut head).map(drop),
        "/cut" => write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\ncut"),
        "/measure" => {
            let mut measured = Meter::default();
            read_body(&head, &mut reader, |piece| measured.add(piece))?;
            let Meter { bytes, sum } = measured;
            let fields = format!("x-answer: {bytes} {sum}\r\n");
            answer(&mut stream, "200 OK", &fields, "")
        }
        size => {
            let size = size.trim_start_matches('/').parse().unwrap();
            write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n\r\n")?;
            blocks(size).try_for_each(|block| stream.write_all(&block))
        }
    }
}

fn answer(stream: &mut TcpStream, status: &str, fields: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{fields}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Returns the values of the fields of a name, joined.
fn field(head: &str, name: &str) -> String {
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    let values: Vec<&str> = fields
        .filter(|(found, _)| found.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
        .collect();
    values.join(", ")
}

/// Reads a body that is chunked or has a length.
fn read_body(
    head: &str,
    reader: &mut BufReader<TcpStream>,
    mut take: impl FnMut(&[u8]),
) -> io::Result<()> {
    let mut piece = |reader: &mut BufReader<TcpStream>, length: usize| {
        let mut bytes = vec![0; length];
        reader.read_exact(&mut bytes)?;
        take(&bytes);
        Ok(())
    };
    if let Ok(length) = field(head, "content-length").parse() {
        return piece(reader, length);
    }
    assert_eq!(field(head, "transfer-encoding"), "chunked");
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        piece(reader, length)?;
        reader.read_line(&mut line)?;
        if length == 0 {
            return Ok(());
        }
    }
}

/// Returns a body of this size, in blocks.
fn blocks(size: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..size.div_ceil(BLOCK_BYTES)).map(move |index| {
        let length = BLOCK_BYTES.min(size - index * BLOCK_BYTES);
        vec![u8::try_from(index % 251).unwrap(); length]
    })
}

/// The size of a body, and the sum of the first bytes of its blocks, each times its number.
#[derive(Default)]
pub(super) struct Meter {
    pub(super) bytes: usize,
    pub(super) sum: usize,
}

impl Meter {
    /// Measures the body of a size.
    pub(super) fn of(size: usize) -> Self {
        let mut measured = Self::default();
        for block in blocks(size) {
            measured.add(&block);
        }
        measured
    }

    fn add(&mut self, piece: &[u8]) {
        let first = (BLOCK_BYTES - self.bytes % BLOCK_BYTES) % BLOCK_BYTES;
        for (at, byte) in piece.iter().enumerate().skip(first).step_by(BLOCK_BYTES) {
            self.sum += usize::from(*byte) * ((self.bytes + at) / BLOCK_BYTES + 1);
        }
        self.bytes += piece.len();
    }
}
