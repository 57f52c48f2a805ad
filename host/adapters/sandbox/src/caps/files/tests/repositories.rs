//! Git repositories known by their structure, and git configuration by its content. Git itself is
//! the oracle: after each attack, `git status` in what it left must not run the command that the
//! attack planted.

use super::fixture::{Fixture, beside, writable};
use pretty_assertions::assert_eq;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, HostDescriptor as _, OpenFlags,
};

/// Makes a configuration whose command creates `ran` in a directory.
fn planted(dir: &Path) -> String {
    let ran = dir.join("ran").display().to_string();
    format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = \"touch {ran}; false\"\n"
    )
}

/// Returns whether `git status` in a directory runs what is planted in `dir`.
fn git_runs(dir: &Path, at: &Path) -> bool {
    let status = Command::new("git")
        .args(["status", "--short"])
        .current_dir(at)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", dir)
        .env("GIT_CEILING_DIRECTORIES", dir)
        .output();
    status.unwrap();
    let ran = dir.join("ran");
    let runs = ran.exists();
    let _ = fs::remove_file(ran);
    runs
}

/// Every directory of the grant.
fn directories(at: &Path, found: &mut Vec<PathBuf>) {
    found.push(at.to_owned());
    for entry in fs::read_dir(at).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            directories(&entry.path(), found);
        }
    }
}

/// A directory in which the host left the parts of a repository that a guest may not write, as an
/// unpacked archive would: configuration that runs a command.
fn prepared() -> Fixture {
    let fixture = writable();
    let dir = fixture.dir.path();
    for part in ["work/evil", "work/host/objects", "work/host/refs"] {
        fs::create_dir_all(dir.join(part)).unwrap();
    }
    fs::write(dir.join("work/evil/config"), planted(dir)).unwrap();
    fixture
}

#[test]
fn planted_configuration_runs_in_a_repository() {
    let fixture = prepared();
    let dir = fixture.dir.path();
    let evil = dir.join("work/evil");
    fs::create_dir(evil.join("objects")).unwrap();
    fs::create_dir(evil.join("refs")).unwrap();
    fs::write(evil.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    assert!(git_runs(dir, &evil), "the oracle does not see an attack");
}

/// The last entry of a repository, in every order and by every operation.
const COMPLETED: &[&[(&str, &str)]] = &[
    &[
        ("make-dir evil/objects", "done"),
        ("make-dir evil/refs", "done"),
        ("create evil/HEAD ref: refs/heads/main", "access"),
        ("create evil/head ref: refs/heads/main", "access"),
        ("point refs/heads/main evil/HEAD", "access"),
        ("link a.txt evil/HEAD", "access"),
        ("create evil/xHEAD ref: refs/heads/main", "20"),
        ("move evil/xHEAD evil/HEAD", "access"),
    ],
    &[
        ("create evil/HEAD ref: refs/heads/main", "20"),
        ("make-dir evil/objects", "done"),
        ("make-dir evil/refs", "access"),
        ("make-dir evil/REFS", "access"),
        ("point ../dir evil/refs", "access"),
        ("make-dir evil/xrefs", "done"),
        ("move evil/xrefs evil/refs", "access"),
        ("move host/refs evil/refs", "access"),
        ("create evil/commondir ../host", "access"),
    ],
    &[
        ("create evil/HEAD ref: refs/heads/main", "20"),
        ("make-dir evil/refs", "done"),
        ("make-dir evil/objects", "access"),
        ("move host/objects evil/objects", "access"),
        ("point ../host/objects evil/objects", "access"),
    ],
    &[
        ("create evil/commondir ../host", "7"),
        ("create evil/HEAD ref: refs/heads/main", "access"),
    ],
    // The link is followed, and would make the entry where it leads.
    &[
        ("make-dir evil/objects", "done"),
        ("point evil/HEAD through", "done"),
        ("create through ref: refs/heads/main", "access"),
        ("make-dir evil/refs", "done"),
        ("create through ref: refs/heads/main", "access"),
    ],
    // Renamed as a whole, before and after.
    &[
        ("make-dir evil/objects", "done"),
        ("make-dir evil/refs", "done"),
        ("move evil other", "done"),
        ("create other/HEAD ref: refs/heads/main", "access"),
        ("move other evil", "done"),
    ],
];

#[tokio::test]
async fn directory_does_not_become_a_git_repository() {
    for attack in COMPLETED {
        let mut fixture = prepared();
        fixture.check(attack).await;
        let dir = fixture.dir.path();
        let mut all = Vec::new();
        directories(&dir.join("work"), &mut all);
        for at in all {
            assert!(!git_runs(dir, &at), "{attack:?} in {}", at.display());
        }
    }
}

#[tokio::test]
async fn refused_repository_names_the_grant_that_allows_it() {
    let mut fixture = prepared();
    fixture.check(COMPLETED[3]).await;
    let audit = fixture.stats().audit;
    let head = audit
        .iter()
        .find(|entry| entry.rule == "files.run-later `a git repository`");
    assert_eq!(
        head.and_then(|entry| entry.grant.as_deref()),
        Some(
            "# changed lines of the [[grants.dir]] with guest = \"/workspace\"\n\
             allow-run-later = [\"own/.githooks\", \"/evil/HEAD\"]"
        )
    );
}

#[tokio::test]
async fn repository_of_another_name_is_protected_as_git() {
    let mut fixture = writable();
    let bare = fixture.dir.path().join("work/lib.git");
    for part in ["objects/info", "refs/heads", "hooks", "info"] {
        fs::create_dir_all(bare.join(part)).unwrap();
    }
    fs::write(bare.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(bare.join("config"), "[core]\n\tbare = true\n").unwrap();
    fixture
        .check(&[
            ("read lib.git/config", "[core]\n\tbare = true\n"),
            ("write lib.git/config x", "access"),
            ("create lib.git/config.worktree x", "access"),
            ("create lib.git/HEAD x", "access"),
            ("create lib.git/commondir x", "access"),
            ("create lib.git/hooks/post-update x", "access"),
            ("make-dir lib.git/hooks/x", "access"),
            ("move lib.git/hooks old", "access"),
            ("create lib.git/objects/info/alternates x", "access"),
            ("create lib.git/info/attributes x", "access"),
            ("remove lib.git/HEAD", "access"),
            ("create lib.git/refs/heads/main x", "1"),
            // The same names elsewhere are ordinary.
            ("create config x", "1"),
            ("create HEAD x", "1"),
            ("make-dir sub/hooks", "done"),
            ("create sub/hooks/config x", "1"),
            ("make-dir sub/objects", "done"),
            ("make-dir sub/refs", "done"),
        ])
        .await;
}

#[tokio::test]
async fn one_of_two_racing_calls_does_not_complete_a_repository() {
    for _ in 0..200 {
        let mut one = prepared();
        let mut two = beside(&one);
        one.check(&[("make-dir evil/objects", "done")]).await;
        let racing = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .build()
                .unwrap();
            runtime.block_on(two.act("make-dir evil/refs"))
        });
        let head = one.act("create evil/HEAD ref: refs/heads/main").await;
        let refs = racing.join().unwrap();
        assert!(
            matches!((&*head, &*refs), ("20", "access") | ("access", "done")),
            "{head} {refs}"
        );
    }
}

