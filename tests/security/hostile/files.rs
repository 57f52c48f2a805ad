//! Section H: escapes from a granted directory, and access to the host's own files in one.

use super::{
    case::Case,
    script::{OWN_DIRECTORY, Script, at, create, from_to, op, symlink, write},
    special_files, table,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink as link, path::Path};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = vec![
        looking_out(),
        listing_out(),
        changing_out(),
        removing_out(),
        linking_out(),
        changes(
            "a grant to read only",
            "probe",
            "[[grants.dir]]\nhost = \".\"",
        ),
        changes(
            "a tool that says it reads only",
            "probe_read",
            OWN_DIRECTORY,
        ),
        between_grants(),
    ];
    cases.extend(special_files::cases());
    cases
}

/// A directory with links of every kind, most of them to targets outside.
fn links(work: &Path) {
    fs::create_dir(work.join("sub")).unwrap();
    fs::create_dir(work.join("empty")).unwrap();
    fs::write(work.join("sub/in.txt"), "inside").unwrap();
    fs::write(work.join("own.txt"), "own").unwrap();
    let secret = work.join("../secret.txt");
    for (target, path) in [
        ("../secret.txt", "out"),
        (secret.to_str().unwrap(), "absolute"),
        ("hop2", "hop1"),
        ("sub/../out", "hop2"),
        ("out/", "slash"),
        ("../../secret.txt", "sub/deep-out"),
        ("../created.txt", "dangling"),
        ("..", "up"),
        ("sub/../..", "up-by-sub"),
        ("/proc/self", "proc"),
        ("/dev/zero", "zero"),
        ("loop", "loop"),
        ("loop-b", "loop-a"),
        ("loop-a", "loop-b"),
        (".", "same"),
        ("own.txt", "link-0"),
    ] {
        link(target, work.join(path)).unwrap();
    }
    for n in 0..45 {
        link(format!("link-{n}"), work.join(format!("link-{}", n + 1))).unwrap();
    }
}

fn looking_out() -> Case {
    let read = |path: &str| at("read", path);
    let through = |parts: &[&str]| at("read", parts);
    let out = [
        "../secret.txt",
        "sub/../../secret.txt",
        "./sub/./../..//secret.txt",
        "same/same/../secret.txt",
        "/etc/passwd",
        "//etc/passwd",
        "/workspace/own.txt",
        "/proc/self/environ",
        "..",
        "../",
        "out",
        "out/",
        "absolute",
        "hop1",
        "hop2",
        "slash",
        "sub/deep-out",
        "dangling",
        "up/secret.txt",
        "up/work/own.txt",
        "up-by-sub/secret.txt",
        "proc/environ",
        "proc/root/etc/passwd",
        "proc/cwd/own.txt",
        "zero",
    ];
    let handles: [&[&str]; 6] = [
        &["/workspace", "sub", "../own.txt"],
        &["/workspace", "sub", "../../secret.txt"],
        &["/workspace", "sub", "..", "..", "secret.txt"],
        &["/workspace", "up", "secret.txt"],
        &["/workspace", "same", "../secret.txt"],
        &["/workspace", "..", "secret.txt"],
    ];
    let absent = [
        "",
        "..\\secret.txt",
        "%2e%2e/secret.txt",
        "..\u{2215}secret.txt",
        "\u{ff0e}\u{ff0e}/secret.txt",
    ];
    let through_a_file = ["sub/in.txt/../../../secret.txt", "own.txt/", "own.txt/."];
    let loops = ["loop", "loop/", "loop/x", "loop-a", "link-40", "link-45"];
    Script::default()
        .refused("not-permitted", out.map(read))
        .refused("not-permitted", handles.map(through))
        .refused("no-entry", absent.map(read))
        .refused("not-directory", through_a_file.map(read))
        .refused("loop", loops.map(read))
        .refused(
            "loop",
            [op("read", json!({ "path": "out", "follow": false }))],
        )
        .refused("invalid", [read("own.txt\0.png")])
        .gives(json!("own"), read("link-39"))
        .gives(json!("own"), read("same/sub/../own.txt"))
        .row('H', "reading out of a grant")
        .config(OWN_DIRECTORY)
        .prepared(links)
}

