//! The roles of tokens: each route with each role, decisions by role, and the names in the journal.

mod routes;

pub(crate) use routes::{NONE, ROUTES};

use crate::serve::open_request;
use agent_host_serve::{AccessRole, route_roles};
use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, Response, TOKEN},
    chat::{Answer, ChatServer},
    of_kind,
    pictures::png,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, sync::mpsc, thread};

fn create(env: &TestEnv, name: &str, role: &str) -> String {
    create_seeing(env, name, role, &[])
}

/// Creates a token with more arguments, such as the sessions that it sees.
pub(crate) fn create_seeing(env: &TestEnv, name: &str, role: &str, more: &[&str]) -> String {
    let made = ["serve", "token", "create", name, "--role", role];
    let made = env.run(&[&made[..], more].concat());
    assert_eq!(made.code, Some(0), "{made:?}");
    made.stdout.trim_end().to_owned()
}

/// Returns the status and the code of a response, which is empty for one that is no error.
fn code(response: &Response) -> (u16, String) {
    let of_openai = |response: &Response| response.json()["error"]["code"].clone();
    let code = match response.status {
        ..400 => String::new(),
        _ if response.head.contains("application/problem+json") => response.problem().1,
        _ => of_openai(response).as_str().unwrap().to_owned(),
    };
    (response.status, code)
}

/// The answer to a token that is missing, unknown or revoked.
fn unauthorized(path: &str) -> (u16, String) {
    let code = match path.starts_with("/v1/") {
        true => "invalid_api_key",
        false => "unauthorized",
    };
    (401, code.to_owned())
}

/// The answer to a lesser role.
fn forbidden(path: &str, least: &str) -> (u16, String) {
    let code = match path.starts_with("/v1/") {
        true => format!("{least}_required"),
        false => format!("{least}-required"),
    };
    (403, code)
}

/// Each route with each role. What is refused is refused in the same words whether the session and
/// its blob exist or not.
#[test]
fn each_route_is_refused_to_lesser_roles() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("Seen.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let (session, digest) = session_with_blob(&server);
    let roles = AccessRole::ALL.map(|role| (create(&env, role_name(role), role.as_str()), role));
    let revoked = create(&env, "gone", "operator");
    assert_eq!(env.run(&["serve", "token", "revoke", "gone"]).code, Some(0));
    let served: BTreeSet<(String, String)> = route_roles()
        .into_iter()
        .map(|(method, path, role)| (format!("{method} {path}"), role.to_string()))
        .collect();
    let rows = ROUTES.map(|(route, least, ..)| (route.to_owned(), least.to_owned()));
    assert_eq!(served, BTreeSet::from(rows));
    assert_eq!(described(&server), served);

    for (route, least, body, (status, error)) in ROUTES {
        let (_, path) = route.split_once(' ').unwrap();
        let fill = |session: &str, digest: &str| {
            let route = route.replace("{session}", session);
            let route = route.replace("{digest}", digest).replace("{request}", "1");
            route.replace("{*name}", "a").replace(['{', '}'], "")
        };
        let absent = fill(NONE, &format!("sha256:{}", "0".repeat(64)));
        let present = fill(&session, &digest);
        let refused = |token: &str, expected: (u16, String)| {
            let there = server.raw(token, &present, "", body);
            assert_eq!(code(&there), expected, "{present}: {there:?}");
            let not_there = server.raw(token, &absent, "", body);
            // The second may change between them.
            let undated = |head: String| -> Vec<String> {
                let lines = head.lines().filter(|line| !line.starts_with("date:"));
                lines.map(str::to_owned).collect()
            };
            let there = (undated(there.head), there.body);
            assert_eq!(there, (undated(not_there.head), not_there.body));
        };
        refused("", unauthorized(path));
        refused(&revoked, unauthorized(path));
        for (token, role) in &roles {
            if *role < least.parse().unwrap() {
                refused(token, forbidden(path, least));
            } else {
                let response = server.raw(token, &absent, "", body);
                let expected = (status, error.to_owned());
                assert_eq!(code(&response), expected, "{role} {absent}: {response:?}");
            }
        }
        let own = server.raw(TOKEN, &absent, "", body);
        assert_eq!(code(&own), (status, error.to_owned()), "{absent}");
    }
    assert_eq!(model.requests().len(), 1);
}

