use super::{
    server::{Received, answer},
    setup::{COMPONENT, Setup, on},
};
use crate::{Client, ClientConfig, CredentialSource, Index, IndexEntry, Login};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// Returns a client with a configuration of Docker.
async fn client(setup: &Setup, auth: Value) -> Client {
    let path = setup.parent.path().join("config.json");
    let auths = json!({ "auths": { setup.server.registry(): auth } });
    std::fs::write(&path, auths.to_string()).unwrap();
    let config = ClientConfig {
        credentials: CredentialSource {
            variable: None,
            docker_config: Some(path),
        },
        ..ClientConfig::default()
    };
    Client::new(&setup.reference, &config).await.unwrap()
}

#[tokio::test]
async fn credentials_are_checked_with_the_registry() {
    let good = json!({ "auth": STANDARD.encode("ann:right") });
    let bad = json!({ "auth": STANDARD.encode("ann:wrong") });
    let token = json!({ "identitytoken": "refresh" });
    let none = json!({});
    let basic = |received: &Received| {
        let right = format!("Basic {}", STANDARD.encode("ann:right"));
        let is_right = received.authorization.as_deref() == Some(&right);
        Some(match is_right {
            true => answer(200, &[], "{}"),
            false => answer(401, &[("www-authenticate", "Basic realm=x")], ""),
        })
    };
    let accepted = |setup: &Setup| Login::Accepted {
        name: Some("ann".to_owned()),
        source_name: setup
            .parent
            .path()
            .join("config.json")
            .display()
            .to_string(),
    };
    let setup = Setup::new();
    setup.server.answer_with(basic);
    let check = async |auth: &Value| {
        let checked = client(&setup, auth.clone()).await.check_login().await;
        checked.map_err(|error| {
            let error = error.to_string().replace(&setup.server.registry(), "R");
            error.replace(setup.parent.path().to_str().unwrap(), "")
        })
    };
    assert_eq!(check(&good).await, Ok(accepted(&setup)));
    let refused =
        "R does not allow you to log in: the credentials of /config.json were refused (status 401)";
    assert_eq!(check(&bad).await, Err(refused.to_owned()));
    let missing = "R does not allow you to log in: there are no credentials for it; log in with `docker login R` \
        (its configuration is used), or set `AGENT_HOST_REGISTRY_CREDENTIALS` to `R=NAME:TOKEN`";
    assert_eq!(check(&none).await, Err(missing.to_owned()));
    let unusable = "cannot read the credentials for R: they are an identity token, but the registry requires a name \
        and a password; log in with those";
    assert_eq!(check(&token).await, Err(unusable.to_owned()));
    // Open to all.
    setup.server.answer_with(|_| Some(answer(200, &[], "{}")));
    let unused = accepted(&setup);
    let Login::Accepted { source_name, .. } = unused else {
        unreachable!()
    };
    let open = |unused| Ok(Login::Open { unused });
    assert_eq!(check(&good).await, open(Some(source_name)));
    assert_eq!(check(&none).await, open(None));
    setup.server.answer_with(|_| Some(answer(500, &[], "")));
    assert_eq!(
        check(&good).await,
        Err("R answered 500 to a request for its API".to_owned())
    );
}

#[tokio::test]
async fn identity_token_is_exchanged_with_the_issuer() {
    let (setup, _) = Setup::pushed().await;
    let registry = setup.server.registry();
    let api = |received: &Received| received.target == "/v2/";
    let let_in = move |received: &Received| api(received).then(|| answer(200, &[], "{}"));
    setup.server.answer_with(let_in);
    let challenge = format!("Bearer realm=\"http://{registry}/token?x=y\",service=\"s p\"");
    setup.server.answer_with(move |received| {
        let is_known = received.authorization.as_deref() == Some("Bearer T");
        (!is_known).then(|| answer(401, &[("www-authenticate", &challenge)], ""))
    });
    setup.server.answer_with(on(
        "/token",
        answer(200, &[], json!({ "access_token": "T" }).to_string()),
    ));
    let client = client(&setup, json!({ "identitytoken": "re/fresh&" })).await;
    assert_eq!(setup.pull_with(&client).await.unwrap(), COMPONENT);
    let asked = setup.server.received();
    let asked = asked.iter().find(|it| it.target.starts_with("/token"));
    let asked = asked.unwrap();
    let form = String::from_utf8(asked.body.clone()).unwrap();
    assert_eq!(
        (asked.method.as_str(), asked.target.as_str(), form.as_str()),
        (
            "POST",
            "/token",
            "service=s+p&scope=repository%3Aacme%2Fa%3Apull&grant_type=refresh_token&client_id=agent-host&refresh_token=re%2Ffresh%26"
        )
    );
    // The check of a login asks for no repository.
    let checked = client.check_login().await.unwrap();
    assert!(
        matches!(checked, Login::Accepted { name: None, .. }),
        "{checked:?}"
    );
    let form = setup.server.received().into_iter().rev();
    let form = form
        .map(|it| it.body)
        .find(|body| !body.is_empty())
        .unwrap();
    assert!(!String::from_utf8(form).unwrap().contains("scope"));
}

#[tokio::test]
async fn pushed_index_is_read_again() {
    let setup = Setup::new();
    let client = setup.client(None).await;
    assert_eq!(client.index(&setup.reference).await.unwrap(), None);
    let mut index = Index::default();
    let entry = IndexEntry {
        reference: setup.reference.to_string(),
        ..IndexEntry::default()
    };
    index.add(entry).unwrap();
    client.push_index(&setup.reference, &index).await.unwrap();
    assert_eq!(client.index(&setup.reference).await.unwrap(), Some(index));
    setup.push(COMPONENT).await;
    let error = client
        .index(&setup.reference)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("is not a component index but an artifact of another type"),
        "{error}"
    );
}
