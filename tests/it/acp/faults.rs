//! Messages that are no valid requests.

use super::*;
use pretty_assertions::assert_eq;

/// Malformed lines and requests are answered with stable codes, and the connection stays open.
#[test]
fn faults_of_a_client_are_answered() {
    let env = TestEnv::new();
    let model = no_model();
    let mut client = AcpClient::start(&env, &model, &[]);
    let cwd = env.work();
    let new = json!({"cwd": cwd, "mcpServers": []});
    let uninitialized = client.refused("session/new", &new);
    assert_eq!(uninitialized, (-32600, json!({"code": "not-initialized"})));
    let version = client.refused("initialize", &json!({"protocolVersion": "1"}));
    assert_eq!(version, (-32602, json!({"code": "invalid-params"})));
    // The newest version that is served, whatever newer one the client knows.
    let made = client.call("initialize", &json!({"protocolVersion": 2}));
    assert_eq!(made["protocolVersion"], 1);
    let unknown = "019a0000-0000-7000-8000-000000000000";
    let server = json!({"name": "x", "command": "/bin/true", "args": [], "env": []});
    for (method, params, number, code) in [
        ("session/fly", json!({}), -32601, "method-not-found"),
        (
            "session/set_mode",
            json!({"sessionId": unknown, "modeId": "x"}),
            -32601,
            "method-not-found",
        ),
        ("session/new", json!({}), -32602, "invalid-params"),
        ("session/new", json!([1]), -32602, "invalid-params"),
        (
            "session/new",
            json!({"cwd": null, "mcpServers": []}),
            -32602,
            "invalid-params",
        ),
        (
            "session/new",
            json!({"cwd": "/", "mcpServers": []}),
            -32602,
            "directory-not-granted",
        ),
        (
            "session/new",
            json!({"cwd": ".", "mcpServers": []}),
            -32602,
            "directory-not-granted",
        ),
        (
            "session/new",
            json!({"cwd": cwd, "mcpServers": [], "additionalDirectories": ["/"]}),
            -32602,
            "directory-not-granted",
        ),
        (
            "session/new",
            json!({"cwd": cwd, "mcpServers": [server]}),
            -32602,
            "mcp-servers-refused",
        ),
        (
            "session/load",
            json!({"cwd": cwd, "mcpServers": [], "sessionId": unknown}),
            -32002,
            "not-found",
        ),
        (
            "session/load",
            json!({"cwd": cwd, "mcpServers": [], "sessionId": "../x"}),
            -32002,
            "not-found",
        ),
        (
            "session/delete",
            json!({"sessionId": unknown}),
            -32002,
            "not-found",
        ),
        (
            "session/close",
            json!({"sessionId": unknown}),
            -32002,
            "not-found",
        ),
        (
            "session/list",
            json!({"cursor": "x"}),
            -32602,
            "invalid-params",
        ),
        (
            "session/prompt",
            json!({"sessionId": unknown, "prompt": []}),
            -32602,
            "invalid-params",
        ),
        (
            "session/prompt",
            json!({"sessionId": unknown, "prompt": [{"type": "text", "text": "x"}]}),
            -32002,
            "not-found",
        ),
        (
            "session/prompt",
            json!({"sessionId": unknown, "prompt": [{"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/jpeg"}]}),
            -32602,
            "invalid-params",
        ),
        (
            "session/prompt",
            json!({"sessionId": unknown, "prompt": [{"type": "audio", "data": "", "mimeType": "audio/wav"}]}),
            -32602,
            "invalid-params",
        ),
    ] {
        let refused = client.refused(method, &params);
        assert_eq!(
            refused,
            (number, json!({"code": code})),
            "{method} {params}"
        );
    }
    for (line, id, number, code) in [
        ("{", Value::Null, -32700, "parse-error"),
        ("[]", Value::Null, -32600, "invalid-request"),
        (
            r#"{"jsonrpc":"2.0","id":"a"}"#,
            json!("a"),
            -32600,
            "invalid-request",
        ),
        (
            r#"{"id":7,"method":"session/list","params":{}}"#,
            json!(7),
            -32600,
            "invalid-request",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"session/list"}"#,
            json!(1.5),
            -32600,
            "invalid-request",
        ),
    ] {
        client.running.types(&format!("{line}\n"));
        let answer = client.read();
        assert_eq!(answer["id"], id, "{line}");
        assert_eq!(error_of(&answer), (number, json!({"code": code})), "{line}");
    }
    // None of these has an answer.
    client.notify("session/cancel", &json!({"sessionId": unknown}));
    client.running.types("\n");
    client.notify("session/fly", &json!({}));
    client.send(&json!({"jsonrpc": "2.0", "id": 99, "result": {}}));
    let long = vec![b' '; 32 * 1024 * 1024 + 1];
    client.running.types_bytes(&long);
    client.running.types("\n");
    let answer = client.read();
    assert_eq!(
        error_of(&answer),
        (-32600, json!({"code": "invalid-request"}))
    );
    assert_eq!(
        client.call("session/list", &json!({})),
        json!({"sessions": []})
    );
    assert_eq!(client.end().code, Some(0));
}
