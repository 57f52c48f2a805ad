//! Approvals: decided by the user of the client alone.

use super::*;
use pretty_assertions::assert_eq;

/// The request has what the user decides by. Of three calls one is allowed, one rejected, and one
/// runs since the first was allowed for the session.
#[test]
fn permissions_decide_and_are_remembered() {
    let env = TestEnv::new();
    let path = env.write("a.txt", "one\ntwo\n").canonicalize().unwrap();
    let model = ChatServer::start(vec![
        write("a.txt"),
        write("b.txt"),
        write("c.txt"),
        Answer::text("Written."),
    ]);
    let mut client = AcpClient::connect(&env, &model, &["--write"]);
    let session = client.session(&env);
    let prompt = client.prompt(&session, "Write.");
    let request = client.asked("session/request_permission");
    let params = &request["params"];
    assert_eq!(params["sessionId"], *session);
    let call = &params["toolCall"];
    let input = json!({"path": "a.txt", "content": "one\nthree\n"});
    assert_eq!(call["toolCallId"], "call_0");
    assert_eq!(call["title"], "write_file a.txt  may change things");
    assert_eq!(call["kind"], "edit");
    assert_eq!(call["rawInput"], input);
    assert_eq!(call["locations"], json!([{"path": path}]));
    let diff = json!({
        "type": "diff",
        "path": path,
        "oldText": "one\ntwo\n",
        "newText": "one\nthree\n",
    });
    assert_eq!(call["content"][0], diff);
    let options = json!([
        {"optionId": "allow-once", "name": "Allow this call", "kind": "allow_once"},
        {"optionId": "allow-always", "name": "Allow all calls of write_file in this session", "kind": "allow_always"},
        {"optionId": "reject-once", "name": "Reject this call", "kind": "reject_once"},
    ]);
    assert_eq!(params["options"], options);
    client.answer(&request, &select("reject-once"));
    let request = client.asked("session/request_permission");
    client.answer(&request, &select("allow-always"));
    assert_eq!(client.stop_reason(prompt), "end_turn");
    let read = |name: &str| fs::read_to_string(env.work().join(name)).ok();
    assert_eq!(read("a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(read("b.txt").as_deref(), Some("one\nthree\n"));
    assert_eq!(read("c.txt").as_deref(), Some("one\nthree\n"));
    let updates = client.updates();
    let failed = updates.iter().find(|update| update["status"] == "failed");
    let failed = failed.unwrap();
    assert_eq!(failed["toolCallId"], "call_0");
    assert_eq!(
        failed["_meta"],
        json!({"agent-host/output": "execution-denied"})
    );
    let reason = failed["content"][0]["content"]["text"].as_str().unwrap();
    assert!(reason.contains("The user rejected this call."), "{reason}");
    assert_eq!(failed["rawOutput"]["type"], "execution-denied");
    let completed: Vec<&Value> = updates
        .iter()
        .filter(|update| update["status"] == "completed")
        .collect();
    assert_eq!(completed.len(), 2);
    let new = &completed[0]["content"][0];
    assert_eq!(
        (&new["type"], &new["oldText"]),
        (&json!("diff"), &Value::Null)
    );
    assert_eq!(new["newText"], "one\nthree\n");
    // No one read that file before.
    assert_eq!(completed[1]["content"][0]["type"], "content");
}

/// Whatever is no clear choice decides nothing: the session waits, and no call runs.
#[test]
fn unclear_answer_to_a_permission_leaves_it_waiting() {
    let cases = [
        (
            "an error",
            json!({"error": {"code": -32603, "message": "no window"}}),
            Err("unanswered"),
        ),
        (
            "an unknown option",
            json!({"result": select("allow")}),
            Err("unanswered"),
        ),
        ("no outcome", json!({"result": {}}), Err("unanswered")),
        (
            "a cancelled turn",
            json!({"result": cancelled()}),
            Ok("cancelled"),
        ),
    ];
    for (case, answer, expected) in cases {
        let env = TestEnv::new();
        let model = ChatServer::start(vec![write("a.txt")]);
        let mut client = AcpClient::connect(&env, &model, &["--write"]);
        let session = client.session(&env);
        let prompt = client.prompt(&session, "Write.");
        let request = client.asked("session/request_permission");
        let mut message = answer;
        message["jsonrpc"] = json!("2.0");
        message["id"] = request["id"].clone();
        client.send(&message);
        let response = client.response(prompt);
        match expected {
            Ok(reason) => assert_eq!(response["result"]["stopReason"], reason, "{case}"),
            Err(code) => assert_eq!(
                error_of(&response),
                (-32603, json!({"code": code})),
                "{case}"
            ),
        }
        assert_eq!(client.end().code, Some(0), "{case}");
        assert!(!env.work().join("a.txt").exists(), "{case}");
        assert_eq!(outcomes(&env), [json!("awaiting-confirmation")], "{case}");
        assert_eq!(
            of_kind(&env.events(), "decision-recorded").len(),
            0,
            "{case}"
        );
    }
}

/// The turn ends as cancelled although the client does not answer the permission; the call is not
/// denied, and another prompt continues the session.
#[test]
fn cancel_during_a_permission_is_no_denial() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![write("a.txt"), Answer::text("Never mind.")]);
    let mut client = AcpClient::connect(&env, &model, &["--write"]);
    let session = client.session(&env);
    let prompt = client.prompt(&session, "Write.");
    let request = client.asked("session/request_permission");
    client.notify("session/cancel", &json!({"sessionId": session}));
    assert_eq!(client.stop_reason(prompt), "cancelled");
    // Too late: the request is gone.
    client.answer(&request, &select("allow-once"));
    let prompt = client.prompt(&session, "Leave it.");
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert!(!env.work().join("a.txt").exists());
    let updates = client.updates();
    assert_eq!(text_of(&updates, "agent_message_chunk"), "Never mind.");
    assert_eq!(of_kind(&env.events(), "decision-recorded").len(), 0);
}

