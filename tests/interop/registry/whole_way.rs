//! The whole way of a component: pushed, found, added, run, updated, revoked, removed.

use super::{DockerRegistry, ED25519, component, keys, ok};
use agent_host_test_support::TestEnv;
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::fs;

#[test]
fn component_is_found_added_run_updated_and_revoked() {
    // The publisher pushes the components of this repository, signed, with an index.
    let publisher = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&publisher) else {
        return;
    };
    let (private, public) = keys(&publisher, "acme", ED25519);
    let index = registry.reference("acme/index:latest");
    let push = |name: &str, as_name: &str| {
        let (file, reference) = (component(name), registry.reference(as_name));
        let args = [
            "push", &file, &reference, "--sign", &private, "--index", &index,
        ];
        ok(publisher.run(&args));
    };
    for name in ["files", "fetch", "image"] {
        push(&format!("{name}.wasm"), &format!("acme/{name}:stable"));
    }

    // The user, in an empty directory, trusts the publisher's key and searches.
    let user = TestEnv::new();
    let key = user.outside().join("acme.pub");
    fs::copy(&public, &key).unwrap();
    let publishers = format!(
        "[[publisher]]\nname = \"acme\"\ncomponents = [\"{}/acme/*\"]\nkeys = [{key:?}]\n",
        registry.host
    );
    user.configure(&publishers);
    let found = ok(user.run(&["search", "read_file", "--index", &index, "--json"])).json();
    let references = found["components"].as_array().unwrap().iter();
    let references: Vec<&str> = references
        .filter_map(|it| it["reference"].as_str())
        .collect();
    assert_eq!(references, [registry.reference("acme/files:stable")]);

    // Added, it is signed and granted nothing.
    let added = ok(user.run(&["add", references[0], "--as", "mine"]));
    assert!(
        added.stdout.contains("by the key sha256:"),
        "{}",
        added.stdout
    );
    user.write("in/notes.txt", "some text");
    user.write("secret.txt", "hidden");
    let call = |tool: &str, path: &str| user.run(&["call", "mine", tool, &format!("path={path}")]);
    assert!(!call("read_file", "notes.txt").stdout.contains("some text"));

    // Granted one directory to read, it reads there and nowhere else, and writes nothing.
    let text = || fs::read_to_string(user.work().join("agent.toml")).unwrap();
    let granted = text().replacen(
        "dir = []",
        "dir = [{ host = \"in\", mode = \"read-only\" }]",
        1,
    );
    assert_ne!(granted, text());
    user.configure(&granted);
    let read = ok(call("read_file", "notes.txt"));
    assert!(read.stdout.contains("some text"), "{}", read.stdout);
    assert!(!call("read_file", "../secret.txt").stdout.contains("hidden"));
    let write = ["call", "mine", "write_file", "path=new.txt", "content=x"];
    assert_ne!(user.run(&write).code, Some(0));
    assert!(!user.work().join("in/new.txt").exists());

    // The publisher's next version asks for another permission: the network.
    push("fetch.wasm", "acme/files:stable");
    let status = |env: &TestEnv| -> Value {
        ok(env.run(&["outdated", "--json"])).json()["components"][0]["status"].clone()
    };
    assert_eq!(status(&user), "moved");
    let refused = user.run(&["update"]);
    assert_eq!(refused.code, Some(5), "{}", refused.stderr);
    assert!(refused.stdout.contains("wasi:http/"), "{}", refused.stdout);
    assert!(call("read_file", "notes.txt").stdout.contains("some text"));
    ok(user.run(&["update", "--accept"]));
    assert_eq!(status(&user), "current");
    let tools = ok(user.run(&["call", "mine"])).stdout;
    assert!(
        tools.contains("http_post") && !tools.contains("read_file"),
        "{tools}"
    );

    // Revoked, nothing of the publisher runs; removed, nothing is left.
    let revoked = publishers.replace(&format!("keys = [{key:?}]"), "accept = \"none\"");
    user.configure(text().replace(&publishers, &revoked));
    let refused = user.run(&["call", "mine"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("has `accept = \"none\"`"),
        "{}",
        refused.stderr
    );
    ok(user.run(&["remove", "mine"]));
    assert!(!text().contains("mine"), "{}", text());
    let lock = fs::read_to_string(user.work().join("agent.lock")).unwrap();
    assert!(!lock.contains("mine"), "{lock}");
}
