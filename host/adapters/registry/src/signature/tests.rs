use super::{
    OTHER_ARTIFACT, OTHER_BUNDLE, OTHER_KEY, OTHER_STATEMENT, malformed,
    pre_authentication_encoding, sign, signature_count,
};
use crate::{
    PublicKey, SigningKey,
    key::{NOT_PEM, OTHER_ALGORITHM},
    tests::{ed25519_key, p256_key},
    verify_bundle, verify_simple,
};
use agent_host_types::{id::Digest, reason::Reason};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

const IN_TOTO: &str = "application/vnd.in-toto+json";

fn manifest() -> Digest {
    Digest::of(b"manifest")
}

/// Returns a bundle over `payload` by `key`, in the form of cosign.
fn bundle_of(key: &SigningKey, payload_type: &str, payload: &[u8]) -> Value {
    let signature = key.sign(&pre_authentication_encoding(payload_type, payload));
    json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": { "publicKey": { "hint": "x" }, "tlogEntries": [] },
        "dsseEnvelope": {
            "payload": STANDARD.encode(payload),
            "payloadType": payload_type,
            "signatures": [{ "sig": STANDARD.encode(signature.unwrap()), "keyid": "" }],
        },
    })
}

fn statement() -> Value {
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": "", "digest": { "sha256": manifest().hex() } }],
        "predicateType": "https://sigstore.dev/cosign/sign/v1",
        "predicate": {},
    })
}

/// Sets the value at a JSON pointer, or removes it.
fn set(mut value: Value, pointer: &str, new: Option<Value>) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = value.pointer_mut(parent).unwrap();
    match (parent, new) {
        (Value::Object(map), Some(new)) => drop(map.insert(key.to_owned(), new)),
        (Value::Object(map), None) => drop(map.remove(key)),
        (Value::Array(list), Some(new)) => list[key.parse::<usize>().unwrap()] = new,
        (parent, _) => panic!("{parent}"),
    }
    value
}

fn verify(bundle: &Value, keys: &[PublicKey]) -> Result<PublicKey, Reason> {
    verify_bundle(bundle.to_string().as_bytes(), manifest(), keys).cloned()
}

#[test]
fn signature_of_each_algorithm_is_verified() {
    for key in [p256_key(), ed25519_key()] {
        let keys = [p256_key().public(), key.public(), ed25519_key().public()];
        let bundle = sign(manifest(), &key).unwrap();
        assert_eq!(verify_bundle(&bundle, manifest(), &keys), Ok(&keys[1]));
        let others = bundle_of(&key, IN_TOTO, statement().to_string().as_bytes());
        assert_eq!(verify(&others, &keys), Ok(key.public()));
    }
}

