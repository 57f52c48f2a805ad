//! `agent-host serve`: the API from the network, with a scripted model server.

mod approvals;
mod attacks;
mod keys;
mod kills;
mod models;
mod problems;
mod search;
mod stream;

use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, ServerEvent, TOKEN},
    chat::{Answer, ChatServer},
    of_kind,
    pictures::png,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, net::TcpListener, sync::mpsc};

/// The events of a journal in a stream, without the words of their calls, which it does not have.
fn records(events: &[ServerEvent]) -> Vec<Value> {
    let records = events.iter().filter(|event| event.event == "record");
    let mut records: Vec<Value> = records.map(|event| event.data.clone()).collect();
    for record in &mut records {
        record.as_object_mut().unwrap().remove("calls");
    }
    records
}

/// The open request of a session.
pub(crate) fn open_request(server: &ApiServer, session: &str) -> Value {
    let requests = server.get(&format!("/sessions/{session}/requests")).json();
    let requests = requests["requests"].as_array().unwrap().clone();
    assert_eq!(requests.len(), 1, "{requests:?}");
    requests[0].clone()
}

/// Answers a request, and returns the status.
fn answer(server: &ApiServer, session: &str, continuation: &Value, answer: &Value) -> u16 {
    let mut body = answer.clone();
    body["continuation"] = continuation.clone();
    let request = continuation["request"].as_str().unwrap();
    let (_, request) = request.split_once('/').unwrap();
    let path = format!("/sessions/{session}/requests/{request}/answer");
    server.post(&path, &body).status
}

/// A model that never answers: its server accepts nothing.
fn silent() -> (TcpListener, ChatServer) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut server = ChatServer::start(Vec::new());
    server.base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, server)
}

/// The stream has each event of the journal once, in order, with its number as the id, and the text
/// as it arrives in between. It resumes behind any of them.
#[test]
fn session_is_created_watched_and_resumed() {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let model = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({"path": "note.txt"}))]),
        Answer::text("It says hello."),
        Answer::text("You are welcome."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let created = server.post("/sessions", &json!({"message": "What does the note say?"}));
    assert_eq!(created.status, 201, "{created:?}");
    let session = created.json()["session"].as_str().unwrap().to_owned();
    let location = format!("location: /api/v1/sessions/{session}\r\n");
    assert!(created.head.contains(&location), "{created:?}");

    let mut stream = server.events(&session, None);
    let mut events = stream.until("turn-ended");
    events.extend(stream.until("turn-ended"));
    let seen = records(&events);
    assert_eq!(seen, env.events());
    let ids: Vec<u64> = events.iter().filter_map(|event| event.id).collect();
    assert_eq!(ids, (0..seen.len() as u64).collect::<Vec<_>>());

    let sent = server.post(
        &format!("/sessions/{session}/messages"),
        &json!({"message": "Thanks!"}),
    );
    let next = seen.len() as u64;
    assert_eq!(
        (sent.status, sent.json()),
        (202, json!({"session": session, "seq": next}))
    );
    // What is said while the stream is open arrives as it happens.
    let further = stream.until("turn-ended");
    let text: String = further
        .iter()
        .filter(|event| event.data["live"] == "text")
        .map(|event| event.data["text"].as_str().unwrap())
        .collect();
    assert_eq!(text, "You are welcome.");
    assert_eq!(further.iter().find_map(|event| event.id), Some(next));

    let resumed = server.events(&session, Some(next - 1)).until("turn-ended");
    assert_eq!(records(&resumed), env.events()[seen.len()..]);
    let row = server.get(&format!("/sessions/{session}")).json();
    assert_eq!(
        (&row["title"], &row["outcome"], &row["running"]),
        (
            &json!("What does the note say?"),
            &json!("done"),
            &json!(false)
        )
    );
    assert_eq!(server.end().code, Some(0));
}

#[test]
fn approval_is_answered_once() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![
        Answer::calls(&[("write_file", json!({"path": "a.txt", "content": "a"}))]),
        Answer::text("Written."),
    ]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    let session = server.create("write");
    let mut stream = server.events(&session, None);
    stream.until("turn-ended");
    let continuation = open_request(&server, &session);
    assert_eq!(continuation["awaiting"]["calls"][0]["tool"], "write_file");
    let approve = json!({"decisions": [{"type": "approve", "call_id": "call_0"}]});

    // Refused answers leave the request open.
    let mut forged = continuation.clone();
    forged["awaiting"]["calls"][0]["input"]["path"] = json!("b.txt");
    assert_eq!(answer(&server, &session, &forged, &approve), 409);
    let other = json!({"decisions": [{"type": "approve", "call_id": "call_1"}]});
    assert_eq!(answer(&server, &session, &continuation, &other), 409);
    let both = json!({"decisions": [], "results": []});
    assert_eq!(answer(&server, &session, &continuation, &both), 400);
    assert!(!env.work().join("a.txt").exists());

    assert_eq!(answer(&server, &session, &continuation, &approve), 202);
    let events = stream.until("turn-ended");
    let decided = &records(&events)[0]["event"];
    assert_eq!(
        (&decided["kind"], &decided["by"]),
        (&json!("decision-recorded"), &json!("operator"))
    );
    // The next turn asks the model with the result.
    stream.until("turn-ended");
    assert_eq!(answer(&server, &session, &continuation, &approve), 409);
    assert_eq!(fs::read_to_string(env.work().join("a.txt")).unwrap(), "a");
    assert_eq!(model.tool_results().len(), 1);
    let intended = of_kind(&env.events(), "call-intended").len();
    assert_eq!(intended, 1);
}

