//! `add` and `remove`.

use super::{DockerRegistry, ED25519, component, keys, ok, sha256};
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
            .contains("nothing proves who made the component `mine`"),
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

/// The address of a blob of the registry stands for a file on a server.
#[test]
fn component_at_an_address_is_added_by_its_digest() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let (_, public) = keys(&env, "acme", ED25519);
    let file = component("files.wasm");
    ok(env.run(&["push", &file, &registry.reference("acme/files:1")]));
    let digest = sha256(&fs::read(&file).unwrap());
    let address = format!("http://{}/v2/acme/files/blobs/{digest}", registry.host);
    let hex = digest.trim_start_matches("sha256:");
    let url = format!("{address}#sha256={hex}");
    let other = format!("{address}#sha256={}", "0".repeat(64));
    let publisher =
        |keys: &str| format!("[[publisher]]\nname = \"all\"\ncomponents = [\"*\"]\n{keys}\n");
    let refusals = [
        (
            vec!["add", &address],
            String::new(),
            2,
            "get the digest from its publisher",
        ),
        (
            vec!["pull", &address],
            String::new(),
            2,
            "has no digest, so nothing proves",
        ),
        (
            vec!["pull", &other],
            String::new(),
            1,
            "was damaged or replaced in transit",
        ),
        (
            vec!["pull", &url, "--verify", &public],
            String::new(),
            2,
            "where nothing is signed",
        ),
        (
            vec!["pull", &url],
            publisher(&format!("keys = [{public:?}]")),
            2,
            "has keys for it",
        ),
        (
            vec!["add", &url],
            publisher("accept = \"none\""),
            2,
            "has `accept = \"none\"`",
        ),
        (
            vec!["call", "mine"],
            format!("[[tool]]\nname = \"mine\"\ncomponent = \"{address}\"\n"),
            2,
            "has no digest, so nothing proves",
        ),
    ];
    for (args, config, code, expected) in refusals {
        fs::write(env.work().join("agent.toml"), config).unwrap();
        let args = [args, vec!["--trust"]].concat();
        let refused = env.run(&args);
        assert_eq!(refused.code, Some(code), "{args:?} {}", refused.stderr);
        assert!(
            refused.stderr.contains(expected),
            "{args:?} {}",
            refused.stderr
        );
    }
    fs::remove_file(env.work().join("agent.toml")).unwrap();
    let output = env.work().join("out.wasm");
    let pulled = ["pull", &url, "-o", output.to_str().unwrap(), "--json"];
    let pulled = ok(env.run(&pulled)).json();
    assert_eq!(
        (&pulled["component"], &pulled["manifest"]),
        (&digest.as_str().into(), &().into())
    );
    assert_eq!(fs::read(output).unwrap(), fs::read(&file).unwrap());
    let added = ok(env.run(&["add", &url, "--as", "mine"]));
    assert!(
        added.stdout.contains("nothing proves who made it"),
        "{}",
        added.stdout
    );
    let lock = fs::read_to_string(env.work().join("agent.lock")).unwrap();
    let lock: toml::Table = lock.parse().unwrap();
    let pinned = &lock["tool"]["mine"];
    assert_eq!(pinned["component"].as_str(), Some(&*digest));
    assert!(pinned.get("registry").is_none());
    // From the cache, without the server; another digest is another component.
    drop(registry);
    let tools = ok(env.run(&["call", "mine"])).stdout;
    assert!(tools.contains("read_file"), "{tools}");
    let text = fs::read_to_string(env.work().join("agent.toml")).unwrap();
    env.configure(text.replace(hex, &"0".repeat(64)));
    let unreachable = env.run(&["call", "mine"]);
    assert_eq!(unreachable.code, Some(1), "{}", unreachable.stderr);
}
