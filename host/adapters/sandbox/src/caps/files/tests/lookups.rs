//! A table of lookups and reads with the expected value or error code. A new attempt is one line.

use super::{
    super::resolve::Resolver,
    fixture::{check_all, open, populated_dir, writable},
};
use agent_host_engine::policy::DirMode;
use agent_host_types::tool::Effect;
use pretty_assertions::assert_eq;

/// Lookups and reads, allowed or not.
const LOOKING: &[(&str, &str)] = &[
    // Plain.
    ("read a.txt", "alpha"),
    ("read ./sub//b.txt", "beta"),
    ("read sub/../a.txt", "alpha"),
    ("read sub/deep/../../a.txt", "alpha"),
    ("stat sub/b.txt", "4"),
    ("lstat sub", "DescriptorType::Directory"),
    ("lstat sub/", "DescriptorType::Directory"),
    ("lstat sub/..", "DescriptorType::Directory"),
    ("hash a.txt", "hash"),
    ("read nothing", "no-entry"),
    ("stat nothing", "no-entry"),
    ("read a.txt/", "not-directory"),
    ("read a.txt/x", "not-directory"),
    ("list a.txt", "not-directory"),
    ("list sub", "b.txt deep"),
    ("list sub/", "b.txt deep"),
    ("list sub/deep/..", "b.txt deep"),
    ("list .git", "HEAD"),
    ("read .git/HEAD", "main"),
    // Links inside.
    ("read in", "beta"),
    ("read dir/b.txt", "beta"),
    ("list dir", "b.txt deep"),
    ("list dir/", "b.txt deep"),
    ("read dir/../a.txt", "alpha"),
    ("read chain1", "alpha"),
    ("read-link chain1", "chain2"),
    ("read-link a.txt", "invalid"),
    ("read-link-itself in", "loop"),
    ("lstat in", "DescriptorType::SymbolicLink"),
    ("read loop", "loop"),
    ("read loop/x", "loop"),
    ("read dangling", "no-entry"),
    // Out of the directory.
    ("read ../outside.txt", "not-permitted"),
    ("read sub/../../outside.txt", "not-permitted"),
    ("read dir/../../outside.txt", "not-permitted"),
    ("list ..", "not-permitted"),
    ("stat ../outside.txt", "not-permitted"),
    ("hash ../outside.txt", "not-permitted"),
    ("read /etc/passwd", "not-permitted"),
    ("read //etc/passwd", "not-permitted"),
    ("read out", "not-permitted"),
    ("read abs", "not-permitted"),
    ("stat abs", "not-permitted"),
    ("read-link abs", "not-permitted"),
    ("read proc", "not-permitted"),
    ("read up/outside.txt", "not-permitted"),
    ("list up", "not-permitted"),
    ("list up/", "not-permitted"),
    ("read up/work/a.txt", "not-permitted"),
    // Hidden by pattern.
    ("read .env", "no-entry"),
    ("read sub/.env.local", "no-entry"),
    ("read sub/../.env", "no-entry"),
    ("read ./.env", "no-entry"),
    ("read env", "no-entry"),
    ("read dir/.env.local", "no-entry"),
    ("stat .env", "no-entry"),
    ("lstat .env", "no-entry"),
    ("hash .env", "no-entry"),
    ("read .ssh/id", "no-entry"),
    ("list .ssh", "no-entry"),
    ("lstat .ssh", "no-entry"),
    ("list .ssh/", "no-entry"),
    ("list .ssh/.", "no-entry"),
    ("read .git/config", "no-entry"),
    ("read hardgit", "no-entry"),
    // Hidden because it is the host's.
    ("read agent.toml", "no-entry"),
    ("read conf", "no-entry"),
    ("read hard", "no-entry"),
    ("lstat hard", "no-entry"),
    ("hash hard", "no-entry"),
    ("list state", "no-entry"),
    ("read state/journal", "no-entry"),
    ("read state/blobs/one", "no-entry"),
    ("list state/blobs", "no-entry"),
    ("list state/blobs/..", "no-entry"),
    ("read st/journal", "no-entry"),
    ("list st", "no-entry"),
    ("read alias/conf.toml", "no-entry"),
    ("read real/conf.toml", "no-entry"),
    (
        "list .",
        ".git a.txt abs alias chain1 chain2 conf dangling dir env fifo in loop out proc real st sub up",
    ),
    // No other spelling tells whether a hidden path exists, or its type: the answers are those for
    // a missing name.
    ("read agent.toml/", "no-entry"),
    ("stat agent.toml/", "no-entry"),
    ("list agent.toml/", "no-entry"),
    ("lstat agent.toml/.", "no-entry"),
    ("stat agent.toml/..", "no-entry"),
    ("read agent.toml/../a.txt", "no-entry"),
    ("read agent.toml/x", "no-entry"),
    ("read conf/x", "no-entry"),
    ("stat conf/", "no-entry"),
    ("read hard/x", "no-entry"),
    ("read .env/x", "no-entry"),
    ("stat .env/", "no-entry"),
    ("stat env/..", "no-entry"),
    ("read sub/.env.local/../b.txt", "no-entry"),
    ("stat .ssh/..", "no-entry"),
    ("read .ssh/../a.txt", "no-entry"),
    ("read .ssh/id/", "no-entry"),
    ("read .ssh/id/x", "no-entry"),
    // Nor is a link, whatever its target.
    ("read .ssh/in", "no-entry"),
    ("read .ssh/abs", "no-entry"),
    ("lstat .ssh/abs", "no-entry"),
    ("read .ssh/abs/", "no-entry"),
    ("read .env.in", "no-entry"),
    ("read .env.out", "no-entry"),
    ("stat .env.out", "no-entry"),
    ("read state/../a.txt", "no-entry"),
    ("read state/blobs/../../a.txt", "no-entry"),
    ("read st/../a.txt", "no-entry"),
    ("read agent.lock/../a.txt", "no-entry"),
    ("stat agent.lock/", "no-entry"),
    ("stat agent.lock/..", "no-entry"),
    // A visible one is shown as it is.
    ("stat a.txt/", "not-directory"),
    ("read a.txt/x", "not-directory"),
    ("read a.txt/../a.txt", "not-directory"),
    ("read in/x", "not-directory"),
    // Neither file nor directory.
    ("read fifo", "access"),
    ("lstat fifo", "DescriptorType::Fifo"),
    // Odd paths.
    ("read .", "bad-descriptor"),
    ("read sub", "bad-descriptor"),
    ("read a\0b", "invalid"),
];

