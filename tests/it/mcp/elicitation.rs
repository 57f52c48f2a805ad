//! Tests questions to the client's user, and the effect of the answers, in both lifecycles.

#![expect(
    clippy::needless_pass_by_value,
    reason = "a value that is written where it is used reads better without an `&` before it"
)]

use agent_host_test_guests::{ASK, ASKS, Guest};
use agent_host_test_support::mcp_client::{Client, call, request, response, stateless, texts};
use agent_host_test_support::{TestEnv, of_kind};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn write(id: u64) -> Value {
    call(id, "write_file", json!({ "path": "a.txt", "content": "x" }))
}

/// The server's answer after the user rejected a call.
fn rejected(why: &str) -> Value {
    let text = format!(
        "Tool call execution denied. This call needs the user's approval (rule effect.effectful), and {why}."
    );
    texts("execution-denied", &[&text])
}

const REJECTED: &str = "the client's user rejected it";
const UNDECIDED: &str = "the client's user did not decide";
const UNCLEAR: &str = "the client did not return a decision";

/// Answers an elicitation; returns the form and the next message.
fn answer(client: &mut Client, result: Value) -> (Value, Value) {
    let asked = client.next();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }));
    (asked["params"].clone(), client.next())
}

#[test]
fn user_decides_through_the_client() {
    let env = TestEnv::new();
    let capabilities = json!({ "elicitation": {} });
    let mut client = Client::start(&env, &["--write"], capabilities);
    let approve = json!({ "action": "accept", "content": { "decision": "approve" } });
    let cases = [
        (
            json!({ "action": "accept", "content": { "decision": "reject" } }),
            REJECTED,
        ),
        (json!({ "action": "decline" }), REJECTED),
        (json!({ "action": "cancel" }), UNDECIDED),
        (
            json!({ "action": "accept", "content": { "name": "Alice" } }),
            UNCLEAR,
        ),
    ];
    for (said, why) in cases {
        client.send(&write(1));
        let (form, result) = answer(&mut client, said);
        let message = form["message"].as_str().unwrap();
        assert!(
            message
                .starts_with("write_file a.txt  may change things\n│ content: x\nSandboxed; at most it can reach: files in "),
            "{message}"
        );
        let decision =
            json!({ "type": "string", "title": "Run it?", "enum": ["approve", "reject"] });
        let schema = json!({
            "type": "object",
            "properties": { "decision": decision },
            "required": ["decision"],
        });
        assert_eq!(form["requestedSchema"], schema);
        assert_eq!(result, response(1, rejected(why)));
        assert!(!env.work().join("a.txt").exists());
    }
    client.send(&write(2));
    let (_, result) = answer(&mut client, approve);
    assert_eq!(result["result"]["isError"], false, "{result}");
    assert_eq!(
        std::fs::read_to_string(env.work().join("a.txt")).unwrap(),
        "x"
    );
    assert_eq!(client.close().code, Some(0));
    let events = env.events();
    assert_eq!(of_kind(&events, "approval-requested").len(), 5);
    assert_eq!(of_kind(&events, "call-intended").len(), 1);
}

#[test]
fn tool_question_goes_through_the_client() {
    let env = TestEnv::new();
    let asks = Guest {
        imports: &[ASK],
        ..Guest::running(ASKS)
    };
    env.write("asks.wasm", asks.bytes());
    let args = ["--tool", "asks.wasm"];
    let mut client = Client::start(&env, &args, json!({ "elicitation": { "form": {} } }));
    client.send(&call(1, "echo", json!({})));
    let said = json!({ "action": "accept", "content": { "text": "this one" } });
    let (form, result) = answer(&mut client, said);
    let expected = json!({
        "mode": "form",
        "message": "The tool echo asks you, in its own words:\n│ Which?\nYour answer goes to the tool echo and \
            approves nothing.",
        "requestedSchema": {
            "type": "object",
            "properties": { "text": { "type": "string" } },
            "required": ["text"],
        },
    });
    let mut form = form;
    form.as_object_mut().unwrap().remove("_meta");
    assert_eq!(form, expected);
    assert_eq!(result, response(1, texts("text", &["this one"])));
    // A client without elicitation is not asked.
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let mut client = Client::start(&env, &args, capabilities);
        let result = client.ask(call(1, "echo", json!({})));
        assert_eq!(result["id"], 1, "{result}");
        assert_eq!(client.close().code, Some(0));
    }
}

