//! Artifacts and signatures of `push`, as other programs read them.

use super::{DockerRegistry, ED25519, P256, component, keys, ok, other, sha256};
use agent_host_test_support::{TestEnv, installed::compiler_from_pypi, repository};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

const IN_TOTO: &str = "application/vnd.in-toto+json";

/// Returns a manifest as skopeo gets it.
pub(super) fn manifest(at: &str) -> Value {
    let image = format!("docker://{}", at.trim_start_matches("oci://"));
    let raw = other(
        "skopeo",
        &["inspect", "--tls-verify=false", "--raw", &image],
    );
    serde_json::from_str(&raw).unwrap()
}

/// Copies an artifact with skopeo, and returns the directory of its blobs.
pub(super) fn copied(env: &TestEnv, at: &str, name: &str) -> PathBuf {
    let to = env.outside().join(name);
    let image = format!("docker://{}", at.trim_start_matches("oci://"));
    let to_oci = format!("oci:{}:x", to.display());
    other(
        "skopeo",
        &["copy", "--src-tls-verify=false", &image, &to_oci],
    );
    to.join("blobs/sha256")
}

pub(super) fn blob(blobs: &Path, digest: &str) -> Vec<u8> {
    fs::read(blobs.join(digest.trim_start_matches("sha256:"))).unwrap()
}

#[test]
fn pushed_component_is_read_by_skopeo_and_openssl() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let bytes = fs::read(component("files.wasm")).unwrap();
    for (name, algorithm) in [("p256", P256), ("ed25519", ED25519)] {
        let (private, public) = keys(&env, name, algorithm);
        let reference = registry.reference(&format!("acme/{name}:1.2.0"));
        let file = component("files.wasm");
        let pushed = ok(env.run(&["push", &file, &reference, "--sign", &private, "--json"])).json();
        assert_eq!(pushed["component"], sha256(&bytes));

        let found = manifest(&reference);
        assert_eq!(
            found["config"]["mediaType"],
            "application/vnd.wasm.config.v0+json"
        );
        let layer = json!({
            "mediaType": "application/wasm",
            "digest": sha256(&bytes),
            "size": bytes.len(),
        });
        assert_eq!(found["layers"], json!([layer]));
        let blobs = copied(&env, &reference, &format!("{name}-copy"));
        assert_eq!(blob(&blobs, &sha256(&bytes)), bytes);
        let digest = pushed["manifest"].as_str().unwrap();
        assert_eq!(sha256(&blob(&blobs, digest)), digest);
        let config = blob(&blobs, found["config"]["digest"].as_str().unwrap());
        let config: Value = serde_json::from_slice(&config).unwrap();
        let exports = &config["component"]["exports"];
        assert_eq!(exports, &json!(["agent:tool/tool@0.1.0"]), "{config}");

        // The signature, by the tag that stands for the referrers API.
        let repository = registry.reference(&format!("acme/{name}"));
        let tag = digest.replace(':', "-");
        let index = manifest(&format!("{repository}:{tag}"));
        assert_eq!(index["manifests"].as_array().unwrap().len(), 1);
        let referrer = index["manifests"][0]["digest"].as_str().unwrap();
        let at = format!("{repository}@{referrer}");
        let signature = manifest(&at);
        assert_eq!(signature["subject"]["digest"], digest);
        let blobs = copied(&env, &at, &format!("{name}-signature"));
        let bundle = blob(&blobs, signature["layers"][0]["digest"].as_str().unwrap());
        assert_openssl_verifies(&env, &bundle, &public, digest, algorithm == P256);
    }
}

/// Asserts that a bundle is a signature of the manifest with this digest, by openssl.
fn assert_openssl_verifies(env: &TestEnv, bundle: &[u8], public: &str, digest: &str, is_ec: bool) {
    let bundle: Value = serde_json::from_slice(bundle).unwrap();
    let envelope = &bundle["dsseEnvelope"];
    let decoded = |text: &Value| STANDARD.decode(text.as_str().unwrap()).unwrap();
    let payload = decoded(&envelope["payload"]);
    let statement: Value = serde_json::from_slice(&payload).unwrap();
    let hex = digest.trim_start_matches("sha256:");
    assert_eq!(
        statement,
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "digest": { "sha256": hex } }],
            "predicateType": "https://sigstore.dev/cosign/sign/v1",
            "predicate": {},
        })
    );
    let head = format!("DSSEv1 {} {IN_TOTO} {} ", IN_TOTO.len(), payload.len());
    let file = |name: &str, bytes: &[u8]| {
        let path = env.outside().join(name);
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let message = file("message", &[head.as_bytes(), &payload].concat());
    let signature = file("signature", &decoded(&envelope["signatures"][0]["sig"]));
    let verified = match is_ec {
        true => other(
            "openssl",
            &[
                "dgst",
                "-sha256",
                "-verify",
                public,
                "-signature",
                &signature,
                &message,
            ],
        ),
        false => other(
            "openssl",
            &[
                "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", &message,
                "-sigfile", &signature,
            ],
        ),
    };
    assert!(
        verified.contains("Verified OK") || verified.contains("Verified Successfully"),
        "{verified}"
    );
}

