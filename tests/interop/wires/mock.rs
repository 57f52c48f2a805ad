//! aimock as a child process that imitates all providers from a list of replies.

use agent_host_test_support::installed::aimock;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    process::{Child, ChildStdout, Command, Stdio},
};

/// The server. It ends with the test.
pub(super) struct Mock {
    process: Child,
    /// Its URL.
    pub(super) address: SocketAddr,
    /// Keeps the pipe for its further output open.
    _stdout: BufReader<ChildStdout>,
}

/// The outcome of a request, as the server reports it.
#[derive(Debug, PartialEq)]
pub(super) struct Answered {
    /// The status of the answer.
    pub(super) status: u64,
    /// Whether the server hung up before the end of the stream.
    pub(super) cut: bool,
}

impl Mock {
    /// Serves these replies in order to any request; each further request is an error. `None` if
    /// aimock cannot be installed. A reply is aimock's fixture without `match`.
    pub(super) fn start(replies: &[Value]) -> Option<Self> {
        let program = aimock()?;
        let fixtures: Vec<Value> = replies
            .iter()
            .enumerate()
            .map(|(number, reply)| {
                let mut fixture = reply.clone();
                fixture["match"] = json!({ "sequenceIndex": number });
                fixture
            })
            .collect();
        let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
        serde_json::to_writer(&file, &json!({ "fixtures": fixtures })).unwrap();
        let mut process = Command::new(program)
            .args(["--strict", "--validate-on-load", "-p", "0", "-f"])
            .arg(file.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "aimock ended");
            if let Some((_, address)) = line.trim().split_once("listening on http://") {
                break address.parse().unwrap();
            }
        };
        Some(Self {
            process,
            address,
            _stdout: stdout,
        })
    }

    /// The outcome of each request so far.
    pub(super) fn journal(&self) -> Vec<Answered> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .write_all(b"GET /__aimock/journal HTTP/1.0\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let entries: Vec<Value> = serde_json::from_str(body).unwrap();
        entries.iter().map(Answered::of).collect()
    }
}

impl Answered {
    fn of(entry: &Value) -> Self {
        Self {
            status: entry["response"]["status"].as_u64().unwrap(),
            cut: entry["response"]["interrupted"] == true,
        }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // It may have died already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
