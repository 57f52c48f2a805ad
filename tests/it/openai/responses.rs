//! `/v1/responses` and `/v1/models`.

use super::*;
use agent_host_test_support::{of_kind, pictures::png};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;

#[test]
fn response_is_created_and_read() {
    let (env, model) = reading();
    let server = ApiServer::start(&env, &model, &[]);
    let created = respond(
        &server,
        &json!({
            "model": "agent-host",
            "input": "What does the note say?",
            "instructions": "Be brief.",
            "metadata": {"purpose": "test"},
            "temperature": 0.5,
        }),
    );
    let session = session(&created);
    let digits = session.replace('-', "");
    assert_eq!(
        created,
        json!({
            "id": format!("resp_{digits}_0"),
            "object": "response",
            "created_at": created["created_at"],
            "status": "completed",
            "error": null,
            "incomplete_details": null,
            "instructions": null,
            "max_output_tokens": null,
            "metadata": {"purpose": "test"},
            "model": "agent-host",
            "output": [{
                "type": "message",
                "id": format!("msg_{digits}_0_0"),
                "role": "assistant",
                "status": "completed",
                "phase": "final_answer",
                "content": [{
                    "type": "output_text",
                    "text": "It says hello.",
                    "annotations": [],
                    "logprobs": [],
                }],
            }],
            "parallel_tool_calls": true,
            "previous_response_id": null,
            "store": true,
            "temperature": null,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
            "usage": {
                "input_tokens": 22,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 14,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 36,
            },
            "agent_host": {"session": session, "end": "done", "code": null},
        })
    );
    assert!(created["created_at"].as_u64().unwrap() > 1_700_000_000);
    assert_eq!(read(&server, &created), created);
    // The agent keeps its own prompt; that of the client is a wish of the user.
    let asked = &model.requests()[0];
    let said = "What does the note say?\nInstructions of the client:\nBe brief.";
    assert_eq!(conversation(asked), json!([["user", said]]));
    assert_eq!(asked.get("temperature"), None);
}

/// A conversation continues in its session, behind its last response alone.
#[test]
fn conversation_continues_behind_its_last_response() {
    let env = TestEnv::new();
    let agent = "[[agent]]\nname = \"clerk\"\ndescription = \"d\"\nsystem = \"You keep lists.\"\n";
    env.configure(agent);
    let model = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let first = respond(&server, &json!({"model": "clerk", "input": "one"}));
    let next = |previous: &Value, model: &str| {
        let body = json!({"model": model, "input": "two", "previous_response_id": previous["id"]});
        send(&server, "POST /v1/responses", Some(&body))
    };
    assert_eq!(
        error(&next(&first, "agent-host")),
        (400, "invalid_request".into())
    );
    let second = next(&first, "clerk").json();
    assert_eq!(session(&second), session(&first));
    assert_eq!(
        (
            &second["previous_response_id"],
            texts(&second),
            &second["usage"]["total_tokens"]
        ),
        (
            &first["id"],
            vec![("final_answer".into(), "Two.".into())],
            &json!(18)
        )
    );
    // A request that is sent again does not run again.
    let moved_on = (400, "previous_response_not_last".to_owned());
    assert_eq!(error(&next(&first, "clerk")), moved_on);
    assert_eq!(read(&server, &first)["output"], first["output"]);
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[1]["messages"][0]["content"], "You keep lists.");
    assert_eq!(
        conversation(&requests[1]),
        json!([["user", "one"], ["assistant", "One."], ["user", "two"]])
    );
}

/// The usage of a response in a copied session leaves out the turns that were copied.
#[test]
fn response_in_a_copy_has_its_own_usage() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let first = respond(&server, &json!({"model": "agent-host", "input": "one"}));
    let forked = server.post(&format!("/sessions/{}/fork", session(&first)), &json!({}));
    let fork = forked.json()["session"].as_str().unwrap().to_owned();
    let sent = server.post(
        &format!("/sessions/{fork}/messages"),
        &json!({"message": "two"}),
    );
    let seq = sent.json()["seq"].as_u64().unwrap();
    server.events(&fork, Some(seq)).until("turn-ended");
    let id = format!("resp_{}_{seq}", fork.replace('-', ""));
    let second = read(&server, &json!({"id": id}));
    assert_eq!(texts(&second), [("final_answer".into(), "Two.".into())]);
    assert_eq!(second["usage"], first["usage"]);
}

/// A conversation is the project's: each token whose role allows it, and that sees more than its
/// own sessions, continues it under its own name.
#[test]
fn conversation_is_continued_with_another_token() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let first = respond(&server, &json!({"model": "agent-host", "input": "one"}));
    let next = |name: &str, role: &str| {
        let made = ["serve", "token", "create", name, "--role", role];
        let made = env.run(&[&made[..], &["--sessions", "project"]].concat());
        let token = made.stdout.trim_end();
        let id = &first["id"];
        let body = json!({"model": "agent-host", "input": "two", "previous_response_id": id});
        server.raw(token, "POST /v1/responses", "", Some(&body.to_string()))
    };
    let refused = (403, "user_required".to_owned());
    assert_eq!(error(&next("eve", "viewer")), refused);
    let second = next("bob", "user");
    assert_eq!(second.status, 200, "{second:?}");
    assert_eq!(session(&second.json()), session(&first));
    let events = env.events();
    let senders = of_kind(&events, "input-received");
    let senders: Vec<&Value> = senders.iter().map(|event| &event["by"]).collect();
    assert_eq!(senders, ["operator", "bob"]);
}

