//! Components in a registry: Debian's `docker-registry`, read back with skopeo, Python's `oras` and
//! Sigstore's packages, and signatures checked with openssl. That registry has no referrers API, so
//! signatures are found by tag.

mod accept;
mod add;
mod faults;
mod oracles;
mod push;
mod search;
mod update;
mod whole_way;

use agent_host_test_support::{Ran, TestEnv, dist, running::Running, skip};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{fs, process::Command};

/// A registry on loopback, which is stopped on drop.
struct DockerRegistry {
    _running: Running,
    /// Host and port.
    host: String,
}

impl DockerRegistry {
    /// Starts one; skipped with a message where a program is not installed.
    fn start(env: &TestEnv) -> Option<Self> {
        Self::start_with(env, &json!({}))
    }

    /// Starts one that lets these users in, as `htpasswd -B` writes them.
    fn start_with_users(env: &TestEnv, users: &str) -> Option<Self> {
        let path = env.outside().join("htpasswd");
        fs::write(&path, users).unwrap();
        Self::start_with(env, &json!({ "htpasswd": { "realm": "r", "path": path } }))
    }

    fn start_with(env: &TestEnv, auth: &Value) -> Option<Self> {
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
            "auth": auth,
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