/// The name of the token of a role: `operator` is the server's own.
fn role_name(role: AccessRole) -> &'static str {
    match role {
        AccessRole::Operator => "ops",
        role => role.as_str(),
    }
}

/// Creates a session with a picture, and returns it with the digest of that.
fn session_with_blob(server: &ApiServer) -> (String, String) {
    let data = json!({"type": "bytes", "value": STANDARD.encode(png(8, 8))});
    let part = json!({"type": "file", "media_type": "image/png", "data": data});
    let created = server.post("/sessions", &json!({"message": "look", "parts": [part]}));
    let session = created.json()["session"].as_str().unwrap().to_owned();
    let events = server.events(&session, None).until("turn-ended");
    let mut inputs = events
        .iter()
        .filter(|event| event.data["event"]["kind"] == "input-received");
    let input = &inputs.next().unwrap().data["event"];
    let blob = &input["message"]["content"][0]["data"]["value"];
    (session, blob["digest"].as_str().unwrap().to_owned())
}

/// Returns the routes with their roles as the OpenAPI document has them, and that of the document
/// itself.
fn described(server: &ApiServer) -> BTreeSet<(String, String)> {
    let document = server.get("/openapi.json").json();
    let paths = document["paths"].as_object().unwrap();
    let mut routes: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            // A parameter of several segments is one to OpenAPI.
            let path = path.replace("{name}", "{*name}");
            methods.map(move |(method, operation)| {
                let role = operation["x-role"].as_str().unwrap().to_owned();
                (format!("{} {path}", method.to_uppercase()), role)
            })
        })
        .collect();
    let own = ROUTES
        .iter()
        .filter(|(route, ..)| route.contains("/openapi.json"));
    routes.extend(own.map(|(route, least, ..)| ((*route).to_owned(), (*least).to_owned())));
    routes
}

