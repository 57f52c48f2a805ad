//! A server of a model service on loopback. It keeps the rules of the service, and refuses what the
//! service refuses.

mod stream;

use super::{http::Received, strict};
use serde_json::{Value, json};
use std::{
    io::{BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

pub use stream::{Said, SaidCall, frames};

/// The path of a request that is held until the client goes, for a call that is late.
pub const LATE: &str = "/late";

/// The server. It ends with the test's process.
pub struct Vendor {
    /// The base URL of its API.
    pub base_url: String,
    seen: Arc<Mutex<Vec<Asked>>>,
}

/// A request for a reply.
#[derive(Clone, Debug)]
pub struct Asked {
    pub body: Value,
    /// The rule that the body breaks. The server has answered with status 400.
    pub refusal: Option<String>,
}

/// The answer to a request that breaks no rule.
pub struct VendorReply {
    pub status: u16,
    pub media_type: &'static str,
    /// The body, by the pieces in which it is sent.
    pub pieces: Vec<Vec<u8>>,
    pub ending: Ending,
}

/// The end of an answer, after its pieces.
pub enum Ending {
    Whole,
    /// The connection is closed in the middle of the body.
    Cut,
    /// Nothing more, until the client goes.
    Held,
}

/// Gives the answer to each request.
type Answer = Box<dyn FnMut(&Value) -> VendorReply + Send>;
/// Is called when a request is held.
type OnHeld = Box<dyn FnMut() + Send>;

/// The state that the threads of the connections share.
struct Shared {
    service: String,
    wire: String,
    seen: Arc<Mutex<Vec<Asked>>>,
    answer: Mutex<Answer>,
    on_held: Mutex<OnHeld>,
}

/// The media type of a stream of this wire format.
pub fn media_type(wire: &str) -> &'static str {
    match wire {
        "ollama" => "application/x-ndjson",
        _ => "text/event-stream",
    }
}

impl VendorReply {
    /// A stream of this wire format in one piece.
    pub fn stream(wire: &str, said: &Said) -> Self {
        Self {
            status: 200,
            media_type: media_type(wire),
            pieces: vec![frames(wire, said).concat().into_bytes()],
            ending: Ending::Whole,
        }
    }

    /// The first half of this answer, with another ending.
    #[must_use]
    pub fn half(mut self, ending: Ending) -> Self {
        let whole = self.pieces.concat();
        self.pieces = vec![whole[..whole.len() / 2].to_vec()];
        Self { ending, ..self }
    }

    /// An error with this message.
    pub fn error(status: u16, message: &str) -> Self {
        let body = json!({ "error": { "type": "error", "message": message } });
        Self {
            status,
            media_type: "application/json",
            pieces: vec![body.to_string().into_bytes()],
            ending: Ending::Whole,
        }
    }
}

impl Vendor {
    /// Starts the server of a service, by its name and that of its wire format.
    pub fn start(
        service: &str,
        wire: &str,
        answer: impl FnMut(&Value) -> VendorReply + Send + 'static,
        on_held: impl FnMut() + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::<Mutex<Vec<Asked>>>::default();
        let shared = Arc::new(Shared {
            service: service.to_owned(),
            wire: wire.to_owned(),
            seen: Arc::clone(&seen),
            answer: Mutex::new(Box::new(answer)),
            on_held: Mutex::new(Box::new(on_held)),
        });
        thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.serve(&stream.unwrap()));
            }
        });
        Self { base_url, seen }
    }

    /// Returns the requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns the requests so far, and forgets them.
    pub fn take_asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

impl Shared {
    /// Answers the requests of one connection.
    fn serve(&self, stream: &TcpStream) {
        stream.set_nodelay(true).unwrap();
        let mut reader = BufReader::new(stream);
        while let Some(received) = Received::read(&mut reader) {
            let reply = self.reply(&received);
            // The client may have gone, as one that is interrupted.
            let sent = reply.send(stream).is_ok();
            match reply.ending {
                Ending::Whole if sent => {}
                Ending::Held => {
                    (self.on_held.lock().unwrap())();
                    let _ = reader.read(&mut [0]);
                    return;
                }
                Ending::Whole | Ending::Cut => return,
            }
        }
    }

    fn reply(&self, received: &Received) -> VendorReply {
        let target = received.target();
        let is_for_a_reply = received.head.starts_with("POST")
            && ["messages", "chat", "responses", "GenerateContent"]
                .iter()
                .any(|part| target.contains(part));
        if target == LATE {
            return VendorReply {
                status: 200,
                media_type: "text/plain",
                pieces: Vec::new(),
                ending: Ending::Held,
            };
        }
        if !is_for_a_reply {
            return VendorReply::error(404, "there is nothing here");
        }
        let body: Value = serde_json::from_slice(&received.body).unwrap();
        let refusal = strict::check(&self.service, &self.wire, &body).err();
        self.seen.lock().unwrap().push(Asked {
            body: body.clone(),
            refusal: refusal.clone(),
        });
        match refusal {
            Some(rule) => VendorReply::error(400, &rule),
            None => (self.answer.lock().unwrap())(&body),
        }
    }
}

impl VendorReply {
    fn send(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        let head = format!(
            "HTTP/1.1 {} Status\r\ncontent-type: {}\r\ntransfer-encoding: chunked\r\n\r\n",
            self.status, self.media_type
        );
        stream.write_all(head.as_bytes())?;
        for piece in self.pieces.iter().filter(|piece| !piece.is_empty()) {
            let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
            chunk.extend_from_slice(piece);
            chunk.extend_from_slice(b"\r\n");
            stream.write_all(&chunk)?;
        }
        match self.ending {
            Ending::Whole => stream.write_all(b"0\r\n\r\n"),
            Ending::Cut | Ending::Held => Ok(()),
        }
    }
}