fn listing_out() -> Case {
    let kept = |word: &str, path: &str| op(word, json!({ "path": path, "follow": false }));
    let directory = |path: &str| {
        op(
            "open",
            json!({ "path": path, "how": ["read", "directory", "mutate"] }),
        )
    };
    Script::default()
        .refused(
            "not-permitted",
            ["..", "up", "up/", "/", "proc/fd"].map(|path| at("list", path)),
        )
        .refused(
            "not-permitted",
            ["../secret.txt", "out", "up/"].map(|path| at("stat", path)),
        )
        .refused(
            "not-permitted",
            ["../secret.txt", "out"].map(|path| at("hash", path)),
        )
        .refused("not-permitted", ["..", "up", "same/.."].map(directory))
        .refused(
            "not-permitted",
            ["absolute", "proc", "../secret.txt"].map(|path| at("readlink", path)),
        )
        .refused("not-permitted", [kept("stat", "up/")])
        .gives(
            json!({ "kind": "SymbolicLink", "size": 13 }),
            kept("stat", "out"),
        )
        .gives(json!("../secret.txt"), at("readlink", "out"))
        .row('H', "listing and looking out of a grant")
        .config(OWN_DIRECTORY)
        .prepared(links)
}

fn changing_out() -> Case {
    let out = [
        create("../created.txt"),
        create("/tmp/created.txt"),
        create("dangling"),
        create("out"),
        write("out", &["write", "truncate"]),
        create("up/created.txt"),
        create("sub/../../created.txt"),
        op(
            "write",
            json!({ "path": "absolute", "text": "mine", "stream": true }),
        ),
        op("append", json!({ "path": "out", "text": "mine" })),
        op("append", json!({ "path": "../secret.txt", "text": "mine" })),
        op("zeroes", json!({ "path": "../secret.txt", "bytes": 5 })),
        op(
            "splice",
            json!({ "from": "own.txt", "to": "out", "bytes": 3 }),
        ),
        op(
            "splice",
            json!({ "from": "out", "to": "own.txt", "bytes": 3 }),
        ),
        at("truncate", "out"),
        at("truncate", "../secret.txt"),
        op(
            "truncate",
            json!({ "path": "up/secret.txt", "how": ["read", "write", "truncate"] }),
        ),
        at("touch", "../secret.txt"),
        at("touch", "out"),
        at("mkdir", "../made"),
        at("mkdir", "up/made"),
    ];
    Script::default()
        .refused("not-permitted", out)
        .refused(
            "loop",
            [op(
                "write",
                json!({ "path": "dangling", "text": "mine", "follow": false }),
            )],
        )
        .refused(
            "exist",
            [
                write("dangling", &["write", "create", "exclusive"]),
                at("mkdir", "up"),
            ],
        )
        .gives(json!("own"), at("read", "own.txt"))
        .row('H', "changing what is out of a grant")
        .config(OWN_DIRECTORY)
        .prepared(links)
}

fn removing_out() -> Case {
    let out = [
        at("rmdir", "../home"),
        at("rmdir", "up/home"),
        at("unlink", "../secret.txt"),
        at("unlink", "up/secret.txt"),
        from_to("rename", "own.txt", "../own.txt"),
        from_to("rename", "own.txt", "up/own.txt"),
        from_to("rename", "../secret.txt", "stolen"),
        from_to("rename", "up/secret.txt", "stolen"),
        from_to("rename", "sub", "../sub"),
    ];
    Script::default()
        .refused("not-permitted", out)
        .refused("not-directory", [at("rmdir", "up")])
        .refused(
            "invalid",
            [
                from_to("rename", ".", "moved"),
                from_to("rename", "sub", "sub/sub"),
            ],
        )
        .refused("no-entry", [at("read", "stolen")])
        .row('H', "removing and moving out of a grant")
        .config(OWN_DIRECTORY)
        .prepared(links)
}

fn linking_out() -> Case {
    let out = [
        from_to("link", "../secret.txt", "stolen"),
        from_to("link", "out", "stolen"),
        from_to("link", "up/secret.txt", "stolen"),
        from_to("link", "own.txt", "../own.txt"),
        from_to("link", "sub", "sub2"),
        symlink("/etc/passwd", "s1"),
        symlink("../secret.txt", "s1"),
        symlink("sub/../../secret.txt", "s1"),
        symlink("own.txt", "../s1"),
        symlink("own.txt", "up/s1"),
        symlink("up/secret.txt", "s1"),
    ];
    Script::default()
        .refused("not-permitted", out)
        .refused(
            "invalid",
            [op(
                "link",
                json!({ "from": "out", "to": "stolen", "follow": true }),
            )],
        )
        .refused("invalid", [symlink("x\0y", "s1")])
        .refused(
            "no-entry",
            [symlink("", "s1"), at("read", "s1"), at("read", "stolen")],
        )
        // A link's target is judged from the directory of the link.
        .gives(Value::Null, symlink("../secret.txt", "sub/inside"))
        .refused("no-entry", [at("read", "sub/inside")])
        .row('H', "linking out of a grant")
        .config(OWN_DIRECTORY)
        .prepared(links)
        .changing(&["work/sub/inside"])
}

