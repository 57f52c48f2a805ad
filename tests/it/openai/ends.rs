//! How a run ends, or waits, or is left alone.

use super::*;
use agent_host_test_support::{chat::asking, of_kind};
use pretty_assertions::assert_eq;
use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
};

/// A waiting run says where it is answered. It continues there, as the same response, and the
/// conversation behind it.
#[test]
fn waiting_run_is_answered_on_the_page() {
    let (_env, model, server) = writing();
    let waiting = respond(
        &server,
        &json!({"model": "agent-host", "input": "Write it"}),
    );
    let session = session(&waiting);
    let text = format!(
        "This run is waiting: a call of `write_file` needs approval. Answer at http://{}/#/s/{session}; the run \
         continues there. A message here instead withdraws the pending requests.",
        server.address
    );
    assert_eq!(texts(&waiting), [("final_answer".into(), text)]);
    assert_eq!(
        (
            &waiting["status"],
            &waiting["incomplete_details"],
            &waiting["agent_host"]["end"]
        ),
        (
            &json!("incomplete"),
            &Value::Null,
            &json!("awaiting-confirmation")
        )
    );
    assert_eq!(read(&server, &waiting), waiting);

    approve(&server, &session);
    let done = read(&server, &waiting);
    assert_eq!(
        (&done["id"], &done["status"], texts(&done)),
        (
            &waiting["id"],
            &json!("completed"),
            vec![("final_answer".into(), "Written.".into())]
        )
    );
    let next =
        json!({"model": "agent-host", "input": "Thanks", "previous_response_id": done["id"]});
    assert_eq!(texts(&respond(&server, &next))[0].1, "Welcome.");
    let said = conversation(&model.requests()[2]);
    assert_eq!(
        said.as_array().unwrap().last(),
        Some(&json!(["user", "Thanks"]))
    );
}

/// A question is told, and withdrawn by a message as an approval is.
#[test]
fn waiting_question_is_told_in_words() {
    let (env, model) = asking();
    let server = ApiServer::start(&env, &model, &[]);
    let waiting = respond(&server, &json!({"model": "agent-host", "input": "Ask me"}));
    let text = &texts(&waiting)[0].1;
    assert!(
        text.starts_with("This run is waiting: it asks \"Which?\". Answer at http://"),
        "{text}"
    );
    assert_eq!(waiting["agent_host"]["end"], "awaiting-answer");
}

/// A message in place of the answer withdraws what waits, as on the page.
#[test]
fn message_withdraws_what_waits() {
    let (env, _model, server) = writing();
    let waiting = respond(
        &server,
        &json!({"model": "agent-host", "input": "Write it"}),
    );
    let next = json!({"model": "agent-host", "input": "Rather not", "previous_response_id": waiting["id"]});
    let next = respond(&server, &next);
    assert_eq!(texts(&next)[0].1, "Written.");
    assert_eq!(texts(&read(&server, &waiting)), []);
    assert!(!env.work().join("a.txt").exists());
}

#[test]
fn waiting_chat_is_told_in_words() {
    let (_env, _model, server) = writing();
    let body = json!({
        "model": "agent-host",
        "messages": [{"role": "user", "content": "Write it"}],
        "stream": true,
    });
    let chunks = data(&send(&server, "POST /v1/chat/completions", Some(&body)));
    let text: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert!(
        text.starts_with("This run is waiting: a call of `write_file` needs approval."),
        "{text}"
    );
    assert_eq!(
        chunks.last().unwrap()["choices"][0]["finish_reason"],
        "stop"
    );
}