/// A client that is gone while a permission waits: the session is listed as waiting, and resumes.
#[test]
fn client_that_disappears_leaves_the_session_resumable() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![write("a.txt"), Answer::text("Written.")]);
    let mut client = AcpClient::connect(&env, &model, &["--write"]);
    let session = client.session(&env);
    client.prompt(&session, "Write.");
    client.asked("session/request_permission");
    assert_eq!(client.end().code, Some(0));
    assert_eq!(outcomes(&env), [json!("awaiting-confirmation")]);
    let args = [
        "run",
        "--model",
        "openai-compat:m",
        "--write",
        "--resume",
        "latest",
    ];
    let mut command = env.command(&[&args[..], &["--decide", "call_0=approve"]].concat());
    let ran = command.env("OPENAI_COMPAT_BASE_URL", &model.base_url);
    let ran = ran.output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert!(env.work().join("a.txt").exists());
}

/// The approval of a call inside an agent is asked for under the calls that started it.
#[test]
fn permission_of_an_agent_is_asked_for() {
    let env = TestEnv::new();
    env.configure(
        r#"
agents = ["clerk"]

[[agent]]
name = "clerk"
description = "Writes files."
system = "You are the clerk."
tools = ["write_*"]

[[grants.dir]]
host = "."
mode = "read-write"
"#,
    );
    let model = ChatServer::start(vec![
        Answer::calls(&[("agent_clerk", json!({"instructions": "write"}))]),
        write("a.txt"),
        Answer::text("It is written."),
        Answer::text("Done."),
    ]);
    let mut client = AcpClient::connect(&env, &model, &[]);
    let session = client.session(&env);
    let prompt = client.prompt(&session, "Have it written.");
    let request = client.asked("session/request_permission");
    assert_eq!(request["params"]["toolCall"]["toolCallId"], "call_0/call_0");
    client.answer(&request, &select("allow-once"));
    assert_eq!(client.stop_reason(prompt), "end_turn");
    assert!(env.work().join("a.txt").exists());
    let updates = client.updates();
    assert_eq!(text_of(&updates, "agent_message_chunk"), "Done.");
    let completed: Vec<&Value> = updates
        .iter()
        .filter(|update| update["status"] == "completed")
        .map(|update| &update["toolCallId"])
        .collect();
    assert_eq!(completed, ["call_0/call_0", "call_0"]);
}
