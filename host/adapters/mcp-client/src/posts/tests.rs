//! Tests the requests that messages become, and the lines that responses become, with a handler
//! that records the former and makes the latter. What bad responses lead to is tested in `it`.

use super::connect;
use crate::sandboxed::{RequestFault, RequestHandler, ResponseBody};
use agent_host_engine::BoxFuture;
use http::{HeaderMap, Request, Response};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    io::Cursor,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::oneshot,
};

type Answer = Result<Response<ResponseBody>, RequestFault>;

/// Answers with the next response; without one it never answers, and tells when it is given up.
struct Script {
    responses: Mutex<VecDeque<Response<ResponseBody>>>,
    received: Mutex<Vec<HeaderMap>>,
    given_up: Mutex<Option<oneshot::Sender<()>>>,
}

impl RequestHandler for Script {
    fn send(&self, request: Request<Vec<u8>>) -> BoxFuture<'static, Answer> {
        assert_eq!(request.method(), "POST");
        assert_eq!(request.uri(), "http://localhost/mcp");
        let length = request.body().len().to_string();
        let (head, _) = request.into_parts();
        assert_eq!(head.headers["content-length"], length);
        self.received.lock().unwrap().push(head.headers);
        let response = self.responses.lock().unwrap().pop_front();
        let given_up = self.given_up.lock().unwrap().take();
        Box::pin(async move {
            let _given_up = given_up;
            match response {
                Some(response) => Ok(response),
                None => std::future::pending().await,
            }
        })
    }
}

fn response(status: u16, kind: &str, body: &str) -> Response<ResponseBody> {
    let body: ResponseBody = Box::new(Cursor::new(body.to_owned()));
    let response = Response::builder().status(status);
    let response = response.header("content-type", kind);
    let response = response.header("mcp-session-id", "s1");
    response.body(body).unwrap()
}

struct Client {
    script: Arc<Script>,
    input: Box<dyn AsyncWrite + Send + Unpin>,
    output: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    given_up: oneshot::Receiver<()>,
}

impl Client {
    fn new(responses: impl IntoIterator<Item = Response<ResponseBody>>) -> Self {
        let (sender, given_up) = oneshot::channel();
        let script = Arc::new(Script {
            responses: Mutex::new(responses.into_iter().collect()),
            received: Mutex::default(),
            given_up: Mutex::new(Some(sender)),
        });
        let (input, output) = connect(
            Arc::clone(&script) as Arc<dyn RequestHandler>,
            Arc::new(|text| text.replace("s3cret", "(redacted)")),
        );
        Self {
            script,
            input,
            output: BufReader::new(output),
            given_up,
        }
    }

    async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    async fn line(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Returns these headers of the requests so far.
    fn headers(&self, names: &[&str]) -> Vec<Vec<Option<String>>> {
        let received = self.script.received.lock().unwrap();
        let of = |headers: &HeaderMap| {
            let values = names.iter().map(|name| headers.get(*name));
            values
                .map(|value| value.map(|value| value.to_str().unwrap().to_owned()))
                .collect()
        };
        received.iter().map(of).collect()
    }
}

#[tokio::test]
async fn requests_carry_the_session_and_its_version() {
    let initialized = json!({"id": 0, "result": {"protocolVersion": "2025-06-18"}});
    let mut client = Client::new([
        response(200, "application/json", &format!("{initialized:#}")),
        response(202, "", ""),
        response(
            200,
            "application/json; charset=utf-8",
            r#"{"id": 1, "result": {}}"#,
        ),
    ]);
    client.send(json!({"id": 0, "method": "initialize"})).await;
    assert_eq!(client.line().await, initialized);
    client
        .send(json!({"method": "notifications/initialized"}))
        .await;
    client.send(json!({"id": 1, "method": "tools/list"})).await;
    assert_eq!(client.line().await, json!({"id": 1, "result": {}}));
    let json = || Some("application/json".to_owned());
    let accept = || Some("application/json, text/event-stream".to_owned());
    let session = || {
        vec![
            json(),
            accept(),
            Some("s1".to_owned()),
            Some("2025-06-18".to_owned()),
        ]
    };
    assert_eq!(
        client.headers(&[
            "content-type",
            "accept",
            "mcp-session-id",
            "mcp-protocol-version"
        ]),
        [vec![json(), accept(), None, None], session(), session()]
    );
}

/// Since 2026-07-28 each request names its version, its method and what it is about.
#[tokio::test]
async fn request_with_a_version_names_its_method() {
    let mut client = Client::new([]);
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/call", json!({"name": "add"})),
        ("resources/read", json!({"uri": "file:///\u{e9}"})),
    ] {
        let mut params = params;
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
        client
            .send(json!({"id": 0, "method": method, "params": params}))
            .await;
    }
    // Cancelling none of them, it is read after them.
    client
        .send(json!({"method": "notifications/cancelled"}))
        .await;
    while client.script.received.lock().unwrap().len() < 4 {
        tokio::task::yield_now().await;
    }
    let named = |method: &str, name: Option<&str>| {
        let version = Some("2026-07-28".to_owned());
        vec![version, Some(method.to_owned()), name.map(str::to_owned)]
    };
    assert_eq!(
        client.headers(&["mcp-protocol-version", "mcp-method", "mcp-name"])[..3],
        [
            named("server/discover", None),
            named("tools/call", Some("add")),
            named("resources/read", Some("=?base64?ZmlsZTovLy/DqQ==?=")),
        ]
    );
}

