//! Skills as prompts of the MCP server.

use agent_host_test_support::TestEnv;
use agent_host_test_support::mcp_client::{Client, request, response, stateless};
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

/// The argument of a skill is declared where its instructions have a place for it, and filled in.
#[test]
fn mcp_prompt_takes_the_arguments_of_a_skill() {
    let env = TestEnv::new();
    let skill = "---\nname: fix\ndescription: Fixes.\n---\nFix $ARGUMENTS, first $ARGUMENTS[0].";
    env.write("skills/fix/SKILL.md", skill);
    env.write("served.toml", "skills = [\"skills\"]\n");
    let mut client = Client::start(&env, &["--config", "served.toml"], json!({}));
    let listed = client.ask(request(1, "prompts/list", json!({})));
    let arguments = json!([{
        "name": "arguments",
        "description": "The text for `$ARGUMENTS` in the instructions of this skill.",
        "required": false,
    }]);
    assert_eq!(listed["result"]["prompts"][0]["arguments"], arguments);
    let params = json!({"name": "fix", "arguments": {"arguments": "12 13"}});
    let got = client.ask(request(2, "prompts/get", params));
    let text = &got["result"]["messages"][0]["content"]["text"];
    assert_eq!(text, "Fix 12 13, first 12.");
}

/// A client gets the accepted text until the operator accepts another one.
#[test]
fn changed_skill_is_served_after_it_is_accepted() {
    let env = TestEnv::new();
    let skill = "---\nname: greet\ndescription: Says how.\n---\nSay hello.";
    let skill_file = env.write("skills/greet/SKILL.md", skill);
    env.write("agent.toml", "skills = [\"skills\"]\n");
    let accept = || env.run(&["lock", "--config", "agent.toml", "--accept"]);
    assert_eq!(accept().code, Some(0));
    let mut client = Client::start(&env, &["--config", "agent.toml"], json!({}));
    let mut subscribed = Client::silent(&env, &["--config", "agent.toml"]);
    let wanted = json!({ "notifications": { "promptsListChanged": true } });
    subscribed.ask(stateless(request(1, "subscriptions/listen", wanted)));
    let text = |client: &mut Client| {
        let got = client.ask(request(1, "prompts/get", json!({"name": "greet"})));
        got["result"]["messages"][0]["content"]["text"].clone()
    };
    let new = env.write("new", skill.replace("hello", "goodbye"));
    std::fs::rename(new, skill_file).unwrap();
    let told = client.next();
    let why = told["params"]["data"].as_str().unwrap();
    assert!(
        why.contains("the skill `greet` has changed since it was accepted"),
        "{told}"
    );
    assert_eq!(text(&mut client), "Say hello.");
    let accepted = accept();
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    let changed = "notifications/prompts/list_changed";
    assert_eq!(client.next(), json!({"jsonrpc": "2.0", "method": changed}));
    assert_eq!(subscribed.next()["method"], changed);
    assert_eq!(text(&mut client), "Say goodbye.");
    // A file that appears is a change, too.
    env.write("skills/greet/words.md", "Good day.");
    let told = client.next();
    assert_eq!(told["params"]["level"], "warning", "{told}");
    let ran = client.close();
    assert!(
        ran.stderr.contains("changed, and now served: greet\n"),
        "{}",
        ran.stderr
    );
}
