use super::{
    server::{Answer, Server, answer},
    setup::{COMPONENT, Setup, on},
};
use crate::{Descriptor, Package, WasmInterface, media_type};
use agent_host_types::id::Digest;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::path::PathBuf;

#[tokio::test]
async fn pushed_component_is_pulled_in_the_standard_layout() {
    let (setup, pushed) = Setup::pushed().await;
    assert_eq!(setup.pull().await.unwrap(), COMPONENT);
    let manifest: Value = serde_json::from_slice(&setup.server.manifest("1").unwrap()).unwrap();
    let config = json!({
        "created": "1970-01-01T00:00:00Z",
        "architecture": "wasm",
        "os": "wasip2",
        "layerDigests": [Digest::of(COMPONENT)],
        "component": { "exports": ["agent:tool/tool@0.1.0"], "imports": [] },
    });
    assert_eq!(
        manifest,
        json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {
                "mediaType": "application/vnd.wasm.config.v0+json",
                "digest": manifest["config"]["digest"],
                "size": manifest["config"]["size"],
            },
            "layers": [{
                "mediaType": "application/wasm",
                "digest": Digest::of(COMPONENT),
                "size": COMPONENT.len(),
            }],
            "annotations": { "org.opencontainers.image.version": "1" },
        })
    );
    let client = setup.client(None).await;
    let resolved = setup.resolved().await;
    let found = client.wasm_config(&resolved).await.unwrap().unwrap();
    assert_eq!(serde_json::to_value(found).unwrap(), config);
    assert_eq!(client.policies(&resolved).await.unwrap(), []);
    assert_eq!(resolved.reference, pushed.reference);
    assert_eq!(resolved.descriptor(), pushed.manifest);
    // A second push of the same sends the manifest alone, and changes nothing.
    let before = setup.server.received().len();
    assert_eq!(setup.push(COMPONENT).await, pushed);
    let methods: Vec<String> = setup
        .server
        .received()
        .drain(before..)
        .map(|it| it.method)
        .collect();
    assert_eq!(methods, ["HEAD", "HEAD", "PUT"]);
}

#[tokio::test]
async fn kept_component_needs_no_request() {
    let (setup, pushed) = Setup::pushed().await;
    setup.pull().await.unwrap();
    let before = setup.server.received().len();
    let client = setup.client(None).await;
    let resolved = client
        .resolve(&pushed.reference, &setup.blobs)
        .await
        .unwrap();
    assert_eq!(
        client.component(&resolved, &setup.blobs).await.unwrap(),
        COMPONENT
    );
    assert_eq!(setup.server.received().len(), before);
    // A damaged file is pulled again.
    let file = setup.parent.path().join("blobs").join(pushed.layer.hex());
    std::fs::write(file, b"damaged").unwrap();
    assert_eq!(
        client.component(&resolved, &setup.blobs).await.unwrap(),
        COMPONENT
    );
    assert_eq!(setup.server.received().len(), before + 1);
}

#[tokio::test]
async fn refusal_of_a_registry_is_told_and_nothing_is_kept() {
    let message =
        json!({ "errors": [{ "code": "BAD\u{1b}", "message": "no\u{202e}" }] }).to_string();
    let cases = [
        (
            answer(401, &[], ""),
            "R sent an unusable answer: it asks for an unknown kind of credentials",
        ),
        (
            answer(401, &[("www-authenticate", "Basic realm=x")], ""),
            "R does not allow you to pull acme/a: there are no credentials for it; log in with `docker login R` (its \
             configuration is used), or set `AGENT_HOST_REGISTRY_CREDENTIALS` to `R=NAME:TOKEN`",
        ),
        (
            answer(403, &[], ""),
            "R does not allow you to pull acme/a: there are no credentials for it; log in with `docker login R` (its \
             configuration is used), or set `AGENT_HOST_REGISTRY_CREDENTIALS` to `R=NAME:TOKEN`",
        ),
        (
            answer(404, &[], "<html>"),
            "R does not have acme/a:1; check the name and the tag (a registry may also hide what you may not read)",
        ),
        (
            answer(429, &[("retry-after", "7")], ""),
            "R is limiting requests (429); try again in 7 s",
        ),
        (
            answer(429, &[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], ""),
            "R is limiting requests (429); try again later",
        ),
        (
            answer(500, &[], message),
            "R answered 500 to a request for the manifest 1: no\\u{202e} (BAD\\u{1b})",
        ),
        (
            answer(302, &[("location", "http://169.254.169.254/latest")], ""),
            "R points to http://169.254.169.254, which is neither https nor on the same machine as its server",
        ),
        (
            answer(302, &[("location", "https://169.254.169.254/latest")], ""),
            "R points to https://169.254.169.254, which is in a different network from its server",
        ),
        (
            answer(302, &[("location", "file:///etc/passwd")], ""),
            "R points to file://, which is neither https nor on the same machine as its server",
        ),
        (
            answer(302, &[("location", "/v2/acme/a/manifests/1")], ""),
            "R sent an unusable answer: it redirects in a loop",
        ),
        (
            answer(302, &[], ""),
            "R sent an unusable answer: its redirect has no address",
        ),
        (
            answer(
                200,
                &[("docker-content-digest", &Digest::of(b"x").to_string())],
                "{}",
            ),
            "the manifest 1 of R has the digest \
             sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a instead of \
             sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881, so it was discarded: it was \
             damaged or replaced in transit",
        ),
        (
            answer(200, &[("content-type", media_type::INDEX)], "{}"),
            "oci://R/acme/a:1 is an index of several artifacts; name the digest of one of them, `oci://HOST/NAME@sha256:HEX`",
        ),
        (
            answer(200, &[], vec![b' '; 256 * 1024 + 1]),
            "the manifest 1 of R is longer than 262144 bytes, so it was discarded",
        ),
        (
            Answer {
                endless: true,
                ..answer(200, &[], " ".repeat(4096))
            },
            "the manifest 1 of R is longer than 262144 bytes, so it was discarded",
        ),
    ];
    for (said, expected) in cases {
        let setup = Setup::new();
        setup.server.answer_with(on("/manifests/", said));
        let error = setup.pull().await.unwrap_err().to_string();
        assert_eq!(error.replace(&setup.server.registry(), "R"), expected);
        assert_eq!(setup.kept(), Vec::<PathBuf>::new());
    }
}

