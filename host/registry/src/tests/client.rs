use super::{
    ed25519_key, p256_key,
    server::{Answer, Server, answer},
};
use crate::{
    Blobs, Client, ClientConfig, CredentialSource, Descriptor, Package, PublicKey, Pushed,
    Reference, RegistryError, Resolved, SignatureForm, WasmInterface, media_type, signature,
};
use agent_host_types::id::Digest;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use pretty_assertions::assert_eq;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::path::PathBuf;

const COMPONENT: &[u8] = b"\0asm component";

struct Setup {
    server: Server,
    reference: Reference,
    parent: tempfile::TempDir,
    blobs: Blobs,
}

impl Setup {
    fn new() -> Self {
        let server = Server::start();
        let parent = tempfile::tempdir().unwrap();
        Self {
            reference: format!("oci://{}/acme/a:1", server.registry())
                .parse()
                .unwrap(),
            server,
            blobs: Blobs::open(&parent.path().join("blobs"), 1 << 20).unwrap(),
            parent,
        }
    }

    /// One with a pushed component.
    async fn pushed() -> (Self, Pushed) {
        let setup = Self::new();
        let pushed = setup.push(COMPONENT).await;
        (setup, pushed)
    }

    async fn push(&self, component: &'static [u8]) -> Pushed {
        let package = Package {
            component: Bytes::from_static(component),
            interface: WasmInterface {
                exports: vec!["agent:tool/tool@0.1.0".to_owned()],
                ..WasmInterface::default()
            },
            annotations: [(
                "org.opencontainers.image.version".to_owned(),
                "1".to_owned(),
            )]
            .into(),
        };
        self.client(None)
            .await
            .push(&self.reference, package)
            .await
            .unwrap()
    }

    /// A client with the value of the variable for credentials.
    async fn client(&self, credentials: Option<String>) -> Client {
        let config = ClientConfig {
            credentials: CredentialSource {
                variable: credentials.map(SecretString::from),
                docker_config: None,
            },
            ..ClientConfig::default()
        };
        Client::new(&self.reference, &config).await.unwrap()
    }

    async fn pull(&self) -> Result<Vec<u8>, RegistryError> {
        self.pull_with(&self.client(None).await).await
    }

    async fn pull_with(&self, client: &Client) -> Result<Vec<u8>, RegistryError> {
        let resolved = client.resolve(&self.reference, &self.blobs).await?;
        client.component(&resolved, &self.blobs).await
    }

    async fn resolved(&self) -> Resolved {
        let client = self.client(None).await;
        client.resolve(&self.reference, &self.blobs).await.unwrap()
    }

    async fn verify(
        &self,
        keys: &[PublicKey],
    ) -> Result<(PublicKey, SignatureForm), RegistryError> {
        let resolved = self.resolved().await;
        let client = self.client(None).await;
        let (key, form) = client.verify(&resolved, keys).await?;
        Ok((key.clone(), form))
    }