/// A session that runs is refused to everyone else, and its run can be cancelled.
#[test]
fn running_session_is_busy_until_it_is_cancelled() {
    let env = TestEnv::new();
    let (_listener, model) = silent();
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    let path = |rest: &str| format!("/sessions/{session}{rest}");
    assert_eq!(server.get(&path("")).json()["running"], true);
    let message = json!({"message": "more"});
    let busy = (409, "session-running".to_owned());
    assert_eq!(server.post(&path("/messages"), &message).problem(), busy);
    let delete = format!("DELETE {}", path(""));
    assert_eq!(server.request(TOKEN, &delete, None).problem(), busy);
    let elsewhere = env.run(&["run", "--resume", &session, "more"]);
    assert_eq!(elsewhere.code, Some(1), "{elsewhere:?}");
    let owner = format!("process {}", server.running.pid());
    assert!(elsewhere.stderr.contains(&owner), "{}", elsewhere.stderr);

    let mut stream = server.events(&session, None);
    assert_eq!(server.post(&path("/cancel"), &json!({})).status, 202);
    let ended = stream.until("turn-ended").pop().unwrap();
    assert_eq!(ended.data["event"]["outcome"]["type"], "cancelled");
    let not_running = (409, "not-running".to_owned());
    // The run is over once its end is durable and its claim is given up.
    while server.get(&path("")).json()["running"] == true {}
    assert_eq!(
        server.post(&path("/cancel"), &json!({})).problem(),
        not_running
    );
    assert_eq!(server.request(TOKEN, &delete, None).status, 204);
    assert_eq!(server.get(&path("")).problem().0, 404);
}

/// A run that is drained ends behind the reply that it waits for, and continues with its call.
#[test]
fn drained_run_is_resumed() {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let (asked, is_asked) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    let read = Answer::calls(&[("read_file", json!({"path": "note.txt"}))]);
    let model = ChatServer::watched(vec![read, Answer::text("Done.")], move |point| {
        if point == 0 {
            asked.send(()).unwrap();
            is_released.recv().unwrap();
        }
    });
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    let mut stream = server.events(&session, None);
    is_asked.recv().unwrap();
    let post = |what: &str| {
        let path = format!("POST /sessions/{session}/{what}");
        server.request(TOKEN, &path, None).status
    };
    assert_eq!(post("drain"), 202);
    release.send(()).unwrap();
    let events = stream.until("turn-ended");
    let outcome = |events: &[ServerEvent]| {
        let end = &events.last().unwrap().data["event"]["outcome"]["type"];
        end.as_str().unwrap().to_owned()
    };
    assert_eq!(outcome(&events), "needs-more-turns");
    assert_eq!(model.tool_results(), [""; 0]);
    assert_eq!(post("resume"), 202);
    stream.until("call-settled");
    loop {
        match outcome(&stream.until("turn-ended")).as_str() {
            "needs-more-turns" => {}
            end => break assert_eq!(end, "done"),
        }
    }
    assert_eq!(post("drain"), 409);
    assert_eq!(model.tool_results().len(), 1);
}

/// SIGTERM ends the server when what runs has ended; a stream ends, too.
#[test]
fn signal_drains_runs() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("Done.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("go");
    let mut stream = server.events(&session, None);
    stream.until("turn-ended");
    let ran = server.end();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert_eq!(stream.find(|event| event.event == "record"), None);
}