#[test]
fn pull_verifies_the_key_that_is_named() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let (private, public) = keys(&env, "acme", P256);
    let (_, other_public) = keys(&env, "other", ED25519);
    let reference = registry.reference("acme/files:1");
    let file = component("files.wasm");
    ok(env.run(&["push", &file, &reference]));
    let unsigned = env.run(&["pull", &reference, "--verify", &public]);
    assert_eq!(unsigned.code, Some(2), "{}", unsigned.stderr);
    assert!(
        unsigned.stderr.contains("is not signed"),
        "{}",
        unsigned.stderr
    );
    ok(env.run(&["push", &file, &reference, "--sign", &private]));
    let output = env.work().join("out.wasm");
    let output = output.to_str().unwrap();
    let pulled = ok(env.run(&[
        "pull", &reference, "--verify", &public, "-o", output, "--json",
    ]));
    let der = other(
        "openssl",
        &[
            "pkey",
            "-pubin",
            "-in",
            &public,
            "-outform",
            "DER",
            "-out",
            output.replace("out.wasm", "key.der").as_str(),
        ],
    );
    assert_eq!(der, "");
    let der = fs::read(env.work().join("key.der")).unwrap();
    assert_eq!(pulled.json()["signer"], sha256(&der));
    assert_eq!(fs::read(output).unwrap(), fs::read(&file).unwrap());
    let refused = env.run(&["pull", &reference, "--verify", &other_public]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("it is from another key, or damaged"),
        "{}",
        refused.stderr
    );
    let exists = env.run(&["pull", &reference, "-o", output]);
    assert_eq!(exists.code, Some(2), "{}", exists.stderr);
}

#[test]
fn contract_is_copied_to_a_registry_by_skopeo() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let written = ok(env.run(&["wit", "--oci", "contract"]));
    assert_eq!(written.stdout, "oci:contract:0.1.0\n");
    let layout = env.work().join("contract");
    let from = format!("oci:{}:0.1.0", layout.display());
    let reference = registry.reference("agent/tool:0.1.0");
    let to = format!("docker://{}", reference.trim_start_matches("oci://"));
    other("skopeo", &["copy", "--dest-tls-verify=false", &from, &to]);

    let found = manifest(&reference);
    assert_eq!(
        (
            &found["config"]["mediaType"],
            &found["layers"][0]["mediaType"]
        ),
        (
            &json!("application/vnd.wasm.config.v0+json"),
            &json!("application/wasm")
        )
    );
    let layer = found["layers"][0]["digest"].as_str().unwrap();
    let (there, here) = (
        copied(&env, &reference, "copy"),
        layout.join("blobs/sha256"),
    );
    assert_eq!(blob(&there, layer), blob(&here, layer));

    // componentize-py makes the same bindings of it as of the repository's files.
    let Some(python) = compiler_from_pypi("python") else {
        return;
    };
    let package = env.outside().join("agent-tool.wasm");
    fs::write(&package, blob(&there, layer)).unwrap();
    let [of_package, of_files] = [package, repository().join("wit")].map(|wit| {
        let name = format!("of-{}", wit.file_name().unwrap().display());
        let into = env.outside().join(name);
        let world = ["--world", "tool-component", "bindings"];
        let wit = ["--wit-path", wit.to_str().unwrap()];
        let args = [&wit[..], &world, &[into.to_str().unwrap()]].concat();
        other(python.join("bin/componentize-py").to_str().unwrap(), &args);
        files(&into)
    });
    assert!(!of_files.is_empty());
    assert_eq!(of_package, of_files);
}

/// Returns the texts of all files below a directory.
fn files(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            let below = files(&path).into_iter();
            found.extend(below.map(|(at, text)| (name.join(at), text)));
        } else {
            found.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    found
}