    /// The files of the cache.
    fn kept(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.parent.path().join("blobs")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

/// Answers requests whose target has this part.
fn on(
    part: &str,
    answer: Answer,
) -> impl Fn(&super::server::Received) -> Option<Answer> + Send + 'static {
    let part = part.to_owned();
    move |received| received.target.contains(&part).then(|| answer.clone())
}

#[tokio::test]
async fn pushed_component_is_pulled_in_the_standard_layout() {
    let (setup, pushed) = Setup::pushed().await;
    assert_eq!(setup.pull().await.unwrap(), COMPONENT);
    let manifest: Value = serde_json::from_slice(&setup.server.manifest("1").unwrap()).unwrap();
    let config = json!({
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
            "R gave an answer that cannot be used: it asks for credentials of no known kind",
        ),
        (
            answer(401, &[("www-authenticate", "Basic realm=x")], ""),
            "R does not allow to pull acme/a: there are no credentials for it; log in with `docker login R`, whose configuration is read, or set `AGENT_HOST_REGISTRY_CREDENTIALS` to `R=NAME:TOKEN`",
        ),
        (
            answer(403, &[], ""),
            "R does not allow to pull acme/a: there are no credentials for it; log in with `docker login R`, whose configuration is read, or set `AGENT_HOST_REGISTRY_CREDENTIALS` to `R=NAME:TOKEN`",
        ),
        (
            answer(404, &[], "<html>"),
            "R does not have acme/a:1; check the name and the tag (a registry may also hide what you may not read)",
        ),
        (
            answer(429, &[("retry-after", "7")], ""),
            "R refuses further requests for now (429); try again in 7 s",
        ),
        (
            answer(429, &[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], ""),
            "R refuses further requests for now (429); try again later",
        ),
        (
            answer(500, &[], message),
            "R answered 500 to a request for the manifest 1: no\\u{202e} (BAD\\u{1b})",
        ),
        (
            answer(302, &[("location", "http://169.254.169.254/latest")], ""),
            "R points to http://169.254.169.254, which is neither https nor on this machine beside its registry",
        ),
        (
            answer(302, &[("location", "https://169.254.169.254/latest")], ""),
            "R points to https://169.254.169.254, which is in a network in which the registry is not",
        ),
        (
            answer(302, &[("location", "file:///etc/passwd")], ""),
            "R points to file://, which is neither https nor on this machine beside its registry",
        ),
        (
            answer(302, &[("location", "/v2/acme/a/manifests/1")], ""),
            "R gave an answer that cannot be used: it redirects without end",
        ),
        (
            answer(302, &[], ""),
            "R gave an answer that cannot be used: it redirects to no address",
        ),
        (
            answer(
                200,
                &[("docker-content-digest", &Digest::of(b"x").to_string())],
                "{}",
            ),
            "the manifest 1 of R has the digest sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a instead of sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881, and was not kept: it was damaged or replaced on the way",
        ),
        (
            answer(200, &[("content-type", media_type::INDEX)], "{}"),
            "oci://R/acme/a:1 is an index of several artifacts; name the digest of one of them, `oci://HOST/NAME@sha256:HEX`",
        ),
        (
            answer(200, &[], vec![b' '; 256 * 1024 + 1]),
            "the manifest 1 of R is longer than 262144 bytes, and was not kept",
        ),
        (
            Answer {
                endless: true,
                ..answer(200, &[], " ".repeat(4096))
            },
            "the manifest 1 of R is longer than 262144 bytes, and was not kept",
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
        "the component of R is longer than {} bytes, and was not kept",
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
        "config": Descriptor::of(media_type::EMPTY, b"{}"),
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
    assert!(error.ends_with(&format!("its tokens are issued by 127.0.0.1, and your credentials go only to {own} itself or a domain that it is in")), "{error}");
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
        error.contains("which is neither https nor on this machine"),
        "{error}"
    );
}

#[tokio::test]
async fn signature_of_accepted_key_is_found() {
    for key in [p256_key(), ed25519_key()] {
        let (setup, pushed) = Setup::pushed().await;
        let accepted = [ed25519_key().public(), key.public()];
        let unsigned = setup.verify(&accepted).await;
        assert!(
            matches!(unsigned, Err(RegistryError::Unsigned { .. })),
            "{unsigned:?}"
        );
        let client = setup.client(None).await;
        // By a key that is not accepted, first.
        for key in [&ed25519_key(), &key] {
            client
                .sign(&setup.reference, &pushed.manifest, key)
                .await
                .unwrap();
        }
        let verified = setup.verify(&accepted).await.unwrap();
        assert_eq!(verified, (key.public(), SignatureForm::Bundle));
        let refused = setup.verify(&accepted[..1]).await.unwrap_err().to_string();
        assert!(refused.ends_with("has no valid signature of the 1 keys that are accepted for it; 2 were looked at, at most 16 of a kind: it is of another key, or damaged"), "{refused}");
        // Where the registry lists referrers, the tag is not needed.
        let tag = format!("sha256-{}", setup.resolved().await.digest.hex());
        let index = setup.server.manifest(&tag).unwrap();
        setup.server.answer_with(on(
            "/referrers/",
            answer(200, &[("content-type", media_type::INDEX)], index),
        ));
        setup
            .server
            .answer_with(on(&format!("manifests/{tag}"), answer(404, &[], "")));
        assert_eq!(setup.verify(&accepted).await.unwrap(), verified);
    }
}

#[tokio::test]
async fn registry_with_referrers_gets_no_tag() {
    let (setup, pushed) = Setup::pushed().await;
    let digest = pushed.manifest.digest.clone();
    setup.server.answer_with(move |received| {
        let is_signature =
            received.method == "PUT" && received.target.contains("/manifests/sha256:");
        is_signature.then(|| answer(201, &[("oci-subject", &digest)], ""))
    });
    let client = setup.client(None).await;
    client
        .sign(&setup.reference, &pushed.manifest, &p256_key())
        .await
        .unwrap();
    let last = setup.server.received().pop().unwrap();
    assert!(
        last.target.contains("/manifests/sha256:"),
        "{}",
        last.target
    );
}

#[tokio::test]
async fn older_signature_is_verified() {
    let (setup, pushed) = Setup::pushed().await;
    let key = p256_key();
    let payload = json!({
        "critical": {
            "identity": { "docker-reference": "" },
            "image": { "docker-manifest-digest": pushed.manifest.digest },
            "type": "cosign container image signature",
        },
        "optional": {},
    });
    let payload = payload.to_string().into_bytes();
    setup.server.put_blob(&payload);
    let layer = |signature: &[u8]| {
        let mut layer = Descriptor::of(media_type::SIMPLE_SIGNING, &payload);
        let annotation = "dev.cosignproject.cosign/signature".to_owned();
        layer
            .annotations
            .insert(annotation, STANDARD.encode(signature));
        layer
    };
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": media_type::MANIFEST,
        "config": Descriptor::of("application/vnd.oci.image.config.v1+json", b"{}"),
        "layers": [
            Descriptor::of(media_type::SIMPLE_SIGNING, &payload),
            layer(&ed25519_key().sign(&payload).unwrap()),
            layer(&key.sign(&payload).unwrap()),
        ],
    });
    let tag = format!("sha256-{}.sig", setup.resolved().await.digest.hex());
    setup
        .server
        .put_manifest(&tag, media_type::MANIFEST, manifest.to_string().as_bytes());
    let verified = setup.verify(&[key.public()]).await.unwrap();
    assert_eq!(verified, (key.public(), SignatureForm::Simple));
    assert!(setup.verify(&[p256_key().public()]).await.is_err());
}

