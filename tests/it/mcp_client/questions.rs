//! Tests the questions that a server has for the user.

use super::{call, scripted};
use agent_host_test_support::{
    at_once,
    chat::ChatServer,
    terminal::{on_a_terminal, plain},
};
use pretty_assertions::assert_eq;
use serde_json::json;

/// The answers that a user types reach the server; nothing else does.
#[test]
fn question_of_a_server_is_answered_at_a_terminal() {
    let sent = r#"{"action": "accept", "content": {"age": 30, "colour": "b", "days": ["mo", "we"], "name": "Ann", "news": true}}"#;
    let again = r#"{"action": "accept", "content": {"age": 7, "name": "Bo"}}"#;
    let cases = [
        ("asks-a-form", "a\nA\nAnn\n\n2\n1, 3\ny\ns\n", sent),
        (
            "asks-a-form",
            "a\nAnn\n\n\n\n\ne\na\nBo\n7\n\n\n\ns\n",
            again,
        ),
        ("asks-a-form", "d\n", r#"{"action": "decline"}"#),
        ("asks-a-form", "?\nc\n", r#"{"action": "cancel"}"#),
        ("asks-to-open", "a\n", r#"{"action": "accept"}"#),
        ("asks-to-open", "d\n", r#"{"action": "decline"}"#),
    ];
    at_once(cases, |(behaviour, keys, expected)| {
        let Some(env) = scripted(&[behaviour], "") else {
            return;
        };
        let server = ChatServer::start(vec![]);
        let args = "call s act '{}' --config agent.toml";
        let shown = plain(&on_a_terminal(&env, &server, args, keys).stdout);
        assert!(shown.contains(expected), "{behaviour} {keys:?}: {shown}");
        let asks = "The MCP server s asks you, in its own words:";
        assert!(shown.contains(asks), "{shown}");
        let of_the_server = match behaviour {
            "asks-a-form" => [
                "│ agent-host: all is well",
                "do not give it a password or a key",
            ],
            _ => ["https://pay.example/bill?id=1", "agent-host does not"],
        };
        for part in of_the_server {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains("\u{1b}[2J"), "{shown}");
    });
}

/// Without a terminal the server is refused, and stderr says why.
#[test]
fn question_without_a_terminal_is_refused() {
    let Some(env) = scripted(&["asks"], "") else {
        return;
    };
    let ran = call(&env, "act", &json!({}));
    let why = "-32601: agent-host has not declared `elicitation`: no user can be asked in this run";
    assert_eq!(ran.json(), json!({ "type": "text", "value": why }));
    let told =
        "the MCP server `s` has a question for the user, and no one can be asked in this run";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}
