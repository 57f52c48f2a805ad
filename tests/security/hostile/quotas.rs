//! Sections E and H: guests that fill directories and disks.

use super::{
    case::Case,
    script::{OWN_DIRECTORY, Script, at, create, from_to, op, symlink, write},
    table,
};
use serde_json::{Value, json};
use std::{fs, process::Command};

/// A hundred bytes and five new names per call.
const LIMITED: &str = "[limits]\nfile-write-bytes = 100\nfile-creates = 5\n[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"";

/// A hundred bytes and five new names per directory.
const QUOTA: &str = "[[grants.dir]]\nhost = \".\"\nmode = \"read-write\"\nquota = { write-bytes = 100, creates = 5 }";

/// Starts the program with a bound on the size of files: 32,768 times 512 bytes.
const BOUNDED: &str = r#"ulimit -f 32768 && exec "$0" "$@""#;

/// Starts the program with a file system of 16 pages and 20 entries mounted at the directory
/// `full`.
const SMALL_DISK: &str = r#"exec unshare --map-root-user --mount /bin/sh -c '
    mount -t tmpfs -o size=64k,nr_inodes=20 none full && exec "$0" "$@"' "$0" "$@""#;

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        many_files("the call's limits", LIMITED),
        many_files("the directory's quota", QUOTA),
        many_bytes("the call's limits", LIMITED),
        many_bytes("the directory's quota", QUOTA),
        vast_files(),
        bounded_files(),
    ];
    cases.extend(may_mount().then(full_disk));
    cases
}

/// A flood of new names, by every operation that creates one. Renaming a file creates none.
fn many_files(whose: &str, config: &str) -> Case {
    let each = write("f-{n}", &["write", "create"]);
    Script::default()
        .gives(
            json!({ "ok": 5, "quota": 995 }),
            op("repeat", json!({ "count": 1000, "each": each })),
        )
        .refused(
            "quota",
            [
                at("mkdir", "d"),
                symlink("f-0", "s"),
                from_to("link", "f-0", "h"),
            ],
        )
        .gives(Value::Null, from_to("rename", "f-0", "g-0"))
        .gives(json!(4), write("f-1", &["write"]))
        .row('E', &format!("a thousand files beyond {whose}"))
        .config(config)
        .changing(&["work"])
}

/// A flood of bytes, by every operation that writes some.
fn many_bytes(whose: &str, config: &str) -> Case {
    let ten = "x".repeat(10);
    Script::default()
        .refused(
            "quota after 100 bytes",
            [op(
                "write",
                json!({ "path": "a", "text": ten, "times": 11 }),
            )],
        )
        .refused(
            "quota",
            [
                create("b"),
                op("write", json!({ "path": "a", "text": ten, "stream": true })),
                op("append", json!({ "path": "a", "text": "x" })),
                op("zeroes", json!({ "path": "c", "bytes": 1 })),
                op("splice", json!({ "from": "a", "to": "d", "bytes": 5 })),
                op("truncate", json!({ "path": "a", "size": 1_u64 << 40 })),
            ],
        )
        .gives(Value::Null, at("truncate", "a"))
        .row('E', &format!("bytes beyond {whose}"))
        .config(config)
        .changing(&["work"])
}

/// Sizes that cost nothing to request.
fn vast_files() -> Case {
    let sizes = [10_u64 << 30, 1 << 62, u64::MAX];
    Script::default()
        .gives(json!(4), create("a"))
        .refused(
            "quota",
            sizes.map(|size| op("truncate", json!({ "path": "a", "size": size }))),
        )
        .gives(json!({ "kind": "RegularFile", "size": 4 }), at("stat", "a"))
        .row('E', "files of vast size")
        .config(OWN_DIRECTORY)
        .changing(&["work"])
}

/// The kernel ends a process that writes beyond its bound, unless it asks for an error.
fn bounded_files() -> Case {
    const MOST: u64 = 16 * 1024 * 1024;
    let size = |size: u64| op("truncate", json!({ "path": "a", "size": size }));
    Script::default()
        .gives(json!(4), create("a"))
        .gives(Value::Null, size(MOST))
        .refused(
            "file-too-large",
            [
                size(MOST + 1),
                op("append", json!({ "path": "a", "text": "x" })),
            ],
        )
        .gives(json!(4), create("b"))
        .row('E', "a file beyond the process's bound")
        .config("[limits]\nfile-write-bytes = 100000000")
        .config(OWN_DIRECTORY)
        .launched(BOUNDED)
        .changing(&["work"])
}

/// A disk without space for bytes or names. Removing files frees space again.
fn full_disk() -> Case {
    let page = "x".repeat(4096);
    let directories = |word: &str| op("repeat", json!({ "count": 30, "each": at(word, "d-{n}") }));
    Script::default()
        .gives(
            json!({ "ok": 19, "insufficient-space": 11 }),
            directories("mkdir"),
        )
        .gives(json!({ "ok": 19, "no-entry": 11 }), directories("rmdir"))
        .refused(
            "insufficient-space after 65536 bytes",
            [op(
                "write",
                json!({ "path": "a", "text": page, "times": 17 }),
            )],
        )
        .refused(
            "insufficient-space",
            [
                create("b"),
                op(
                    "write",
                    json!({ "path": "b", "text": page, "stream": true }),
                ),
                op("append", json!({ "path": "a", "text": "x" })),
                op("zeroes", json!({ "path": "c", "bytes": 1 })),
                op("splice", json!({ "from": "a", "to": "d", "bytes": 5 })),
            ],
        )
        .gives(Value::Null, at("unlink", "a"))
        .gives(json!(4), create("b"))
        .row('E', "a full disk")
        .config("[[grants.dir]]\nhost = \"full\"\nmode = \"read-write\"")
        .prepared(|work| fs::create_dir(work.join("full")).unwrap())
        .launched(SMALL_DISK)
}

/// Whether this user may mount a file system; some kernels and containers forbid that, and then the
/// row is skipped.
#[expect(clippy::print_stderr, reason = "a row that cannot run says so")]
fn may_mount() -> bool {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("full")).unwrap();
    let tried = Command::new("/bin/sh")
        .args(["-c", SMALL_DISK, "true"])
        .current_dir(place.path())
        .output()
        .unwrap();
    if !tried.status.success() {
        eprintln!("no disk of its own for a row here, so none is filled");
    }
    tried.status.success()
}

#[test]
fn quotas() {
    table::run(&cases());
}
