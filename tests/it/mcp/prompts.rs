//! Skills as prompts of the MCP server.

use agent_host_test_support::TestEnv;
use agent_host_test_support::mcp_client::{Client, request, response};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn mcp_skills_are_prompts() {
    let env = TestEnv::new();
    let skill = "---\nname: greet\ndescription: Says how to greet.\n---\nSay hello as in words.md.";
    env.write("skills/greet/SKILL.md", skill);
    env.write("skills/greet/words.md", "Good day.");
    env.write("served.toml", "skills = [\"skills\"]\n");
    let mut client = Client::start(&env, &["--config", "served.toml"], json!({}));
    let prompt = json!({"name": "greet", "description": "Says how to greet."});
    assert_eq!(
        client.ask(request(1, "prompts/list", json!({}))),
        response(1, json!({ "prompts": [prompt] }))
    );
    let messages = json!([
        {"role": "user", "content": {"type": "text", "text": "Say hello as in words.md."}},
        {"role": "user", "content": {"type": "resource", "resource": {
            "uri": "skill://greet/words.md", "mimeType": "text/plain", "text": "Good day.",
        }}},
    ]);
    assert_eq!(
        client.ask(request(2, "prompts/get", json!({"name": "greet"}))),
        response(
            2,
            json!({"description": "Says how to greet.", "messages": messages})
        )
    );
    let unknown = client.ask(request(3, "prompts/get", json!({"name": "other"})));
    assert_eq!(unknown["error"]["code"], -32_602, "{unknown}");
}
