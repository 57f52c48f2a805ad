use super::{IS_AN_INDEX, OF_DOCKER};
use crate::{Descriptor, Manifest, component_layer, media_type};
use agent_host_types::{id::Digest, reason::Reason};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

fn layer(media_type: &str) -> Value {
    json!({ "mediaType": media_type, "digest": Digest::of(b"x").to_string(), "size": 1 })
}

fn manifest(layers: &[Value]) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": media_type::MANIFEST,
        "config": layer(media_type::WASM_CONFIG),
        "layers": layers,
    })
}

fn read(value: &Value, content_type: Option<&str>) -> Result<Descriptor, Reason> {
    let manifest = Manifest::parse(value.to_string().as_bytes(), content_type)?;
    component_layer(&manifest).cloned()
}

#[test]
fn component_of_each_layout_is_found() {
    for wasm in media_type::COMPONENT_LAYERS {
        for policy in media_type::POLICY_LAYERS {
            let value = manifest(&[layer(policy), layer(wasm)]);
            let found = read(&value, Some(media_type::MANIFEST)).unwrap();
            assert_eq!(found.media_type, wasm);
        }
    }
    // Without types of their own, as older programs write and servers answer.
    let mut value = manifest(&[layer(media_type::WASM)]);
    value.as_object_mut().unwrap().remove("mediaType");
    for content_type in [
        None,
        Some("application/json"),
        Some("application/vnd.oci.image.manifest.v1+json; charset=utf-8"),
    ] {
        assert!(read(&value, content_type).is_ok(), "{content_type:?}");
    }
}

/// `with` sets the value at a JSON pointer.
fn with(pointer: &str, new: Value) -> Value {
    let mut value = manifest(&[layer(media_type::WASM)]);
    match pointer.rsplit_once('/') {
        Some((parent, key)) if value.pointer(pointer).is_none() => {
            let parent = value.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            parent.insert(key.to_owned(), new);
        }
        _ => *value.pointer_mut(pointer).unwrap() = new,
    }
    value
}

#[test]
fn unusable_manifest_is_refused_by_kind() {
    let other_digest = |algorithm: &str| {
        format!("has a digest of the algorithm `{algorithm}`; only sha256 is supported")
    };
    let (index, of_docker) = (|| IS_AN_INDEX.to_owned(), || OF_DOCKER.to_owned());
    let several = || "has 2 WebAssembly layers, but a component has exactly one".to_owned();
    let wasm = || layer(media_type::WASM);
    let docker = "application/vnd.docker.distribution.manifest.v2+json";
    let list = "application/vnd.docker.distribution.manifest.list.v2+json";
    let tar = "application/vnd.oci.image.layer.v1.tar+gzip";
    let cases = [
        (with("/mediaType", json!(media_type::INDEX)), index()),
        (with("/mediaType", json!(list)), index()),
        (with("/manifests", json!([])), index()),
        (with("/mediaType", json!(docker)), of_docker()),
        (with("/schemaVersion", json!(1)), of_docker()),
        (
            with("/mediaType", json!("text/html\u{1b}[2J")),
            "has a manifest of the unknown type `text/html\\u{1b}[2J`".to_owned(),
        ),
        (
            with("/layers/0/digest", json!("sha512:00")),
            other_digest("sha512"),
        ),
        (
            with("/layers/0/digest", json!("sha256:00")),
            other_digest("sha256"),
        ),
        (
            with("/layers/0/digest", json!("../../etc/passwd")),
            other_digest("../../etc/passwd"),
        ),
        (
            manifest(&[]),
            "contains no WebAssembly component: it has no layers".to_owned(),
        ),
        (
            manifest(&[layer(tar)]),
            format!("contains no WebAssembly component: its 1 layers are of types such as `{tar}`"),
        ),
        (manifest(&[wasm(), wasm()]), several()),
        (
            manifest(&[wasm(), layer(media_type::COMPONENT_LAYERS[1])]),
            several(),
        ),
        (
            with("/layers/0/size", json!(u64::MAX)),
            format!(
                "has a part of type `{}` with 18446744073709551615 bytes; at most 67108864 are read",
                media_type::WASM
            ),
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(read(&value, None), Err(expected.into()), "{value}");
    }
    let value = manifest(&[wasm()]);
    assert_eq!(read(&value, Some(docker)), Err(of_docker().into()));
    assert_eq!(read(&value, Some(media_type::INDEX)), Err(index().into()));
    let malformed = [
        with("/schemaVersion", json!(3)),
        with("/layers", json!("none")),
        with("/layers/0/size", json!(-1)),
        with("/layers/0/size", json!(1.5)),
        with("/annotations", json!({ "a": 1 })),
        with("/layers", Value::Array(vec![wasm(); 65])),
        json!([]),
        json!(null),
    ];
    for value in malformed {
        let why = read(&value, None).unwrap_err().to_string();
        assert!(
            why.starts_with("has a malformed manifest ("),
            "{value}: {why}"
        );
    }
    for bytes in [&b""[..], b"{", b"\xff", &[b'['; 10_000]] {
        let why = Manifest::parse(bytes, None).unwrap_err().to_string();
        assert!(why.starts_with("has a malformed manifest ("), "{why}");
    }
}

proptest! {
    #[test]
    fn manifest_fuzz(at in 0_usize..400, byte: u8, cut in 0_usize..500) {
        let mut bytes = manifest(&[layer(media_type::WASM)]).to_string().into_bytes();
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(cut);
        if let Ok(manifest) = Manifest::parse(&bytes, None)
            && let Ok(layer) = component_layer(&manifest)
        {
            prop_assert!(layer.sha256().is_ok());
            prop_assert!(layer.size <= crate::MAX_COMPONENT_BYTES);
        }
    }
}
