//! Configured headers: they reach their server, and no other.

use super::config;
use crate::{Endpoint, McpServer, Reach, ServerConfig};
use agent_host_http_client::ProxySetting;
use pretty_assertions::assert_eq;
use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    sync::mpsc,
};

/// Serves connections with this answer; the requests arrive at the receiver.
fn serve(listener: TcpListener, answer: String) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut request = vec![0; 16 * 1024];
            let count = connection.read(&mut request).unwrap();
            request.truncate(count);
            // Before the answer, so that the client's end is after it.
            if sender.send(String::from_utf8(request).unwrap()).is_err() {
                return;
            }
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    receiver
}

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    (listener, url)
}

#[tokio::test]
async fn headers_are_sent_and_not_to_another_origin() {
    let (other, other_url) = listener();
    let (own, own_url) = listener();
    let other = serve(
        other,
        "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned(),
    );
    let own = serve(
        own,
        format!(
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: {other_url}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        ),
    );
    let config = ServerConfig {
        reach: Reach::Http(Endpoint {
            proxy: ProxySetting::default(),
            url: own_url,
            token: None,
            headers: vec![("X-Api-Key".to_owned(), "key-0123456789".into())],
            oauth: None,
        }),
        ..config("unused")
    };
    McpServer::connect(config).await.unwrap_err();
    let requests: Vec<String> = own.try_iter().collect();
    assert!(!requests.is_empty());
    for request in requests {
        assert!(
            request.contains("x-api-key: key-0123456789\r\n"),
            "{request}"
        );
    }
    assert_eq!(other.try_recv(), Err(mpsc::TryRecvError::Empty));
}