/// A referrer of a bundle, with changes to its manifest.
fn referrer(
    server: &Server,
    bundle: &[u8],
    subject: &str,
    change: impl Fn(&mut Value),
) -> Descriptor {
    server.put_blob(bundle);
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": media_type::MANIFEST,
        "artifactType": media_type::BUNDLE,
        "config": Descriptor::of(media_type::EMPTY, b"{}"),
        "layers": [Descriptor::of(media_type::BUNDLE, bundle)],
        "subject": { "mediaType": media_type::MANIFEST, "digest": subject, "size": 1 },
    });
    change(&mut manifest);
    let bytes = manifest.to_string();
    server.put_manifest("-", media_type::MANIFEST, bytes.as_bytes());
    Descriptor {
        artifact_type: Some(media_type::BUNDLE.to_owned()),
        ..Descriptor::of(media_type::MANIFEST, bytes.as_bytes())
    }
}

#[tokio::test]
async fn hostile_referrer_verifies_nothing_and_hides_nothing() {
    let (setup, pushed) = Setup::pushed().await;
    let key = p256_key();
    let ours = setup.resolved().await.digest;
    let bundle = signature::sign(ours, &key).unwrap();
    let of_other = signature::sign(Digest::of(b"other"), &key).unwrap();
    let subject = pushed.manifest.digest.as_str();
    let server = &setup.server;
    let other_subject = Digest::of(b"other").to_string();
    let absent = || Descriptor::of(media_type::MANIFEST, b"absent");
    let hostile = vec![
        referrer(server, &of_other, subject, |_| {}),
        referrer(server, &bundle, &other_subject, |_| {}),
        referrer(server, &bundle, subject, |it| {
            drop(it.as_object_mut().unwrap().remove("subject"))
        }),
        referrer(server, &bundle, subject, |it| {
            it["artifactType"] = json!("text/plain")
        }),
        referrer(server, &bundle, subject, |it| {
            it["layers"][0]["mediaType"] = json!("text/plain")
        }),
        referrer(server, &bundle, subject, |it| {
            it["layers"] = json!([it["layers"][0], it["layers"][0]])
        }),
        referrer(server, &bundle, subject, |it| it["layers"] = json!([])),
        referrer(server, &bundle, subject, |it| {
            it["layers"][0]["size"] = json!(1 << 30)
        }),
        referrer(server, &bundle, subject, |it| {
            it["layers"][0]["digest"] = json!(other_subject)
        }),
        referrer(server, &[b' '; 64 * 1024 + 1], subject, |_| {}),
        referrer(server, b"{}", subject, |_| {}),
        absent(),
        Descriptor {
            size: 1 << 40,
            ..absent()
        },
        Descriptor {
            digest: "sha512:00".to_owned(),
            ..absent()
        },
    ];
    let list = |manifests: &[Descriptor]| {
        let index =
            json!({ "schemaVersion": 2, "mediaType": media_type::INDEX, "manifests": manifests });
        let said = answer(
            200,
            &[("content-type", media_type::INDEX)],
            index.to_string(),
        );
        server.answer_with(on("/referrers/", said));
    };
    for one in &hostile {
        list(std::slice::from_ref(one));
        let verified = setup.verify(&[key.public()]).await;
        assert!(verified.is_err(), "{one:?}");
    }
    let good = referrer(server, &bundle, subject, |_| {});
    list(&[hostile.clone(), vec![good.clone()]].concat());
    assert!(setup.verify(&[key.public()]).await.is_ok());
    // Others of another type do not push it out of the first 16; 16 of its type do.
    let of_type = |artifact_type: &str| Descriptor {
        artifact_type: Some(artifact_type.to_owned()),
        ..absent()
    };
    list(&[vec![of_type("text/plain"); 40], vec![good.clone()]].concat());
    assert!(setup.verify(&[key.public()]).await.is_ok());
    list(&[vec![of_type(media_type::BUNDLE); 16], vec![good]].concat());
    assert!(setup.verify(&[key.public()]).await.is_err());
    server.answer_with(on("/referrers/", answer(200, &[], "<html>")));
    let error = setup.verify(&[key.public()]).await.unwrap_err().to_string();
    assert!(
        error.ends_with("the list of signatures is malformed"),
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
        error.ends_with("is on another host than the registry, where nothing is pushed"),
        "{error}"
    );
    assert_eq!(other.received().len(), 0);
}
