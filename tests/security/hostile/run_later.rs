//! Section H: files that the user's programs would run or follow later: hooks, tasks and start-up
//! files, executable files, and symbolic links that lead out of the grant.

use super::{
    case::Case,
    script::{OWN_DIRECTORY, Script, at, create, from_to, op, symlink, write},
    table,
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink as link},
    path::Path,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        files_that_run_later(),
        directories_with_files_that_run_later(),
        directories_that_would_be_git_repositories(),
        granted_files_that_run_later(),
        executable_files(),
        links_made_to_lead_out(),
        links_moved_to_lead_out(),
        keys_by_their_names(),
    ]
}

/// A repository with hooks, and a link to them.
fn repository(work: &Path) {
    for dir in [
        ".git/hooks",
        ".git/modules/lib/hooks",
        ".github/workflows",
        ".vscode",
        "src",
    ] {
        fs::create_dir_all(work.join(dir)).unwrap();
    }
    fs::write(work.join(".git/hooks/pre-commit"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(
        work.join(".git/hooks/pre-commit"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    fs::write(work.join(".github/workflows/ci.yml"), "on: push\n").unwrap();
    fs::write(work.join("own.txt"), "own").unwrap();
    link(".git/hooks", work.join("hooks")).unwrap();
}

fn files_that_run_later() -> Case {
    let new = [
        ".git/hooks/post-checkout",
        ".git/modules/lib/hooks/post-checkout",
        ".git/modules/lib/config",
        ".git/commondir",
        ".git/config.worktree",
        "hooks/post-checkout",
        ".husky",
        ".vscode/tasks.json",
        ".envrc",
        ".bashrc",
        "src/.zshenv",
        ".github/workflows/new.yml",
        ".gitlab-ci.yml",
        "Jenkinsfile",
        "JENKINSFILE.release",
        ".pre-commit-config.yaml",
        ".mcp.json",
        ".git/HOOKS",
        ".git/HEAD",
        ".gitmodules",
        ".gitattributes",
        ".bazelrc",
        ".direnv",
        "sitecustomize.py",
    ];
    let hook = ".git/hooks/pre-commit";
    Script::default()
        .gives(json!("#!/bin/sh\n"), at("read", hook))
        .gives(json!(["pre-commit"]), at("list", "hooks"))
        .refused("access", new.map(create))
        .refused("access", new.map(|path| symlink("own.txt", path)))
        .refused("access", new.map(|path| from_to("rename", "own.txt", path)))
        .refused("access", new.map(|path| from_to("link", "own.txt", path)))
        .refused("access", new.map(|path| at("mkdir", path)))
        .refused(
            "access",
            [
                write(hook, &["write"]),
                write(hook, &["write", "truncate"]),
                op("append", json!({ "path": hook, "text": "mine" })),
                at("truncate", hook),
                at("touch", hook),
                at("unlink", hook),
                from_to("rename", hook, "src/hook"),
                from_to("link", hook, "src/hook"),
                write(
                    ["/workspace", ".git", "hooks", "pre-commit"].as_slice(),
                    &["write"],
                ),
                write(["/workspace", "hooks", "pre-commit"].as_slice(), &["write"]),
            ],
        )
        .gives(json!("#!/bin/sh\n"), at("read", hook))
        .row('H', "files that run later")
        .config(OWN_DIRECTORY)
        .prepared(repository)
}

/// Hooks are prepared under another name, and then moved to where they run.
fn directories_with_files_that_run_later() -> Case {
    Script::default()
        .gives(Value::Null, at("mkdir", "evil"))
        .gives(Value::Null, at("mkdir", "evil/hooks"))
        .gives(json!(4), create("evil/hooks/pre-commit"))
        .gives(json!(4), create("evil/gitfile"))
        .refused(
            "access",
            [
                from_to("rename", "evil", "src/.git"),
                from_to("rename", "evil/hooks", "src/.husky"),
                symlink("../evil", "src/.git"),
                from_to("rename", "evil/gitfile", "src/.git"),
                from_to("link", "evil/gitfile", "src/.git"),
                create("src/.git"),
                from_to("rename", ".git", "old"),
                from_to("rename", ".git/hooks", "old"),
                from_to("rename", ".github", "old"),
            ],
        )
        .gives(Value::Null, at("mkdir", "src/.git"))
        .refused(
            "access",
            [
                from_to("rename", "evil/hooks", "src/.git/hooks"),
                symlink("../../evil/hooks", "src/.git/hooks"),
            ],
        )
        .row('H', "directories with files that run later")
        .config(OWN_DIRECTORY)
        .prepared(repository)
        .changing(&["work/evil", "work/src/.git"])
}

/// Git takes a directory with these entries for a repository, whatever its name.
fn directories_that_would_be_git_repositories() -> Case {
    Script::default()
        .gives(Value::Null, at("mkdir", "bare"))
        .gives(Value::Null, at("mkdir", "bare/objects"))
        .gives(Value::Null, at("mkdir", "bare/refs"))
        .gives(json!(4), create("bare/text"))
        .refused(
            "access",
            [
                create("bare/HEAD"),
                at("mkdir", "bare/HEAD"),
                symlink("refs/heads/main", "bare/HEAD"),
                from_to("rename", "bare/text", "bare/HEAD"),
                from_to("link", "bare/text", "bare/HEAD"),
            ],
        )
        .row('H', "directories that would be git repositories")
        .config(OWN_DIRECTORY)
        .changing(&["work/bare"])
}

fn granted_files_that_run_later() -> Case {
    Script::default()
        .gives(json!(4), create(".github/workflows/new.yml"))
        .gives(
            json!(9),
            op(
                "write",
                json!({ "path": ".github/workflows/ci.yml", "text": "on: never" }),
            ),
        )
        .refused("access", [create(".vscode/tasks.json"), create(".envrc")])
        .row('H', "a grant that names files that run later")
        .config(&format!(
            "{OWN_DIRECTORY}\nallow-run-later = [\"/.github/workflows\"]"
        ))
        .prepared(repository)
        .changing(&["work/.github/workflows"])
}

/// No operation makes a file executable: the harness compares modes, too. The audit records a
/// changed one (`run_later.rs` beside the sandbox's files).
fn executable_files() -> Case {
    Script::default()
        .gives(json!(4), create("new.sh"))
        .gives(json!(4), create("run.sh"))
        .gives(Value::Null, at("unlink", "gone.sh"))
        .gives(json!(4), create("gone.sh"))
        .row('H', "executable files")
        .config(OWN_DIRECTORY)
        .prepared(|work| {
            for name in ["run.sh", "gone.sh"] {
                fs::write(work.join(name), "#!/bin/sh\n").unwrap();
                fs::set_permissions(work.join(name), fs::Permissions::from_mode(0o755)).unwrap();
            }
        })
        .changing(&["work/new.sh", "work/run.sh", "work/gone.sh"])
}

/// Directories, a link of the host that leads out, and links to directories.
fn deep(work: &Path) {
    fs::create_dir_all(work.join("a/b/c")).unwrap();
    fs::create_dir(work.join("empty")).unwrap();
    for (target, path) in [
        ("..", "up"),
        (".", "same"),
        ("a/b", "ab"),
        ("../../../secret.txt", "a/b/host"),
    ] {
        link(target, work.join(path)).unwrap();
    }
}

fn links_made_to_lead_out() -> Case {
    let out = [
        symlink("..", "x"),
        symlink("../../../..", "a/b/x"),
        symlink("/etc/passwd", "a/b/c/x"),
        symlink("same/..", "x"),
        symlink("same/same/../../secret.txt", "x"),
        symlink("ab/../../..", "x"),
        symlink("missing/../../secret.txt", "a/x"),
        symlink("up/secret.txt", "x"),
        symlink("../up", "a/x"),
        symlink("a/b/host", "x"),
        symlink("../x", "ab/x"),
        symlink("..", "same/x"),
    ];
    Script::default()
        .refused("not-permitted", out)
        .gives(Value::Null, symlink("../b/c", "a/inside"))
        .gives(Value::Null, symlink("../../..", "a/b/c/top"))
        .gives(Value::Null, symlink("inside/file", "a/chained"))
        .row('H', "links that lead out where they are made")
        .config(OWN_DIRECTORY)
        .prepared(deep)
        .changing(&["work/a"])
}

fn links_moved_to_lead_out() -> Case {
    Script::default()
        .gives(Value::Null, symlink("../../..", "a/b/c/top"))
        .refused(
            "not-permitted",
            [
                from_to("rename", "a/b/c/top", "top"),
                from_to("rename", "a/b/c/top", "a/b/top"),
                from_to("rename", "a/b/c/top", ["/workspace", "a", "top"].as_slice()),
                from_to("rename", "a/b/c", "c"),
                from_to("rename", "a/b/c", "a/c"),
                from_to("rename", "a/b", "b"),
                from_to("rename", "a/b", "empty/b"),
                from_to("link", "a/b/c/top", "top"),
                from_to("rename", "up", "down"),
            ],
        )
        .gives(Value::Null, from_to("rename", "a/b/c", "a/b/d"))
        .gives(Value::Null, from_to("rename", "a/b/d/top", "a/b/d/above"))
        .row('H', "links that lead out where they are moved")
        .config(OWN_DIRECTORY)
        .prepared(deep)
        .changing(&["work/a"])
}

/// The usual names of keys do not exist.
fn keys_by_their_names() -> Case {
    const NAMES: [&str; 12] = [
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ecdsa_sk",
        "id_ed25519",
        "server.pem",
        "server.key",
        "store.p12",
        "store.pfx",
        ".pgpass",
        ".netrc",
        ".npmrc",
    ];
    Script::default()
        .refused(
            "no-entry",
            NAMES.map(|name| at("read", format!("keys/{name}"))),
        )
        .refused(
            "no-entry",
            NAMES.map(|name| at("stat", format!("keys/{name}"))),
        )
        .gives(json!(["id.txt"]), at("list", "keys"))
        .refused("access", NAMES.map(|name| create(format!("keys/{name}"))))
        .row('H', "keys by their usual names")
        .config(OWN_DIRECTORY)
        .prepared(|work| {
            fs::create_dir(work.join("keys")).unwrap();
            for name in NAMES {
                fs::write(work.join("keys").join(name), "key").unwrap();
            }
            fs::write(work.join("keys/id.txt"), "no key").unwrap();
        })
}

#[test]
fn run_later() {
    table::run(&cases());
}
