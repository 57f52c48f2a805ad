//! A client that writes the bytes of a request and reads those of the response.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a value that is written where it is used reads better without an `&` before it"
)]

use super::double::TOKEN;
use serde_json::{Value, json};
use std::{collections::BTreeMap, io, net::SocketAddr};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufStream},
    net::TcpStream,
};

/// A request. Tests change a valid one.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    pub(super) method: &'static str,
    pub(super) target: &'static str,
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) body: String,
}

impl Ask {
    /// A valid POST of `body`.
    pub(super) fn post(body: impl ToString) -> Self {
        let fields = [
            ("Host", "localhost:PORT"),
            ("Authorization", &format!("Bearer {TOKEN}")),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Type", "application/json"),
        ];
        Self {
            method: "POST",
            target: "/mcp",
            fields: fields.map(|(name, value)| (name, value.to_owned())).into(),
            body: body.to_string(),
        }
    }

    /// A valid request without a body.
    pub(super) fn bare(method: &'static str) -> Self {
        Self {
            method,
            ..Self::post("")
        }
    }

    /// Replaces or adds a field.
    pub(super) fn with(self, name: &'static str, value: &str) -> Self {
        self.without(name).and(name, value)
    }

    /// Removes a field.
    pub(super) fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(field, _)| *field != name);
        self
    }

    /// Adds a field, even if it is present.
    pub(super) fn and(mut self, name: &'static str, value: &str) -> Self {
        self.fields.push((name, value.to_owned()));
        self
    }

    /// Replaces the request target.
    pub(super) fn at(mut self, target: &'static str) -> Self {
        self.target = target;
        self
    }

    /// Returns the bytes for a server at `port`, which replaces `PORT`.
    pub(super) fn bytes(&self, port: u16) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.fields {
            head += &format!("{name}: {value}\r\n");
        }
        if self.method == "POST"
            && !self
                .fields
                .iter()
                .any(|(name, _)| *name == "Content-Length")
        {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        format!("{head}\r\n").replace("PORT", &port.to_string()) + &self.body
    }
}

/// A request of the protocol.
pub(super) fn request(id: u32, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A call of a tool, with a token for progress.
pub(super) fn call(id: u32, tool: &str) -> Value {
    request(
        id,
        "tools/call",
        &json!({"name": tool, "arguments": {}, "_meta": {"progressToken": id}}),
    )
}

/// The response with the text of a call.
pub(super) fn said(id: u32, text: &str) -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "result": {"content": [{"type": "text", "text": text}], "isError": false},
    })
}

/// The request that starts a session, of a client with elicitation.
pub(super) fn initialize() -> Value {
    request(
        0,
        "initialize",
        &json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "raw", "version": "1"},
        }),
    )
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// The fields, with lower-case names.
    pub(super) fields: BTreeMap<String, String>,
    /// The body if its length is in the head.
    pub(super) body: String,
}

impl Answer {
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The status and the body.
    pub(super) fn brief(&self) -> (u16, &str) {
        (self.status, &self.body)
    }
}

/// A connection.
pub(super) struct Raw {
    stream: BufStream<TcpStream>,
    pub(super) address: SocketAddr,
}

impl Raw {
    pub(super) async fn connect(address: SocketAddr) -> Self {
        Self {
            stream: BufStream::new(TcpStream::connect(address).await.unwrap()),
            address,
        }
    }

    /// Sends a request and reads the response, with its body if that has a length.
    pub(super) async fn ask(&mut self, ask: &Ask) -> Answer {
        self.try_ask(ask).await.unwrap()
    }

    /// [`Self::ask`] on a connection that the server may close for another one.
    pub(super) async fn try_ask(&mut self, ask: &Ask) -> io::Result<Answer> {
        self.try_send(&ask.bytes(self.address.port())).await?;
        self.answer().await
    }

    /// Sends bytes.
    pub(super) async fn send(&mut self, bytes: &str) {
        self.try_send(bytes).await.unwrap();
    }

    async fn try_send(&mut self, bytes: &str) -> io::Result<()> {
        self.stream.write_all(bytes.as_bytes()).await?;
        self.stream.flush().await
    }

    /// Reads a response.
    pub(super) async fn answer(&mut self) -> io::Result<Answer> {
        let line = self.line().await?;
        let status = line.split(' ').nth(1).ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut answer = Answer {
            status: status.parse().unwrap(),
            fields: BTreeMap::new(),
            body: String::new(),
        };
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            answer
                .fields
                .insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        if let Some(length) = answer.field("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            self.stream.read_exact(&mut body).await?;
            answer.body = String::from_utf8(body).unwrap();
        }
        Ok(answer)
    }

    /// Reads the next message of a stream of events; none at its end. Skips keep-alive events.
    pub(super) async fn event(&mut self) -> Option<Value> {
        loop {
            let size = self.line().await.unwrap();
            let size = usize::from_str_radix(&size, 16).unwrap();
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).await.unwrap();
            if size == 0 {
                return None;
            }
            let chunk = String::from_utf8(chunk).unwrap();
            let mut data = chunk.lines().filter_map(|line| line.strip_prefix("data:"));
            if let Some(data) = data.next().filter(|data| !data.trim().is_empty()) {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }

    /// Sends a request and reads all messages of the stream of events in its response.
    pub(super) async fn events(&mut self, ask: &Ask) -> Vec<Value> {
        let answer = self.ask(ask).await;
        assert_eq!(
            (answer.status, answer.field("content-type")),
            (200, Some("text/event-stream")),
            "{answer:?}"
        );
        let mut events = Vec::new();
        while let Some(event) = self.event().await {
            events.push(event);
        }
        events
    }

    /// Starts a session and returns its id.
    pub(super) async fn begin(&mut self) -> String {
        let answer = self.ask(&Ask::post(initialize())).await;
        let id = answer.field("mcp-session-id");
        let id = id.unwrap_or_else(|| panic!("{answer:?}")).to_owned();
        while self.event().await.is_some() {}
        id
    }

    /// Reads until the server closes the connection; returns the number of bytes.
    pub(super) async fn drain(&mut self) -> usize {
        let mut bytes = 0;
        loop {
            match self.stream.fill_buf().await {
                // A connection that is closed with bytes unsent ends with an error.
                Ok([]) | Err(_) => return bytes,
                Ok(read) => {
                    let length = read.len();
                    bytes += length;
                    self.stream.consume(length);
                }
            }
        }
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
