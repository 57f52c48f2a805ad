use super::{pre_authentication_encoding, sign};
use crate::{
    KeyError, PublicKey, SignatureError, SigningKey,
    tests::{ed25519_key, p256_key},
    verify_bundle, verify_simple,
};
use agent_host_types::id::Digest;
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

fn verify(bundle: &Value, keys: &[PublicKey]) -> Result<PublicKey, SignatureError> {
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
    use SignatureError::{BundleType, Key, Malformed, PayloadType, Predicate, Signatures, Subject};
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
    let cases: Vec<(&str, Value, SignatureError)> = vec![
        (
            "another kind of statement",
            signed("/predicateType", text(sbom)),
            Predicate,
        ),
        (
            "older predicate",
            signed("/predicateType", text("cosign.sigstore.dev/attestation/v1")),
            Predicate,
        ),
        (
            "empty predicate type",
            signed("/predicateType", text("")),
            Predicate,
        ),
        (
            "no predicate type",
            signed("/predicateType", None),
            Malformed("its statement is not valid JSON"),
        ),
        (
            "other statement type",
            signed("/_type", text("https://in-toto.io/Statement/v0.1")),
            Predicate,
        ),
        (
            "no statement type",
            signed("/_type", None),
            Malformed("its statement is not valid JSON"),
        ),
        (
            "other subject",
            signed("/subject/0/digest/sha256", text(&wrong_hex)),
            Subject,
        ),
        (
            "upper-case subject",
            signed(
                "/subject/0/digest/sha256",
                text(&manifest().hex().to_uppercase()),
            ),
            Subject,
        ),
        (
            "prefixed subject",
            signed("/subject/0/digest/sha256", text(&manifest().to_string())),
            Subject,
        ),
        (
            "subject of another algorithm",
            signed(
                "/subject/0/digest",
                Some(json!({ "sha512": manifest().hex() })),
            ),
            Subject,
        ),
        (
            "no subject digest",
            signed("/subject/0/digest", Some(json!({}))),
            Subject,
        ),
        ("no subject", signed("/subject", Some(json!([]))), Subject),
        ("several subjects", signed("/subject", Some(both)), Subject),
        (
            "subject is no list",
            signed("/subject", Some(json!({}))),
            Malformed("its statement is not valid JSON"),
        ),
        (
            "other payload type",
            bundle_of(&key, "text/plain", statement().to_string().as_bytes()),
            PayloadType,
        ),
        (
            "payload is no JSON",
            bundle_of(&key, IN_TOTO, b"\xff"),
            Malformed("its statement is not valid JSON"),
        ),
        (
            "payload type changed",
            of_bundle("/dsseEnvelope/payloadType", text("text/plain")),
            PayloadType,
        ),
        (
            "payload replaced",
            of_bundle(payload, text(&STANDARD.encode(&attested))),
            Key,
        ),
        (
            "payload with a space",
            of_bundle(payload, text(&STANDARD.encode(format!("{} ", statement())))),
            Key,
        ),
        ("payload empty", of_bundle(payload, text("")), Key),
        (
            "payload no base64",
            of_bundle(payload, text("*")),
            Malformed("not base64"),
        ),
        (
            "signature of another key",
            bundle_of(&other, IN_TOTO, statement().to_string().as_bytes()),
            Key,
        ),
        (
            "signature of another algorithm",
            bundle_of(&ed25519_key(), IN_TOTO, statement().to_string().as_bytes()),
            Key,
        ),
        (
            "signature over the bare payload",
            of_bundle(
                sig,
                text(&STANDARD.encode(key.sign(statement().to_string().as_bytes()).unwrap())),
            ),
            Key,
        ),
        ("signature empty", of_bundle(sig, text("")), Key),
        (
            "signature cut",
            of_bundle(sig, text(&STANDARD.encode(&cut))),
            Key,
        ),
        (
            "signature of zeros",
            of_bundle(sig, text(&STANDARD.encode([0x30, 6, 2, 1, 0, 2, 1, 0]))),
            Key,
        ),
        (
            "signature no base64",
            of_bundle(sig, text("-_")),
            Malformed("not base64"),
        ),
        (
            "no signature",
            of_bundle("/dsseEnvelope/signatures", Some(json!([]))),
            Signatures(0),
        ),
        (
            "two signatures",
            of_bundle(
                "/dsseEnvelope/signatures",
                Some(json!([signature, signature])),
            ),
            Signatures(2),
        ),
        (
            "no envelope",
            of_bundle("/dsseEnvelope", None),
            Malformed("it has no envelope"),
        ),
        (
            "older bundle",
            of_bundle(
                "/mediaType",
                text("application/vnd.dev.sigstore.bundle+json;version=0.2"),
            ),
            BundleType,
        ),
        (
            "no media type",
            of_bundle("/mediaType", None),
            Malformed("its bundle is not valid JSON"),
        ),
        (
            "no bundle",
            json!([]),
            Malformed("its bundle is not valid JSON"),
        ),
    ];
    assert!(cases.len() >= 30, "{}", cases.len());
    let keys = [key.public()];
    assert_eq!(verify(&good, &keys), Ok(key.public()));
    for (name, bundle, expected) in cases {
        assert_eq!(verify(&bundle, &keys), Err(expected), "{name}");
    }
    assert_eq!(verify(&good, &[]), Err(Key));
    let long = format!("{good}{}", " ".repeat(64 * 1024));
    let read = verify_bundle(long.as_bytes(), manifest(), &keys);
    assert_eq!(read, Err(SignatureError::TooLong));
}

#[test]
fn tampered_simple_signature_is_refused() {
    use SignatureError::{Key, Malformed, Predicate, Subject};
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
        (&*other, signed(&other), Subject),
        (&without_prefix, signed(&without_prefix), Subject),
        (&atomic, signed(&atomic), Predicate),
        (&other, signed(&good), Key),
        (&good, of_another_key, Key),
        (&good, String::new(), Key),
        (&good, "*".to_owned(), Malformed("not base64")),
        (
            "{}",
            signed("{}"),
            Malformed("its payload is not valid JSON"),
        ),
        (&good, "A".repeat(64 * 1024 + 1), SignatureError::TooLong),
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
        Err(KeyError::Label { found, .. }) => found,
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
            Err(KeyError::Pem)
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
            assert_eq!(damaged.parse::<PublicKey>(), Err(KeyError::Algorithm));
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
        assert_eq!(text.parse::<PublicKey>(), Err(KeyError::Pem));
        assert!(text.parse::<SigningKey>().is_err());
    }
    assert!(matches!(
        block("PRIVATE KEY", b"x").parse::<SigningKey>(),
        Err(KeyError::Algorithm)
    ));
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
