//! Search in the texts of sessions: what is found, and by whom.

use super::*;
use crate::roles::create_seeing;
use pretty_assertions::assert_eq;

/// Begins a session with a message, and returns its id once it has ended.
fn begin(server: &ApiServer, token: &str, message: &str) -> String {
    let body = json!({"message": message}).to_string();
    let created = server.request(token, "POST /sessions", Some(&body));
    assert_eq!(created.status, 201, "{created:?}");
    let session = created.json()["session"].as_str().unwrap().to_owned();
    server.events(&session, None).until("turn-ended");
    session
}

/// The sessions that a search with a token finds.
fn found(server: &ApiServer, token: &str, query: &str) -> Vec<Value> {
    let found = server.request(token, &format!("GET /search?{query}"), None);
    assert_eq!(found.status, 200, "{found:?}");
    assert_eq!(found.json()["next"], Value::Null);
    let matches = found.json()["matches"].as_array().unwrap().clone();
    matches
        .into_iter()
        .map(|found| found["session"].clone())
        .collect()
}

/// A session is found by the words of its messages and answers, with the place of the first; a token
/// for its own sessions finds no other one's.
#[test]
fn texts_are_searched_among_own_sessions() {
    let env = TestEnv::new();
    let model = ChatServer::start(vec![
        Answer::text("The heron <b>stands</b> still."),
        Answer::text("Nothing."),
        Answer::text("Herons again."),
    ]);
    let server = ApiServer::start(&env, &model, &[]);
    let [ann, bob] = ["ann", "bob"].map(|name| create_seeing(&env, name, "user", &[]));
    let first = begin(&server, &ann, "Which bird?");
    let second = begin(&server, &ann, "And now a HERON in the message?");
    let other = begin(&server, &bob, "Which bird is it?");

    assert_eq!(found(&server, &ann, "text=heron"), [&*second, &*first]);
    assert_eq!(found(&server, &bob, "text=heron"), [&*other]);
    assert_eq!(
        found(&server, TOKEN, "text=heron"),
        [&*other, &*second, &*first]
    );
    assert_eq!(found(&server, &ann, "text=stand%20hero"), [&*first]);
    assert_eq!(found(&server, &ann, "text=still%20bird"), [""; 0]);
    let extract = server.request(&ann, "GET /search?text=stands", None).json();
    let found = &extract["matches"][0];
    assert_eq!(
        (&found["session"], &found["title"]),
        (&json!(first), &json!("Which bird?"))
    );
    assert_eq!(
        found["extract"],
        json!([
            {"text": "The heron <b>", "is_match": false},
            {"text": "stands", "is_match": true},
            {"text": "</b> still.", "is_match": false},
        ])
    );
    let long = "a".repeat(201);
    for query in [
        "",
        "text=a&from=x",
        "text=a&more=1",
        &format!("text={long}"),
    ] {
        let refused = server.get(&format!("/search?{query}"));
        assert_eq!(
            refused.problem(),
            (400, "invalid-request".to_owned()),
            "{query}"
        );
    }
}
