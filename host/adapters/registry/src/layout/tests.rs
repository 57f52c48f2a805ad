use super::{LayoutError, write_layout};
use crate::{Package, WasmInterface};
use agent_host_types::id::Digest;
use bytes::Bytes;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

fn package() -> Package {
    Package {
        component: Bytes::from_static(b"a component"),
        interface: WasmInterface {
            exports: vec!["agent:tool/tool@0.1.0".to_owned()],
            ..WasmInterface::default()
        },
        annotations: BTreeMap::from([("a".to_owned(), "b".to_owned())]),
    }
}

/// Returns all files below a directory by path.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            found.extend(files(&path).into_iter().map(|(at, of)| (name.join(at), of)));
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn layout_has_a_blob_for_each_digest() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().join("made/here");
    let digest = write_layout(&root, "1.2.0", &package()).unwrap();
    let blob = |digest: &str| {
        let bytes = fs::read(root.join("blobs").join(digest.replace(':', "/"))).unwrap();
        assert_eq!(Digest::of(&bytes).to_string(), digest);
        bytes
    };

    assert_eq!(
        read(&root.join("oci-layout")),
        json!({ "imageLayoutVersion": "1.0.0" })
    );
    let manifest = blob(&digest.to_string());
    assert_eq!(
        read(&root.join("index.json")),
        json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [{
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "digest": digest,
                "size": manifest.len(),
                "annotations": { "org.opencontainers.image.ref.name": "1.2.0" },
            }],
        })
    );
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["annotations"], json!({ "a": "b" }));
    assert_eq!(
        blob(manifest["layers"][0]["digest"].as_str().unwrap()),
        package().component
    );
    let config = blob(manifest["config"]["digest"].as_str().unwrap());
    assert_eq!(
        serde_json::from_slice::<Value>(&config).unwrap(),
        json!({
            "created": "1970-01-01T00:00:00Z",
            "architecture": "wasm",
            "os": "wasip2",
            "layerDigests": [manifest["layers"][0]["digest"]],
            "component": { "exports": ["agent:tool/tool@0.1.0"], "imports": [] },
        })
    );
    assert_eq!(files(&root).len(), 5);
}

#[test]
fn equal_packages_make_equal_files() {
    let dir = TempDir::new().unwrap();
    let [first, second] = ["first", "second"].map(|name| {
        let root = dir.path().join(name);
        write_layout(&root, "1", &package()).unwrap();
        files(&root)
    });
    assert_eq!(first, second);
}

#[test]
fn directory_with_files_is_refused() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("mine"), "kept").unwrap();
    let refused = write_layout(dir.path(), "1", &package()).unwrap_err();
    assert!(matches!(&refused, LayoutError::NotEmpty(path) if path == dir.path()));
    assert_eq!(
        files(dir.path()),
        BTreeMap::from([(PathBuf::from("mine"), b"kept".to_vec())])
    );
}

#[test]
fn failure_of_the_disk_names_the_path() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let refused = write_layout(&file, "1", &package()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("cannot write {}: File exists (os error 17)", file.display())
    );
}
