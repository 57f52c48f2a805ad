//! Checks that the prebuilt components match their manifests and were built from the sources beside
//! them.

use pretty_assertions::assert_eq;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The largest size of each component, so that the program stays small.
const MAX_COMPONENT_BYTES: u64 = 600 * 1024;

/// That of the one with an engine of JavaScript in it.
const MAX_CODE_BYTES: u64 = 2 * 1024 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Manifest {
    component: BTreeMap<String, Component>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Component {
    source_digest: String,
    lock_digest: String,
    #[serde(rename = "rustc")]
    _rustc: String,
    #[serde(rename = "build-source")]
    _build_source: String,
    digest: String,
    size: u64,
}

#[test]
fn manifests_match_components_and_sources() {
    check(
        "guest-tools/dist",
        &[
            ("code", "code"),
            ("extism", "extism"),
            ("fetch", "fetch"),
            ("files", "files"),
            ("image", "image"),
        ],
    );
    check(
        "tests/guests/dist",
        &[
            ("act", "act"),
            ("concurrent", "concurrent"),
            ("conformance", "conformance/rust"),
            ("guard", "examples/guard"),
            ("mcp-server", "mcp-server"),
            ("mcp-server-async", "mcp-server"),
            ("mcp-server-http", "mcp-server"),
            ("mcp-suite", "mcp-suite"),
            ("probe", "probe"),
            ("redact", "examples/redact"),
        ],
    );
}

/// Plugins of Extism need another target than the components, so CI does not build them.
#[test]
fn extism_plugins_match_their_sources() {
    let directory = root().join("tests/guests/extism");
    let sums = std::fs::read_to_string(directory.join("SHA256SUMS")).unwrap();
    let files = [
        "Cargo.lock",
        "Cargo.toml",
        "functions.wasm",
        "src/lib.rs",
        "src/tools.rs",
        "tools.wasm",
    ];
    let expected: String = files
        .iter()
        .map(|file| {
            let digest = Sha256::digest(std::fs::read(directory.join(file)).unwrap());
            format!("{}  {file}\n", hex::encode(digest))
        })
        .collect();
    assert_eq!(sums, expected, "run tests/guests/extism/build");
}

/// Checks the manifest of the directory `dist`, given each component's name and source directory in
/// `guest-tools`.
fn check(dist: &str, expected: &[(&str, &str)]) {
    let dist = root().join(dist);
    let text = std::fs::read_to_string(dist.join("manifest.toml")).unwrap();
    let manifest: Manifest = toml::from_str(&text).unwrap();
    let names: Vec<&str> = manifest.component.keys().map(String::as_str).collect();
    let wanted: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, wanted);
    let lock = sha256(&std::fs::read(root().join("guest-tools/Cargo.lock")).unwrap());
    for ((name, component), (_, sources)) in manifest.component.iter().zip(expected) {
        let bytes = std::fs::read(dist.join(format!("{name}.wasm"))).unwrap();
        assert_eq!(component.digest, sha256(&bytes), "{name}");
        assert_eq!(component.size, bytes.len() as u64, "{name}");
        let max = match name.as_str() {
            "code" => MAX_CODE_BYTES,
            _ => MAX_COMPONENT_BYTES,
        };
        assert!(component.size <= max, "{name} has {} bytes", component.size);
        assert_eq!(
            component.lock_digest, lock,
            "{name}: Cargo.lock changed; rebuild with guest-tools/build-dist"
        );
        assert_eq!(
            component.source_digest,
            source_digest(&Path::new("guest-tools").join(sources)),
            "{name}: its sources changed; rebuild with guest-tools/build-dist"
        );
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../..")
        .canonicalize()
        .unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// The digest of a component's inputs, by the rule in `guest-tools/README.md`.
fn source_digest(sources: &Path) -> String {
    let mut files = vec![PathBuf::from("guest-tools/Cargo.toml")];
    for directory in ["guest-tools/sdk", "guest-tools/sdk-macros"] {
        collect(Path::new(directory), &mut files);
    }
    collect(sources, &mut files);
    collect(Path::new("wit"), &mut files);
    files.retain(|path| {
        !path.starts_with("wit") || path.extension().is_some_and(|extension| extension == "wit")
    });
    files.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    let lines: String = files
        .iter()
        .map(|path| {
            let digest = hex::encode(Sha256::digest(std::fs::read(root().join(path)).unwrap()));
            format!("{digest}  {}\n", path.display())
        })
        .collect();
    sha256(lines.as_bytes())
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(root().join(directory)) else {
        return;
    };
    for entry in entries {
        let entry = entry.unwrap();
        let path = directory.join(entry.file_name());
        let name = entry.file_name();
        if entry.file_type().unwrap().is_dir() {
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            if !is_hidden && name != "tests" && name != "target" && name != "dist" {
                collect(&path, files);
            }
        } else if name != "README.md" {
            files.push(path);
        }
    }
}
