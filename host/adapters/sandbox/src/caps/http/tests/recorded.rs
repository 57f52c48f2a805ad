//! Exchanges that are recorded, and replayed without a server.

use super::{
    super::{HttpClient, Recording},
    call::{Call, HELLO, Names, Running, grant, request, with_body},
    server::Server,
};
use crate::secrets::tests::{VALUE, secrets};
use agent_host_engine::policy::SecretGrant;
use agent_host_types::limits::Limits;
use bytes::Bytes;
use pretty_assertions::assert_eq;
use std::sync::{Arc, atomic::Ordering};

/// A call whose exchanges are recorded or replayed.
fn with(recording: &Arc<Recording>, call: Call) -> Running {
    let names = Arc::<Names>::default();
    let client = HttpClient::with_names(names).unwrap();
    call.start_with(client.for_tool(Some(Arc::clone(recording))))
}

/// The recording as another process reads it.
fn reread(recording: &Recording) -> Arc<Recording> {
    Arc::new(Recording::replay(&recording.text()).unwrap())
}

#[tokio::test]
async fn recording_is_replayed_without_a_server() {
    let server = Server::start(HELLO).await;
    let (url, grants) = (server.url("/p?q=1"), vec![server.grant()]);
    let requests = || {
        [
            request("GET", &url),
            with_body("POST", &url, Bytes::from_static(b"one")),
            with_body("POST", &url, Bytes::from_static(b"two")),
        ]
    };
    let recording = Arc::new(Recording::record());
    let mut recorded = with(&recording, Call::to(grants.clone()));
    for request in requests() {
        assert_eq!(recorded.send(request).await, "200 hello");
    }
    assert_eq!(server.seen().len(), 3);
    let stats = recorded.stats();
    drop(server);

    let playing = reread(&recording);
    let mut played = with(&playing, Call::to(grants));
    // In another order: concurrent calls have none.
    for request in requests().into_iter().rev() {
        assert_eq!(played.send(request).await, "200 hello");
    }
    assert_eq!((stats.bytes_in, stats.bytes_out), (15, 6));
    let again = played.stats();
    assert_eq!((again.bytes_in, again.bytes_out), (15, 6));
    assert_eq!(playing.unmatched(), Vec::<String>::new());
    // Each is replayed once.
    assert_eq!(played.get(&url).await, "ConnectionRefused");
    assert_eq!(playing.unmatched(), [format!("GET {url}")]);
}

#[tokio::test]
async fn network_error_is_replayed_and_refusal_rechecked() {
    let server = Server::start("this is no HTTP\r\n\r\n").await;
    let (url, grants) = (server.url("/"), vec![server.grant()]);
    let denied = "http://127.0.0.1:1/";
    let recording = Arc::new(Recording::record());
    let mut recorded = with(&recording, Call::to(grants.clone()));
    assert_eq!(recorded.get(&url).await, "HttpProtocolError");
    assert_eq!(recorded.get(denied).await, "HttpRequestDenied");

    let playing = reread(&recording);
    let mut played = with(&playing, Call::to(grants));
    assert_eq!(played.get(&url).await, "HttpProtocolError");
    assert_eq!(played.get(denied).await, "HttpRequestDenied");
    assert_eq!(server.seen().len(), 1);
    assert_eq!(playing.unmatched(), Vec::<String>::new());
    assert_eq!(played.stats().audit, recorded.stats().audit);
}

/// A recording has no addresses: no name is looked up, and a grant by name is enough.
#[tokio::test]
async fn replay_looks_up_no_names() {
    let names = Arc::<Names>::default();
    let client = HttpClient::with_names(Arc::clone(&names) as _).unwrap();
    let playing = Recording::replay(
        "{\"type\":\"recording\",\"version\":1}\n\
         {\"type\":\"exchange\",\"request\":{\"method\":\"GET\",\"url\":\"https://api.example/\"},\
         \"outcome\":{\"response\":{\"status\":200,\"headers\":[],\"body\":{\"text\":\"hello\"}}}}\n",
    );
    let call = Call::to(vec![grant(Some("https"), "api.example", None)]);
    let mut played = call.start_with(client.for_tool(Some(Arc::new(playing.unwrap()))));
    assert_eq!(played.get("https://api.example/").await, "200 hello");
    assert_eq!(names.lookups.load(Ordering::Relaxed), 0);
    assert_eq!(played.stats().hosts, Vec::<String>::new());
}

#[tokio::test]
async fn replay_obeys_limits() {
    let server = Server::start(HELLO).await;
    let (url, grants) = (server.url("/"), vec![server.grant()]);
    let recording = Arc::new(Recording::record());
    let mut recorded = with(&recording, Call::to(grants.clone()));
    assert_eq!(recorded.get(&url).await, "200 hello");
    let mut call = Call::to(grants);
    call.limits = Limits {
        http_response_bytes: 4,
        ..Limits::default()
    };
    let mut played = with(&reread(&recording), call);
    assert_eq!(played.get(&url).await, "HttpResponseBodySize(Some(5))");
}

/// A recording takes no more memory than a call may: of an endless response, only a little more
/// than the limit is read.
#[tokio::test]
async fn endless_response_is_not_recorded() {
    let server = Server::endless(
        "HTTP/1.1 200 OK\r\n\r\n",
        "0123456789",
        std::time::Duration::ZERO,
    )
    .await;
    let recording = Arc::new(Recording::record());
    let mut call = Call::to(vec![server.grant()]);
    call.limits = Limits {
        http_response_bytes: 1_000,
        ..Limits::default()
    };
    let mut recorded = with(&recording, call);
    let ended = recorded.get(&server.url("/")).await;
    assert!(ended.starts_with("HttpResponseBodySize("), "{ended}");
    assert!(recording.text().len() < 256 * 1024);
}

#[tokio::test]
async fn secret_value_is_not_recorded() {
    let said = format!("you sent {VALUE}");
    let server = Server::start(&format!(
        "HTTP/1.1 200 OK\r\nset-cookie: session=1\r\nx-echo: {VALUE}\r\ncontent-length: {}\r\n\r\n{said}",
        said.len()
    ))
    .await;
    let recording = Arc::new(Recording::record());
    let mut call = Call::to(vec![server.grant()]);
    call.secret_grants = vec![SecretGrant {
        name: "github".to_owned(),
        scheme: "http".to_owned(),
        host: "127.0.0.1".to_owned(),
        port: server.port,
        in_query: true,
    }];
    call.secrets = secrets(&[("github", VALUE)]);
    let mut recorded = with(&recording, call);
    let url = server.url("/?key=secret%3A%2F%2Fgithub");
    assert_eq!(recorded.get(&url).await, "200 you sent [secret:github]");
    assert!(server.seen()[0].contains("?key="), "{:?}", server.seen());
    assert_eq!(
        recording.text(),
        format!(
            "{}\n{}\n",
            r#"{"type":"recording","version":1}"#,
            format_args!(
                r#"{{"type":"exchange","request":{{"method":"GET","url":"{url}"}},"outcome":{{"response":{{"status":200,"headers":[["x-echo","[secret:github]"]],"body":{{"text":"you sent [secret:github]"}}}}}}}}"#
            )
        )
    );
}