#[test]
fn session_is_copied_and_its_blobs_are_its_own() {
    let env = TestEnv::new();
    let picture = png(8, 8);
    let model = ChatServer::start(vec![Answer::text("Seen."), Answer::text("Hello.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let data = json!({"type": "bytes", "value": STANDARD.encode(&picture)});
    let part = json!({"type": "file", "media_type": "image/png", "data": data});
    let created = server.post("/sessions", &json!({"message": "look", "parts": [part]}));
    let session = created.json()["session"].as_str().unwrap().to_owned();
    let events = server.events(&session, None).until("turn-ended");
    let kept = records(&events);
    let input = kept
        .iter()
        .find(|record| record["event"]["kind"] == "input-received");
    let blob = &input.unwrap()["event"]["message"]["content"][0]["data"]["value"];
    let digest = blob["digest"].as_str().unwrap();
    let read = server.get(&format!("/sessions/{session}/blobs/{digest}"));
    assert_eq!(read.status, 200);
    assert_eq!(read.bytes, picture);
    // No type that a tool says, and no document of this server.
    for field in [
        "content-type: application/octet-stream\r\n",
        "content-disposition: attachment\r\n",
        "x-content-type-options: nosniff\r\n",
        "content-security-policy: sandbox\r\n",
    ] {
        assert!(read.head.contains(field), "{}", read.head);
    }

    let fork = server.post(&format!("/sessions/{session}/fork"), &json!({}));
    assert_eq!(fork.status, 201, "{fork:?}");
    let other = server.create("hi");
    server.events(&other, None).until("turn-ended");
    let stolen = server.get(&format!("/sessions/{other}/blobs/{digest}"));
    assert_eq!(stolen.problem(), (404, "not-found".to_owned()));

    let first = server.get("/sessions?limit=2").json();
    assert_eq!(
        (
            first["sessions"].as_array().unwrap().len(),
            &first["next_offset"]
        ),
        (2, &json!(2))
    );
    let last = server.get("/sessions?limit=2&offset=2").json();
    assert_eq!(last["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(last["next_offset"], Value::Null);
    assert_eq!(last["sessions"][0]["session"], session);
}

/// A session stays with its agent: a later message has the agent's prompt and no other.
#[test]
fn session_keeps_its_agent() {
    let env = TestEnv::new();
    env.configure("[[agent]]\nname = \"clerk\"\ndescription = \"d\"\nsystem = \"You keep lists.\"\ntools = [\"read_file\"]\n");
    let model = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let created = server.post("/sessions", &json!({"message": "one", "agent": "clerk"}));
    let session = created.json()["session"].as_str().unwrap().to_owned();
    let mut stream = server.events(&session, None);
    stream.until("turn-ended");
    let path = format!("/sessions/{session}/messages");
    assert_eq!(server.post(&path, &json!({"message": "two"})).status, 202);
    stream.until("turn-ended");
    for request in model.requests() {
        assert_eq!(request["messages"][0]["content"], "You keep lists.");
        let tools = request["tools"].as_array().unwrap().iter();
        let names: Vec<_> = tools.map(|tool| tool["function"]["name"].clone()).collect();
        assert_eq!(names, ["ask_user", "read_file"]);
    }
}

/// The API says of a session what the commands say of it.
#[test]
fn session_is_named_explained_and_exported() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![
        Answer::calls(&[("read_file", json!({"path": "/etc/hostname"}))]),
        Answer::text("Denied."),
        Answer::text("Hello."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = server.create("read it");
    server.events(&session, None).until("turn-ended");
    let other = server.create("hi");
    server.events(&other, None).until("turn-ended");

    let name = |session: &str, name: &str| {
        let body = json!({ "name": name }).to_string();
        server.request(TOKEN, &format!("PATCH /sessions/{session}"), Some(&body))
    };
    assert_eq!(name(&session, "reading").status, 204);
    assert_eq!(name(&other, "reading").problem().1, "not-found");
    assert_eq!(name(&other, "latest").problem().1, "invalid-request");
    let row = server.get(&format!("/sessions/{session}")).json();
    assert_eq!(
        (&row["name"], &row["model"]),
        (&json!("reading"), &json!("openai-compat:m"))
    );

    let explained = server.get(&format!("/sessions/{session}/explain")).json();
    let command = env.run(&["explain", &session, "--json"]);
    let mut said: Value = serde_json::from_str(&command.stdout).unwrap();
    said.as_object_mut().unwrap().remove("session");
    assert_eq!(explained, said);
    let exported = server.get(&format!("/sessions/{session}/export"));
    assert!(exported.head.contains("content-type: application/jsonl"));
    let command = env.run(&["sessions", "export", &session]);
    assert_eq!(exported.body, command.stdout);
    assert_eq!(
        server.get(&format!("/sessions/{session}/artifacts")).json(),
        json!({"artifacts": []})
    );
    let missing = server.get(&format!("/sessions/{session}/artifacts/plots/one.png"));
    assert_eq!(missing.problem(), (404, "not-found".to_owned()));
    let grants = server.get("/grants").json();
    let components = grants["components"].as_array().unwrap();
    assert!(components.iter().any(|row| row["component"] == "files"));
}

/// The page needs no token and holds none; its policy stands with each file, and a known file is
/// not sent again.
#[test]
fn page_is_served_without_a_token_and_confined() {
    let env = TestEnv::new();
    let server = ApiServer::start(&env, &ChatServer::start(Vec::new()), &[]);
    let policy = "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; \
        img-src 'self' blob:; media-src blob:; frame-src blob:; connect-src 'self'; \
        frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\r\n";
    let files = [
        ("/", "text/html"),
        ("/app.js", "text/javascript"),
        ("/app.css", "text/css"),
    ];
    for (path, media_type) in files {
        let get = |fields: &str| server.raw("none", &format!("GET {path}"), fields, None);
        let page = get("");
        assert_eq!(page.status, 200, "{path}");
        assert!(!page.body.contains(TOKEN), "{path}");
        let media_type = format!("content-type: {media_type}; charset=utf-8\r\n");
        for field in [policy, "x-content-type-options: nosniff\r\n", &media_type] {
            assert!(page.head.contains(field), "{path}: {}", page.head);
        }
        let (_, tag) = page.head.split_once("etag: ").unwrap();
        let (tag, _) = tag.split_once("\r\n").unwrap();
        let again = get(&format!("If-None-Match: {tag}\r\n"));
        assert_eq!((again.status, again.body.as_str()), (304, ""), "{path}");
        let head = server.raw("none", &format!("HEAD {path}"), "", None);
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
    }
    for request in ["POST /", "GET /app.js/", "GET /index.html", "GET //app.js"] {
        let missing = server.raw("none", request, "", None);
        assert_eq!(
            missing.problem(),
            (404, "not-found".to_owned()),
            "{request}"
        );
    }
}

#[test]
fn configuration_and_health_are_described() {
    let env = TestEnv::new();
    env.configure("[[agent]]\nname = \"clerk\"\ndescription = \"Keeps lists.\"\n");
    let model = ChatServer::start(Vec::new());
    let server = ApiServer::start(&env, &model, &[]);
    let health = server.get("/health").json();
    assert_eq!(
        health["model"],
        json!({"provider": "openai-compat", "model": "m"})
    );
    assert_eq!(health["role"], "operator");
    assert_eq!(server.get("/ready").status, 200);
    let state = env.outside().join("home/.local/state/agent-host");
    let (journal, moved) = (state.join("agent-host.db"), state.join("moved"));
    fs::rename(&journal, &moved).unwrap();
    assert_eq!(server.get("/ready").problem(), (500, "internal".to_owned()));
    let failed = server.post("/sessions", &json!({"message": "hi"}));
    assert_eq!(failed.problem(), (500, "internal".to_owned()));
    let said = "the session store failed; see this server's log for the reason";
    assert_eq!(failed.json()["detail"], said);
    assert_eq!(server.get("/health").status, 200);
    fs::rename(&moved, &journal).unwrap();
    assert_eq!(server.get("/ready").status, 200);
    assert_eq!(
        json!([server.get("/agents").json()["agents"][0]]),
        json!([{"name": "clerk", "description": "Keeps lists.", "models": ["openai-compat:m"]}])
    );
    assert_eq!(server.get("/workflows").json(), json!({"workflows": []}));
    let tools = server.get("/tools").json();
    let names: Vec<_> = tools["tools"].as_array().unwrap().iter().collect();
    assert!(names.iter().any(|tool| tool["name"] == "read_file"));
    let document = server.get("/openapi.json").json();
    assert_eq!(document["openapi"], "3.1.0");
}

/// The client of a session that asks for it runs the tools, also after a later message.
#[test]
fn client_runs_the_tools() {
    let env = TestEnv::new();
    env.write("note.txt", "hello");
    let read = || Answer::calls(&[("read_file", json!({"path": "note.txt"}))]);
    let model = ChatServer::start(vec![
        read(),
        Answer::text("Once."),
        read(),
        Answer::text("Twice."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let body = json!({"message": "Read it.", "runs_tools_outside": true});
    let created = server.post("/sessions", &body);
    assert_eq!(created.status, 201, "{created:?}");
    let session = created.json()["session"].as_str().unwrap().to_owned();
    let mut stream = server.events(&session, None);
    for is_first in [true, false] {
        if !is_first {
            let path = format!("/sessions/{session}/messages");
            assert_eq!(
                server.post(&path, &json!({"message": "Again."})).status,
                202
            );
        }
        stream.until("turn-ended");
        let request = open_request(&server, &session);
        let waiting = &request["awaiting"];
        assert_eq!(waiting["kind"], "external", "{request}");
        let call = waiting["calls"][0]["call_id"].clone();
        let results = json!({"results": [{"call_id": call, "value": "elsewhere"}]});
        assert_eq!(answer(&server, &session, &request, &results), 202);
        stream.until("turn-ended");
        // The next turn asks the model with the result.
        stream.until("turn-ended");
        assert_eq!(model.tool_results(), ["elsewhere"]);
    }
    let body = json!({"workflow": "w", "runs_tools_outside": true, "message": "go"});
    assert_eq!(server.post("/sessions", &body).status, 400);
}
