//! Other programs: Sigstore's packages verify what `push --sign` writes, and Python's `oras` pulls
//! what was pushed and pushes what is pulled, in the layout of wassette, too.

use super::{
    DockerRegistry, ED25519, P256, component, keys, ok,
    push::{blob, copied, manifest},
};
use agent_host_test_support::{
    TestEnv,
    installed::{here, oras, sigstore},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Returns the bundle of the component that was signed last under a reference.
fn bundle(env: &TestEnv, registry: &DockerRegistry, name: &str, digest: &str) -> Value {
    let repository = registry.reference(name);
    let index = manifest(&format!("{repository}:{}", digest.replace(':', "-")));
    let referrer = index["manifests"][0]["digest"].as_str().unwrap();
    let at = format!("{repository}@{referrer}");
    let layer = manifest(&at)["layers"][0]["digest"].clone();
    let copy = copied(env, &at, &name.replace('/', "-"));
    serde_json::from_slice(&blob(&copy, layer.as_str().unwrap())).unwrap()
}

#[test]
fn bundle_is_verified_by_sigstore_until_it_is_changed() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let Some(packages) = sigstore() else {
        return;
    };
    let (_, other) = keys(&env, "other", P256);
    let verify = |bundle: &Value, key: &str| {
        let file = env.outside().join("bundle.json");
        fs::write(&file, bundle.to_string()).unwrap();
        let mut node = Command::new(&packages.node);
        node.arg(here("interop/registry/verify.mjs"));
        let output = node
            .args([&packages.directory, &file, Path::new(key)])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    for (name, algorithm) in [("p256", P256), ("ed25519", ED25519)] {
        let (private, public) = keys(&env, name, algorithm);
        let repository = format!("acme/{name}");
        let reference = registry.reference(&format!("{repository}:1"));
        let file = component("files.wasm");
        let pushed = env.run(&["push", &file, &reference, "--sign", &private, "--json"]);
        let digest = ok(pushed).json()["manifest"].as_str().unwrap().to_owned();
        let good = bundle(&env, &registry, &repository, &digest);
        assert_eq!(verify(&good, &public), "accepted\n", "{name}");
        assert_eq!(
            verify(&good, &other),
            "refused: SIGNATURE_ERROR\n",
            "{name}"
        );
        // One byte of the payload, or of the signature.
        for pointer in ["/dsseEnvelope/payload", "/dsseEnvelope/signatures/0/sig"] {
            let mut tampered = good.clone();
            let value = tampered.pointer_mut(pointer).unwrap();
            let mut bytes = STANDARD.decode(value.as_str().unwrap()).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            *value = json!(STANDARD.encode(bytes));
            let said = verify(&tampered, &public);
            assert_eq!(said, "refused: SIGNATURE_ERROR\n", "{name} {pointer}");
        }
    }
}

/// Runs the script of Python's client.
fn oras_client(python: &Path, args: &[&str]) -> String {
    let mut command = Command::new(python);
    command
        .arg(here("interop/registry/oras_client.py"))
        .args(args);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn oras_pulls_what_was_pushed() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let Some(python) = oras() else {
        return;
    };
    let reference = registry.reference("acme/files:1");
    let file = component("files.wasm");
    ok(env.run(&["push", &file, &reference]));
    let target = reference.trim_start_matches("oci://");
    let directory = env.outside().join("pulled");
    fs::create_dir(&directory).unwrap();
    let pulled = oras_client(&python, &["pull", target, directory.to_str().unwrap()]);
    let pulled: Vec<PathBuf> = pulled.lines().map(PathBuf::from).collect();
    let [pulled] = pulled.as_slice() else {
        panic!("{pulled:?}");
    };
    assert_eq!(fs::read(pulled).unwrap(), fs::read(&file).unwrap());
}

/// The policy that wassette would grant its author.
const POLICY: &str = "version: \"1.0\"\npermissions:\n  storage:\n    allow:\n    - uri: fs:///\n      access: [read, write]\n# \u{1b}[2Jhidden\n";

#[test]
fn artifact_of_oras_in_the_layout_of_wassette_is_added() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let Some(python) = oras() else {
        return;
    };
    let file = component("files.wasm");
    let in_directory = |name: &str, text: &str| {
        let path = env.outside().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let config = in_directory("config.json", "{}");
    let policy = in_directory("policy.yaml", POLICY);
    let layouts = [
        ("plain", "application/wasm", None),
        (
            "standard",
            "application/wasm",
            Some("application/vnd.wasm.policy.v1+yaml"),
        ),
        (
            "wassette",
            "application/vnd.bytecodealliance.wasm.component.layer.v0+wasm",
            Some("application/vnd.wassette.policy+yaml"),
        ),
        (
            "older",
            "application/vnd.wasm.component.v1",
            Some("application/x-yaml"),
        ),
    ];
    for (name, layer, policy_type) in layouts {
        let reference = registry.reference(&format!("acme/{name}:1"));
        let target = reference.trim_start_matches("oci://");
        let config = format!("{config}:application/vnd.wasm.config.v0+json");
        let component = format!("{file}:{layer}");
        let mut args = vec!["push", target, &config, &component];
        let policy = policy_type.map(|it| format!("{policy}:{it}"));
        args.extend(policy.as_deref());
        assert_eq!(oras_client(&python, &args), "201\n", "{name}");
        let added = ok(env.run(&["add", &reference, "--as", name, "--yes"]));
        let asks = added
            .stdout
            .contains("Its author asks for (none of it is granted):");
        assert_eq!(asks, policy.is_some(), "{}", added.stdout);
        assert!(!added.stdout.contains('\u{1b}'), "{}", added.stdout);
        // What the author asks for is not granted.
        env.write("notes.txt", "some text");
        let called = env.run(&["call", name, "read_file", "path=notes.txt"]);
        assert!(!called.stdout.contains("some text"), "{}", called.stdout);
        ok(env.run(&["remove", name]));
    }
}