#[tokio::test]
async fn lookups_return_expected_codes() {
    for resolver in [Resolver::Openat2, Resolver::Walk] {
        for (mode, effect) in [
            (DirMode::ReadOnly, Effect::ReadOnly),
            (DirMode::ReadWrite, Effect::Effectful),
        ] {
            check_all(open(populated_dir(), mode, effect, resolver), LOOKING).await;
        }
    }
}

#[tokio::test]
async fn long_paths_and_link_chains_are_refused() {
    let mut fixture = writable();
    let work = fixture.dir.path().join("work");
    for index in 0..45 {
        std::os::unix::fs::symlink(format!("l{}", index + 1), work.join(format!("l{index}")))
            .unwrap();
    }
    std::fs::write(work.join("l45"), "end").unwrap();
    assert_eq!(fixture.act("read l5").await, "end");
    assert_eq!(fixture.act("read l4").await, "loop");
    let long = "x/".repeat(2_100);
    assert_eq!(fixture.act(&format!("read {long}y")).await, "name-too-long");
    assert_eq!(
        fixture.act(&format!("read {}", "n".repeat(300))).await,
        "name-too-long"
    );
    assert_eq!(fixture.act("read ").await, "no-entry");
}

#[tokio::test]
async fn non_utf8_names_are_not_listed() {
    use std::os::unix::ffi::OsStrExt;
    let mut fixture = writable();
    let name = std::ffi::OsStr::from_bytes(b"sub/deep/\xff.txt");
    std::fs::write(fixture.dir.path().join("work").join(name), "x").unwrap();
    std::fs::write(fixture.dir.path().join("work/sub/deep/\u{e9}.txt"), "x").unwrap();
    assert_eq!(fixture.act("list sub/deep").await, "\u{e9}.txt");
}
