//! A malicious HTTP server on loopback. The path of a request selects its behaviour.

use super::harness::SECRET;
use agent_host_test_support::traces;
use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

/// The largest request that is read, in bytes.
const MAX_REQUEST_BYTES: usize = 1024 * 1024;

/// The time between two pieces of a slow answer.
const DRIP: Duration = Duration::from_millis(20);

/// The rest of an answer after its beginning.
enum Then {
    /// The connection ends.
    End,
    /// Nothing, until the client closes the connection.
    Silence,
    /// This, again and again, as fast as the client reads it.
    Again(&'static [u8]),
    /// This, again and again, a piece at a time.
    Drip(&'static [u8]),
}

/// The server. It serves until the tests end.
pub(crate) struct Server {
    port: u16,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Half of the rows test clients that close the connection before the answer.
                thread::spawn(move || drop(serve(stream, port)));
            }
        });
        Self { port }
    }

    /// Its port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }
}

fn serve(mut stream: TcpStream, port: u16) -> std::io::Result<()> {
    let request = read(&mut stream)?;
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (beginning, then) = match path.split(['?', '#']).next() {
        // The request received, for the row to check; the port, which differs between runs, is
        // replaced by a word.
        Some("/seen") => (
            ok(&request.replace(&port.to_string(), "PORT")).into_bytes(),
            Then::End,
        ),
        Some("/echo") => (echo(&request).into_bytes(), Then::End),
        // The first letters of the secret, as if guessed, before the answer breaks off.
        Some(path) if path.starts_with("/guess/") => {
            let letters = path.trim_start_matches("/guess/").parse::<usize>().unwrap();
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n";
            let guess = SECRET.get(..letters).unwrap();
            (format!("{head}{guess}").into_bytes(), Then::End)
        }
        _ => answer(path),
    };
    stream.write_all(&beginning)?;
    let mut rest = [0; 1024];
    match then {
        Then::End => {}
        Then::Silence => while stream.read(&mut rest)? > 0 {},
        Then::Again(piece) => loop {
            stream.write_all(piece)?;
        },
        Then::Drip(piece) => {
            stream.set_read_timeout(Some(DRIP))?;
            // The client sends nothing more: this waits for it to close, and for the time of the
            // next piece.
            while !matches!(stream.read(&mut rest), Ok(0)) {
                stream.write_all(piece)?;
            }
        }
    }
    Ok(())
}

/// A request with its body, as far as it arrived.
fn read(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while request.len() < MAX_REQUEST_BYTES && !is_whole(&request) {
        match stream.read(&mut piece)? {
            0 => break,
            length => request.extend_from_slice(&piece[..length]),
        }
    }
    Ok(String::from_utf8_lossy(&request).into_owned())
}

/// Whether it has a head and as much of a body as the head announces.
fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    let chunked = head.contains("\r\ntransfer-encoding: chunked");
    body.len() >= length && (!chunked || body.ends_with("0\r\n\r\n"))
}

fn ok(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Echoes the authorization of a request in a field and in a body: its length, and its value in
/// every form.
fn echo(request: &str) -> String {
    let said = request
        .lines()
        .find_map(|line| line.strip_prefix("authorization: "))
        .unwrap_or_default();
    let forms = traces::encoded(said).join("\n");
    let body = format!("{} letters\n{said}\n{forms}\n", said.len());
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nx-echo: {said}\r\ncontent-length: {length}\r\n\r\n{body}")
}

fn answer(path: &str) -> (Vec<u8>, Then) {
    let head = |lines: &str| format!("HTTP/1.1 200 OK\r\n{lines}\r\n").into_bytes();
    let redirect = |location: &str| {
        format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
            .into_bytes()
    };
    match path {
        "/hello" => (ok("hello").into_bytes(), Then::End),
        "/nothing" => (Vec::new(), Then::End),
        "/cut" => (
            [head("content-length: 9\r\n"), b"hello".to_vec()].concat(),
            Then::End,
        ),
        "/two-lengths" => (
            [
                head("content-length: 5\r\ncontent-length: 9\r\n"),
                b"hello".to_vec(),
            ]
            .concat(),
            Then::End,
        ),
        "/two-framings" => (
            [
                head("content-length: 5\r\ntransfer-encoding: chunked\r\n"),
                b"1\r\nx\r\n0\r\n\r\n".to_vec(),
            ]
            .concat(),
            Then::End,
        ),
        "/negative-length" => (head("content-length: -1\r\n"), Then::End),
        "/vast-length" => (head("content-length: 18446744073709551615\r\n"), Then::End),
        "/vast-chunk" => (
            [
                head("transfer-encoding: chunked\r\n"),
                b"ffffffffffffffff\r\nhello".to_vec(),
            ]
            .concat(),
            Then::End,
        ),
        "/other-protocol" => (b"SSH-2.0-OpenSSH\r\n\r\n".to_vec(), Then::End),
        "/http-2" => (b"\0\0\0\x04\0\0\0\0\0".repeat(10), Then::End),
        "/control" => (head("x: a\x01b\r\ncontent-length: 0\r\n"), Then::End),
        "/many-fields" => (
            head(&format!(
                "{}content-length: 0\r\n",
                "a: b\r\n".repeat(10_000)
            )),
            Then::End,
        ),
        "/long-field" => (
            head(&format!(
                "a: {}\r\ncontent-length: 0\r\n",
                "b".repeat(100_000)
            )),
            Then::End,
        ),
        "/to-metadata" => (redirect("http://169.254.169.254/latest/"), Then::End),
        "/to-hello" => (redirect("/hello"), Then::End),
        "/packed" => (
            head("content-encoding: gzip\r\ncontent-length: 0\r\n"),
            Then::End,
        ),
        "/silent" => (Vec::new(), Then::Silence),
        "/half" => (
            [head("content-length: 9\r\n"), b"hello".to_vec()].concat(),
            Then::Silence,
        ),
        "/endless" => (head(""), Then::Again(&[b'x'; 65_536])),
        "/endless-interim" => (Vec::new(), Then::Again(b"HTTP/1.1 100 Continue\r\n\r\n")),
        "/endless-fields" => (b"HTTP/1.1 200 OK\r\n".to_vec(), Then::Again(b"a: b\r\n")),
        "/drip" => (head("content-length: 1000000\r\n"), Then::Drip(b"x")),
        "/dripping-fields" => (b"HTTP/1.1 200 OK\r\n".to_vec(), Then::Drip(b"a: b\r\n")),
        _ => (
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_vec(),
            Then::End,
        ),
    }
}
