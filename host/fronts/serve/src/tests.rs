//! The OpenAPI document, the forms of answers, revoked tokens, and the end of the server.

use crate::{
    access::{AccessRole, ServerAccess},
    openapi,
    problem::{Problem, ProblemCode},
    routes::routes,
    tokens::TokenFile,
    triggers::tests::Project,
};
use agent_host_http::{HttpLimits, HttpOptions, HttpServer, Token};
use agent_host_http_client::{builder, tls_config};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{collections::BTreeSet, net::SocketAddr, time::Duration};
use tokio_util::sync::CancellationToken;

/// Collects every reference in a document.
fn references<'a>(value: &'a Value, found: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.insert(reference);
            }
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn document_describes_each_route_and_resolves() {
    let document = openapi::document();
    let paths = document["paths"].as_object().unwrap();
    let described: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(|method| (path.clone(), method.clone()))
        })
        .collect();
    let served: BTreeSet<(String, String)> = routes()
        .iter()
        .filter(|route| route.operation.is_some())
        .map(|route| {
            let method = route.method.as_str().to_lowercase();
            (route.path.replace("{*", "{"), method)
        })
        .collect();
    assert_eq!(described, served);
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    for reference in &found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    assert!(found.contains("#/components/schemas/Continuation"));
}

#[test]
fn problem_has_the_form_of_rfc_9457() {
    let problem = Problem::new(ProblemCode::SessionRunning, "it runs; wait");
    assert_eq!(
        json!(problem),
        json!({"status": 409, "code": "session-running", "title": "Conflict", "detail": "it runs; wait"})
    );
}

/// A stream that is open ends with its token, and not with another one of its name.
#[tokio::test]
async fn caller_of_a_revoked_token_is_revoked() {
    let directory = tempfile::tempdir().unwrap();
    let file = TokenFile::in_state_dir(directory.path());
    let own = Token::generate().unwrap().0;
    let access = ServerAccess::new(own.clone(), file.clone());
    let create = || {
        let text = file.create("ci".parse().unwrap(), AccessRole::User, None);
        Token::new(&text.unwrap()).unwrap()
    };
    let caller = access.caller(create()).await.unwrap();
    assert_eq!(
        (caller.name().as_str(), caller.is_revoked().await),
        ("ci", false)
    );
    file.revoke("ci".parse().unwrap()).unwrap();
    assert!(caller.is_revoked().await);
    let again = access.caller(create()).await.unwrap();
    assert_eq!(
        (caller.is_revoked().await, again.is_revoked().await),
        (true, false)
    );
    let server = access.caller(own).await.unwrap();
    assert_eq!(
        (server.name().as_str(), server.is_revoked().await),
        ("operator", false)
    );
}

/// A client that watches a session does not delay the end of a server on which nothing runs.
#[tokio::test]
async fn stream_of_events_ends_with_the_server() {
    const HOUR: Duration = Duration::from_hours(1);
    let project = Project::new("");
    let (token, secret) = Token::generate().unwrap();
    let tokens = TokenFile::in_state_dir(&project.path());
    let mut options = HttpOptions::new(ServerAccess::new(token, tokens));
    options.limits = HttpLimits {
        grace: HOUR,
        ..HttpLimits::default()
    };
    let server = HttpServer::bind(SocketAddr::from(([127, 0, 0, 1], 0)), options).unwrap();
    let address = server.address();
    let shutdown = CancellationToken::new();
    let serving = tokio::spawn(project.host().await.serve(server, shutdown.clone()));
    let client = builder(tls_config().unwrap()).build().unwrap();
    let sessions = format!("http://{address}/api/v1/sessions");
    let create = client.post(&sessions).bearer_auth(&secret);
    let create = create.header("content-type", "application/json");
    let created = create.body("{\"message\": \"go\"}").send().await.unwrap();
    let created: Value = serde_json::from_slice(&created.bytes().await.unwrap()).unwrap();
    let events = format!("{sessions}/{}/events", created["session"].as_str().unwrap());
    let stream = client
        .get(events)
        .bearer_auth(&secret)
        .send()
        .await
        .unwrap();
    shutdown.cancel();
    let events = tokio::time::timeout(HOUR / 60, stream.text()).await;
    assert!(events.unwrap().unwrap().contains("turn-ended"));
    serving.await.unwrap();
}
