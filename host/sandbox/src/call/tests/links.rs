//! A guest without grants cannot send data through a URL that the model's provider would fetch.

use super::{call_with, sandbox};
use crate::guests::{Body, Guest};
use agent_host_engine::policy::{Grants, HttpGrant};
use agent_host_types::{
    accounting::AuditVerdict,
    limits::Limits,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};
use pretty_assertions::assert_eq;
use serde_json::json;

const URL: &str = "https://example.com/?stolen=words";

#[tokio::test]
async fn url_in_a_result_needs_the_grant_of_a_request() {
    let guest = Guest {
        body: Body::Link("image/png", URL),
        ..Guest::default()
    };
    let tool = sandbox().load(guest.bytes()).await.unwrap();
    let granted = Grants {
        http: vec![HttpGrant {
            host: "example.com".to_owned(),
            ..HttpGrant::default()
        }],
        ..Grants::default()
    };
    let note = "[image/png, at https://example.com/?stolen=words; it is not fetched, since this tool may not reach that address]";
    let text = ContentPart::Text {
        text: note.to_owned(),
    };
    let file = ContentPart::File(FilePart {
        media_type: "image/png".to_owned(),
        data: FileData::Url(URL.to_owned()),
        filename: None,
    });
    for (grants, part, verdict) in [
        (Grants::default(), text, AuditVerdict::Denied),
        (granted, file, AuditVerdict::Allowed),
    ] {
        let report = call_with(&tool, "echo", json!({}), grants, &Limits::default()).await;
        assert_eq!(report.output, ToolResultOutput::Content(vec![part]));
        let audit: Vec<(&str, AuditVerdict)> = report
            .audit
            .iter()
            .map(|entry| (entry.request.as_str(), entry.verdict))
            .collect();
        assert_eq!(audit, [("GET https://example.com/?stolen=words", verdict)]);
    }
}