/// Tampered bundles: each differs from a valid one in one place.
#[test]
fn tampered_bundle_is_refused() {
    let (key, other) = (p256_key(), p256_key());
    let good = bundle_of(&key, IN_TOTO, statement().to_string().as_bytes());
    // Signed by the accepted key, over another statement.
    let signed = |pointer: &str, new: Option<Value>| {
        let statement = set(statement(), pointer, new);
        bundle_of(&key, IN_TOTO, statement.to_string().as_bytes())
    };
    let of_bundle = |pointer: &str, new: Option<Value>| set(good.clone(), pointer, new);
    let text = |text: &str| Some(json!(text));
    let signature = good["dsseEnvelope"]["signatures"][0].clone();
    let mut cut = STANDARD.decode(signature["sig"].as_str().unwrap()).unwrap();
    cut.pop();
    let wrong_hex = Digest::of(b"other").hex();
    let both = json!([{ "digest": { "sha256": wrong_hex } }, { "digest": { "sha256": manifest().hex() } }]);
    let sbom = "https://cyclonedx.org/bom";
    let attested = set(statement(), "/predicateType", text(sbom)).to_string();
    let sig = "/dsseEnvelope/signatures/0/sig";
    let payload = "/dsseEnvelope/payload";
    let cases: Vec<(&str, Value, Reason)> = vec![
        (
            "another kind of statement",
            signed("/predicateType", text(sbom)),
            OTHER_STATEMENT.into(),
        ),
        (
            "older predicate",
            signed("/predicateType", text("cosign.sigstore.dev/attestation/v1")),
            OTHER_STATEMENT.into(),
        ),
        (
            "empty predicate type",
            signed("/predicateType", text("")),
            OTHER_STATEMENT.into(),
        ),
        (
            "no predicate type",
            signed("/predicateType", None),
            malformed("its statement is not valid JSON"),
        ),
        (
            "other statement type",
            signed("/_type", text("https://in-toto.io/Statement/v0.1")),
            OTHER_STATEMENT.into(),
        ),
        (
            "no statement type",
            signed("/_type", None),
            malformed("its statement is not valid JSON"),
        ),
        (
            "other subject",
            signed("/subject/0/digest/sha256", text(&wrong_hex)),
            OTHER_ARTIFACT.into(),
        ),
        (
            "upper-case subject",
            signed(
                "/subject/0/digest/sha256",
                text(&manifest().hex().to_uppercase()),
            ),
            OTHER_ARTIFACT.into(),
        ),
        (
            "prefixed subject",
            signed("/subject/0/digest/sha256", text(&manifest().to_string())),
            OTHER_ARTIFACT.into(),
        ),
        (
            "subject of another algorithm",
            signed(
                "/subject/0/digest",
                Some(json!({ "sha512": manifest().hex() })),
            ),
            OTHER_ARTIFACT.into(),
        ),
        (
            "no subject digest",
            signed("/subject/0/digest", Some(json!({}))),
            OTHER_ARTIFACT.into(),
        ),
        (
            "no subject",
            signed("/subject", Some(json!([]))),
            OTHER_ARTIFACT.into(),
        ),
        (
            "several subjects",
            signed("/subject", Some(both)),
            OTHER_ARTIFACT.into(),
        ),
        (
            "subject is no list",
            signed("/subject", Some(json!({}))),
            malformed("its statement is not valid JSON"),
        ),
        (
            "other payload type",
            bundle_of(&key, "text/plain", statement().to_string().as_bytes()),
            "its payload is not an in-toto statement".into(),
        ),
        (
            "payload is no JSON",
            bundle_of(&key, IN_TOTO, b"\xff"),
            malformed("its statement is not valid JSON"),
        ),
        (
            "payload type changed",
            of_bundle("/dsseEnvelope/payloadType", text("text/plain")),
            "its payload is not an in-toto statement".into(),
        ),
        (
            "payload replaced",
            of_bundle(payload, text(&STANDARD.encode(&attested))),
            OTHER_KEY.into(),
        ),
        (
            "payload with a space",
            of_bundle(payload, text(&STANDARD.encode(format!("{} ", statement())))),
            OTHER_KEY.into(),
        ),
        (
            "payload empty",
            of_bundle(payload, text("")),
            OTHER_KEY.into(),
        ),
        (
            "payload no base64",
            of_bundle(payload, text("*")),
            malformed("not base64"),
        ),
        (
            "signature of another key",
            bundle_of(&other, IN_TOTO, statement().to_string().as_bytes()),
            OTHER_KEY.into(),
        ),
        (
            "signature of another algorithm",
            bundle_of(&ed25519_key(), IN_TOTO, statement().to_string().as_bytes()),
            OTHER_KEY.into(),
        ),
        (
            "signature over the bare payload",
            of_bundle(
                sig,
                text(&STANDARD.encode(key.sign(statement().to_string().as_bytes()).unwrap())),
            ),
            OTHER_KEY.into(),
        ),
        (
            "signature empty",
            of_bundle(sig, text("")),
            OTHER_KEY.into(),
        ),
        (
            "signature cut",
            of_bundle(sig, text(&STANDARD.encode(&cut))),
            OTHER_KEY.into(),
        ),
        (
            "signature of zeros",
            of_bundle(sig, text(&STANDARD.encode([0x30, 6, 2, 1, 0, 2, 1, 0]))),
            OTHER_KEY.into(),
        ),
        (
            "signature no base64",
            of_bundle(sig, text("-_")),
            malformed("not base64"),
        ),
        (
            "no signature",
            of_bundle("/dsseEnvelope/signatures", Some(json!([]))),
            signature_count(0),
        ),
        (
            "two signatures",
            of_bundle(
                "/dsseEnvelope/signatures",
                Some(json!([signature, signature])),
            ),
            signature_count(2),
        ),
        (
            "no envelope",
            of_bundle("/dsseEnvelope", None),
            malformed("it has no envelope"),
        ),
        (
            "older bundle",
            of_bundle(
                "/mediaType",
                text("application/vnd.dev.sigstore.bundle+json;version=0.2"),
            ),
            OTHER_BUNDLE.into(),
        ),
        (
            "no media type",
            of_bundle("/mediaType", None),
            malformed("its bundle is not valid JSON"),
        ),
        (
            "no bundle",
            json!([]),
            malformed("its bundle is not valid JSON"),
        ),
    ];
    assert!(cases.len() >= 30, "{}", cases.len());
    let keys = [key.public()];
    assert_eq!(verify(&good, &keys), Ok(key.public()));
    for (name, bundle, expected) in cases {
        assert_eq!(verify(&bundle, &keys), Err(expected), "{name}");
    }
    assert_eq!(verify(&good, &[]), Err(OTHER_KEY.into()));
    let long = format!("{good}{}", " ".repeat(64 * 1024));
    let read = verify_bundle(long.as_bytes(), manifest(), &keys);
    assert_eq!(read, Err("it has more than 65536 bytes".into()));
}