#[tokio::test]
async fn component_of_another_content_is_not_kept() {
    let long = format!(
        "the component of R is longer than {} bytes, so it was discarded",
        COMPONENT.len()
    );
    let cases = [
        (
            answer(200, &[], b"\0asm Component".to_vec()),
            "has the digest",
        ),
        (answer(200, &[], &COMPONENT[1..]), "has the digest"),
        (answer(200, &[], ""), "has the digest"),
        (answer(200, &[], [COMPONENT, b"x"].concat()), &*long),
        (
            Answer {
                endless: true,
                ..answer(200, &[], COMPONENT)
            },
            &*long,
        ),
        (answer(404, &[], ""), "R does not have the component"),
    ];
    for (said, expected) in cases {
        let (setup, _) = Setup::pushed().await;
        setup.server.answer_with(on("/blobs/", said));
        let error = setup.pull().await.unwrap_err().to_string();
        let error = error.replace(&setup.server.registry(), "R");
        assert!(error.contains(expected), "{error}");
        // The manifest alone.
        assert_eq!(setup.kept().len(), 1);
    }
}

#[tokio::test]
async fn moved_tag_does_not_change_what_was_resolved() {
    let (setup, first) = Setup::pushed().await;
    let client = setup.client(None).await;
    let resolved = client
        .resolve(&setup.reference, &setup.blobs)
        .await
        .unwrap();
    let second = setup.push(b"\0asm another").await;
    assert_eq!(
        client.component(&resolved, &setup.blobs).await.unwrap(),
        COMPONENT
    );
    assert_eq!(resolved.digest.to_string(), first.manifest.digest);
    let again = client
        .resolve(&setup.reference, &setup.blobs)
        .await
        .unwrap();
    assert_eq!(again.digest.to_string(), second.manifest.digest);
    assert_eq!(
        client.component(&again, &setup.blobs).await.unwrap(),
        b"\0asm another"
    );
}

#[tokio::test]
async fn foreign_address_of_a_layer_is_not_requested() {
    let setup = Setup::new();
    let other = Server::start();
    let layer = setup.server.put_blob(COMPONENT);
    let manifest = json!({
        "schemaVersion": 2,
        "config": Descriptor::for_bytes(media_type::EMPTY, b"{}"),
        "layers": [{
            "mediaType": media_type::WASM,
            "digest": layer,
            "size": COMPONENT.len(),
            "urls": [format!("http://{}/component", other.registry())],
        }],
    });
    let bytes = manifest.to_string();
    setup
        .server
        .put_manifest("1", media_type::MANIFEST, bytes.as_bytes());
    assert_eq!(setup.pull().await.unwrap(), COMPONENT);
    assert_eq!(other.received().len(), 0);
}

