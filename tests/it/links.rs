//! Read-only links to one session: what they show, to whom, and until when.

use crate::roles::{ROUTES, create_seeing};
use agent_host_test_support::{
    TestEnv,
    api::{ApiServer, Response, TOKEN},
    chat::{Answer, ChatServer},
    postgres::database,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, thread};

const ON: &str = "session-links = true\n";

/// The routes that answer a link, with their statuses.
const OF_LINKS: [(&str, u16); 5] = [
    ("GET /api/v1/link", 200),
    ("POST /api/v1/link/open", 404),
    ("GET /api/v1/sessions/{session}", 200),
    ("GET /api/v1/sessions/{session}/blobs/{digest}", 404),
    ("GET /api/v1/sessions/{session}/events", 200),
];

/// Makes a link, and returns its name and its token.
fn make(server: &ApiServer, token: &str, session: &str, body: &Value) -> (String, String) {
    let path = format!("POST /sessions/{session}/links");
    let made = server.request(token, &path, Some(&body.to_string()));
    assert_eq!(made.status, 201, "{made:?}");
    let text = |name: &str| made.json()[name].as_str().unwrap().to_owned();
    (text("link"), text("token"))
}

/// The status of the session's row for a token.
fn read(server: &ApiServer, token: &str, session: &str) -> u16 {
    server
        .request(token, &format!("GET /sessions/{session}"), None)
        .status
}

fn begin(server: &ApiServer, message: &str) -> String {
    let session = server.create(message);
    server.events(&session, None).until("turn-ended");
    session
}

/// Sends a request to a route. A stream of events is not read to its end.
fn send(
    server: &ApiServer,
    token: &str,
    route: &str,
    session: &str,
    body: Option<&str>,
) -> Response {
    let zeros = format!("sha256:{}", "0".repeat(64));
    let address = route
        .replace("{session}", session)
        .replace("{digest}", &zeros)
        .replace("{request}", "1")
        .replace("{*name}", "a")
        .replace(['{', '}'], "");
    server.raw(token, &address, "", body)
}

/// Of all routes a link asks only those that its page needs, and those for its session alone.
#[test]
fn link_is_refused_by_each_route_but_its_own() {
    let env = TestEnv::new();
    env.configure(ON);
    let model = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let (session, other) = (begin(&server, "one"), begin(&server, "two"));
    let (_, link) = make(&server, TOKEN, &session, &json!({}));
    let events = "GET /api/v1/sessions/{session}/events";
    for (route, _, body, _) in ROUTES {
        let of_link = OF_LINKS.iter().find(|(known, _)| *known == route);
        if let Some((_, expected)) = of_link.filter(|_| route != events) {
            let answer = send(&server, &link, route, &session, body);
            assert_eq!(answer.status, *expected, "{route}: {answer:?}");
            if route.contains("{session}") {
                let answer = send(&server, &link, route, &other, body);
                assert_eq!(answer.problem(), (404, "not-found".to_owned()), "{route}");
            }
        } else if route != events {
            for session in [&session, &other] {
                let answer = send(&server, &link, route, session, body);
                assert_eq!(answer.status, 403, "{route}: {answer:?}");
                assert!(answer.body.contains("link"), "{route}: {answer:?}");
            }
        }
    }
    let shown = server.events_as(&link, &session, None).until("turn-ended");
    assert!(
        shown
            .iter()
            .any(|event| event.data["event"]["kind"] == "model-replied")
    );
    let path = format!("GET /sessions/{other}/events");
    assert_eq!(server.request(&link, &path, None).status, 404);
    assert_eq!(model.requests().len(), 2);
}

