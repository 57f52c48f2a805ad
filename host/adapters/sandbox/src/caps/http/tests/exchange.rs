//! Exchanges that pass unchanged, and broken ones.

use super::{
    super::{HttpClient, error::ExchangeError},
    call::{Call, HELLO, grant, with_body},
    server::Server,
};
use bytes::Bytes;
use pretty_assertions::assert_eq;

#[tokio::test]
async fn plain_exchange_passes_through() {
    let server = Server::start(HELLO).await;
    let mut call = Call::to(vec![server.grant()]).start();
    assert_eq!(call.get(&server.url("/a/../b?q=1")).await, "200 hello");
    let post = with_body("POST", &server.url("/p"), Bytes::from_static(b"12345678"));
    assert_eq!(call.send(post).await, "200 hello");
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    let host = format!("host: 127.0.0.1:{}\r\n", server.port);
    assert!(
        seen[0].starts_with("GET /b?q=1 HTTP/1.1\r\n") && seen[0].contains(&host),
        "{seen:?}"
    );
    assert!(
        seen[1].starts_with("POST /p HTTP/1.1\r\n") && seen[1].contains("12345678"),
        "{seen:?}"
    );
    let stats = call.stats();
    assert_eq!(
        (
            stats.bytes_in,
            stats.bytes_out,
            stats.hosts,
            stats.first_denial
        ),
        (10, 8, vec!["127.0.0.1".to_owned()], None)
    );
}

/// The exchange above, in a process whose environment names a proxy that does not exist.
#[test]
fn environment_proxy_is_ignored() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args([
        "--exact",
        "caps::http::tests::exchange::plain_exchange_passes_through",
        "--test-threads=1",
    ]);
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ] {
        child.env(name, "http://127.0.0.1:1");
    }
    child.env_remove("no_proxy").env_remove("NO_PROXY");
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[tokio::test]
async fn redirects_and_encodings_pass_through() {
    let target = Server::start(HELLO).await;
    let redirect = format!(
        "HTTP/1.1 302 Found\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n",
        target.url("/x")
    );
    let server = Server::start(&redirect).await;
    let mut call = Call::to(vec![server.grant(), target.grant()]).start();
    assert_eq!(
        call.get(&server.url("/")).await,
        format!("302 to {} ", target.url("/x"))
    );
    assert_eq!(target.seen(), Vec::<String>::new());

    let packed =
        Server::start("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc")
            .await;
    let mut call = Call::to(vec![packed.grant()]).start();
    assert_eq!(call.get(&packed.url("/")).await, "200 abc");
    assert!(!packed.seen()[0].to_lowercase().contains("accept-encoding"));
}

#[tokio::test]
async fn broken_server_maps_to_code() {
    let table = [
        ("", "HttpProtocolError"),
        ("nonsense\r\n\r\n", "HttpProtocolError"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello",
            "200 then ConnectionTerminated",
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nhello",
            "HttpProtocolError",
        ),
    ];
    for (response, expected) in table {
        let server = Server::start(response).await;
        let mut call = Call::to(vec![server.grant()]).start();
        assert_eq!(call.get(&server.url("/")).await, expected, "{response}");
    }
    let server = Server::start(HELLO).await;
    let port = server.port;
    let mut call = Call::to(vec![grant(Some("https"), "127.0.0.1", Some(port))]).start();
    assert_eq!(
        call.get(&format!("https://127.0.0.1:{port}/")).await,
        "TlsProtocolError"
    );
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let mut call = Call::to(vec![grant(None, "127.0.0.1", Some(port))]).start();
    assert_eq!(
        call.get(&format!("http://127.0.0.1:{port}/")).await,
        "ConnectionRefused"
    );
}

#[test]
fn exchange_errors_map_to_codes() {
    let table = [
        (ExchangeError::AddressProhibited, "DestinationIpProhibited"),
        (
            ExchangeError::RequestBodySize(7),
            "HttpRequestBodySize(Some(7))",
        ),
        (ExchangeError::Timeout, "HttpResponseTimeout"),
        (ExchangeError::RequestBody, "HttpProtocolError"),
        (ExchangeError::Protocol, "HttpProtocolError"),
    ];
    for (fault, expected) in table {
        assert_eq!(format!("{:?}", fault.into_error()), expected);
    }
    assert!(HttpClient::new().is_ok());
}
