//! `outdated` and `update`.

use super::{DockerRegistry, IMAGE, component, ok};
use agent_host_test_support::{TestEnv, chat::ChatServer, terminal::on_a_terminal};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;

/// Returns the pinned manifest of a component.
fn pinned(env: &TestEnv, name: &str) -> String {
    let lock = fs::read_to_string(env.work().join("agent.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    let manifest = &lock["tool"][name]["registry"]["manifest"];
    manifest.as_str().unwrap().to_owned()
}

/// Pushes a component, and returns the digest of its manifest.
fn push(env: &TestEnv, name: &str, reference: &str) -> String {
    let pushed = ok(env.run(&["push", &component(name), reference, "--json"]));
    pushed.json()["manifest"].as_str().unwrap().to_owned()
}

/// Returns the only row of `outdated`, without what differs between runs.
fn outdated(env: &TestEnv) -> (Value, Value, Value) {
    let found = ok(env.run(&["outdated", "--json"])).json();
    let row = found["components"][0].clone();
    let version = |at: &str| row[at]["version"].clone();
    (
        json!([row["name"], row["status"], row["newer_tag"]]),
        version("pinned"),
        version("current"),
    )
}

#[test]
fn moved_tag_with_other_permissions_is_updated_once_accepted() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let reference = registry.reference("acme/tool:stable");
    let first = push(&env, "files.wasm", &reference);
    env.configure(IMAGE);
    ok(env.run(&["add", &reference, "--as", "mine", "--yes"]));
    let (row, ..) = outdated(&env);
    assert_eq!(row, json!(["mine", "current", null]));
    let same = ok(env.run(&["update"]));
    assert!(same.stdout.contains("is up to date"), "{}", same.stdout);

    let second = push(&env, "fetch.wasm", &reference);
    let (row, ..) = outdated(&env);
    assert_eq!(row, json!(["mine", "moved", null]));
    let table = ok(env.run(&["outdated"])).stdout;
    assert!(
        table.contains("its tag moved: agent-host update mine"),
        "{table}"
    );
    let refused = env.run(&["update", "mine"]);
    assert_eq!(refused.code, Some(5), "{}", refused.stderr);
    for changed in [
        &*first,
        &*second,
        "import:",
        "wasi:http/",
        "tool `read_file`",
    ] {
        assert!(
            refused.stdout.contains(changed),
            "{changed}: {}",
            refused.stdout
        );
    }
    assert!(
        refused.stderr.contains("agent-host update mine --accept"),
        "{}",
        refused.stderr
    );
    assert_eq!(pinned(&env, "mine"), first);
    // On a terminal the user is asked.
    let server = ChatServer::start(Vec::new());
    for (keys, code, expected) in [("n\n", 5, &first), ("y\n", 0, &second)] {
        let ran = on_a_terminal(&env, &server, "update mine", keys);
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        assert_eq!(pinned(&env, "mine"), *expected);
    }
    let (row, ..) = outdated(&env);
    assert_eq!(row, json!(["mine", "current", null]));
    let none = env.run(&["update", "image"]);
    assert_eq!(none.code, Some(2), "{}", none.stderr);
    assert!(none.stderr.contains("available: mine"), "{}", none.stderr);
}

#[test]
fn older_version_is_taken_only_if_it_is_allowed() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let at = |tag: &str| registry.reference(&format!("acme/tool:{tag}"));
    let old = push(&env, "files.wasm", &at("1.9.0"));
    let new = push(&env, "fetch.wasm", &at("1.10.0"));
    push(&env, "fetch.wasm", &at("2.0.0-rc.1"));
    env.configure(IMAGE);
    ok(env.run(&["add", &at("1.9.0"), "--as", "mine", "--yes"]));
    let expected = (
        json!(["mine", "newer", "1.10.0"]),
        json!("1.9.0"),
        json!("1.9.0"),
    );
    assert_eq!(outdated(&env), expected);
    let before = fs::read_to_string(env.work().join("agent.toml")).unwrap();
    let refused = env.run(&["update", "mine", "--to", "1.10.0"]);
    assert_eq!(refused.code, Some(5), "{}", refused.stderr);
    assert!(
        refused.stdout.contains("version: 1.9.0 -> 1.10.0"),
        "{}",
        refused.stdout
    );
    let text = || fs::read_to_string(env.work().join("agent.toml")).unwrap();
    assert_eq!(text(), before);
    ok(env.run(&["update", "mine", "--to", "1.10.0", "--accept"]));
    assert_eq!(pinned(&env, "mine"), new);
    assert_eq!(text(), before.replace(":1.9.0", ":1.10.0"));
    // It runs as it is: the configuration is trusted, and the lock agrees.
    assert!(ok(env.run(&["call", "mine"])).stdout.contains("http_post"));

    let refused = env.run(&["update", "mine", "--to", "1.9.0", "--accept"]);
    assert_eq!(refused.code, Some(5), "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("the version would go back from 1.10.0 to 1.9.0"),
        "{}",
        refused.stderr
    );
    assert_eq!(pinned(&env, "mine"), new);
    let allowed = [
        "update",
        "mine",
        "--to",
        "1.9.0",
        "--accept",
        "--allow-downgrade",
    ];
    ok(env.run(&allowed));
    assert_eq!((pinned(&env, "mine"), text()), (old, before));
    let wrong = env.run(&["update", "mine", "--to", "a b"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    // Without the registry, what is not known is told.
    drop(registry);
    let unknown = env.run(&["outdated", "--json"]);
    assert_eq!(unknown.code, Some(1), "{}", unknown.stderr);
    assert_eq!(unknown.json()["components"][0]["status"], "unknown");
}
