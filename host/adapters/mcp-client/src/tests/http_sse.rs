//! Servers at a URL that does not speak streamable HTTP.

use super::config;
use crate::{ConnectError, Endpoint, McpServer, Reach, ServerConfig};
use agent_host_http_client::ProxySetting;
use pretty_assertions::assert_eq;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// Serves this body to every GET, and 405 to every other request. Returns the address.
async fn serve(get: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/sse", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = vec![0; 4];
                stream.read_exact(&mut request).await.unwrap();
                let response = if request == b"GET " {
                    get
                } else {
                    "HTTP/1.1 405 Method Not Allowed\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
                };
                stream.write_all(response.as_bytes()).await.unwrap();
                // The stream stays open until the client closes it.
                let _ = stream.read_to_end(&mut request).await;
            });
        }
    });
    address
}

#[tokio::test]
async fn server_of_the_old_transport_is_named_as_such() {
    let cases = [
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n: hello\n\nevent: endpoint\ndata: /messages?id=1\n\n",
            true,
        ),
        (
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\nevent: message\ndata: {}\n\n",
            false,
        ),
        (
            "HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            false,
        ),
    ];
    for (get, is_old) in cases {
        let config = ServerConfig {
            reach: Reach::Http(Endpoint {
                proxy: ProxySetting::default(),
                url: serve(get).await,
                token: None,
                headers: Vec::new(),
                oauth: None,
            }),
            ..config("unused")
        };
        let error = McpServer::connect(config).await.unwrap_err();
        let old = ConnectError::HttpSse {
            server: "s".to_owned(),
        };
        assert_eq!(error == old, is_old, "{error}");
    }
}
