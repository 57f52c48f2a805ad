//! A registry in memory, on loopback. It answers what it is told to where a test says so, and keeps
//! the requests that it got.

use agent_host_types::id::Digest;
use serde_json::json;
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// A request as the server got it.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) authorization: Option<String>,
    pub(super) body: Vec<u8>,
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
    /// True if the body is sent again until the client has enough.
    pub(super) endless: bool,
}

pub(super) fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Answer {
    let headers = headers.iter();
    Answer {
        status,
        headers: headers
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        body: body.into(),
        endless: false,
    }
}

/// Answers a request instead of the registry.
pub(super) type Override = Box<dyn Fn(&Received) -> Option<Answer> + Send>;

#[derive(Default)]
struct State {
    blobs: BTreeMap<String, Vec<u8>>,
    /// By tag or digest, with their types.
    manifests: BTreeMap<String, (String, Vec<u8>)>,
    overrides: Vec<Override>,
    received: Vec<Received>,
}

/// The registry, with one repository for all names.
#[derive(Clone)]
pub(super) struct Server {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            state: Arc::default(),
        };
        let serving = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                thread::spawn(move || serving.connection(&stream));
            }
        });
        server
    }

    pub(super) fn registry(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Answers as `with` says, before all that was said earlier.
    pub(super) fn answer_with(&self, with: impl Fn(&Received) -> Option<Answer> + Send + 'static) {
        self.state
            .lock()
            .unwrap()
            .overrides
            .insert(0, Box::new(with));
    }

    pub(super) fn put_manifest(&self, name: &str, media_type: &str, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        let mut state = self.state.lock().unwrap();
        for name in [name.to_owned(), digest.to_string()] {
            state
                .manifests
                .insert(name, (media_type.to_owned(), bytes.to_vec()));
        }
        digest
    }

    pub(super) fn put_blob(&self, bytes: &[u8]) -> Digest {
        let digest = Digest::of(bytes);
        let mut state = self.state.lock().unwrap();
        state.blobs.insert(digest.to_string(), bytes.to_vec());
        digest
    }

    pub(super) fn manifest(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state.lock().unwrap();
        state.manifests.get(name).map(|(_, bytes)| bytes.clone())
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap().received.clone()
    }

    fn connection(&self, stream: &TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        loop {
            let received = read(&mut reader)?;
            let answer = self.answer(&received);
            write(stream, &received, &answer)?;
        }
    }

    fn answer(&self, received: &Received) -> Answer {
        let mut state = self.state.lock().unwrap();
        state.received.push(received.clone());
        let said = state.overrides.iter().find_map(|with| with(received));
        said.unwrap_or_else(|| state.registry(received))
    }
}

impl State {
    /// Answers as a registry without the referrers API.
    fn registry(&mut self, received: &Received) -> Answer {
        let (path, query) = received
            .target
            .split_once('?')
            .unwrap_or((&received.target, ""));
        let (_, last) = path.rsplit_once('/').unwrap();
        let missing = || {
            answer(
                404,
                &[],
                json!({ "errors": [{ "code": "UNKNOWN" }] }).to_string(),
            )
        };
        match received.method.as_str() {
            "GET" | "HEAD" if path.contains("/blobs/") => match self.blobs.get(last) {
                Some(blob) => answer(200, &[], blob.clone()),
                None => missing(),
            },
            "GET" if path.contains("/manifests/") => match self.manifests.get(last) {
                Some((media_type, bytes)) => {
                    answer(200, &[("content-type", media_type)], bytes.clone())
                }
                None => missing(),
            },
            "POST" => answer(202, &[("location", "/v2/a/blobs/uploads/1?state=x")], ""),
            "PUT" if path.contains("/blobs/uploads/") => {
                let digest = Digest::of(&received.body).to_string();
                assert!(query.ends_with(&digest.replace(':', "%3A")), "{query}");
                self.blobs.insert(digest, received.body.clone());
                answer(201, &[], "")
            }
            "PUT" => {
                let value: serde_json::Value = serde_json::from_slice(&received.body).unwrap();
                let media_type = value["mediaType"].as_str().unwrap().to_owned();
                let digest = Digest::of(&received.body).to_string();
                for name in [last.to_owned(), digest] {
                    let manifest = (media_type.clone(), received.body.clone());
                    self.manifests.insert(name, manifest);
                }
                answer(201, &[], "")
            }
            _ => missing(),
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Received> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader
            .read_line(&mut line)
            .ok()
            .filter(|&bytes| bytes > 0)?;
        match line.trim() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let field = |name: &str| {
        let mut fields = head.iter().filter_map(|line| line.split_once(": "));
        let found = fields.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    };
    let mut words = head.first()?.split(' ');
    let length = field("content-length").map_or(0, |length| length.parse().unwrap());
    let mut received = Received {
        method: words.next()?.to_owned(),
        target: words.next()?.to_owned(),
        authorization: field("authorization"),
        body: vec![0; length],
    };
    reader.read_exact(&mut received.body).ok()?;
    Some(received)
}

fn write(mut stream: &TcpStream, received: &Received, answer: &Answer) -> Option<()> {
    let mut head = format!("HTTP/1.1 {} X\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if answer.endless {
        head.push_str("connection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        loop {
            // Ends once the client closes the connection.
            stream.write_all(&answer.body).ok()?;
        }
    }
    if answer.status != 204 {
        head.push_str(&format!("content-length: {}\r\n", answer.body.len()));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    match received.method.as_str() {
        "HEAD" => Some(()),
        _ => stream.write_all(&answer.body).ok(),
    }
}