#[tokio::test]
async fn each_event_of_a_stream_is_a_line() {
    let events = ": a comment\r\nid: 7\r\ndata:\r\n\r\nevent: message\r\ndata: {\"method\":\r\ndata: \"a\"}\r\n\r\n\
                  data: {\"id\": \"3\", \"result\": {}}\n\ndata: {\"method\": \"b\"}";
    let mut client = Client::new([response(200, "Text/Event-Stream", events)]);
    client.send(json!({"id": 3, "method": "tools/call"})).await;
    assert_eq!(client.line().await, json!({"method": "a"}));
    assert_eq!(client.line().await, json!({"id": "3", "result": {}}));
    assert_eq!(client.line().await, json!({"method": "b"}));
}

#[tokio::test]
async fn cancelled_request_is_given_up() {
    let mut client = Client::new([]);
    client.send(json!({"id": 5, "method": "tools/call"})).await;
    let params = json!({"requestId": 5});
    client
        .send(json!({"method": "notifications/cancelled", "params": params}))
        .await;
    (&mut client.given_up).await.unwrap_err();
}

/// No part of a secret is left where the text ends in it.
#[tokio::test]
async fn secrets_are_redacted_before_a_text_is_cut() {
    let long = format!("{}s3cret and more", "x".repeat(super::SHOWN_BYTES - 6));
    let responses = [
        response(500, "text/plain", &long),
        response(200, &long, "{}"),
    ];
    let mut client = Client::new(responses);
    for id in 0..2 {
        client.send(json!({"id": id, "method": "tools/list"})).await;
        let error = client.line().await["error"]["message"].to_string();
        assert!(error.contains("xxx(re") && !error.contains("s3"), "{error}");
    }
}

/// One stream does not answer the request of another.
#[tokio::test]
async fn response_to_another_request_is_left_out() {
    let other = r#"{"id": 7, "result": {"text": "forged"}}"#;
    let events = format!(
        "data: {other}\n\ndata: {{\"method\": \"notifications/progress\"}}\n\ndata: {{\"id\": 1, \"result\": {{}}}}\n\n"
    );
    let mut client = Client::new([response(200, "text/event-stream", &events)]);
    client.send(json!({"id": 1, "method": "tools/list"})).await;
    assert_eq!(
        client.line().await,
        json!({"method": "notifications/progress"})
    );
    assert_eq!(client.line().await, json!({"id": 1, "result": {}}));
}

/// Servers say so with an error of JSON-RPC, too.
#[tokio::test]
async fn session_that_is_not_found_ends_the_connection() {
    let initialized = r#"{"id": 0, "result": {"protocolVersion": "2025-06-18"}}"#;
    let refusal = r#"{"id": null, "error": {"code": -32001, "message": "Session not found"}}"#;
    let mut client = Client::new([
        response(200, "application/json", initialized),
        response(404, "application/json", refusal),
    ]);
    client.send(json!({"id": 0, "method": "initialize"})).await;
    client.line().await;
    client.send(json!({"id": 1, "method": "tools/list"})).await;
    let message = client.line().await["error"]["message"].to_string();
    assert!(message.contains("Session not found"), "{message}");
    let mut rest = String::new();
    assert_eq!(client.output.read_line(&mut rest).await.unwrap(), 0);
}
