//! A disk without space, and several processes at once.

use super::{DockerRegistry, component, ok};
use agent_host_test_support::{Ran, TestEnv, program};
use pretty_assertions::assert_eq;
use std::{collections::BTreeSet, fs, path::Path, process::Command};

/// Returns the names of the files in a directory.
fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn pull_onto_a_full_disk_keeps_nothing() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    let reference = registry.reference("acme/files:1");
    ok(env.run(&["push", &component("files.wasm"), &reference]));
    let cache = env.outside().join("cache");
    let output = env.work().join("out.wasm");
    // The system refuses to write more than 64 blocks of 512 bytes into a file (EFBIG).
    let limited = |args: &[&str]| -> Ran {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"",
            program(),
        ]);
        env.prepare(command.args(args))
            .env("XDG_CACHE_HOME", &cache);
        command.output().unwrap().into()
    };
    let refused = limited(&["pull", &reference]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("cannot use the component cache: File too large"),
        "{}",
        refused.stderr
    );
    // The manifest is whole; of the component there is nothing.
    let components = cache.join("agent-host/components");
    let kept = files(&components);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let bytes = fs::metadata(components.join(&kept[0])).unwrap().len();
    assert!(bytes < 4096, "{bytes}");
    let refused = limited(&["add", &reference, "--as", "mine", "--yes"]);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert_eq!(files(&env.work()), Vec::<String>::new());
    // With space it works, from there on; a file that does not fit is removed.
    let mut pull = env.command(&["pull", &reference]);
    let pulled = pull.env("XDG_CACHE_HOME", &cache).output().unwrap();
    assert!(
        pulled.status.success(),
        "{}",
        String::from_utf8_lossy(&pulled.stderr)
    );
    let refused = limited(&["pull", &reference, "-o", output.to_str().unwrap()]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(!output.exists());
}

/// Two at once: each is added whole, or tells that the other one was faster.
#[test]
fn two_components_added_at_once_are_both_whole() {
    let env = TestEnv::new();
    let Some(registry) = DockerRegistry::start(&env) else {
        return;
    };
    for name in ["files", "fetch"] {
        let file = component(&format!("{name}.wasm"));
        ok(env.run(&[
            "push",
            &file,
            &registry.reference(&format!("acme/{name}:1")),
        ]));
    }
    env.configure("# mine\n[[tool]]\nname = \"image\"\ncomponent = \"builtin:image\"\n");
    for round in 0..4 {
        let adding = ["files", "fetch"].map(|name| {
            let reference = registry.reference(&format!("acme/{name}:1"));
            let as_name = format!("{name}-{round}");
            let mut command = env.command(&["add", &reference, "--as", &as_name, "--yes"]);
            let child = command
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped())
                .spawn();
            (as_name, child.unwrap())
        });
        for (name, child) in adding {
            let ran: Ran = child.wait_with_output().unwrap().into();
            if ran.code != Some(0) {
                assert_eq!(ran.code, Some(1), "{}", ran.stderr);
                assert!(
                    ran.stderr.contains(
                        "was changed in the meantime, so nothing was written; run the command again"
                    ),
                    "{}",
                    ran.stderr
                );
                let what = name.split('-').next().unwrap();
                let reference = registry.reference(&format!("acme/{what}:1"));
                ok(env.run(&["add", &reference, "--as", &name, "--yes"]));
            }
        }
        let read = |file: &str| -> toml::Table {
            fs::read_to_string(env.work().join(file))
                .unwrap()
                .parse()
                .unwrap()
        };
        let (config, lock) = (read("agent.toml"), read("agent.lock"));
        let tools = config["tool"].as_array().unwrap().iter();
        let tools: BTreeSet<&str> = tools.map(|tool| tool["name"].as_str().unwrap()).collect();
        let pinned: BTreeSet<&str> = lock["tool"]
            .as_table()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let expected = ["files", "fetch"].map(|name| format!("{name}-{round}"));
        let expected: BTreeSet<&str> = expected.iter().map(String::as_str).collect();
        assert_eq!(pinned, expected);
        assert_eq!(tools, expected.iter().copied().chain(["image"]).collect());
        ok(env.run(&["lock"]));
        for name in expected {
            ok(env.run(&["remove", name]));
        }
    }
    let text = fs::read_to_string(env.work().join("agent.toml")).unwrap();
    assert!(text.starts_with("# mine\n"), "{text}");
}