/// A budget and a refusal are ends; a failure is an error that is not to be sent again.
#[test]
fn ends_have_the_words_of_the_api() {
    let chat = json!({"model": "agent-host", "messages": [{"role": "user", "content": "go"}]});
    let text = json!({"model": "agent-host", "input": "go"});
    let env = TestEnv::new();
    env.configure("[budgets]\ntokens = 1\n");
    env.write("note.txt", "hello");
    let read = || Answer::calls(&[("read_file", json!({"path": "note.txt"}))]);
    let server = ApiServer::start(&env, &ChatServer::start(vec![read(), read()]), &[]);
    let response = respond(&server, &text);
    assert_eq!(
        (
            &response["status"],
            &response["incomplete_details"],
            &response["agent_host"]["end"]
        ),
        (
            &json!("incomplete"),
            &json!({"reason": "max_output_tokens"}),
            &json!("budget-exceeded")
        )
    );
    assert_eq!(
        complete(&server, &chat)["choices"][0]["finish_reason"],
        "length"
    );
    server.end();

    let env = TestEnv::new();
    for (end, reason, finish_reason) in [
        ("length", "max_output_tokens", "length"),
        ("content_filter", "content_filter", "content_filter"),
    ] {
        let answer = || Answer::text("I will not.").ending(end);
        let server = ApiServer::start(&env, &ChatServer::start(vec![answer(), answer()]), &[]);
        let response = respond(&server, &text);
        assert_eq!(
            (
                &response["status"],
                &response["incomplete_details"]["reason"]
            ),
            (&json!("incomplete"), &json!(reason))
        );
        assert_eq!(texts(&response)[0].1, "I will not.");
        let completion = complete(&server, &chat);
        assert_eq!(completion["choices"][0]["finish_reason"], finish_reason);
        server.end();
    }

    let refused = json!({"error": {"message": "no such key"}});
    let unauthorized = || Answer::status("401 Unauthorized", &refused);
    let model = ChatServer::start(vec![unauthorized(), unauthorized(), unauthorized()]);
    let server = ApiServer::start(&env, &model, &[]);
    let failed = send(&server, "POST /v1/chat/completions", Some(&chat));
    assert_eq!(error(&failed), (502, "model_unauthorized".into()));
    assert!(
        failed.head.contains("x-should-retry: false\r\n"),
        "{failed:?}"
    );
    let mut streamed = chat.clone();
    streamed["stream"] = json!(true);
    let chunks = data(&send(&server, "POST /v1/chat/completions", Some(&streamed)));
    assert_eq!(
        chunks.last().unwrap()["error"]["code"],
        "model_unauthorized"
    );
    let response = respond(&server, &text);
    assert_eq!(
        (&response["status"], &response["error"]["code"]),
        (&json!("failed"), &json!("server_error"))
    );
}

/// Sends a request, waits until the model was called, and hangs up.
fn hang_up(server: &ApiServer, listener: &TcpListener, path: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let mut client = TcpStream::connect(&server.address).unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    client.write_all(request.as_bytes()).unwrap();
    let (mut called, _) = listener.accept().unwrap();
    let mut head = [0; 64];
    called.read_exact(&mut head).unwrap();
    drop(client);
    called
}

/// A client that hangs up cancels a run whose answer no one can read any more. One that is stored
/// continues.
#[test]
fn client_that_hangs_up() {
    let env = TestEnv::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut model = ChatServer::start(Vec::new());
    model.base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = ApiServer::start(&env, &model, &[]);
    let text = |store: bool, stream: bool| json!({"model": "agent-host", "input": "go", "store": store, "stream": stream});
    let chat = |stream: bool| {
        json!({
            "model": "agent-host",
            "messages": [{"role": "user", "content": "go"}],
            "stream": stream,
        })
    };
    let cancelled = [
        ("/v1/chat/completions", chat(false)),
        ("/v1/chat/completions", chat(true)),
        ("/v1/responses", text(false, false)),
        ("/v1/responses", text(false, true)),
    ];
    let newest = || server.get("/sessions?limit=1").json()["sessions"][0].clone();
    for (path, body) in cancelled {
        let mut called = hang_up(&server, &listener, path, &body);
        // The host hangs up on its model, too.
        let mut rest = Vec::new();
        let _ = called.read_to_end(&mut rest);
        let session = newest()["session"].as_str().unwrap().to_owned();
        let ended = server
            .events(&session, None)
            .until("turn-ended")
            .pop()
            .unwrap();
        assert_eq!(
            ended.data["event"]["outcome"]["type"], "cancelled",
            "{path} {body}"
        );
    }
    for stream in [false, true] {
        let called = hang_up(&server, &listener, "/v1/responses", &text(true, stream));
        let session = newest()["session"].as_str().unwrap().to_owned();
        let id = format!("resp_{}_0", session.replace('-', ""));
        let running = read(&server, &json!({ "id": id }));
        assert_eq!(running["status"], "in_progress");
        let next = json!({"model": "agent-host", "input": "more", "previous_response_id": id});
        let next = send(&server, "POST /v1/responses", Some(&next));
        assert_eq!(error(&next), (409, "session_running".into()));
        assert_eq!(
            server
                .post(&format!("/sessions/{session}/cancel"), &json!({}))
                .status,
            202
        );
        drop(called);
        server.events(&session, None).until("turn-ended");
        while server.get(&format!("/sessions/{session}")).json()["running"] == true {}
        assert_eq!(read(&server, &running)["status"], "cancelled");
    }
    assert_eq!(of_kind(&env.events(), "model-replied").len(), 0);
}
