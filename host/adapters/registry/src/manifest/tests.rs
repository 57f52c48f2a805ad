use crate::{Descriptor, Manifest, ManifestError, component_layer, media_type};
use agent_host_types::id::Digest;
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

fn read(value: &Value, content_type: Option<&str>) -> Result<Descriptor, ManifestError> {
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
    use ManifestError::{
        Digest as OtherDigest, Docker, Index, NoComponent, SeveralComponents, TooLarge, Type,
    };
    let wasm = || layer(media_type::WASM);
    let docker = "application/vnd.docker.distribution.manifest.v2+json";
    let list = "application/vnd.docker.distribution.manifest.list.v2+json";
    let tar = "application/vnd.oci.image.layer.v1.tar+gzip";
    let cases = [
        (with("/mediaType", json!(media_type::INDEX)), Index),
        (with("/mediaType", json!(list)), Index),
        (with("/manifests", json!([])), Index),
        (with("/mediaType", json!(docker)), Docker),
        (with("/schemaVersion", json!(1)), Docker),
        (
            with("/mediaType", json!("text/html\u{1b}[2J")),
            Type("text/html\\u{1b}[2J".to_owned()),
        ),
        (
            with("/layers/0/digest", json!("sha512:00")),
            OtherDigest("sha512".to_owned()),
        ),
        (
            with("/layers/0/digest", json!("sha256:00")),
            OtherDigest("sha256".to_owned()),
        ),
        (
            with("/layers/0/digest", json!("../../etc/passwd")),
            OtherDigest("../../etc/passwd".to_owned()),
        ),
        (manifest(&[]), NoComponent(vec![])),
        (manifest(&[layer(tar)]), NoComponent(vec![tar.to_owned()])),
        (manifest(&[wasm(), wasm()]), SeveralComponents(2)),
        (
            manifest(&[wasm(), layer(media_type::COMPONENT_LAYERS[1])]),
            SeveralComponents(2),
        ),
        (
            with("/layers/0/size", json!(u64::MAX)),
            TooLarge {
                media_type: media_type::WASM.to_owned(),
                bytes: u64::MAX,
                max_bytes: 64 * 1024 * 1024,
            },
        ),
    ];
    for (value, expected) in cases {
        assert_eq!(read(&value, None), Err(expected), "{value}");
    }
    let value = manifest(&[wasm()]);
    assert_eq!(read(&value, Some(docker)), Err(Docker));
    assert_eq!(read(&value, Some(media_type::INDEX)), Err(Index));
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
        let read = read(&value, None);
        assert!(matches!(read, Err(ManifestError::Malformed(_))), "{value}");
    }
    for bytes in [&b""[..], b"{", b"\xff", &[b'['; 10_000]] {
        let read = Manifest::parse(bytes, None);
        assert!(matches!(read, Err(ManifestError::Malformed(_))));
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
