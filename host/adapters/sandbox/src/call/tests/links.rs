//! A file that a guest names by URL is fetched as a request of its own, if it may reach it.

use super::{call_with, sandbox};
use crate::{
    caps::http::tests::server::Server,
    guests::{Body, Guest},
};
use agent_host_engine::policy::Grants;
use agent_host_types::{
    accounting::AuditVerdict,
    limits::Limits,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};
use pretty_assertions::assert_eq;
use serde_json::json;

#[tokio::test]
async fn url_in_a_result_needs_the_grant_of_a_request() {
    let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await;
    let url = server.url("/?stolen=words");
    let guest = Guest {
        body: Body::Link("text/plain", &url),
        ..Guest::default()
    };
    let tool = sandbox().load(guest.bytes()).await.unwrap();
    let granted = Grants {
        http: vec![server.grant()],
        ..Grants::default()
    };
    let note =
        format!("[text/plain, at {url}; not fetched because this tool may not reach that address]");
    let text = ContentPart::Text { text: note };
    let file = ContentPart::File(FilePart {
        media_type: "text/plain".to_owned(),
        data: FileData::Bytes(b"hello".to_vec()),
        filename: None,
    });
    for (grants, part, verdict, requests) in [
        (Grants::default(), text, AuditVerdict::Denied, 0),
        (granted, file, AuditVerdict::Allowed, 1),
    ] {
        let report = call_with(&tool, "echo", json!({}), grants, &Limits::default()).await;
        assert_eq!(report.output, ToolResultOutput::Content(vec![part]));
        let audit: Vec<(String, AuditVerdict)> = report
            .audit
            .iter()
            .map(|entry| (entry.request.to_string(), entry.verdict))
            .collect();
        assert_eq!(audit, [(format!("GET {url}"), verdict)]);
        assert_eq!(server.seen().len(), requests);
    }
}
