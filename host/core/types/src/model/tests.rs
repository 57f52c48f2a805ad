use super::*;
use crate::tool::{Effect, ToolDefinition};
use pretty_assertions::assert_eq;
use serde_json::json;

/// Journals hold such digests, so the canonical form never changes within a version.
#[test]
fn model_request_digest_is_of_its_canonical_json() {
    let definition = ToolDefinition {
        name: "look".into(),
        title: None,
        description: "Looks.".into(),
        input_schema: json!({"type": "object", "properties": {}}),
        output_schema: None,
        effect: Effect::ReadOnly,
    };
    let request = ModelRequest {
        system: Some("Be brief.".into()),
        messages: vec![Message::text(Role::User, "hi")],
        tools: vec![definition],
        answer_schema: None,
    };
    let canonical = concat!(
        r#"{"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],"tools":[{"#,
        r#""name":"look","description":"Looks.","input_schema":{"properties":{},"type":"object"},"effect":"read-only"}]}"#
    );
    assert_eq!(request.digest().unwrap(), Digest::of(canonical.as_bytes()));
}
