//! `agent-host cache`, and a cache folder that cannot be trusted.

use crate::support::{Place, Ran};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

impl Place {
    /// A cache of the place's own.
    fn own_cache(&self) -> PathBuf {
        self.outside().join("cache/agent-host")
    }

    fn with_own_cache(&self, args: &[&str]) -> Ran {
        self.command(args)
            .env("XDG_CACHE_HOME", self.outside().join("cache"))
            .output()
            .unwrap()
            .into()
    }
}

fn without_times(mut line: Value) -> Value {
    for time in ["made_ms", "used_ms"] {
        assert!(line[time].as_u64().unwrap() > 1_600_000_000_000, "{line}");
        line.as_object_mut().unwrap().remove(time);
    }
    line
}

#[test]
fn the_cache_is_listed_and_pruned() {
    let place = Place::new();
    let empty = place.with_own_cache(&["cache", "list"]);
    assert_eq!(
        (empty.code, empty.stdout.as_str()),
        (Some(0), ""),
        "{}",
        empty.stderr
    );
    assert_eq!(place.with_own_cache(&["cache", "prune"]).code, Some(0));
    assert!(!place.own_cache().exists(), "looking makes nothing");

    let inspected = place
        .with_own_cache(&["inspect", "builtin:image", "--json"])
        .json();
    let entry = fs::read_dir(place.own_cache())
        .unwrap()
        .map(|entry| entry.unwrap())
        .find(|entry| entry.file_name() != "key")
        .unwrap();
    let lines = place
        .with_own_cache(&["cache", "list", "--json"])
        .json_lines();
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
    let shown = place.with_own_cache(&["cache", "list"]).stdout;
    for text in [
        inspected["digest"].as_str().unwrap(),
        "usable",
        tools[0].as_str().unwrap(),
    ] {
        assert!(shown.contains(text), "no {text} in {shown}");
    }

    // What is usable stays; a flipped bit makes it useless.
    place.with_own_cache(&["cache", "prune"]);
    assert!(entry.path().exists());
    let mut bytes = fs::read(entry.path()).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(entry.path(), bytes).unwrap();
    let lines = place
        .with_own_cache(&["cache", "list", "--json"])
        .json_lines();
    assert_eq!(
        (&lines[0]["state"], &lines[0]["digest"], &lines[0]["tools"]),
        (&json!("damaged"), &Value::Null, &Value::Null)
    );
    let pruned = place.with_own_cache(&["cache", "prune"]);
    assert!(pruned.stderr.contains("1 files removed"), "{pruned:?}");
    assert!(!entry.path().exists());

    place.with_own_cache(&["inspect", "builtin:image"]);
    assert!(entry.path().exists());
    let pruned = place.with_own_cache(&["cache", "prune", "--all"]);
    assert_eq!((pruned.code, entry.path().exists()), (Some(0), false));
}

#[test]
fn a_cache_that_others_can_write_to_is_not_used_and_that_is_said() {
    let place = Place::new();
    fs::create_dir_all(place.own_cache()).unwrap();
    fs::set_permissions(place.own_cache(), fs::Permissions::from_mode(0o777)).unwrap();
    let ran = place.with_own_cache(&["inspect", "builtin:files"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr
            .contains("can be reached by other users (mode 777)"),
        "{ran:?}"
    );
    assert_eq!(fs::read_dir(place.own_cache()).unwrap().count(), 0);
    for args in [["cache", "list"], ["cache", "prune"]] {
        let ran = place.with_own_cache(&args);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("mode 777"), "{ran:?}");
    }
    let doctor = place.with_own_cache(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(doctor.stdout.contains("is not used"), "{doctor:?}");
}
