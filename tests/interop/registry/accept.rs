//! Pins, and the keys and users that accept components.

use super::{DockerRegistry, ED25519, IMAGE, component, keys, ok};
use agent_host_test_support::{TestEnv, repository, skip};
use pretty_assertions::assert_eq;
use std::{fs, process::Command};

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
    // An inline list is edited in its place.
    env.configure(&publisher);
    ok(env.run(&["add", &reference]));
    let config = || fs::read_to_string(env.work().join("agent.toml")).unwrap();
    let listed = format!("{{ name = \"files\", component = \"{reference}\"");
    assert!(config().contains(&listed), "{}", config());
    ok(env.run(&["remove", "files"]));
    assert_eq!(config(), publisher);
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
        refused
            .stderr
            .contains("it is from another key, or damaged"),
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
            .contains("accepts \"*\" if signed by \"acme\""),
        "{}",
        refused.stderr
    );
}