#[tokio::test]
async fn redirection_leaves_the_credentials_behind() {
    let (setup, pushed) = Setup::pushed().await;
    let storage = Server::start();
    storage.put_blob(COMPONENT);
    let at = format!("http://{}/v2/x/blobs/{}", storage.registry(), pushed.layer);
    setup
        .server
        .answer_with(on("/blobs/", answer(307, &[("location", &at)], "")));
    setup.server.answer_with(|received| {
        let is_known = received.authorization.is_some();
        (!is_known).then(|| answer(401, &[("www-authenticate", "Basic realm=x")], ""))
    });
    let credentials = format!("{}=ann:secret", setup.server.registry());
    let client = setup.client(Some(credentials)).await;
    assert_eq!(setup.pull_with(&client).await.unwrap(), COMPONENT);
    let basic = format!("Basic {}", STANDARD.encode("ann:secret"));
    let known = setup.server.received();
    assert_eq!(
        known.last().unwrap().authorization.as_deref(),
        Some(&*basic)
    );
    let stored: Vec<_> = storage
        .received()
        .into_iter()
        .map(|it| it.authorization)
        .collect();
    assert_eq!(stored, [None]);
}

#[tokio::test]
async fn token_is_asked_for_with_credentials_at_accepted_realm_only() {
    let (setup, _) = Setup::pushed().await;
    let issuer = Server::start();
    issuer.answer_with(on("/token", answer(200, &[], r#"{"token":"anonymous"}"#)));
    setup
        .server
        .answer_with(on("/token", answer(200, &[], r#"{"token":"own"}"#)));
    let protect = |realm: &str| {
        let challenge = format!("Bearer realm=\"http://{realm}/token\",service=\"s\"");
        setup.server.answer_with(move |received| {
            let is_known = received
                .authorization
                .as_deref()
                .is_some_and(|it| it.starts_with("Bearer "));
            let is_token = received.target.starts_with("/token");
            let challenge = [("www-authenticate", challenge.as_str())];
            (!is_known && !is_token).then(|| answer(401, &challenge, ""))
        });
    };
    let own = setup.server.registry();
    protect(&own);
    let credentials = format!("{own}=ann:secret");
    let client = setup.client(Some(credentials.clone())).await;
    assert_eq!(setup.pull_with(&client).await.unwrap(), COMPONENT);
    let received = setup.server.received();
    let tokens: Vec<_> = received
        .iter()
        .filter(|it| it.target.starts_with("/token"))
        .collect();
    assert_eq!(tokens.len(), 1);
    assert_eq!(
        tokens[0].target,
        "/token?service=s&scope=repository%3Aacme%2Fa%3Apull"
    );
    let basic = format!("Basic {}", STANDARD.encode("ann:secret"));
    assert_eq!(tokens[0].authorization.as_deref(), Some(&*basic));

    // Another issuer gets no credentials, and no request if there are some.
    protect(&issuer.registry());
    let client = setup.client(Some(credentials)).await;
    let error = setup.pull_with(&client).await.unwrap_err().to_string();
    assert!(
        error.ends_with(&format!(
            "its tokens are issued by 127.0.0.1, but your credentials are sent only to \
        {own} itself or its parent domains"
        )),
        "{error}"
    );
    assert_eq!(issuer.received().len(), 0);
    let client = setup.client(None).await;
    assert_eq!(setup.pull_with(&client).await.unwrap(), COMPONENT);
    let asked: Vec<_> = issuer
        .received()
        .into_iter()
        .map(|it| it.authorization)
        .collect();
    assert_eq!(asked, [None]);
    // An issuer that only another network reaches is not asked.
    protect("169.254.169.254");
    let error = setup.pull().await.unwrap_err().to_string();
    assert!(
        error.contains("which is neither https nor on the same machine"),
        "{error}"
    );
}

#[tokio::test]
async fn concurrent_pulls_of_one_component_all_succeed() {
    let (setup, _) = Setup::pushed().await;
    let pulls = [setup.pull(), setup.pull(), setup.pull()];
    let [first, second, third] = pulls;
    let (first, second, third) = tokio::join!(first, second, third);
    for pulled in [first, second, third] {
        assert_eq!(pulled.unwrap(), COMPONENT);
    }
    assert_eq!(setup.kept().len(), 2);
}

#[tokio::test]
async fn upload_to_another_host_is_refused() {
    let setup = Setup::new();
    let other = Server::start();
    let at = format!("http://{}/v2/x/blobs/uploads/1", other.registry());
    setup
        .server
        .answer_with(on("/blobs/uploads/", answer(202, &[("location", &at)], "")));
    let package = Package {
        component: Bytes::from_static(COMPONENT),
        interface: WasmInterface::default(),
        annotations: Default::default(),
    };
    let error = setup
        .client(None)
        .await
        .push(&setup.reference, package)
        .await;
    let error = error.unwrap_err().to_string();
    assert!(
        error.ends_with("is on a different host from the registry, and nothing is pushed there"),
        "{error}"
    );
    assert_eq!(other.received().len(), 0);
}
