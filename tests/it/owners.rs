//! Whose a session is: each route with the sessions of a token, of another one and of another
//! project; calls at random; servers of two projects on one store; and files outside of the grants.

mod calls;
mod projects;

use crate::roles::{NONE, ROUTES, create_seeing};
use agent_host_serve::{AccessRole, route_roles};
use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, Response, TOKEN},
    chat::{Answer, ChatServer},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The arguments of a server of another project with the state directory of an environment.
fn state_of(env: &TestEnv) -> [String; 2] {
    let state = env.outside().join("home/.local/state/agent-host");
    ["--state-dir".to_owned(), state.display().to_string()]
}

/// Starts a server of another project on the state directory of an environment.
fn start_beside(env: &TestEnv, project: &TestEnv, model: &ChatServer, more: &[&str]) -> ApiServer {
    let [flag, state] = state_of(env);
    ApiServer::start(project, model, &[&[flag.as_str(), &state], more].concat())
}

/// A session with a response of it.
#[derive(Clone, Debug)]
struct KnownSession {
    session: String,
    response: String,
}

impl KnownSession {
    /// One that does not exist.
    fn none() -> Self {
        let response = format!("resp_{}_0", NONE.replace('-', ""));
        Self {
            session: NONE.to_owned(),
            response,
        }
    }

    /// Begins a session by a response, for which the model has an answer.
    fn begin(server: &ApiServer, token: &str) -> Self {
        let body = json!({"model": "agent-host", "input": "find words"}).to_string();
        let made = server.raw(token, "POST /v1/responses", "", Some(&body));
        assert_eq!(made.status, 200, "{made:?}");
        let response = made.json()["id"].as_str().unwrap().to_owned();
        let digits = response.split('_').nth(1).unwrap();
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
        Self {
            session: parts.join("-"),
            response,
        }
    }
}

/// Copies a session, and returns the id of the copy.
fn fork(server: &ApiServer, token: &str, session: &str) -> String {
    let path = format!("POST /sessions/{session}/fork");
    let forked = server.request(token, &path, Some("{}"));
    assert_eq!(forked.status, 201, "{forked:?}");
    forked.json()["session"].as_str().unwrap().to_owned()
}

/// Returns the part of a response that a client sees, without the time.
fn seen(response: Response) -> (String, String) {
    let lines = response.head.lines();
    let head = lines.filter(|line| !line.starts_with("date: "));
    (head.collect::<Vec<_>>().join("\n"), response.body)
}

