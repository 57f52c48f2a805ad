//! Guesses of a secret's value, put into responses by a server that cooperates with the guest: the
//! guest receives the same bytes at the same time for right and wrong ones.

use super::{
    call::{Call, Running, request},
    server::Server,
};
use crate::secrets::tests::{VALUE, forms, secrets};
use agent_host_engine::policy::SecretGrant;
use http_body_util::BodyExt as _;
use pretty_assertions::assert_eq;
use std::time::Duration;
use wasmtime_wasi_http::RequestOptions;

/// Whether the tool was granted the secret.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Granted {
    Yes,
    No,
}

/// The way in which a server ends a response of which this is the body.
#[derive(Clone, Copy, Debug)]
enum End {
    Whole,
    /// Before the announced length.
    Short,
    /// In the middle of a chunk.
    InChunk,
    /// Without its last chunk.
    BetweenChunks,
    /// Not at all; the guest stops waiting after a while.
    Silent,
}

const ENDS: [End; 5] = [
    End::Whole,
    End::Short,
    End::InChunk,
    End::BetweenChunks,
    End::Silent,
];

impl End {
    async fn server(self, body: &str) -> Server {
        let length = body.len();
        let head = "HTTP/1.1 200 OK\r\n";
        let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n");
        match self {
            Self::Whole => {
                Server::start(&format!("{head}content-length: {length}\r\n\r\n{body}")).await
            }
            Self::Short => {
                let announced = length + 1;
                Server::start(&format!("{head}content-length: {announced}\r\n\r\n{body}")).await
            }
            Self::InChunk => Server::start(&format!("{chunked}{:x}\r\n{body}", length + 1)).await,
            Self::BetweenChunks => {
                Server::start(&format!("{chunked}{length:x}\r\n{body}\r\n")).await
            }
            Self::Silent => Server::silent(&format!("{head}\r\n{body}")).await,
        }
    }
}

/// A call of a tool on a host that has the secret.
fn start(server: &Server, granted: Granted) -> Running {
    let mut call = Call::to(vec![server.grant()]);
    call.secrets = secrets(&[("github", VALUE)]);
    if granted == Granted::Yes {
        call.secret_grants = vec![SecretGrant {
            name: "github".to_owned(),
            scheme: "http".to_owned(),
            host: "127.0.0.1".to_owned(),
            port: server.port,
            in_query: false,
        }];
    }
    call.start()
}

/// Returns the bytes of a response that a guest receives, and how it ended.
async fn seen(body: &str, end: End, granted: Granted) -> (String, Option<String>) {
    let server = end.server(body).await;
    let mut call = start(&server, granted);
    let options = RequestOptions {
        connect_timeout: None,
        first_byte_timeout: None,
        between_bytes_timeout: Some(Duration::from_millis(50)),
    };
    let request = request("GET", &server.url("/"));
    let response = call.answer(request, Some(options)).await.unwrap();
    let mut body = response.into_body();
    let mut bytes = Vec::new();
    let mut error = None;
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => bytes.extend(frame.into_data().unwrap()),
            Err(told) => error = Some(format!("{told:?}")),
        }
    }
    (String::from_utf8(bytes).unwrap(), error)
}

#[tokio::test]
async fn prefix_guess_is_delivered_whole_at_every_end() {
    for granted in [Granted::No, Granted::Yes] {
        for end in ENDS {
            for length in 1..VALUE.len() {
                let right = VALUE.get(..length).unwrap();
                let wrong = "#".repeat(length);
                let (received, error) = seen(right, end, granted).await;
                assert_eq!(received, right, "{granted:?} {end:?}");
                let (received, same_error) = seen(&wrong, end, granted).await;
                assert_eq!(received, wrong, "{granted:?} {end:?}");
                assert_eq!(error, same_error, "{granted:?} {end:?} {right}");
                assert_eq!(error.is_some(), !matches!(end, End::Whole), "{error:?}");
            }
        }
    }
}

#[tokio::test]
async fn whole_guess_is_delivered_to_tool_without_grant() {
    for end in [End::Whole, End::Short, End::BetweenChunks] {
        for form in forms() {
            let body = format!("<{form}>");
            let (received, _) = seen(&body, end, Granted::No).await;
            assert_eq!(received, body, "{end:?}");
            let (received, _) = seen(&body, end, Granted::Yes).await;
            assert_eq!(received, "<[secret:github]>", "{end:?} {form}");
        }
    }
}

/// The tool may use the secret, so its responses are redacted, and their end is held back. The
/// server sends nothing more, and the bytes delivered by then are as many for a right guess as for
/// a wrong one.
#[tokio::test]
async fn prefix_guess_does_not_change_held_back_bytes() {
    let filler = "-".repeat(200);
    for length in 0..VALUE.len() {
        let mut delivered = Vec::new();
        let right = VALUE.get(..length).unwrap();
        for guess in [right, &"#".repeat(length)] {
            let body = format!("{filler}{guess}");
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{body}");
            let server = Server::silent(&head).await;
            let mut call = start(&server, Granted::Yes);
            let response = call.open(request("GET", &server.url("/"))).await.unwrap();
            let mut answer = response.into_body();
            let first = answer.frame().await.unwrap().unwrap().into_data().unwrap();
            delivered.push(first.len());
        }
        // The longest form has three bytes for each byte of the value, and 64 are next.
        assert_eq!(delivered, [200 + length - 64; 2], "{length}");
    }
}
