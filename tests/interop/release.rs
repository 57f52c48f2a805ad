//! The papers of a release: the list of its parts, by the validator of CycloneDX, and signatures,
//! by openssl.

use agent_host_test_support::{dist, installed::cyclonedx, repository, skip};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::{fs, path::Path, process::Command};

/// Accepts the document of a file if it is CycloneDX 1.6, and prints what is wrong otherwise.
const VALIDATE: &str = "
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
text = open(sys.argv[1]).read()
print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) or 'valid')
";

#[test]
fn list_of_parts_is_valid_and_reproducible() {
    let Some(python) = cyclonedx() else {
        return;
    };
    let list = || {
        let output = Command::new(repository().join("packaging/sbom")).output();
        let output = output.unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = list();
    assert_eq!(list(), text);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sbom.json");
    let validate = |text: &str| {
        fs::write(&file, text).unwrap();
        let mut command = Command::new(&python);
        let output = command.args(["-c", VALIDATE]).arg(&file).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(validate(&text), "valid\n");
    let wrong = text.replacen("\"type\": \"library\"", "\"type\": \"thing\"", 1);
    assert_ne!(validate(&wrong), "valid\n");
    let list: Value = serde_json::from_str(&text).unwrap();
    let components = list["components"].as_array().unwrap();
    let has = |name: &str| components.iter().any(|it| it["name"] == name);
    let parts = ["wasmtime", "rustls", "agent-host-registry", "builtin:files"].map(has);
    // Of tests, and of the compiler.
    let others = ["criterion", "pretty_assertions", "serde_derive"].map(has);
    assert_eq!((parts, others), ([true; 4], [false; 3]));
}

/// Runs openssl, which has to start.
fn openssl(args: &[&str]) -> bool {
    let output = Command::new("openssl").args(args).output().unwrap();
    output.status.success()
}

#[test]
fn signed_manifest_of_the_builtins_is_verified_by_openssl() {
    if Command::new("openssl").arg("version").output().is_err() {
        return skip("this machine has no openssl");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let file = path("manifest.toml");
    fs::copy(dist().join("manifest.toml"), &file).unwrap();
    let signature = format!("{file}.sig");
    let sign = |key: &str| {
        let mut command = Command::new(repository().join("packaging/sign"));
        command.args([key, &file]).output().unwrap()
    };
    let algorithms: [(&str, &[&str], &[&str]); 2] = [
        ("ed25519", &["ed25519"], &[]),
        (
            "p256",
            &["EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
            &["-digest", "sha256"],
        ),
    ];
    for (name, algorithm, digest) in algorithms {
        let (private, public) = (path(&format!("{name}.key")), path(&format!("{name}.pub")));
        assert!(openssl(
            &[&["genpkey", "-out", &private, "-algorithm"], algorithm].concat()
        ));
        assert!(openssl(&[
            "pkey", "-in", &private, "-pubout", "-out", &public
        ]));
        let signed = sign(&private);
        let stderr = String::from_utf8_lossy(&signed.stderr);
        assert!(signed.status.success(), "{name}: {stderr}");
        let verify = |file: &str| {
            let command = ["pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", &public];
            let files = ["-in", file, "-sigfile", &signature];
            openssl(&[&command, digest, &files].concat())
        };
        assert!(verify(&file), "{name}");
        let changed = path("changed.toml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&changed, text.replacen("sha256:", "sha256:0", 1)).unwrap();
        assert!(!verify(&changed), "{name}");
    }
    // Another kind of key is refused, and nothing is signed.
    fs::remove_file(&signature).unwrap();
    let other = path("other.key");
    assert!(openssl(&["genpkey", "-out", &other, "-algorithm", "ed448"]));
    let refused = sign(&other);
    assert_eq!(refused.status.code(), Some(2));
    assert!(!Path::new(&signature).exists());
}
