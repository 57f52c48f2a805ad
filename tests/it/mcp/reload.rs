//! Tests components that change while they are served.

use agent_host_test_guests::{Body, Definition, Guest};
use agent_host_test_support::TestEnv;
use agent_host_test_support::mcp_client::{Client, call, request, response, stateless, texts};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A component whose tool of this name returns this.
fn guest(tool: &str, text: &str) -> Vec<u8> {
    let guest = Guest {
        definitions: vec![Definition {
            name: tool.to_owned(),
            ..Definition::default()
        }],
        ..Guest::returning(Body::Text(0, text.as_bytes()))
    };
    guest.bytes()
}

/// Replaces a component by another in one step.
fn replace(env: &TestEnv, bytes: Vec<u8>) {
    let new = env.write("new.wasm", bytes);
    std::fs::rename(new, env.work().join("tool.wasm")).unwrap();
}

fn changed() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })
}

fn names(client: &mut Client) -> Vec<String> {
    let listed = client.ask(request(9, "tools/list", json!({})));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn changed_component_by_path_is_reloaded() {
    let env = TestEnv::new();
    replace(&env, guest("old", "one"));
    let mut client = Client::start(&env, &["--tool", "tool.wasm"], json!({}));
    assert_eq!(
        client.ask(call(1, "old", json!({}))),
        response(1, texts("text", &["one"]))
    );
    replace(&env, guest("new", "two"));
    assert_eq!(client.next(), changed());
    let names = names(&mut client);
    assert!(
        names.contains(&"new".to_owned()) && !names.contains(&"old".to_owned()),
        "{names:?}"
    );
    assert_eq!(
        client.ask(call(2, "new", json!({}))),
        response(2, texts("text", &["two"]))
    );
    assert_eq!(
        client.ask(call(3, "old", json!({})))["error"]["code"],
        -32602
    );
    // A file that is not a component is not served.
    replace(&env, b"no component".to_vec());
    let told = client.next();
    assert_eq!(told["params"]["level"], "warning", "{told}");
    assert_eq!(
        client.ask(call(4, "new", json!({}))),
        response(4, texts("text", &["two"]))
    );
    let ran = client.close();
    assert_eq!(ran.code, Some(0));
    for said in ["changed, and now served: tool", "not reloaded", "tool.wasm"] {
        assert!(ran.stderr.contains(said), "no {said:?} in {}", ran.stderr);
    }
}

/// Without a handshake a client subscribes; the subscription reports changes and its own end.
#[test]
fn subscription_reports_changes_and_its_end() {
    let env = TestEnv::new();
    replace(&env, guest("old", "one"));
    let mut client = Client::silent(&env, &["--tool", "tool.wasm"]);
    let wanted = json!({ "toolsListChanged": true });
    let listen = request(
        1,
        "subscriptions/listen",
        json!({ "notifications": wanted }),
    );
    let meta = json!({ "io.modelcontextprotocol/subscriptionId": 1 });
    let told = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
    assert_eq!(
        client.ask(stateless(listen)),
        told(
            "notifications/subscriptions/acknowledged",
            json!({ "notifications": wanted, "_meta": meta })
        )
    );
    replace(&env, guest("new", "two"));
    assert_eq!(
        client.next(),
        told("notifications/tools/list_changed", json!({ "_meta": meta }))
    );
    client.close_input();
    let ended = client.next();
    assert_eq!(ended["id"], 1, "{ended}");
    assert_eq!(ended["result"]["resultType"], "complete", "{ended}");
    assert_eq!(client.close().code, Some(0));
}

#[test]
fn unaccepted_change_is_not_served() {
    let env = TestEnv::new();
    replace(&env, guest("say", "accepted"));
    env.configure("[[tool]]\nname = \"tool\"\ncomponent = \"tool.wasm\"\n");
    assert_eq!(env.run(&["lock", "--accept"]).code, Some(0));
    let mut client = Client::start(&env, &["--config", "agent.toml"], json!({}));
    replace(&env, guest("say", "not accepted"));
    let told = client.next();
    let text = told["params"]["data"].as_str().unwrap();
    assert!(text.contains("changed-since-approval"), "{told}");
    let say = |id| call(id, "say", json!({}));
    assert_eq!(
        client.ask(say(1)),
        response(1, texts("text", &["accepted"]))
    );
    let accepted = env.run(&["lock", "--config", "agent.toml", "--accept", "tool"]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stderr);
    assert_eq!(client.next(), changed());
    assert_eq!(
        client.ask(say(2)),
        response(2, texts("text", &["not accepted"]))
    );
    let ran = client.close();
    assert_eq!(ran.code, Some(0));
    assert!(ran.stderr.contains("lock --accept tool"), "{}", ran.stderr);
}
