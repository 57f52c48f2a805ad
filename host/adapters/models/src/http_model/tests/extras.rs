//! Headers, query and key header that a configuration adds to requests.

use super::{recorded::Written, *};
use crate::Recorder;
use agent_host_types::model::Provenance;
use pretty_assertions::assert_eq;
use std::sync::Arc;

const TEAM: &str = "team-secret-9";
const VERSION: &str = "2099-01-preview";

fn with_extras(base_url: &str) -> Endpoint {
    Endpoint {
        extras: RequestExtras {
            key_header: Some("api-key".to_owned()),
            headers: vec![("x-team".to_owned(), TEAM.into())],
            query: vec![("api-version".to_owned(), VERSION.into())],
            ..RequestExtras::default()
        },
        ..endpoint(base_url, Some(KEY))
    }
}

#[tokio::test]
async fn extras_are_sent_and_in_no_text() {
    let repeated = format!("{KEY} and {TEAM} and {VERSION} refused");
    let refused = Answer::new(400).text(repeated.clone());
    let answers = vec![Answer::stream(events(&repeated)), refused];
    let server = TestServer::sequence(answers).await;
    let written = Written::default();
    let recorder = Arc::new(Recorder::new(Box::new(written.clone())));
    let model = model(with_extras(&base_url(&server)))
        .with_provider_name("work")
        .recorded(&recorder);
    let (reply, _) = ask(&model, &request()).await;
    assert_eq!(reply.unwrap().text, repeated);
    let (reply, _) = ask(&model, &request()).await;
    let error = reply.unwrap_err().message;
    assert!(
        error.contains("[the key] and [the key] and [the key] refused"),
        "{error}"
    );
    for received in server.received() {
        assert_eq!(received.uri.query(), Some("api-version=2099-01-preview"));
        assert_eq!(received.header("api-key"), Some(KEY));
        assert_eq!(received.header("x-team"), Some(TEAM));
        assert_eq!(received.header("authorization"), None);
    }
    let recording = written.text();
    for secret in [KEY, TEAM, VERSION] {
        assert!(!error.contains(secret) && !model.url().contains(secret));
        assert!(!recording.contains(secret), "{recording}");
    }
    // A recording is of the same wire and of the same provider.
    let replayed = HttpModel::replayed(&recording).unwrap();
    let provenance = Provenance {
        provider: "work".to_owned(),
        model: "m1".to_owned(),
    };
    assert_eq!(replayed.provenance(), provenance);
    let (reply, _) = ask(replayed.as_ref(), &request()).await;
    assert_eq!(
        reply.unwrap().text,
        "[the key] and [the key] and [the key] refused"
    );
}

#[tokio::test]
async fn key_header_authorization_is_a_bearer_token() {
    let server = TestServer::at("/v1/messages", Answer::new(401)).await;
    let endpoint = Endpoint {
        extras: RequestExtras {
            key_header: Some("Authorization".to_owned()),
            ..RequestExtras::default()
        },
        ..endpoint(&server.url, Some(KEY))
    };
    let provider = Provider::Anthropic;
    let model = HttpModel::new(provider, "m1", endpoint, provider.capabilities()).unwrap();
    let _ = ask(&model, &request()).await;
    let received = server.received();
    let expected = format!("Bearer {KEY}");
    assert_eq!(received[0].header("authorization"), Some(&*expected));
    assert_eq!(received[0].header("x-api-key"), None);
}

#[test]
fn header_that_cannot_be_sent_is_an_error() {
    for (name, value) in [("a b", "v"), ("x-a", "v\nw")] {
        let endpoint = Endpoint {
            extras: RequestExtras {
                headers: vec![(name.to_owned(), value.into())],
                ..RequestExtras::default()
            },
            ..endpoint("http://127.0.0.1:1/v1", None)
        };
        let provider = Provider::OpenAiCompat;
        let error = HttpModel::new(provider, "m", endpoint, provider.capabilities()).unwrap_err();
        assert!(
            matches!(&error, EndpointError::Header(named) if named == name),
            "{error}"
        );
    }
}
