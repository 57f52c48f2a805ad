//! A chat server on loopback that answers from a list and records its requests. It speaks the HTTP
//! that OpenAI-compatible servers need: one streamed answer for each POST.

use super::{Ran, TestEnv, http::Received};
use agent_host_test_guests::{ASK, ASKS, Guest};
use serde_json::{Value, json};
use std::{
    io::{BufReader, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// The server. It ends with the test's process.
pub struct ChatServer {
    /// For `OPENAI_COMPAT_BASE_URL`.
    pub base_url: String,
    seen: Arc<Mutex<Vec<Received>>>,
}

/// The answer to one request.
pub struct Answer {
    status: &'static str,
    content_type: &'static str,
    body: String,
    /// The bytes that are announced and never sent.
    missing: usize,
}

/// Runs the agent with this server's model.
pub fn ask(env: &TestEnv, server: &ChatServer, args: &[&str]) -> Ran {
    env.command(&[&["run", "--model", "openai-compat:m"], args].concat())
        .env("OPENAI_COMPAT_BASE_URL", &server.base_url)
        .output()
        .unwrap()
        .into()
}

/// Runs a session that makes calls, one in each reply, and succeeds; returns the results that its
/// model got.
pub fn results_of(env: &TestEnv, calls: &[(&str, Value)]) -> Vec<String> {
    let mut answers: Vec<Answer> = calls
        .iter()
        .map(|call| Answer::calls(std::slice::from_ref(call)))
        .collect();
    answers.push(Answer::text("Done."));
    let server = ChatServer::start(answers);
    let ran = ask(env, &server, &["go"]);
    let ended = (ran.code, ran.stdout.as_str());
    assert_eq!(ended, (Some(0), "Done.\n"), "{ran:?}");
    let sent = server.requests().pop().unwrap();
    let sent = sent["messages"].as_array().unwrap().iter();
    let results = sent.filter(|message| message["role"] == "tool");
    let text = |message: &Value| message["content"].as_str().unwrap().to_owned();
    results.map(text).collect()
}

impl ChatServer {
    /// Serves these answers in order, one for each request.
    pub fn start(answers: Vec<Answer>) -> Self {
        Self::watched(answers, |_| {})
    }

    /// Serves these answers, and calls `reached` with its points while the client waits: `2 * n`
    /// when request `n` (from 0) has arrived, and `2 * n + 1` when half of its answer was sent.
    pub fn watched(answers: Vec<Answer>, mut reached: impl FnMut(usize) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = seen.clone();
        thread::spawn(move || {
            for (number, answer) in answers.into_iter().enumerate() {
                let (stream, _) = listener.accept().unwrap();
                let received = Received::read(&mut BufReader::new(&stream)).unwrap();
                log.lock().unwrap().push(received);
                reached(2 * number);
                // The client may be dead by now, or have hung up.
                let _ = send(stream, &answer, || reached(2 * number + 1));
            }
        });
        Self { base_url, seen }
    }

    /// The bodies of the requests so far.
    pub fn requests(&self) -> Vec<Value> {
        self.seen.lock().unwrap().iter().map(body).collect()
    }

    /// The requests so far, with their header fields.
    pub fn received(&self) -> Vec<Received> {
        self.seen.lock().unwrap().clone()
    }

    /// The tool results in the last request, in order.
    pub fn tool_results(&self) -> Vec<String> {
        let requests = self.requests();
        let messages = requests.last().unwrap()["messages"].as_array().unwrap();
        let results = messages
            .iter()
            .rev()
            .take_while(|message| message["role"] == "tool");
        let mut told: Vec<String> = results
            .map(|message| message["content"].as_str().unwrap().to_owned())
            .collect();
        told.reverse();
        told
    }
}

impl Answer {
    /// A reply with this text that ends the conversation.
    pub fn text(text: &str) -> Self {
        let (head, tail) = text.split_at(text.floor_char_boundary(text.len() / 2));
        Self::stream(&[
            json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "content": head } }] }),
            json!({ "choices": [{ "index": 0, "delta": { "content": tail } }] }),
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }),
        ])
    }

    /// A text reply after reasoning, in the field that most servers of open models send.
    pub fn reasoned(reasoning: &str, text: &str) -> Self {
        Self::stream(&[
            json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "reasoning_content": reasoning } }] }),
            json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }),
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] }),
        ])
    }

    /// A reply that calls tools: name and arguments.
    pub fn calls(calls: &[(&str, Value)]) -> Self {
        let calls: Vec<Value> = calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| {
                json!({
                    "index": index,
                    "id": format!("call_{index}"),
                    "type": "function",
                    "function": { "name": name, "arguments": arguments.to_string() },
                })
            })
            .collect();
        Self::stream(&[
            json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "tool_calls": calls } }] }),
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
        ])
    }

    /// A reply that calls tools: the id of each call, its name and its arguments.
    pub fn calls_with_ids(calls: &[(&str, (&str, Value))]) -> Self {
        let (ids, named): (Vec<&str>, Vec<(&str, Value)>) = calls.iter().cloned().unzip();
        let mut answer = Self::calls(&named);
        for (index, id) in ids.iter().enumerate() {
            let (from, to) = (json!(format!("call_{index}")), json!(id));
            answer.body = answer.body.replace(&from.to_string(), &to.to_string());
        }
        answer
    }

    /// This answer, with a text before its calls: its `content` or `reasoning_content`.
    pub fn with(mut self, field: &str, text: &str) -> Self {
        let role = "\"role\":\"assistant\"";
        let said = format!("{role},\"{field}\":{}", json!(text));
        self.body = self.body.replacen(role, &said, 1);
        self
    }

    /// This answer, with another reason for its end than `stop`.
    pub fn ending(mut self, reason: &str) -> Self {
        let ends = format!("\"finish_reason\":{}", json!(reason));
        self.body = self.body.replace("\"finish_reason\":\"stop\"", &ends);
        self
    }

    /// This answer, with a server that counts this many input tokens.
    pub fn counting(mut self, tokens: u64) -> Self {
        let counted = format!("\"prompt_tokens\":{tokens}");
        self.body = self.body.replace("\"prompt_tokens\":11", &counted);
        self
    }

    /// This answer, with a server that closes the connection in the middle of it.
    pub fn cut(mut self) -> Self {
        let events: Vec<&str> = self.body.split_inclusive("\n\n").collect();
        let sent = events[..events.len() / 2].concat();
        self.missing = self.body.len() - sent.len();
        self.body = sent;
        self
    }

    /// The server answers with a document, mostly a refusal.
    pub fn status(status: &'static str, body: &Value) -> Self {
        Self {
            status,
            content_type: "application/json",
            body: body.to_string(),
            missing: 0,
        }
    }

    fn stream(chunks: &[Value]) -> Self {
        let usage =
            json!({ "choices": [], "usage": { "prompt_tokens": 11, "completion_tokens": 7 } });
        let mut body: String = chunks
            .iter()
            .chain([&usage])
            .map(|chunk| format!("data: {chunk}\n\n"))
            .collect();
        body.push_str("data: [DONE]\n\n");
        Self {
            status: "200 OK",
            content_type: "text/event-stream",
            body,
            missing: 0,
        }
    }
}

/// The body of a request; null for one without, such as a GET.
fn body(received: &Received) -> Value {
    if received.body.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(&received.body).unwrap()
}

/// Sends an answer in two halves.
fn send(mut stream: TcpStream, answer: &Answer, halfway: impl FnOnce()) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {}\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        answer.status,
        answer.content_type,
        answer.body.len() + answer.missing
    );
    let half = answer.body.floor_char_boundary(answer.body.len() / 2);
    let (first, second) = answer.body.split_at(half);
    stream.write_all(head.as_bytes())?;
    stream.write_all(first.as_bytes())?;
    halfway();
    stream.write_all(second.as_bytes())
}

/// A test directory with a guest that asks `Which?`, and a model that calls it once.
pub fn asking() -> (TestEnv, ChatServer) {
    let env = TestEnv::new();
    let guest = Guest {
        imports: &[ASK],
        ..Guest::running(ASKS)
    };
    env.write("asks.wasm", guest.bytes());
    env.configure("[[tool]]\nname = \"asks\"\ncomponent = \"asks.wasm\"\n");
    let server = ChatServer::start(vec![
        Answer::calls(&[("echo", json!({}))]),
        Answer::text("That is all."),
    ]);
    (env, server)
}