/// Sends a request for a route about a session. What is sent runs no model, and changes the session
/// at most.
fn send(server: &ApiServer, token: &str, route: &str, about: &KnownSession) -> Response {
    let zeros = format!("sha256:{}", "0".repeat(64));
    let address = route
        .replace("{session}", &about.session)
        .replace("{id}", &about.response)
        .replace("{digest}", &zeros)
        .replace("{request}", "1")
        .replace("{*name}", "a")
        .replace("{model}", "agent-host");
    let body = match route.split_once(' ').unwrap() {
        ("GET" | "DELETE", _) => None,
        ("PATCH", _) => Some(r#"{"name": "n"}"#.to_owned()),
        (_, "/v1/responses") => {
            // Refused behind the session, as that of another agent.
            let previous = &about.response;
            let body = json!({"model": "clerk", "input": "x", "previous_response_id": previous});
            Some(body.to_string())
        }
        (_, "/v1/chat/completions") => {
            let call = format!("call_{}_a", about.session.replace('-', ""));
            let result = json!({"role": "tool", "tool_call_id": call, "content": "x"});
            Some(json!({"model": "clerk", "messages": [result]}).to_string())
        }
        _ => Some("{}".to_owned()),
    };
    server.raw(token, &address, "", body.as_deref())
}

/// Whether a route is about a session that its request names.
fn names_session(route: &str) -> bool {
    ["{session}", "{id}", "POST /v1/"]
        .iter()
        .any(|part| route.contains(part))
}

/// The routes of a role that answer about sessions of a scope without naming one, with the number
/// of sessions in the answer.
fn counted(server: &ApiServer, token: &str) -> [(&'static str, u64); 3] {
    let get = |route: &str| server.raw(token, route, "", None);
    let stats = get("GET /api/v1/stats").json()["total"]["sessions"].as_u64();
    let metrics = get("GET /metrics").body;
    let states = metrics.lines().filter_map(|line| {
        line.strip_prefix("agent_host_sessions{")?
            .rsplit(' ')
            .next()
    });
    let states = states.map(|number| number.parse::<u64>().unwrap());
    let found = get("GET /api/v1/sessions?limit=500&search=find").json();
    let found = found["sessions"].as_array().unwrap().len();
    [
        ("stats", stats.unwrap()),
        ("metrics", states.sum()),
        ("search", found as u64),
    ]
}

/// The ids of the sessions that a token lists.
fn listed(server: &ApiServer, token: &str) -> BTreeSet<String> {
    let page = server
        .request(token, "GET /sessions?limit=500", None)
        .json();
    let rows = page["sessions"].as_array().unwrap().iter();
    let id = |row: &Value| row["session"].as_str().unwrap().to_owned();
    rows.map(id).collect()
}

const CLERK: &str =
    "agents = [\"clerk\"]\n[[agent]]\nname = \"clerk\"\ndescription = \"Writes.\"\n";

/// Each route with each role: a session of the token itself, one of another token of the project,
/// and one of another project. What a token does not see is answered as what does not exist.
#[test]
fn each_route_hides_the_sessions_outside_of_its_scope() {
    let served = route_roles().into_iter();
    let served: BTreeSet<String> = served
        .map(|(method, path, _)| format!("{method} {path}"))
        .collect();
    assert_eq!(served, ROUTES.map(|(route, ..)| route.to_owned()).into());
    let [env, project] = [TestEnv::new(), TestEnv::new()];
    env.configure(CLERK);
    let model = ChatServer::start((0..12).map(|_| Answer::text("Found.")).collect());
    let server = ApiServer::start(&env, &model, &[]);
    let beside = start_beside(&env, &project, &model, &[]);
    let bob = create_seeing(&env, "bob", "user", &["--sessions", "own"]);
    let of_bob = KnownSession::begin(&server, &bob);
    let of_project = KnownSession::begin(&beside, TOKEN);
    let tokens = AccessRole::ALL.into_iter().flat_map(|role| {
        ["own", "project"].map(|sees| {
            let name = format!("{role}-{sees}");
            let token = create_seeing(&env, &name, role.as_str(), &["--sessions", sees]);
            let own = (role >= AccessRole::User).then(|| KnownSession::begin(&server, &token));
            (role, sees, token, own)
        })
    });
    let tokens: Vec<_> = tokens.collect();
    let all = tokens.iter().filter_map(|(.., own)| own.clone());
    let all: Vec<KnownSession> = all.chain([of_bob.clone()]).collect();
    for (role, sees, token, own) in &tokens {
        let mut cells = vec![
            ("another token", &of_bob, &bob, *sees == "project"),
            ("another project", &of_project, token, false),
        ];
        cells.extend(own.as_ref().map(|own| ("own", own, token, true)));
        let visible: BTreeSet<String> = match (*sees, own) {
            ("project", _) => all.iter().map(|known| known.session.clone()).collect(),
            (_, own) => own.iter().map(|known| known.session.clone()).collect(),
        };
        assert_eq!(listed(&server, token), visible, "{role} {sees}");
        let expected = ["stats", "metrics", "search"].map(|of| (of, visible.len() as u64));
        assert_eq!(counted(&server, token), expected, "{role} {sees}");
        for (whose, known, by, is_visible) in cells {
            for (route, least, ..) in ROUTES {
                if !names_session(route) || *role < least.parse().unwrap() {
                    continue;
                }
                let is_read = route.starts_with("GET") || route.contains("/v1/responses");
                // A stream of events has no end, so that one which is seen is asked for wrongly.
                let route = match is_visible && route.ends_with("/events") {
                    true => format!("{route}?from=x"),
                    false => route.to_owned(),
                };
                let (route, mut about) = (route.as_str(), known.clone());
                if is_visible && !is_read {
                    about.session = fork(&server, by, &known.session);
                }
                let there = send(&server, token, route, &about);
                let copy = route
                    .ends_with("/fork")
                    .then(|| there.json()["session"].clone());
                let there = seen(there);
                let unknown = seen(send(&server, token, route, &KnownSession::none()));
                let cell = format!("{role} {sees}: {whose}: {route}");
                assert_eq!(there != unknown, is_visible, "{cell}: {there:?}");
                // What was copied is not counted below.
                let copies = [Some(json!(about.session)), copy];
                for copy in copies.iter().flatten().filter(|_| is_visible && !is_read) {
                    let path = format!("DELETE /sessions/{}", copy.as_str().unwrap());
                    server.request(TOKEN, &path, None);
                }
            }
        }
    }
}

/// A token that comes after another one of its name does not get what that one had.
#[test]
fn token_name_used_again_inherits_nothing() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let begin = |token: &str| {
        let field = "Idempotency-Key: k\r\n";
        let body = r#"{"message": "hi"}"#;
        let created = server.request_with(token, "POST /sessions", field, Some(body));
        assert_eq!(created.status, 201, "{created:?}");
        created.json()["session"].as_str().unwrap().to_owned()
    };
    let first = create_seeing(&env, "ann", "user", &[]);
    let session = begin(&first);
    server.events(&session, None).until("turn-ended");
    assert_eq!(listed(&server, &first), BTreeSet::from([session.clone()]));
    assert_eq!(env.run(&["serve", "token", "revoke", "ann"]).code, Some(0));
    let second = create_seeing(&env, "ann", "user", &[]);
    assert_eq!(listed(&server, &second), BTreeSet::new());
    let path = format!("GET /sessions/{session}");
    let problem = server.request(&second, &path, None).problem();
    assert_eq!(problem, (404, "not-found".to_owned()));
    let other = begin(&second);
    server.events(&other, None).until("turn-ended");
    assert_ne!(session, other);
}

/// Tokens of a file of an older version have the scope of their role.
#[test]
fn tokens_of_an_older_version_have_the_default_scope() {
    let env = TestEnv::new();
    for role in AccessRole::ALL.map(AccessRole::as_str) {
        create_seeing(&env, &format!("a-{role}"), role, &[]);
    }
    let state = env.outside().join("home/.local/state/agent-host");
    let path = state.join("serve-tokens.json");
    let kept: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let entries = kept["entries"].as_array().unwrap().iter().map(|known| {
        let mut entry = known["entry"].clone();
        entry.as_object_mut().unwrap().remove("sessions").unwrap();
        entry
    });
    let old = json!({"version": 1, "tokens": entries.collect::<Vec<_>>()});
    std::fs::write(&path, old.to_string()).unwrap();
    // That version made no key.
    std::fs::remove_file(state.join("rows.key")).unwrap();
    let listed = env.run(&["serve", "token", "list", "--json"]).json_lines();
    let scopes = listed.iter().map(|row| row["sessions"].as_str().unwrap());
    let expected = ["project", "own", "project", "project"];
    assert_eq!(scopes.collect::<Vec<_>>(), expected);
}

/// A token that was changed past the program is refused as an unknown one, listed as ignored, and
/// named by `doctor` with the command that removes it.
#[test]
fn token_changed_by_hand_is_refused_and_named() {
    let env = TestEnv::new();
    let text = create_seeing(&env, "ann", "viewer", &[]);
    let model = ChatServer::start(Vec::new());
    let server = ApiServer::start(&env, &model, &[]);
    assert_eq!(server.request(&text, "GET /sessions", None).status, 200);
    let path = "home/.local/state/agent-host/serve-tokens.json";
    let path = env.outside().join(path);
    let kept = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, kept.replace("viewer", "operator")).unwrap();
    let changed = server.request(&text, "GET /sessions", None);
    let unknown = server.request("unknown", "GET /sessions", None);
    assert_eq!(changed.status, 401);
    assert_eq!(changed.json(), unknown.json());
    let listed = env.run(&["serve", "token", "list", "--json"]).json_lines();
    let listed = listed.iter().map(|row| (&row["name"], &row["ignored"]));
    assert_eq!(listed.collect::<Vec<_>>(), [(&json!("ann"), &json!(true))]);
    let revoke = "agent-host serve token revoke ann";
    let named = format!(
        "a token without a valid signature, which is refused: ann; revoke it, and create it again: {revoke}"
    );
    let doctor = env.run(&["doctor"]).stdout;
    assert!(doctor.contains(&named), "{doctor}");
    assert_eq!(env.run(&["serve", "token", "revoke", "ann"]).code, Some(0));
    let doctor = env.run(&["doctor"]).stdout;
    assert!(!doctor.contains("ann"), "{doctor}");
}
