//! Files that a result names by URL.

use super::{
    call::{Call, HELLO},
    server::Server,
};
use crate::bindings::types as wit;
use agent_host_engine::policy::HttpGrant;
use agent_host_types::{accounting::AuditVerdict, limits::Limits};
use pretty_assertions::assert_eq;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// A part as text: of a file its media type and data.
fn shown(part: wit::ContentPart) -> String {
    match part {
        wit::ContentPart::Text(text) => text,
        wit::ContentPart::File(file) => {
            let data = match file.data {
                wit::FileData::Bytes(bytes) => format!("{} bytes", bytes.len()),
                wit::FileData::Url(url) => format!("at {url:?}"),
                wit::FileData::Text(text) => text,
            };
            format!("{} {data}", file.media_type)
        }
    }
}

fn image(url: &str) -> wit::ContentPart {
    wit::ContentPart::File(wit::FilePart {
        media_type: "image/png".to_owned(),
        data: wit::FileData::Url(url.to_owned()),
        filename: None,
    })
}

/// Fetches images at these URLs, and returns the parts with the judgements of the gate.
async fn fetched(call: Call, urls: &[&str]) -> (Vec<String>, Vec<(AuditVerdict, String)>) {
    let call = call.start();
    let parts = urls.iter().map(|url| image(url)).collect();
    let mut output = wit::ToolResultOutput::Content(parts);
    call.fetch_links(&mut output).await;
    let wit::ToolResultOutput::Content(parts) = output else {
        panic!("another variant");
    };
    let audit = call.stats().audit;
    let audit = audit.into_iter().map(|entry| (entry.verdict, entry.rule));
    (parts.into_iter().map(shown).collect(), audit.collect())
}

fn pictures(server: &Server) -> HttpGrant {
    HttpGrant {
        path_prefix: Some("/pictures/".to_owned()),
        ..server.grant()
    }
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

#[tokio::test]
async fn granted_file_is_fetched_once_as_it_was_judged() {
    let server = Server::start(answer("200 OK", PNG)).await;
    let url = server.url("/pictures/../pictures/a.png?x=1");
    let written = url.replace("http://", " hT\ntp://");
    let (parts, audit) = fetched(Call::to(vec![pictures(&server)]), &[&written]).await;
    assert_eq!(parts, [format!("image/png {} bytes", PNG.len())]);
    assert_eq!(
        audit,
        [(AuditVerdict::Allowed, "grants.http[0]".to_owned())]
    );
    let seen = server.seen();
    assert_eq!(seen.len(), 1, "{seen:?}");
    assert!(
        seen[0].starts_with("GET /pictures/a.png?x=1 HTTP/1.1\r\n"),
        "{seen:?}"
    );
}

#[tokio::test]
async fn file_without_a_grant_becomes_a_note_and_is_not_requested() {
    for (url, rule) in [
        ("https://evil.example/?all=of-it", Some("default-deny")),
        ("https://good.example/other", Some("default-deny")),
        (
            "https://good.example/pictures/../other",
            Some("default-deny"),
        ),
        (
            "https://good.example@evil.example/pictures/",
            Some("url.userinfo"),
        ),
        ("\thttps://evil.example/", Some("default-deny")),
        ("hTTps:evil.example", Some("default-deny")),
        ("h\tttps://evil.example/", Some("default-deny")),
        ("http://169.254.169.254/latest/", Some("default-deny")),
    ] {
        let grant = HttpGrant {
            scheme: Some("https".to_owned()),
            host: "good.example".to_owned(),
            path_prefix: Some("/pictures/".to_owned()),
            ..HttpGrant::default()
        };
        let (parts, audit) = fetched(Call::to(vec![grant]), &[url]).await;
        let note = format!(
            "[image/png, at {url}; not fetched because this tool may not reach that address]"
        );
        assert_eq!(parts, [note], "{url:?}");
        let denied = rule.map(|rule| (AuditVerdict::Denied, rule.to_owned()));
        assert_eq!(audit, Vec::from_iter(denied), "{url:?}");
    }
    // Other parsers may read it differently.
    for url in ["https://[evil", "https:"] {
        let (parts, audit) = fetched(Call::to(vec![]), &[url]).await;
        let note = format!("[image/png, at {url}; not fetched because that is not an address]");
        assert_eq!((parts, audit), (vec![note], vec![]), "{url:?}");
    }
}

#[tokio::test]
async fn other_references_are_kept() {
    for url in [
        "data:image/png;base64,AAAA",
        "file-id:f1",
        "ftp://a/b",
        "a.png",
        "",
    ] {
        let (parts, audit) = fetched(Call::to(vec![]), &[url]).await;
        assert_eq!(parts, [format!("image/png at {url:?}")]);
        assert_eq!(audit, []);
    }
}

/// An answer that is not the file is never taken for it.
#[tokio::test]
async fn server_without_the_file_leaves_a_note() {
    let large = vec![b'a'; 2_000];
    let cases = [
        (
            answer("302 Found\r\nlocation: http://169.254.169.254/", b""),
            "the server answered with status 302",
        ),
        (
            answer("404 Not Found", b"none"),
            "the server answered with status 404",
        ),
        (
            answer("200 OK", &large),
            "it is larger than the limit for a result of this tool",
        ),
        (
            b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhello".to_vec(),
            "the request failed: connection terminated",
        ),
    ];
    for (response, why) in cases {
        let server = Server::start(response).await;
        let call = Call {
            limits: Limits {
                output_bytes: 1_000,
                ..Limits::default()
            },
            ..Call::to(vec![server.grant()])
        };
        let url = server.url("/a.png");
        let (parts, _) = fetched(call, &[&url]).await;
        let note = format!("[image/png, at {url}; not fetched because {why}]");
        assert_eq!(parts, [note]);
    }
}

#[tokio::test]
async fn media_type_is_that_of_the_bytes() {
    let server = Server::start(HELLO).await;
    let (parts, _) = fetched(Call::to(vec![server.grant()]), &[&server.url("/a")]).await;
    assert_eq!(parts, ["application/octet-stream 5 bytes"]);
}

/// The requests count as the guest's own.
#[tokio::test]
async fn files_share_the_limits_of_the_call() {
    let server = Server::start(answer("200 OK", PNG)).await;
    let call = Call {
        limits: Limits {
            http_response_bytes: PNG.len() as u64 + 1,
            ..Limits::default()
        },
        ..Call::to(vec![server.grant()])
    };
    let url = server.url("/a.png");
    let (parts, _) = fetched(call, &[&url, &url]).await;
    let size = PNG.len();
    let note = format!(
        "[image/png, at {url}; not fetched because the request failed: HTTP response body size exceeds limit: {size} \
         bytes]"
    );
    assert_eq!(parts, [format!("image/png {size} bytes"), note]);
}
