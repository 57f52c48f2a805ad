//! `add` and `remove`.

use super::{DockerRegistry, component, ok, sha256};
use agent_host_test_support::{TestEnv, chat::ChatServer, terminal::on_a_terminal};
use pretty_assertions::assert_eq;
use std::fs;

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
