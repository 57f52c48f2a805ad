//! `agent.lock`: what was accepted runs, what changed does not, and accepting is one command.

use crate::{builtins::dist, support::Place};
use pretty_assertions::assert_eq;
use sha2::{Digest as _, Sha256};

const CONFIG: &str = "[[tool]]\nname = \"mine\"\ncomponent = \"mine.wasm\"\n";

/// The same component with other bytes: a custom section more at its end, which no engine looks at.
fn same_with_other_bytes(component: &[u8]) -> Vec<u8> {
    const CUSTOM_SECTION: [u8; 7] = [0, 5, 4, b'm', b'a', b'r', b'k'];
    [component, &CUSTOM_SECTION].concat()
}

#[test]
fn a_component_is_pinned_when_it_is_first_used() {
    let place = Place::new();
    let component = std::fs::read(dist().join("files.wasm")).unwrap();
    place.write("mine.wasm", &component);
    place.write("agent.toml", CONFIG);
    let ran = place.run(&["run", "look"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);

    let text = std::fs::read_to_string(place.work().join("agent.lock")).unwrap();
    let lock: toml::Table = text.parse().unwrap();
    assert_eq!(lock["version"], toml::Value::Integer(1));
    let pinned = lock["tool"]["mine"]["component"].as_str().unwrap();
    assert_eq!(
        pinned,
        format!("sha256:{}", hex::encode(Sha256::digest(&component)))
    );
    let status = place.run(&["lock"]);
    assert_eq!(status.code, Some(0), "{}", status.stderr);
    assert!(status.stdout.contains("accepted"), "{}", status.stdout);
}

#[test]
fn a_changed_component_is_refused_until_it_is_accepted() {
    let place = Place::new();
    let component = std::fs::read(dist().join("files.wasm")).unwrap();
    place.write("mine.wasm", &component);
    place.write("agent.toml", CONFIG);
    assert_eq!(place.run(&["run", "look"]).code, Some(0));

    let others = [
        (same_with_other_bytes(&component), "its code"),
        (
            std::fs::read(dist().join("image.wasm")).unwrap(),
            "what it tells the model",
        ),
    ];
    for (bytes, what) in others {
        place.write("mine.wasm", bytes);
        let refused = place.run(&["run", "look"]);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(2), ""),
            "{}",
            refused.stderr
        );
        for text in [
            "`mine` changed since it was accepted",
            what,
            "lock --accept",
        ] {
            assert!(
                refused.stderr.contains(text),
                "no {text:?} in {}",
                refused.stderr
            );
        }
        let called = place.run(&["call", "mine", "read_file", "{\"path\": \"x\"}"]);
        assert_eq!(
            (called.code, called.stdout.as_str()),
            (Some(2), ""),
            "{}",
            called.stderr
        );
        assert!(
            called.stderr.contains("changed since it was accepted"),
            "{}",
            called.stderr
        );
        assert_eq!(place.run(&["inspect", "mine"]).code, Some(0));
        assert_eq!(place.run(&["lock"]).code, Some(5));
        assert_eq!(place.run(&["lock", "--accept"]).code, Some(0));
        assert_eq!(place.run(&["run", "look"]).code, Some(0));
    }
}

#[test]
fn a_lock_that_cannot_be_read_stops_everything() {
    let place = Place::new();
    place.write("agent.toml", CONFIG);
    place.write(
        "mine.wasm",
        std::fs::read(dist().join("files.wasm")).unwrap(),
    );
    for (text, says) in [
        ("version = \n", "not a lock file"),
        ("version = 9\n", "version 9"),
    ] {
        place.write("agent.lock", text);
        let refused = place.run(&["run", "look"]);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert!(refused.stderr.contains(says), "{}", refused.stderr);
    }
}