#[test]
fn tampered_simple_signature_is_refused() {
    let key = ed25519_key();
    let keys = [key.public()];
    let payload = |kind: &str, digest: &str| {
        json!({
            "critical": {
                "identity": { "docker-reference": "anything" },
                "image": { "docker-manifest-digest": digest },
                "type": kind,
            },
            "optional": null,
        })
        .to_string()
    };
    let kind = "cosign container image signature";
    let good = payload(kind, &manifest().to_string());
    let signed = |payload: &str| STANDARD.encode(key.sign(payload.as_bytes()).unwrap());
    let verify = |payload: &str, signature: &str| {
        verify_simple(payload.as_bytes(), signature, manifest(), &keys).cloned()
    };
    assert_eq!(verify(&good, &signed(&good)), Ok(key.public()));
    let other = payload(kind, &Digest::of(b"other").to_string());
    let without_prefix = payload(kind, &manifest().hex());
    let atomic = payload("atomic container signature", &manifest().to_string());
    let of_another_key = STANDARD.encode(ed25519_key().sign(good.as_bytes()).unwrap());
    let cases = [
        (&*other, signed(&other), OTHER_ARTIFACT.into()),
        (
            &without_prefix,
            signed(&without_prefix),
            OTHER_ARTIFACT.into(),
        ),
        (&atomic, signed(&atomic), OTHER_STATEMENT.into()),
        (&other, signed(&good), OTHER_KEY.into()),
        (&good, of_another_key, OTHER_KEY.into()),
        (&good, String::new(), OTHER_KEY.into()),
        (&good, "*".to_owned(), malformed("not base64")),
        (
            "{}",
            signed("{}"),
            malformed("its payload is not valid JSON"),
        ),
        (
            &good,
            "A".repeat(64 * 1024 + 1),
            "it has more than 65536 bytes".into(),
        ),
    ];
    for (payload, signature, expected) in cases {
        assert_eq!(
            verify(payload, &signature),
            Err(expected),
            "{payload} {signature:.20}"
        );
    }
}

#[test]
fn text_that_is_no_key_is_refused() {
    let label = |text: &str| match text.parse::<PublicKey>() {
        Err(why) => why.as_str().split('`').nth(1).unwrap().to_owned(),
        other => panic!("{other:?}"),
    };
    let block = |label: &str, der: &[u8]| {
        let body = STANDARD.encode(der);
        format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    };
    for key in [p256_key().public(), ed25519_key().public()] {
        let text = key.to_string();
        assert_eq!(text.parse::<PublicKey>(), Ok(key.clone()));
        assert_eq!(format!("comment\n{text}").parse::<PublicKey>(), Ok(key));
        assert_eq!(
            format!("{text}{text}").parse::<PublicKey>(),
            Err(NOT_PEM.into())
        );
        let der = STANDARD.decode(
            text.lines()
                .filter(|it| !it.starts_with('-'))
                .collect::<String>(),
        );
        let der = der.unwrap();
        let shorter = block("PUBLIC KEY", &der[..der.len() - 1]);
        let longer = block("PUBLIC KEY", &[&der[..], b"x"].concat());
        for damaged in [shorter, longer, block("PUBLIC KEY", b"")] {
            assert_eq!(damaged.parse::<PublicKey>(), Err(OTHER_ALGORITHM.into()));
        }
    }
    assert_eq!(label(&block("RSA PUBLIC KEY", b"x")), "RSA PUBLIC KEY");
    assert_eq!(
        label(&block("ENCRYPTED SIGSTORE PRIVATE KEY", b"x")),
        "ENCRYPTED SIGSTORE PRIVATE KEY"
    );
    for text in [
        "",
        "-----BEGIN PUBLIC KEY-----",
        "ssh-ed25519 AAAA",
        &"x".repeat(20_000),
    ] {
        assert_eq!(text.parse::<PublicKey>(), Err(NOT_PEM.into()));
        assert!(text.parse::<SigningKey>().is_err());
    }
    let damaged = block("PRIVATE KEY", b"x").parse::<SigningKey>();
    assert_eq!(damaged.unwrap_err(), OTHER_ALGORITHM.into());
    let ec = block("EC PRIVATE KEY", b"x")
        .parse::<SigningKey>()
        .unwrap_err()
        .to_string();
    assert!(ec.contains("openssl pkcs8 -topk8"), "{ec}");
}

proptest! {
    /// A flipped bit anywhere in a bundle never changes which manifest it is for.
    #[test]
    fn bundle_fuzz(at in 0_usize..1000, bit in 0_u8..8) {
        let key = ed25519_key();
        let mut bytes = sign(manifest(), &key).unwrap();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        let keys = [key.public()];
        // The hint is not signed; whatever verifies is for this manifest and no other.
        prop_assert!(verify_bundle(&bytes, Digest::of(b"other"), &keys).is_err());
    }
}