#[test]
fn stateless_client_returns_with_the_answer() {
    let env = TestEnv::new();
    let mut client = Client::silent(&env, &["--write"]);
    let asked = client.ask(stateless(write(1)));
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let form = &result["inputRequests"]["user"];
    assert_eq!(form["method"], "elicitation/create", "{asked}");
    let state = result["requestState"].as_str().unwrap();
    let again = |id, state: &str, responses: Value| {
        let mut request = stateless(write(id));
        request["params"]["requestState"] = json!(state);
        request["params"]["inputResponses"] = responses;
        request
    };
    let approve = json!({ "action": "accept", "content": { "decision": "approve" } });
    let approved = json!({ "user": approve });
    // Another call, or a message that is no reply, leaves it waiting.
    let mut other = again(2, state, approved.clone());
    other["params"]["arguments"]["content"] = json!("y");
    for spoilt in [other, again(3, state, json!({ "user": 12345 }))] {
        assert_eq!(client.ask(spoilt)["error"]["code"], -32602);
    }
    // Without an answer, the server asks again under another id.
    let asked = client.ask(again(4, state, json!({})));
    let next = asked["result"]["requestState"].as_str().unwrap();
    assert_ne!(next, state);
    assert!(!env.work().join("a.txt").exists());
    let done = client.ask(again(5, next, approved.clone()));
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(
        std::fs::read_to_string(env.work().join("a.txt")).unwrap(),
        "x"
    );
    // An answer is accepted once.
    for used in [state, next] {
        let refused = client.ask(again(6, used, approved.clone()));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    assert_eq!(client.close().code, Some(0));
    let events = env.events();
    assert_eq!(of_kind(&events, "call-intended").len(), 1);
    assert_eq!(of_kind(&events, "call-settled").len(), 1);
}

#[test]
fn abandoned_call_ends_with_the_server() {
    let env = TestEnv::new();
    let mut client = Client::silent(&env, &["--write"]);
    let asked = client.ask(stateless(write(1)));
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert_eq!(client.close().code, Some(0));
    let events = env.events();
    let settled = of_kind(&events, "call-settled");
    assert_eq!(settled.len(), 1, "{events:?}");
    let output = json!({
        "type": "execution-denied",
        "reason": format!("This call needs the user's approval (rule effect.effectful), and {UNDECIDED}."),
    });
    assert_eq!(settled[0]["output"], output);
    assert_eq!(of_kind(&events, "call-intended").len(), 0);
}

#[test]
fn client_without_capabilities_gets_no_requests() {
    let env = TestEnv::new();
    let mut client = Client::silent(&env, &["--write"]);
    let mut request = stateless(write(1));
    request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let mut denied = texts(
        "execution-denied",
        &[
            "Tool call execution denied. This call needs the user's approval (rule effect.effectful), and no one can be asked in \
             this run. To allow such calls, the user can set `approvals` for this tool in agent.toml.",
        ],
    );
    denied["resultType"] = json!("complete");
    assert_eq!(client.ask(request), response(1, denied));
    let listed = client.ask(stateless(request_list(2)));
    assert_eq!(listed["result"]["cacheScope"], "private", "{listed}");
    assert_eq!(listed["result"]["ttlMs"], 0, "{listed}");
}

fn request_list(id: u64) -> Value {
    request(id, "tools/list", json!({}))
}
