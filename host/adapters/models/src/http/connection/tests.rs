use super::*;
use crate::{Endpoint, HttpModel, Provider, RetryPolicy, Timeouts};
use agent_host_engine::model::Model;
use agent_host_types::model::{ModelError, ModelRequest};
use pretty_assertions::assert_eq;
use rustls::{AlertDescription, InvalidMessage};
use std::{io::Write as _, net::TcpListener};

/// Asks a Gemini server, whose URL has a query, once.
async fn error_of(base_url: &str) -> ModelError {
    let provider = Provider::Gemini;
    let endpoint = Endpoint {
        base_url: base_url.to_owned(),
        key: Some("sesame".into()),
        key_source: "THE_KEY".to_owned(),
        extras: crate::RequestExtras::default(),
        timeouts: Timeouts::default(),
    };
    let model = HttpModel::new(provider, "m", endpoint, provider.capabilities())
        .unwrap()
        .with_retry(RetryPolicy {
            retries: 0,
            ..RetryPolicy::default()
        });
    let request = ModelRequest {
        system: None,
        messages: Vec::new(),
        tools: Vec::new(),
        answer_schema: None,
    };
    model.respond(&request, &|_| {}).await.unwrap_err()
}

/// Serves one connection with these bytes, whatever it asks, and closes it.
fn serve(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        // Closing with unread bytes would reset the connection.
        let mut request = [0; 4096];
        let _ = io::Read::read(&mut connection, &mut request);
        let _ = connection.write_all(answer);
    });
    address.to_string()
}

#[tokio::test]
async fn connection_errors_are_plain_words() {
    let unused = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let silent = serve(b"");
    let plain = serve(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    let cut = serve(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 99\r\n\r\ndata: ",
    );
    let chunked = serve(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata");
    let garbage = serve(b"220 mail.example ESMTP\r\n");
    for (base_url, expected) in [
        (
            format!("http://{unused}"),
            "No model server answers at <url>: the connection was refused. Is the server running? Start a local one \
             first, e.g. with `ollama serve`; otherwise check the base URL.",
        ),
        (
            "https://no-such-host.invalid".to_owned(),
            "The host name in <url> could not be found. Check the base URL and the network.",
        ),
        (
            format!("https://{plain}"),
            "No connection to the model server at <url>: the server does not use TLS at that address. Check the base \
             URL.",
        ),
        (
            format!("http://{silent}"),
            "The connection to the model server at <url> was lost: the server closed it before answering.",
        ),
        (
            format!("http://{cut}"),
            "The connection to the model server at <url> was lost: the answer ended early.",
        ),
        (
            format!("http://{chunked}"),
            "The connection to the model server at <url> was lost: the answer ended early.",
        ),
        (
            format!("http://{garbage}"),
            "The connection to the model server at <url> was lost: the server closed it before answering.",
        ),
    ] {
        let error = error_of(&base_url).await;
        let url = format!("{base_url}/v1beta/models/m:streamGenerateContent");
        let expected =
            ModelError::new(ModelErrorKind::Unreachable, expected.replace("<url>", &url));
        assert_eq!(error, expected, "{base_url}");
    }
}

#[test]
fn tls_errors_are_plain_words() {
    let certificate = |error| tls_cause(&TlsError::InvalidCertificate(error));
    assert_eq!(
        [
            certificate(CertificateError::UnknownIssuer),
            certificate(CertificateError::Expired),
            certificate(CertificateError::NotValidYet),
            certificate(CertificateError::NotValidForName),
            certificate(CertificateError::Revoked),
            tls_cause(&TlsError::InvalidMessage(
                InvalidMessage::InvalidContentType
            )),
            tls_cause(&TlsError::AlertReceived(AlertDescription::HandshakeFailure)),
            tls_cause(&TlsError::NoCertificatesPresented),
        ],
        [
            "the server's certificate is from an authority that this machine does not trust (set SSL_CERT_FILE to \
             the authority's certificate)",
            "the server's certificate has expired",
            "the server's certificate is not valid yet; check this machine's clock",
            "the server's certificate is for another name",
            "the server's certificate is not valid",
            "the server does not use TLS at that address",
            "the server refused the TLS handshake",
            "the TLS handshake failed",
        ]
    );
}