/// The conversation so far may also be in the request. Files come with it, and none is fetched.
#[test]
fn input_items_are_history_and_message() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("A square.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let url = format!("data:image/png;base64,{}", STANDARD.encode(png(8, 8)));
    let input = json!([
        {"role": "developer", "content": "Be kind."},
        {"type": "message", "role": "user", "content": "Hello"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
            "content": [{"type": "output_text", "text": "Hi.", "annotations": []}]},
        {"role": "user", "content": [
            {"type": "input_text", "text": "What is this?"},
            {"type": "input_image", "detail": "auto", "image_url": url},
        ]},
    ]);
    let response = respond(&server, &json!({"model": "agent-host", "input": input}));
    assert_eq!(texts(&response)[0].1, "A square.");
    let requests = model.requests();
    let messages = requests[0]["messages"].as_array().unwrap();
    let roles: Vec<&Value> = messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    let first = messages[1]["content"].to_string();
    assert!(first.contains("Instructions of the client:"), "{first}");
    assert_eq!(messages[3]["content"][1]["image_url"]["url"], url);
    let events = env.events();
    assert_eq!(of_kind(&events, "session-forked").len(), 1);
    assert_eq!(read(&server, &response), response);
}

/// One that is not stored stays in the journal, which is the operator's, and is not found here.
#[test]
fn unstored_response_is_not_found() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("One.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let body = json!({"model": "agent-host", "input": "one", "store": false});
    let response = respond(&server, &body);
    assert_eq!(
        (&response["store"], &response["status"]),
        (&json!(false), &json!("completed"))
    );
    let id = response["id"].as_str().unwrap();
    let read = send(&server, &format!("GET /v1/responses/{id}"), None);
    assert_eq!(error(&read), (404, "response_not_found".into()));
    let next = json!({"model": "agent-host", "input": "two", "previous_response_id": id});
    let next = send(&server, "POST /v1/responses", Some(&next));
    assert_eq!(error(&next), (404, "previous_response_not_found".into()));
    let rows = server.get("/sessions").json();
    assert_eq!(rows["sessions"].as_array().unwrap().len(), 1);
}

/// A request that is sent again under its key is the response that began.
#[test]
fn response_is_created_once_for_its_key() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let create = |key: &str, path: &str, body: &Value| {
        let field = format!("Idempotency-Key: {key}\r\n");
        server.raw(
            TOKEN,
            &format!("POST {path}"),
            &field,
            Some(&body.to_string()),
        )
    };
    let text = json!({"model": "agent-host", "input": "one"});
    let first = create("a", "/v1/responses", &text);
    assert_eq!(create("a", "/v1/responses", &text).json(), first.json());
    let chat = json!({"model": "agent-host", "messages": [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "One."},
        {"role": "user", "content": "two"},
    ]});
    let second = create("b", "/v1/chat/completions", &chat);
    assert_eq!(second.json()["choices"][0]["message"]["content"], "Two.");
    assert_eq!(
        create("b", "/v1/chat/completions", &chat).json(),
        second.json()
    );

    let reused = (422, "key_reused".to_owned());
    let other = json!({"model": "agent-host", "input": "two"});
    assert_eq!(error(&create("a", "/v1/responses", &other)), reused);
    assert_eq!(error(&create("b", "/v1/responses", &text)), reused);
    let field = "Idempotency-Key: c\r\n";
    let body = json!({"message": "one"}).to_string();
    let model_is_done = server.raw(TOKEN, "POST /api/v1/sessions", field, Some(&body));
    assert_eq!(model_is_done.status, 201);
    assert_eq!(error(&create("c", "/v1/responses", &text)), reused);
}

#[test]
fn agents_are_models() {
    let env = TestEnv::new();
    env.configure("[[agent]]\nname = \"clerk\"\ndescription = \"Keeps lists.\"\n");
    let server = ApiServer::start(&env, &ChatServer::start(Vec::new()), &[]);
    let model =
        |name: &str| json!({"id": name, "object": "model", "created": 0, "owned_by": "agent-host"});
    assert_eq!(
        send(&server, "GET /v1/models", None).json(),
        json!({"object": "list", "data": [model("agent-host"), model("clerk"), model("general-purpose")]})
    );
    assert_eq!(
        send(&server, "GET /v1/models/clerk", None).json(),
        model("clerk")
    );
    let unknown = send(&server, "GET /v1/models/gpt-5", None);
    assert_eq!(error(&unknown), (404, "model_not_found".into()));
    assert_eq!(
        unknown.json()["error"]["message"],
        "unknown model `gpt-5`; the models are the agents of this server: agent-host, clerk, general-purpose"
    );
}

/// An answer of a schema is the value alone; one that does not fit is sent back once.
#[test]
fn answer_has_the_form_of_the_schema() {
    let env = TestEnv::new();
    let fenced = "```json\n{\"count\": 2}\n```";
    let model = ChatServer::start(vec![
        Answer::text("Two."),
        Answer::text(fenced),
        Answer::text(fenced),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let schema = json!({
        "type": "object",
        "properties": {"count": {"type": "integer"}},
        "required": ["count"],
        "additionalProperties": false,
    });
    let format = json!({"type": "json_schema", "name": "count", "strict": true, "schema": schema});
    let body = json!({"model": "agent-host", "input": "How many?", "text": {"format": format}});
    let response = respond(&server, &body);
    let answer = [("final_answer".to_owned(), "{\"count\":2}".to_owned())];
    assert_eq!(texts(&response), answer);
    assert_eq!(texts(&read(&server, &response)), answer);
    let chat = json!({
        "model": "agent-host",
        "messages": [{"role": "user", "content": "How many?"}],
        "response_format": {"type": "json_schema", "json_schema": format},
        "stream": true,
    });
    let stream = data(&send(&server, "POST /v1/chat/completions", Some(&chat)));
    let text: String = stream
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "{\"count\":2}");
}