/// Writes pieces at offsets to a new file, and returns the result of the last.
async fn write_pieces(fixture: &mut Fixture, path: &str, pieces: &[(u64, &str)]) -> bool {
    let flags = DescriptorFlags::WRITE;
    let file = fixture
        .open(path, false, OpenFlags::CREATE, flags)
        .await
        .unwrap();
    let mut is_written = true;
    for (at, text) in pieces {
        let handle = Resource::new_borrow(file.rep());
        let bytes = text.as_bytes().to_vec();
        is_written &= fixture.fs().write(handle, bytes, *at).await.is_ok();
    }
    is_written
}

#[tokio::test]
async fn file_does_not_become_git_configuration_that_executes() {
    let filler = "#".repeat(20_000);
    let attacks: &[&[(u64, &str)]] = &[
        &[(0, "[core]\n\tfsmonitor = x\n")],
        &[(0, "[co"), (3, "re]\nfsmon"), (12, "itor ="), (18, " x")],
        &[(7, "fsmonitor = x"), (0, "[core]\n")],
        &[(0, "!core]\n"), (7, "fsmonitor = x"), (0, "[")],
        &[(0, "# a\0"), (20_000, "\n[core]\nfsmonitor = x")],
        &[(0, &filler), (20_000, "\n[core]\n"), (20_008, "editor = x")],
        &[(0, "[alias]\n s = "), (14, "s"), (13, "!")],
        &[(0, "[include]\n\tpath = other\n")],
    ];
    for (index, pieces) in attacks.iter().enumerate() {
        let mut fixture = writable();
        let path = format!("{index}.gitconfig");
        assert!(
            !write_pieces(&mut fixture, &path, pieces).await,
            "{pieces:?}"
        );
        let file = fixture.dir.path().join("work").join(&path);
        let listed = Command::new("git")
            .args(["config", "--list", "--file"])
            .arg(&file)
            .output()
            .unwrap();
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        for key in ["core.fsmonitor", "core.editor", "alias.s=!", "include.path"] {
            assert!(!listed.contains(key), "{pieces:?}: {listed}");
        }
    }
    let ordinary: &[&[(u64, &str)]] = &[
        &[(0, "[package]\nname = \"x\"\n")],
        &[(0, "fn main() {}\n"), (13, "[core]\nfsmonitor = x")],
        &[(0, "[user]\nname = a\n"), (16, "[alias]\ns = status\n")],
        // Git reads no file of this name.
        &[(0, "[core]\neditor = vim\n")],
    ];
    for (index, pieces) in ordinary.iter().enumerate() {
        let mut fixture = writable();
        let path = format!("plain-{index}");
        assert!(
            write_pieces(&mut fixture, &path, pieces).await,
            "{pieces:?}"
        );
    }
}

/// Two handles of a file share what is known of it.
#[tokio::test]
async fn handles_of_a_file_do_not_share_out_a_configuration() {
    let mut fixture = writable();
    fixture
        .check(&[
            ("create one.gitconfig !x", "2"),
            ("link one.gitconfig two", "access"),
        ])
        .await;
    let none = OpenFlags::empty();
    let flags = DescriptorFlags::WRITE;
    let one = fixture
        .open("one.gitconfig", false, none, flags)
        .await
        .unwrap();
    let two = fixture
        .open("one.gitconfig", false, none, flags)
        .await
        .unwrap();
    let mut written = Vec::new();
    for (file, at, text) in [
        (&one, 2, "\n"),
        (&two, 0, "# "),
        (&one, 3, "[core]\n"),
        (&one, 10, "fsmonitor = x"),
        (&two, 10, "fsmonitor = x"),
    ] {
        let handle = Resource::new_borrow(file.rep());
        let done = fixture.fs().write(handle, text.into(), at).await;
        written.push(done.is_ok());
    }
    assert_eq!(written, [true, true, true, false, false]);
}

#[tokio::test]
async fn configuration_of_the_host_gets_no_other_name() {
    let mut fixture = prepared();
    fixture
        .check(&[
            ("move evil/config sub/config", "access"),
            ("link evil/config shared", "access"),
            ("write evil/config [", "access"),
            ("replace evil/config x", "1"),
            ("move evil/config sub/config", "done"),
        ])
        .await;
}
