//! Components in a registry: Debian's `docker-registry`, read back with skopeo, and signatures
//! checked with openssl. That registry has no referrers API, so signatures are found by tag.

use agent_host_test_support::{
    Ran, TestEnv, chat::ChatServer, dist, repository, running::Running, skip,
    terminal::on_a_terminal,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const IN_TOTO: &str = "application/vnd.in-toto+json";

/// A registry on loopback, which is stopped on drop.
struct DockerRegistry {
    _running: Running,
    /// Host and port.
    host: String,
}

impl DockerRegistry {
    /// Starts one; skipped with a message where a program is not installed.
    fn start(env: &TestEnv) -> Option<Self> {
        for program in ["docker-registry", "skopeo", "openssl"] {
            if Command::new(program).arg("--version").output().is_err() {
                skip(&format!("this machine has no {program}"));
                return None;
            }
        }
        let root = env.outside().join("registry");
        let config = json!({
            "version": 0.1,
            "storage": { "filesystem": { "rootdirectory": root } },
            "http": { "addr": "127.0.0.1:0" },
        });
        let file = env.outside().join("registry.json");
        // JSON is YAML.
        fs::write(&file, config.to_string()).unwrap();
        let mut command = Command::new("docker-registry");
        env.prepare(command.arg("serve").arg(&file));
        let mut running = Running::start_without_input(&mut command);
        let line = running.stderr.line_with("listening on 127.0.0.1:");
        let (_, rest) = line.split_once("listening on ").unwrap();
        let is_address = |c: &char| c.is_ascii_digit() || ".:".contains(*c);
        Some(Self {
            host: rest.chars().take_while(is_address).collect(),
            _running: running,
        })
    }

    fn reference(&self, name: &str) -> String {
        format!("oci://{}/{name}", self.host)
    }
}

/// Runs a program of others, which has to succeed, and returns what it prints.
fn other(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Makes a private and a public key with openssl.
fn keys(env: &TestEnv, name: &str, algorithm: &[&str]) -> (String, String) {
    let path = |ending: &str| {
        let path = env.outside().join(format!("{name}.{ending}"));
        path.to_str().unwrap().to_owned()
    };
    let (private, public) = (path("key"), path("pub"));
    let arguments = [&["genpkey", "-out", &private, "-algorithm"], algorithm].concat();
    other("openssl", &arguments);
    other(
        "openssl",
        &["pkey", "-in", &private, "-pubout", "-out", &public],
    );
    (private, public)
}

/// A tool beside those of the tests, whose names differ from its own.
const IMAGE: &str = "[[tool]]\nname = \"image\"\ncomponent = \"builtin:image\"\n";

const P256: &[&str] = &["EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
const ED25519: &[&str] = &["ed25519"];

fn ok(ran: Ran) -> Ran {
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    ran
}

fn component(name: &str) -> String {
    dist().join(name).to_str().unwrap().to_owned()
}

fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// Returns a manifest as skopeo gets it.
fn manifest(at: &str) -> Value {
    let image = format!("docker://{}", at.trim_start_matches("oci://"));
    let raw = other(
        "skopeo",
        &["inspect", "--tls-verify=false", "--raw", &image],
    );
    serde_json::from_str(&raw).unwrap()
}

/// Copies an artifact with skopeo, and returns the directory of its blobs.
fn copied(env: &TestEnv, at: &str, name: &str) -> PathBuf {
    let to = env.outside().join(name);
    let image = format!("docker://{}", at.trim_start_matches("oci://"));
    let to_oci = format!("oci:{}:x", to.display());
    other(
        "skopeo",
        &["copy", "--src-tls-verify=false", &image, &to_oci],
    );
    to.join("blobs/sha256")
}

fn blob(blobs: &Path, digest: &str) -> Vec<u8> {
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
        refused.stderr.contains("it is of another key, or damaged"),
        "{}",
        refused.stderr
    );
    let exists = env.run(&["pull", &reference, "-o", output]);
    assert_eq!(exists.code, Some(2), "{}", exists.stderr);
}

#[test]
fn unsigned_component_runs_after_its_digest_is_accepted() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let reference = registry.reference("acme/files:1");
    ok(env.run(&["push", &component("files.wasm"), &reference]));
    let refused = env.run(&["add", &reference, "--as", "mine"]);
    assert_eq!(refused.code, Some(5), "{}", refused.stderr);
    assert!(!env.work().join("agent.toml").exists());
    assert!(!env.work().join("agent.lock").exists());
    // What it prints can be pasted.
    let hint = refused
        .stderr
        .lines()
        .find(|line| line.contains("agent-host add"));
    let words: Vec<&str> = hint.unwrap().trim().split(' ').skip(1).collect();
    ok(env.run(&words));
    let lock = fs::read_to_string(env.work().join("agent.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    let pinned = &lock["tool"]["mine"];
    let bytes = fs::read(component("files.wasm")).unwrap();
    assert_eq!(pinned["component"].as_str(), Some(&*sha256(&bytes)));
    assert!(pinned["registry"].get("signer").is_none());
    // It is granted nothing.
    env.write("notes.txt", "text");
    let called = env.run(&["call", "mine", "read_file", "path=notes.txt"]);
    assert!(!called.stdout.contains("text"), "{}", called.stdout);
    // Written by hand, without acceptance, it does not run.
    let other = TestEnv::new();
    other.configure(format!(
        "[[tool]]\nname = \"mine\"\ncomponent = \"{reference}\"\n"
    ));
    let refused = other.run(&["call", "mine", "list_files"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("nothing shows who made the component `mine`"),
        "{}",
        refused.stderr
    );
    ok(other.run(&["inspect", "mine"]));
    ok(other.run(&["lock", "--accept", "mine"]));
    ok(other.run(&["inspect", "mine"]));
    // Removed, nothing of it is left.
    ok(env.run(&["remove", "mine"]));
    for file in ["agent.toml", "agent.lock"] {
        let text = fs::read_to_string(env.work().join(file)).unwrap();
        assert!(!text.contains("mine"), "{text}");
    }
}

/// On a terminal the user is asked; any answer but yes adds nothing.
#[test]
fn unsigned_component_is_accepted_on_a_terminal() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let reference = registry.reference("acme/files:1");
    ok(env.run(&["push", &component("files.wasm"), &reference]));
    let server = ChatServer::start(Vec::new());
    let add = format!("add {reference} --as mine");
    for (keys, code, is_added) in [("n\n", 5, false), ("\n", 5, false), ("y\n", 0, true)] {
        let ran = on_a_terminal(&env, &server, &add, keys);
        assert!(
            ran.stdout.contains("exactly these bytes run as `mine`"),
            "{}",
            ran.stdout
        );
        let found = ["agent.toml", "agent.lock"].map(|file| env.work().join(file).exists());
        assert_eq!((ran.code, found), (Some(code), [is_added; 2]), "{keys:?}");
    }
    assert!(ok(env.run(&["call", "mine"])).stdout.contains("read_file"));
}

#[test]
fn signed_component_runs_offline_until_a_move_is_accepted() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let (private, public) = keys(&env, "acme", ED25519);
    let (other_private, _) = keys(&env, "other", ED25519);
    let reference = registry.reference("acme/files:1");
    let push = |name: &str, key: &str| {
        ok(env.run(&[
            "push",
            &component(name),
            &reference,
            "--sign",
            key,
            "--json",
        ]))
        .json()
    };
    let first = push("files.wasm", &private);
    let publisher = format!(
        "tool = [{{ name = \"image\", component = \"builtin:image\" }}]\n[[publisher]]\nname = \"acme\"\ncomponents = [\"{}/acme/*\"]\nkeys = [{public:?}]\n",
        registry.host
    );
    // An inline list is not edited; the lines to paste are printed.
    env.configure(&publisher);
    let by_hand = env.run(&["add", &reference]);
    assert_eq!(by_hand.code, Some(2), "{}", by_hand.stderr);
    assert!(
        by_hand.stderr.contains("do it by hand"),
        "{}",
        by_hand.stderr
    );
    let (_, publisher) = publisher.split_once('\n').unwrap();
    env.configure(format!("{publisher}{IMAGE}"));
    let added = ok(env.run(&["add", &reference]));
    assert!(
        added.stdout.contains("by the key sha256:"),
        "{}",
        added.stdout
    );
    let text = fs::read_to_string(env.work().join("agent.toml")).unwrap();
    let granted = text.replace("dir = [] #", "dir = [{ host = \".\" }] #");
    assert!(granted != text, "{text}");
    env.configure(&granted);
    env.write("notes.txt", "some text");
    let read = || ok(env.run(&["call", "files", "read_file", "path=notes.txt"])).stdout;
    assert!(read().contains("some text"));

    // The tag moves to another component of the same key: what is pinned runs.
    let second = push("fetch.wasm", &private);
    assert_ne!(first["manifest"], second["manifest"]);
    assert!(read().contains("some text"));
    let moved = env.run(&["lock"]);
    assert_eq!(moved.code, Some(5), "{}", moved.stderr);
    for digest in [&first["manifest"], &second["manifest"], &first["component"]] {
        assert!(
            moved.stdout.contains(digest.as_str().unwrap()),
            "{}",
            moved.stdout
        );
    }
    assert!(read().contains("some text"));
    // One of another key is not accepted at all.
    let probe = repository().join("tests/guests/dist/probe.wasm");
    ok(env.run(&[
        "push",
        probe.to_str().unwrap(),
        &reference,
        "--sign",
        &other_private,
    ]));
    let refused = env.run(&["lock", "--accept"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("it is of another key, or damaged"),
        "{}",
        refused.stderr
    );
    push("fetch.wasm", &private);
    // Without the registry, what is pinned runs, and nothing new is accepted.
    drop(registry);
    assert!(read().contains("some text"));
    let unreachable = env.run(&["lock", "--accept"]);
    assert_eq!(unreachable.code, Some(1), "{}", unreachable.stderr);
    assert!(
        unreachable.stderr.contains("cannot be reached"),
        "{}",
        unreachable.stderr
    );
    assert!(read().contains("some text"));
}

#[test]
fn moved_tag_runs_once_it_is_accepted() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let reference = registry.reference("acme/tool:1");
    ok(env.run(&["push", &component("files.wasm"), &reference]));
    env.configure(IMAGE);
    ok(env.run(&["add", &reference, "--as", "mine", "--yes"]));
    ok(env.run(&["push", &component("fetch.wasm"), &reference]));
    let tools = || ok(env.run(&["call", "mine"])).stdout;
    assert!(tools().contains("read_file"));
    ok(env.run(&["lock", "--accept", "mine"]));
    assert!(!tools().contains("read_file"));
    // A reference that was edited by hand is a change like any other.
    let edited = fs::read_to_string(env.work().join("agent.toml")).unwrap();
    ok(env.run(&[
        "push",
        &component("files.wasm"),
        &registry.reference("acme/tool:2"),
    ]));
    env.configure(edited.replace("acme/tool:1", "acme/tool:2"));
    let changed = env.run(&["call", "mine", "list_directory", "path=."]);
    assert_eq!(changed.code, Some(2), "{}", changed.stderr);
    let arrow = format!("{reference} -> {}", registry.reference("acme/tool:2"));
    assert!(changed.stderr.contains(&arrow), "{}", changed.stderr);
}

#[test]
fn untrusted_directory_sets_no_publisher() {
    let env = TestEnv::new();
    let (_, public) = match Command::new("openssl").arg("version").output() {
        Ok(_) => keys(&env, "mallory", ED25519),
        Err(_) => return skip("this machine has no openssl"),
    };
    let text =
        format!("[[publisher]]\nname = \"acme\"\ncomponents = [\"*\"]\nkeys = [{public:?}]\n");
    env.write("agent.toml", text);
    let refused = env.run(&["pull", "oci://127.0.0.1:9/a:1"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("is not trusted"),
        "{}",
        refused.stderr
    );
    assert!(
        refused
            .stderr
            .contains("accepts \"*\" as signed by \"acme\""),
        "{}",
        refused.stderr
    );
}