/// Every change where none is allowed, by the grant or by the tool's effect.
fn changes(name: &str, tool: &str, grant: &str) -> Case {
    let open = |path: &str, how: &[&str]| op("open", json!({ "path": path, "how": how }));
    let refused = [
        create("new.txt"),
        write("own.txt", &["write"]),
        write("own.txt", &["read", "write"]),
        write("own.txt", &["read", "truncate"]),
        write("own.txt", &["truncate"]),
        op(
            "write",
            json!({ "path": "own.txt", "text": "mine", "stream": true }),
        ),
        open("own.txt", &["read", "create"]),
        open("new.txt", &["read", "create"]),
        open("new.txt", &["create"]),
        op("append", json!({ "path": "own.txt", "text": "mine" })),
        op("zeroes", json!({ "path": "own.txt", "bytes": 3 })),
        op(
            "splice",
            json!({ "from": "own.txt", "to": "new.txt", "bytes": 3 }),
        ),
        at("truncate", "own.txt"),
        op(
            "truncate",
            json!({ "path": "own.txt", "how": ["read", "truncate"] }),
        ),
        at("touch", "own.txt"),
        at("mkdir", "made"),
        at("rmdir", "empty"),
        at("unlink", "own.txt"),
        at("unlink", "link-0"),
        from_to("rename", "own.txt", "own2.txt"),
        from_to("rename", "own.txt", "own.txt"),
        from_to("rename", "own.txt", "sub/in.txt"),
        from_to("link", "own.txt", "own3.txt"),
        symlink("own.txt", "own4.txt"),
        // Through a directory that was opened for writing.
        at("mkdir", ["/workspace", "sub", "made"].as_slice()),
        at("unlink", ["/workspace", "sub", "in.txt"].as_slice()),
        write(["/workspace", "sub", "in.txt"].as_slice(), &["write"]),
    ];
    Script::default()
        .refused("access", refused)
        .refused(
            "not-permitted",
            [op(
                "truncate",
                json!({ "path": "own.txt", "how": ["read"] }),
            )],
        )
        .gives(json!("own"), at("read", "own.txt"))
        .row_of(tool, 'H', &format!("changes under {name}"))
        .config(grant)
        .prepared(links)
}

fn between_grants() -> Case {
    let other = |name: &str| json!(["/other", name]);
    let look = |name: &str| json!(["/look", name]);
    Script::default()
        .gives(json!("there"), at("read", other("there.txt")))
        .refused(
            "cross-device",
            [
                from_to("rename", "here.txt", other("here.txt")),
                from_to("rename", other("there.txt"), "there.txt"),
                from_to("rename", "sub", other("sub")),
                from_to("link", "here.txt", other("here.txt")),
                from_to("link", other("there.txt"), "there.txt"),
            ],
        )
        .refused(
            "access",
            [
                from_to("rename", look("seen.txt"), "seen.txt"),
                from_to("rename", "here.txt", look("here.txt")),
                from_to("link", look("seen.txt"), "seen.txt"),
                from_to("link", "here.txt", look("here.txt")),
                op("splice", json!({ "from": "here.txt", "to": look("seen.txt"), "bytes": 4 })),
                write(look("seen.txt"), &["write"]),
            ],
        )
        .refused(
            "not-permitted",
            [
                at("read", "/other/there.txt"),
                at("read", "across"),
                at("read", other("../work/here.txt")),
                symlink("/other/there.txt", "s"),
                symlink("../other/there.txt", "s"),
            ],
        )
        .row('H', "moving and linking between grants")
        .config(&format!(
            "{OWN_DIRECTORY}\n[[grants.dir]]\nhost = \"../other\"\nguest = \"/other\"\nmode = \"read-write\"\n\
             [[grants.dir]]\nhost = \"../look\"\nguest = \"/look\""
        ))
        .prepared(|work| {
            for (directory, file) in [("other", "there"), ("look", "seen")] {
                fs::create_dir(work.join("..").join(directory)).unwrap();
                fs::write(work.join(format!("../{directory}/{file}.txt")), file).unwrap();
            }
            fs::create_dir(work.join("sub")).unwrap();
            fs::write(work.join("here.txt"), "here").unwrap();
            link("../other/there.txt", work.join("across")).unwrap();
        })
}

#[test]
fn files() {
    table::run(&cases());
}