/// A link works until it is revoked, also by a server that was started again, and is in no log. Only
/// a digest of it is kept.
#[test]
fn link_is_listed_and_revoked_over_a_restart() {
    let env = TestEnv::new();
    env.configure(ON);
    let model = ChatServer::start(vec![Answer::text("One."), Answer::text("Two.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let [ann, bob] = ["ann", "bob"].map(|name| create_seeing(&env, name, "user", &[]));
    let created = server.request(&ann, "POST /sessions", Some(r#"{"message": "go"}"#));
    let session = created.json()["session"].as_str().unwrap().to_owned();
    server.events(&session, None).until("turn-ended");
    let links = format!("/sessions/{session}/links");
    let refused = server.request(&bob, &format!("POST {links}"), Some("{}"));
    assert_eq!(refused.problem(), (404, "not-found".to_owned()));
    let (first, link) = make(&server, &ann, &session, &json!({"hours": 168}));
    let (second, other) = make(&server, TOKEN, &session, &json!({"hours": 1}));
    let ended = server.end();
    assert_eq!(ended.code, Some(0));
    assert!(!ended.stderr.contains(&link), "{}", ended.stderr);
    let state = env.outside().join("home/.local/state/agent-host");
    let kept = fs::read(state.join("agent-host.db")).unwrap();
    let has = |text: &str| {
        kept.windows(text.len())
            .any(|bytes| bytes == text.as_bytes())
    };
    assert!(!has(&link) && has(&first));

    let server = ApiServer::start(&env, &model, &[]);
    assert_eq!(
        [&link, &other].map(|link| read(&server, link, &session)),
        [200, 200]
    );
    let listed = server.request(&ann, &format!("GET {links}"), None).json();
    let rows = listed["links"].as_array().unwrap();
    let names: Vec<&Value> = rows.iter().map(|row| &row["link"]).collect();
    assert_eq!(names, [&second, &first]);
    assert_eq!(
        (&rows[1]["by"], &rows[1]["opened"]),
        (&json!("ann"), &json!(false))
    );
    let lifetime =
        rows[1]["expires_at_ms"].as_u64().unwrap() - rows[1]["created_at_ms"].as_u64().unwrap();
    assert_eq!(lifetime, 168 * 3_600_000);
    let path = format!("DELETE {links}/{second}");
    assert_eq!(server.request(&bob, &path, None).status, 404);
    assert_eq!(server.request(&ann, &path, None).status, 204);
    assert_eq!(server.request(&ann, &path, None).status, 404);
    assert_eq!(
        [&link, &other].map(|link| read(&server, link, &session)),
        [200, 401]
    );
    // A link ends with the token that made it, and with the session.
    assert_eq!(env.run(&["serve", "token", "revoke", "ann"]).code, Some(0));
    assert_eq!(read(&server, &link, &session), 401);
    let (_, own) = make(&server, TOKEN, &session, &json!({}));
    assert_eq!(read(&server, &own, &session), 200);
    let path = format!("DELETE /sessions/{session}");
    assert_eq!(server.request(TOKEN, &path, None).status, 204);
    assert_eq!(read(&server, &own, &session), 401);
}

/// A link for a single use shows nothing before it is opened, and nothing by its own text after.
#[test]
fn link_for_a_single_use_is_opened_once() {
    let env = TestEnv::new();
    env.configure(ON);
    let model = ChatServer::start(vec![Answer::text("One.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = begin(&server, "one");
    let (_, link) = make(&server, TOKEN, &session, &json!({"single_use": true}));
    assert_eq!(read(&server, &link, &session), 403);
    let target = server.request(&link, "GET /link", None).json();
    assert_eq!(
        (&target["session"], &target["must_open"]),
        (&json!(session), &json!(true))
    );
    let opened = server.request(&link, "POST /link/open", Some("{}"));
    let token = opened.json()["token"].as_str().unwrap().to_owned();
    assert_eq!(read(&server, &token, &session), 200);
    assert_eq!(read(&server, &link, &session), 401);
    assert_eq!(
        server.request(&link, "POST /link/open", Some("{}")).status,
        401
    );
    let again = server.request(&token, "POST /link/open", Some("{}"));
    assert_eq!(again.problem(), (404, "not-found".to_owned()));
}

/// A link of one host works on the others of its store, and for a single use it is opened once.
#[test]
fn link_is_honoured_and_opened_once_by_all_hosts() {
    let Some(url) = database() else { return };
    let env = TestEnv::new();
    env.write("database", &url);
    env.configure(format!("{ON}[store]\nurl = \"file:database\"\n"));
    let model = ChatServer::start(vec![Answer::text("One.")]);
    let (own, other) = (env.outside().join("one"), env.outside().join("two"));
    let [first, second] = [own, other].map(|state| {
        let state = state.to_str().unwrap().to_owned();
        ApiServer::start(&env, &model, &["--state-dir", &state])
    });
    let session = begin(&first, "one");
    let (_, link) = make(&first, TOKEN, &session, &json!({"single_use": true}));
    assert_eq!(read(&second, &link, &session), 403);
    let open = |host: ApiServer| {
        let opened = host.request(&link, "POST /link/open", Some("{}"));
        (host, opened)
    };
    let [(first, one), (second, two)] = thread::scope(|scope| {
        let asked = [first, second].map(|host| scope.spawn(|| open(host)));
        asked.map(|asked| asked.join().unwrap())
    });
    let (opened, refused) = match one.status {
        200 => (one, two),
        _ => (two, one),
    };
    // One that comes late has the text of a link that is no more.
    assert!([401, 404].contains(&refused.status), "{refused:?}");
    let token = opened.json()["token"].as_str().unwrap().to_owned();
    let status = |token: &str| [&first, &second].map(|host| read(host, token, &session));
    assert_eq!((status(&token), status(&link)), ([200, 200], [401, 401]));
    let (name, link) = make(&second, TOKEN, &session, &json!({}));
    assert_eq!(status(&link), [200, 200]);
    let path = format!("DELETE /sessions/{session}/links/{name}");
    assert_eq!(first.request(TOKEN, &path, None).status, 204);
    assert_eq!(status(&link), [401, 401]);
    let path = format!("DELETE /sessions/{session}");
    assert_eq!(second.request(TOKEN, &path, None).status, 204);
    assert_eq!(status(&token), [401, 401]);
}

/// Without the operator's key there are no links, and those from before show nothing.
#[test]
fn links_are_off_by_default() {
    let env = TestEnv::new();
    env.configure(ON);
    let model = ChatServer::start(vec![Answer::text("One.")]);
    let server = ApiServer::start(&env, &model, &[]);
    let session = begin(&server, "one");
    let (_, link) = make(&server, TOKEN, &session, &json!({}));
    let path = format!("/sessions/{session}/links");
    for hours in [0, 2, 169] {
        let refused = server.post(&path, &json!({"hours": hours}));
        assert_eq!(refused.problem(), (400, "invalid-request".to_owned()));
    }
    assert_eq!(server.get("/health").json()["links"], true);
    assert_eq!(server.end().code, Some(0));
    env.configure("");
    let server = ApiServer::start(&env, &model, &[]);
    assert_eq!(server.get("/health").json()["links"], false);
    assert_eq!(read(&server, &link, &session), 401);
    let refused = server.post(&path, &json!({}));
    assert_eq!(refused.problem(), (403, "links-disabled".to_owned()));
}
