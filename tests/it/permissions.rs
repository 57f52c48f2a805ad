//! Tests files and directories that others could have changed: they are refused.

use super::bad_input::refuses;
use agent_host_test_support::{Ran, TestEnv};
use pretty_assertions::assert_eq;
use std::{
    fs::{self},
    os::unix::fs::PermissionsExt as _,
};

/// A file or directory that decides what runs is refused if other users can write to it.
#[test]
fn world_writable_files_are_refused() {
    let cases: [(&str, u32, i32, &[&str]); 4] = [
        (
            "agent.toml",
            0o666,
            2,
            &[
                "cannot read the configuration",
                "agent.toml",
                "mode 0666",
                "chmod o-w",
            ],
        ),
        (
            "agent.lock",
            0o646,
            2,
            &["cannot read", "agent.lock", "mode 0646", "chmod o-w"],
        ),
        ("state", 0o777, 1, &["state", "mode 0777", "chmod o-w"]),
        (
            "state/agent-host.db",
            0o606,
            1,
            &["agent-host.db", "mode 0606", "chmod o-w"],
        ),
    ];
    for (path, mode, code, says) in cases {
        let env = TestEnv::new();
        env.write("agent.toml", "");
        let args = ["run", "look", "--quiet", "--state-dir", "state"];
        let ran = env.run(&args);
        assert_eq!(ran.code, Some(0), "{path}: {}", ran.stderr);
        env.write("agent.lock", "version = 1\n");
        let path = env.work().join(path);
        let set = |mode| {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        };
        set(mode);
        refuses(&env, &args, code, says);
        set(0o700);
        let ran = env.run(&args);
        assert_eq!(ran.code, Some(0), "{}: {}", path.display(), ran.stderr);
    }
}

/// A cache that others can write to is not used; the tools are compiled without it.
#[test]
fn cache_reachable_by_others_is_not_used() {
    let env = TestEnv::new();
    let cache = env.outside().join("cache/agent-host");
    fs::create_dir_all(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = env.command(&["inspect", "builtin:image"]);
    command.env("XDG_CACHE_HOME", env.outside().join("cache"));
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = format!(
        "compiled tools are not saved: the cache directory {} can be reached by other users (mode 777); delete it, \
         or remove their permissions",
        cache.display()
    );
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);
}
