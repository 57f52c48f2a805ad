//! What is shown before anything is trusted: `inspect` and `doctor`.

use crate::support::Place;
use agent_host_core::limits::Limits;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

#[test]
fn inspect_shows_tools_permissions_limits_and_digest() {
    let place = Place::new();
    let shown = place.run(&["inspect", "builtin:fetch", "--json"]).json();
    let bytes = std::fs::read(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest-tools/dist/fetch.wasm"),
    )
    .unwrap();
    assert_eq!(
        shown["digest"],
        format!("sha256:{}", hex::encode(Sha256::digest(&bytes)))
    );
    assert_eq!(shown["size_bytes"], bytes.len());
    let tools: Vec<(&Value, &Value)> = shown["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (&tool["name"], &tool["effect"]))
        .collect();
    assert_eq!(
        tools,
        [
            (&json!("fetch"), &json!("read-only")),
            (&json!("http_post"), &json!("effectful"))
        ]
    );
    let permissions = shown["permissions"].as_array().unwrap();
    assert!(
        permissions.contains(&json!("HTTP requests (wasi:http)")),
        "{permissions:?}"
    );
    assert!(
        !permissions
            .iter()
            .any(|line| line.to_string().contains("filesystem")),
        "{permissions:?}"
    );
    assert_eq!(shown["limits"], json!(Limits::default()));
}

#[test]
fn inspect_shows_the_limits_in_force() {
    let place = Place::new();
    place.write(
        "agent.toml",
        "[limits]\ndeadline-ms = 1234\nfile-write-bytes = 2048\n[sandbox]\nconcurrent-calls = 3\nqueued-calls = 5\n\
         guest-threads = 2\n",
    );
    let shown = place.run(&["inspect", "builtin:files", "--json"]).json();
    let limits = Limits {
        deadline_ms: 1234,
        file_write_bytes: 2048,
        ..Limits::default()
    };
    assert_eq!(shown["limits"], json!(limits));
    assert_eq!(
        shown["sandbox"],
        json!({"concurrent-calls": 3, "queued-calls": 5, "guest-threads": 2, "stack-bytes": 1024 * 1024})
    );
    // The same for people: each limit on a line of its own, with its unit.
    let shown = place.run(&["inspect", "builtin:files"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let Value::Object(names) = json!(limits) else {
        panic!("limits are an object");
    };
    let line = |name: &str| {
        let mut lines = shown.stdout.lines().map(str::trim);
        let found = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.map(str::trim).unwrap_or_default().to_owned()
    };
    for name in names.keys() {
        assert_ne!(line(name), "", "no {name} in {}", shown.stdout);
    }
    assert_eq!(
        [
            "deadline-ms",
            "file-write-bytes",
            "queued-calls",
            "stack-bytes"
        ]
        .map(line),
        ["1234 ms", "2.0 KiB", "5", "1.0 MiB"]
    );
    for text in [
        "files and folders (wasi:filesystem)",
        "write_file effectful",
    ] {
        assert!(
            shown.stdout.contains(text),
            "no {text:?} in {}",
            shown.stdout
        );
    }
}

#[test]
fn doctor_names_what_is_there_and_what_is_missing() {
    let place = Place::new();
    let ran = place.run(&["doctor"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for text in [
        "no agent.toml",
        "(0 sessions)",
        "none is configured",
        "list_directory",
    ] {
        assert!(ran.stdout.contains(text), "no {text:?} in {}", ran.stdout);
    }
    place.write("agent.toml", "model = \"openai-compat:m\"\n");
    let broken = place.run(&["doctor"]);
    assert_eq!(broken.code, Some(1), "{}", broken.stdout);
    assert!(broken.stdout.contains("base-url"), "{}", broken.stdout);
}
