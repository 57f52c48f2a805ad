//! Tests `agent-host cache` and a cache directory that cannot be trusted.

use agent_host_test_support::{Ran, TestEnv};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

/// A cache inside the test directory.
fn own_cache(env: &TestEnv) -> PathBuf {
    env.outside().join("cache/agent-host")
}

fn with_own_cache(env: &TestEnv, args: &[&str]) -> Ran {
    env.command(args)
        .env("XDG_CACHE_HOME", env.outside().join("cache"))
        .output()
        .unwrap()
        .into()
}

fn without_times(mut line: Value) -> Value {
    for time in ["made_ms", "used_ms"] {
        assert!(line[time].as_u64().unwrap() > 1_600_000_000_000, "{line}");
        line.as_object_mut().unwrap().remove(time);
    }
    line
}

#[test]
fn cache_is_listed_and_pruned() {
    let env = TestEnv::new();
    let empty = with_own_cache(&env, &["cache", "list"]);
    assert_eq!(
        (empty.code, empty.stdout.as_str()),
        (Some(0), ""),
        "{}",
        empty.stderr
    );
    assert_eq!(with_own_cache(&env, &["cache", "prune"]).code, Some(0));
    assert!(!own_cache(&env).exists(), "looking makes nothing");

    let inspected = with_own_cache(&env, &["inspect", "builtin:image", "--json"]).json();
    let entry = fs::read_dir(own_cache(&env))
        .unwrap()
        .map(|entry| entry.unwrap())
        .find(|entry| entry.file_name() != "key")
        .unwrap();
    let lines = with_own_cache(&env, &["cache", "list", "--json"]).json_lines();
    let tools: Vec<&Value> = inspected["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    let expected = json!({
        "digest": inspected["digest"],
        "file": entry.file_name().to_str().unwrap(),
        "bytes": entry.metadata().unwrap().len(),
        "state": "usable",
        "tools": tools,
    });
    assert_eq!(
        lines.into_iter().map(without_times).collect::<Vec<_>>(),
        [expected]
    );
    let shown = with_own_cache(&env, &["cache", "list"]).stdout;
    for text in [
        inspected["digest"].as_str().unwrap(),
        "usable",
        tools[0].as_str().unwrap(),
    ] {
        assert!(shown.contains(text), "no {text} in {shown}");
    }
    let total = shown.lines().last().unwrap();
    assert!(total.starts_with("1 components, "), "{total}");
    assert!(
        total.ends_with(" of at most 2.0 GiB (cache-bytes)"),
        "{total}"
    );

    // Usable entries stay; a flipped bit makes one unusable.
    with_own_cache(&env, &["cache", "prune"]);
    assert!(entry.path().exists());
    let mut bytes = fs::read(entry.path()).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(entry.path(), bytes).unwrap();
    let lines = with_own_cache(&env, &["cache", "list", "--json"]).json_lines();
    assert_eq!(
        (&lines[0]["state"], &lines[0]["digest"], &lines[0]["tools"]),
        (&json!("damaged"), &Value::Null, &Value::Null)
    );
    let pruned = with_own_cache(&env, &["cache", "prune"]);
    assert!(pruned.stderr.contains("1 file removed"), "{pruned:?}");
    assert!(!entry.path().exists());

    with_own_cache(&env, &["inspect", "builtin:image"]);
    assert!(entry.path().exists());
    let pruned = with_own_cache(&env, &["cache", "prune", "--all"]);
    assert_eq!((pruned.code, entry.path().exists()), (Some(0), false));
}

/// Beyond `cache-bytes`, the components that were not used for longest go.
#[test]
fn cache_keeps_to_its_configured_bound() {
    let env = TestEnv::new();
    let digest = |component: &str| {
        let shown = with_own_cache(&env, &["inspect", component, "--json"]);
        shown.json()["digest"].as_str().unwrap().to_owned()
    };
    let cached = || {
        let listed = with_own_cache(&env, &["cache", "list", "--json"]).json_lines();
        let digests = listed
            .iter()
            .map(|line| line["digest"].as_str().unwrap().to_owned());
        digests.collect::<Vec<_>>()
    };
    let (image, fetch) = (digest("builtin:image"), digest("builtin:fetch"));
    assert_eq!(cached(), [fetch.clone(), image.clone()]);
    let sizes = with_own_cache(&env, &["cache", "list", "--json"]).json_lines();
    let size = |digest: &str| {
        let line = sizes.iter().find(|line| line["digest"] == digest);
        line.unwrap()["bytes"].as_u64().unwrap()
    };
    // A new one, and the one that was used last before it, fit; the other one does not.
    env.write(
        "agent.toml",
        format!("cache-bytes = {}\n", size(&fetch) + 64 * 1024 * 1024),
    );
    let files = digest("builtin:files");
    assert_eq!(cached(), [files.clone(), fetch, image]);
    env.write("agent.toml", "cache-bytes = \"1B\"\n");
    with_own_cache(&env, &["cache", "prune", "--all"]);
    digest("builtin:image");
    assert_eq!(
        cached(),
        Vec::<String>::new(),
        "none fits, and each is compiled at its use"
    );
    let doctor = with_own_cache(&env, &["doctor"]);
    assert_eq!(doctor.code, Some(0), "{doctor:?}");
}

#[test]
fn cache_writable_by_others_is_skipped_with_warning() {
    let env = TestEnv::new();
    fs::create_dir_all(own_cache(&env)).unwrap();
    fs::set_permissions(own_cache(&env), fs::Permissions::from_mode(0o777)).unwrap();
    let ran = with_own_cache(&env, &["inspect", "builtin:files"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr
            .contains("can be reached by other users (mode 777)"),
        "{ran:?}"
    );
    assert_eq!(fs::read_dir(own_cache(&env)).unwrap().count(), 0);
    for args in [["cache", "list"], ["cache", "prune"]] {
        let ran = with_own_cache(&env, &args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("mode 777"), "{ran:?}");
    }
    let doctor = with_own_cache(&env, &["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(doctor.stdout.contains("is not used"), "{doctor:?}");
}
