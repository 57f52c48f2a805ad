//! Any path in any operation: nothing outside the grants is read or changed, by both resolvers.

use super::{
    super::resolve::Resolver,
    fixture::{open, populated_dir},
};
use agent_host_engine::policy::DirMode;
use agent_host_types::tool::Effect;
use proptest::prelude::*;
use std::{collections::BTreeMap, path::Path};
use tokio::runtime::Builder;

const VERBS: [&str; 17] = [
    "read",
    "read-link-itself",
    "write",
    "create",
    "create-new",
    "replace",
    "list",
    "stat",
    "lstat",
    "read-link",
    "make-dir",
    "remove-dir",
    "remove",
    "move",
    "link",
    "point",
    "touch",
];

/// Existing names, special names, and others.
fn name() -> impl Strategy<Value = String> {
    let known = vec![
        "..",
        "..",
        "..",
        ".",
        "",
        "sub",
        "deep",
        "dir",
        "up",
        "out",
        "abs",
        "proc",
        "env",
        "conf",
        "st",
        "loop",
        "chain1",
        "dangling",
        "alias",
        "real",
        "hard",
        "hardgit",
        "fifo",
        ".env",
        ".ssh",
        "id",
        ".git",
        "config",
        "agent.toml",
        "agent.lock",
        "state",
        "journal",
        "a.txt",
        "b.txt",
        "outside.txt",
        "work",
        "other",
        "o.txt",
        "new",
        "etc",
        "passwd",
    ];
    prop_oneof![
        16 => prop::sample::select(known).prop_map(str::to_owned),
        1 => "[^/ ]{1,8}",
        1 => Just("n".repeat(256)),
    ]
}

fn path() -> impl Strategy<Value = String> {
    let root = prop::sample::select(vec!["", "", "", "", "/", "//", "./"]);
    let end = prop::sample::select(vec!["", "", "", "/", "/.", "\0"]);
    (root, prop::collection::vec(name(), 1..6), end)
        .prop_map(|(root, names, end)| format!("{root}{}{end}", names.join("/")).replace(' ', "_"))
}

pub(super) fn attempt() -> impl Strategy<Value = String> {
    (prop::sample::select(&VERBS[..]), path(), path())
        .prop_map(|(verb, one, two)| format!("{verb} {one} {two}"))
}

/// The files that no guest may change: path to content.
fn untouchable(root: &Path) -> BTreeMap<String, String> {
    [
        "outside.txt",
        "work/.env",
        "work/sub/.env.local",
        "work/.ssh/id",
        "work/.git/config",
        "work/agent.toml",
        "work/state/journal",
        "work/state/blobs/one",
        "work/real/conf.toml",
        "other/o.txt",
    ]
    .map(|path| {
        (
            path.to_owned(),
            std::fs::read_to_string(root.join(path)).unwrap_or_default(),
        )
    })
    .into()
}

/// The names beside the granted directories.
fn beside(root: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

proptest! {
    #[test]
    fn any_guest_path_stays_in_the_grant(attempts in prop::collection::vec(attempt(), 1..24), walk in any::<bool>()) {
        let resolver = if walk { Resolver::Walk } else { Resolver::Openat2 };
        let mut fixture = open(populated_dir(), DirMode::ReadWrite, Effect::Effectful, resolver);
        let root = fixture.dir.path().to_owned();
        let before = untouchable(&root);
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        for attempt in &attempts {
            let found = runtime.block_on(fixture.act(attempt));
            for secret in ["SECRET", "OUTSIDE", "root:"] {
                prop_assert!(!found.contains(secret), "{attempt:?} gave {found:?}");
            }
            prop_assert_eq!(&untouchable(&root), &before, "after {:?}", attempt);
            prop_assert_eq!(beside(&root), ["other", "outside.txt", "work"], "after {:?}", attempt);
        }
    }
}