/// A user answers, an approver decides, and an operator has it remembered; the journal names each.
#[test]
fn decisions_are_those_of_approvers_and_operators() {
    let env = TestEnv::new();
    let write =
        |path: &str| Answer::calls(&[("write_file", json!({"path": path, "content": "a"}))]);
    let model = ChatServer::start(vec![
        write("a.txt"),
        write("b.txt"),
        Answer::text("Written."),
    ]);
    let server = ApiServer::start(&env, &model, &["--write"]);
    let [user, approver, operator] =
        ["user", "approver", "operator"].map(|role| create(&env, &format!("an-{role}"), role));
    let created = server.request(&user, "POST /sessions", Some(r#"{"message": "write"}"#));
    let session = created.json()["session"].as_str().unwrap().to_owned();
    let mut stream = server.events(&session, None);
    stream.until("turn-ended");
    let send = |token: &str, session: &str, decision: &Value| {
        let continuation = open_request(&server, &session.replace(NONE, &session_of(&env)));
        let request = continuation["request"].as_str().unwrap();
        let (_, number) = request.split_once('/').unwrap();
        let path = format!("POST /sessions/{session}/requests/{number}/answer");
        let body = json!({"continuation": continuation, "decisions": [decision]});
        code(&server.request(token, &path, Some(&body.to_string())))
    };
    let approve = json!({"type": "approve", "call_id": "call_0"});
    let for_project = |id: &str| json!({"type": "approve", "call_id": id, "remember": {"what": "tool", "scope": "project"}});
    for (session, is_there) in [(session.as_str(), true), (NONE, false)] {
        let denied = |code: &str| match is_there {
            true => (403, code.to_owned()),
            false => (404, "not-found".to_owned()),
        };
        assert_eq!(send(&user, session, &approve), denied("approver-required"));
        let remembered = send(&approver, session, &for_project("call_0"));
        assert_eq!(remembered, denied("operator-required"));
    }
    let accepted = (202, String::new());
    assert_eq!(send(&approver, &session, &approve), accepted);
    stream.until("approval-requested");
    stream.until("turn-ended");
    let open = open_request(&server, &session);
    let second = open["awaiting"]["calls"][0]["call_id"].as_str().unwrap();
    assert_eq!(send(&operator, &session, &for_project(second)), accepted);
    stream.until("turn-ended");
    stream.until("turn-ended");
    assert!(env.work().join("b.txt").exists());
    let events = env.events();
    let by = |kind: &str| -> Vec<Value> {
        let events = of_kind(&events, kind);
        events.iter().map(|event| event["by"].clone()).collect()
    };
    assert_eq!(by("input-received"), ["an-user"]);
    assert_eq!(by("decision-recorded"), ["an-approver", "an-operator"]);
    let explained = env.run(&["explain", &session]).stdout;
    assert!(explained.contains("decided by an-approver"), "{explained}");
    let shown = env.run(&["sessions", "show", &session]).stdout;
    assert!(shown.contains("(by an-operator)"), "{shown}");
    let remembered = env.run(&["approvals", "list"]).stdout;
    assert!(
        remembered.contains("every call of `write_file`"),
        "{remembered}"
    );
}

/// The journal has the senders of continuations, copies and results from outside; the
/// log has every request that may have changed something, that of a deletion included.
#[test]
fn senders_of_all_inputs_are_recorded_or_logged() {
    let env = TestEnv::new();
    env.write("list.txt", "bread");
    let read = Answer::calls(&[("read_file", json!({"path": "list.txt"}))]);
    let model = ChatServer::start(vec![read, Answer::text("Done.")]);
    let server = ApiServer::start(&env, &model, &["--log", "info", "--log-format", "json"]);
    let project = ["--sessions", "project"];
    let [ann, bob, eve] =
        ["ann", "bob", "eve"].map(|name| create_seeing(&env, name, "user", &project));
    let body = r#"{"message": "go", "runs_tools_outside": true}"#;
    let created = server.request(&ann, "POST /sessions", Some(body));
    let session = created.json()["session"].as_str().unwrap().to_owned();
    let mut stream = server.events(&session, None);
    stream.until("turn-ended");
    let send = |token: &str, request: &str, body: &Value| {
        let response = server.request(token, request, Some(&body.to_string()));
        assert!(response.status < 300, "{request}: {response:?}");
        response
    };
    let of_session = |path: &str| format!("/sessions/{session}{path}");
    // It waits on, for the same calls.
    send(&bob, &format!("POST {}", of_session("/resume")), &json!({}));
    stream.until("turn-ended");
    let open = open_request(&server, &session);
    let (_, number) = open["request"].as_str().unwrap().split_once('/').unwrap();
    let path = of_session(&format!("/requests/{number}/answer"));
    let call = &open["awaiting"]["calls"][0]["call_id"];
    let results = json!([{"call_id": call, "value": "milk"}]);
    let answer = json!({"continuation": open, "results": results});
    send(&eve, &format!("POST {path}"), &answer);
    stream.until("turn-ended");
    stream.until("turn-ended");
    let copy = send(&bob, &format!("POST {}", of_session("/fork")), &json!({})).json();
    let copy = copy["session"].as_str().unwrap().to_owned();
    let events = server.events(&copy, None).until("session-forked");
    let events = events.iter().map(|event| &event.data["event"]);
    let sent: Vec<Value> = events
        .filter(|event| event["by"].is_string())
        .map(|event| json!([event["kind"], event["by"], event["input"]]))
        .collect();
    let expected = [
        json!(["input-received", "ann", null]),
        json!(["sender-named", "bob", "continue"]),
        json!(["sender-named", "eve", "results"]),
        json!(["session-forked", "bob", null]),
    ];
    assert_eq!(sent, expected);
    let name = json!({"name": "list"});
    send(&ann, &format!("PATCH /sessions/{copy}"), &name);
    send(&eve, &format!("DELETE /sessions/{copy}"), &json!({}));
    let ran = server.end();
    let lines = ran
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let of_copy = |line: &Value| line["path"] == format!("/api/v1/sessions/{copy}");
    let logged: Vec<Value> = lines
        .filter(of_copy)
        .map(|line: Value| json!([line["by"], line["method"], line["status"]]))
        .collect();
    let expected = [json!(["ann", "PATCH", 204]), json!(["eve", "DELETE", 204])];
    assert_eq!(logged, expected);
}

/// A stream of OpenAI's ends with its token, as one of events does, and its run is cancelled.
#[test]
fn stream_ends_when_its_token_is_revoked() {
    let env = TestEnv::new();
    let (asked, is_asked) = mpsc::channel();
    let (release, is_released) = mpsc::channel::<()>();
    let model = ChatServer::watched(vec![Answer::text("Never.")], move |point| {
        if point == 0 {
            asked.send(()).unwrap();
            // The test's end releases it.
            let _ = is_released.recv();
        }
    });
    let server = ApiServer::start(&env, &model, &[]);
    let app = create(&env, "an-app", "user");
    let body = json!({
        "model": "agent-host",
        "stream": true,
        "messages": [{"role": "user", "content": "hi"}],
    });
    let body = body.to_string();
    let ended = thread::scope(|scope| {
        let env = &env;
        scope.spawn(move || {
            is_asked.recv().unwrap();
            let revoked = env.run(&["serve", "token", "revoke", "an-app"]);
            assert_eq!(revoked.code, Some(0), "{revoked:?}");
        });
        server.raw(&app, "POST /v1/chat/completions", "", Some(&body))
    });
    assert_eq!(ended.status, 200, "{ended:?}");
    assert!(ended.body.contains("\"code\":\"interrupted\""), "{ended:?}");
    let session = session_of(&env);
    server.events(&session, None).until("turn-ended");
    let events = env.events();
    let end = of_kind(&events, "turn-ended")[0];
    assert_eq!(
        (&end["outcome"]["type"], &end["by"]),
        (&json!("cancelled"), &json!("an-app"))
    );
    drop(release);
}

/// Returns the one session of an environment.
fn session_of(env: &TestEnv) -> String {
    env.events()[0]["session"].as_str().unwrap().to_owned()
}

/// A key is its caller's own: what another began under it is not found.
#[test]
fn idempotency_key_is_its_callers_own() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let token = create(&env, "ci", "user");
    let create = |token: &str| {
        let field = "Idempotency-Key: k\r\n";
        let body = r#"{"message": "hi"}"#;
        let created = server.request_with(token, "POST /sessions", field, Some(body));
        assert_eq!(created.status, 201, "{created:?}");
        created.json()["session"].as_str().unwrap().to_owned()
    };
    let own = create(TOKEN);
    server.events(&own, None).until("turn-ended");
    let other = create(&token);
    server.events(&other, None).until("turn-ended");
    assert_ne!(own, other);
    assert_eq!([create(TOKEN), create(&token)], [own, other]);
}

/// Tokens are kept as names, roles and hashes, in a file of their owner alone.
#[test]
fn tokens_are_kept_as_hashes() {
    let env = TestEnv::new();
    let text = create(&env, "ci", "viewer");
    assert_eq!(text.len(), 43, "32 bytes in base64url");
    let path = "home/.local/state/agent-host/serve-tokens.json";
    let path = env.outside().join(path);
    let kept = fs::read_to_string(&path).unwrap();
    assert!(!kept.contains(&text), "{kept}");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let listed = env.run(&["serve", "token", "list", "--json"]).stdout;
    let row: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(
        (&row["name"], &row["role"], &row["sessions"]),
        (&json!("ci"), &json!("viewer"), &json!("project"))
    );
    let long = "n".repeat(65);
    for (name, said) in [
        ("ci", "a token `ci` already exists"),
        ("CI", "1 to 64 characters of a to z"),
        (&long, "1 to 64 characters of a to z"),
        ("operator", "are reserved; choose another"),
        ("expiry", "are reserved; choose another"),
    ] {
        let made = env.run(&["serve", "token", "create", name, "--role", "user"]);
        assert_eq!((made.code, made.stdout.as_str()), (Some(2), ""), "{name}");
        assert!(made.stderr.contains(said), "{name}: {}", made.stderr);
    }
    let unknown = env.run(&["serve", "token", "revoke", "absent"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let model = ChatServer::start(Vec::new());
    let server = ApiServer::start(&env, &model, &[]);
    let refused = server.request(&text, "GET /health", None);
    assert_eq!(refused.problem(), (500, "internal".to_owned()));
    assert_eq!(server.get("/health").status, 200);
}
