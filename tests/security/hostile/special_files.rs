//! Section H: pipes, sockets, devices, kernel file systems, and names that no file has.

use super::{
    bombs,
    case::{Case, Ends},
    script::{OWN_DIRECTORY, Script, at, create, from_to, op, symlink, write},
};
use serde_json::json;
use std::os::unix::{fs::symlink as link, net::UnixListener};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![neither_file_nor_directory(), everything(), long_names()];
    cases.extend(kernel_directories());
    cases
}

fn neither_file_nor_directory() -> Case {
    let refused = [
        at("read", "pipe"),
        at("read", "to-pipe"),
        create("pipe"),
        write("pipe", &["write", "truncate"]),
        op("append", json!({ "path": "pipe", "text": "mine" })),
        at("truncate", "pipe"),
        at("read", "socket"),
        create("socket"),
    ];
    Script::default()
        .refused("access", refused)
        .refused("not-permitted", [from_to("link", "pipe", "pipe2")])
        .gives(json!({ "kind": "Fifo", "size": 0 }), at("stat", "pipe"))
        .gives(json!({ "kind": "Socket", "size": 0 }), at("stat", "socket"))
        .row('H', "pipes and sockets")
        .config(OWN_DIRECTORY)
        .prepared(|work| {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(
                rustix::fs::CWD,
                work.join("pipe"),
                rustix::fs::FileType::Fifo,
                mode,
                0,
            )
            .unwrap();
            drop(UnixListener::bind(work.join("socket")).unwrap());
            link("pipe", work.join("to-pipe")).unwrap();
        })
}

/// Kernel file systems are absent for a tool, even if the user grants the whole file system.
fn everything() -> Case {
    let shown = [
        "dev/zero",
        "dev/null",
        "dev/fd/0",
        "dev/stdin",
        "proc/self/environ",
        "proc/self/root/etc/passwd",
        "sys/kernel/uevent_seqnum",
    ];
    Script::default()
        .refused("no-entry", shown.map(|path| at("read", path)))
        .refused(
            "no-entry",
            ["dev", "proc", "sys"].map(|path| at("list", path)),
        )
        .refused("no-entry", [at("readlink", "proc/self/exe")])
        .row('H', "devices and processes in a grant of everything")
        .granted("dir:/")
}

/// A configuration cannot grant one by name, either.
fn kernel_directories() -> Vec<Case> {
    [
        (
            "/dev",
            "a grant of /dev",
            "the directory /dev can never be granted",
        ),
        (
            "/proc",
            "a grant of /proc",
            "the directory /proc can never be granted",
        ),
        (
            "/proc/self",
            "a grant of the host's process",
            "can never be granted: /proc exposes processes",
        ),
        (
            "/sys",
            "a grant of /sys",
            "the directory /sys can never be granted",
        ),
    ]
    .map(|(host, name, says)| {
        Case::made('H', name, bombs::good(), Ends::Unusable(says))
            .config(&format!("[[grants.dir]]\nhost = \"{host}\""))
    })
    .into()
}

fn long_names() -> Case {
    let name = |length: usize| "n".repeat(length);
    Script::default()
        .refused(
            "name-too-long",
            [256, 4095, 4096, 100_000].map(|length| create(name(length))),
        )
        .refused(
            "name-too-long",
            [at("mkdir", name(5000)), at("read", "x/".repeat(40_000))],
        )
        .refused(
            "name-too-long",
            [symlink(&name(4096), "s"), symlink(&name(70_000), "s")],
        )
        .refused(
            "not-permitted",
            [create("../".repeat(1300)), at("read", "/".repeat(5000))],
        )
        .refused(
            "no-entry",
            [
                at("read", "a/".repeat(2000)),
                at("read", format!("{}x", "./".repeat(2000))),
            ],
        )
        .gives(json!(4), create(name(255)))
        .gives(json!(4), create("a\nb\u{1b}[2J\u{202e}"))
        .row('H', "long names and odd ones")
        .config(OWN_DIRECTORY)
        .prepared(|_| ())
        .changing(&["work"])
}
