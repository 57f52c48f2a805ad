//! Section H: access to the host's own files in a granted directory: its configuration, lock file,
//! cache, a component, a script.

use super::{
    case::Case,
    script::{OWN_DIRECTORY, Script, at, create, from_to, op, symlink, write},
    table,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink as link, path::Path};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        own_files("agent.toml"),
        own_files("agent.lock"),
        own_files("deep/cache"),
        own_files("hostile.wasm"),
        own_files("script.toml"),
        ways_to_own_files(),
        own_files_elsewhere(),
    ]
}

/// A directory that contains the host's own files and links to them.
fn host_files(work: &Path) {
    for directory in ["deep", "own"] {
        fs::create_dir(work.join(directory)).unwrap();
    }
    fs::write(work.join("mine.toml"), "[grants]\n").unwrap();
    fs::write(work.join("deep/free.txt"), "free").unwrap();
    for (target, path) in [
        ("agent.toml", "config"),
        ("deep", "d"),
        ("deep/cache", "c"),
        (".", "same"),
    ] {
        link(target, work.join(path)).unwrap();
    }
}

/// Every path to one of the host's own files. Lookups find no such file; creating one is refused.
fn own_files(path: &str) -> Case {
    let absent = [
        at("read", path),
        at("list", path),
        at("stat", path),
        at("hash", path),
        at("readlink", path),
        op("append", json!({ "path": path, "text": "mine" })),
        at("truncate", path),
        at("touch", path),
        at("unlink", path),
        at("rmdir", path),
        from_to("rename", path, "stolen"),
        from_to("link", path, "stolen"),
    ];
    let refused = [
        create(path),
        write(path, &["write", "create", "exclusive"]),
        at("mkdir", path),
        symlink("mine.toml", path),
        from_to("rename", "mine.toml", path),
        from_to("rename", "own", path),
        from_to("link", "mine.toml", path),
    ];
    Script::default()
        .refused("no-entry", absent)
        .refused("access", refused)
        .row('H', &format!("the host's own {path}"))
        .config(&format!("cache-dir = \"deep/cache\"\n{OWN_DIRECTORY}"))
        .prepared(host_files)
        .changing(&["work/deep/cache"])
}

fn ways_to_own_files() -> Case {
    let absent = [
        "./agent.toml",
        "own/../agent.toml",
        "same/agent.toml",
        "config",
        "AGENT.TOML",
        "deep/cache/key",
    ];
    let handle = |parts: &[&str]| at("list", parts);
    let names = ["c", "config", "d", "deep", "mine.toml", "own", "same"];
    Script::default()
        .refused("no-entry", absent.map(|path| at("read", path)))
        .refused(
            "no-entry",
            ["deep/cache/", "d/cache", "c", "c/."].map(|path| at("list", path)),
        )
        .refused(
            "no-entry",
            [
                handle(&["/workspace", "deep", "cache"]),
                handle(&["/workspace", "c", "."]),
            ],
        )
        .refused(
            "access",
            ["deep/cache/x", "c/x", "d/cache/x", "config"].map(create),
        )
        .refused("access", [at("mkdir", "c/x"), at("rmdir", "deep")])
        // The parent directory cannot be moved away and replaced.
        .refused(
            "access",
            [
                from_to("rename", "deep", "elsewhere"),
                from_to("rename", "own", "deep"),
                from_to("rename", "mine.toml", "deep"),
            ],
        )
        .gives(json!(names), at("list", "."))
        .gives(json!(["free.txt"]), at("list", "deep"))
        .gives(Value::Null, from_to("rename", "config", "conf"))
        .refused("no-entry", [at("read", "conf")])
        .gives(Value::Null, symlink("deep/cache", "c2"))
        .refused("no-entry", [at("list", "c2")])
        .row('H', "ways to the host's own files")
        .config(&format!("cache-dir = \"deep/cache\"\n{OWN_DIRECTORY}"))
        .prepared(host_files)
        .changing(&["work/deep/cache", "work/config", "work/conf", "work/c2"])
}

/// A file that would be `agent.toml` for a host started in a subdirectory.
fn own_files_elsewhere() -> Case {
    Script::default()
        .refused("access", ["own/agent.toml", "own/agent.lock"].map(create))
        .refused(
            "access",
            [
                from_to("rename", "mine.toml", "own/agent.toml"),
                from_to("link", "mine.toml", "own/agent.toml"),
                symlink("../mine.toml", "own/agent.toml"),
                at("mkdir", "own/agent.lock"),
            ],
        )
        .row('H', "an agent.toml in a directory below")
        .config(OWN_DIRECTORY)
        .prepared(host_files)
}

#[test]
fn own_files_are_out_of_reach() {
    table::run(&cases());
}
