use super::{
    ed25519_key, p256_key,
    server::{Server, answer},
    setup::{Setup, on},
};
use crate::{Descriptor, RegistryError, SignatureForm, media_type, signature};
use agent_host_types::id::Digest;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

#[tokio::test]
async fn signature_of_accepted_key_is_found() {
    for key in [p256_key(), ed25519_key()] {
        let (setup, pushed) = Setup::pushed().await;
        let accepted = [ed25519_key().public(), key.public()];
        let unsigned = setup.verify(&accepted).await;
        assert!(
            matches!(unsigned, Err(RegistryError::Signature(_))),
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
        assert!(
            refused.ends_with(
                "has no valid signature by any of the 1 accepted keys; 2 signatures were checked, at most 16 of each \
                 kind: it is from another key, or damaged"
            ),
            "{refused}"
        );
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
async fn kept_signature_is_verified_without_a_request() {
    let (setup, pushed) = Setup::pushed().await;
    let key = p256_key();
    let client = setup.client(None).await;
    let signed = client.sign(&setup.reference, &pushed.manifest, &key).await;
    signed.unwrap();
    let resolved = setup.resolved().await;
    let accepted = [key.public()];
    let verify = async |keys| {
        let before = setup.server.received().len();
        let verified = client.verify(&resolved, keys, &setup.blobs).await;
        let requests = setup.server.received().len() - before;
        (
            verified.map(|(key, form)| (key.clone(), form)).ok(),
            requests,
        )
    };
    let found = Some((key.public(), SignatureForm::Bundle));
    let (verified, requests) = verify(&accepted).await;
    assert_eq!(verified, found);
    assert!(requests > 0);
    assert_eq!(verify(&accepted).await, (found.clone(), 0));
    // What is kept is verified for the keys that are accepted now, and whatever is in the file.
    let other = [ed25519_key().public()];
    let (refused, requests) = verify(&other).await;
    assert_eq!((refused, requests > 0), (None, true));
    for file in setup.kept() {
        std::fs::write(file, b"{}").unwrap();
    }
    let (verified, requests) = verify(&accepted).await;
    assert_eq!((verified, requests > 0), (found, true));
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
        let mut layer = Descriptor::for_bytes(media_type::SIMPLE_SIGNING, &payload);
        let annotation = "dev.cosignproject.cosign/signature".to_owned();
        layer
            .annotations
            .insert(annotation, STANDARD.encode(signature));
        layer
    };
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": media_type::MANIFEST,
        "config": Descriptor::for_bytes("application/vnd.oci.image.config.v1+json", b"{}"),
        "layers": [
            Descriptor::for_bytes(media_type::SIMPLE_SIGNING, &payload),
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
        "config": Descriptor::for_bytes(media_type::EMPTY, b"{}"),
        "layers": [Descriptor::for_bytes(media_type::BUNDLE, bundle)],
        "subject": { "mediaType": media_type::MANIFEST, "digest": subject, "size": 1 },
    });
    change(&mut manifest);
    let bytes = manifest.to_string();
    server.put_manifest("-", media_type::MANIFEST, bytes.as_bytes());
    Descriptor {
        artifact_type: Some(media_type::BUNDLE.to_owned()),
        ..Descriptor::for_bytes(media_type::MANIFEST, bytes.as_bytes())
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
    let absent = || Descriptor::for_bytes(media_type::MANIFEST, b"absent");
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
