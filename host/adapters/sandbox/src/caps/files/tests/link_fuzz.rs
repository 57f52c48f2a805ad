//! Any sequence of operations: no symbolic link in the grant leads a program of the host out of it.

use super::{
    super::resolve::Resolver,
    fixture::{empty, open},
};
use agent_host_engine::policy::DirMode;
use agent_host_types::tool::Effect;
use proptest::prelude::*;
use std::{
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};
use tokio::runtime::Builder;

/// The initial directories.
const DIRECTORIES: [&str; 4] = ["a", "a/b", "a/b/c", "b"];

/// Few names, so that operations collide.
fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c", "d"])
}

/// A path of names, which may be directories or links; mostly in one of the first directories.
fn path() -> impl Strategy<Value = String> {
    let near = (
        prop::sample::select(vec!["", "a/", "a/b/", "a/b/c/", "b/"]),
        name(),
    )
        .prop_map(|(above, name)| format!("{above}{name}"));
    let any = prop::collection::vec(name(), 1..5).prop_map(|names| names.join("/"));
    prop_oneof![4 => near, 1 => any]
}

/// A link's target: names and `..` in any order, and sometimes an absolute path.
fn target() -> impl Strategy<Value = String> {
    let part = prop_oneof![3 => Just(".."), 3 => name(), 1 => Just("."), 1 => Just("")];
    let honest = (0..4_usize, prop::collection::vec(name(), 0..4))
        .prop_map(|(climbs, names)| format!("{}{}", "../".repeat(climbs), names.join("/")));
    prop_oneof![
        2 => prop::collection::vec(part, 1..7).prop_map(|parts| parts.join("/")),
        4 => honest,
    ]
}

fn attempt() -> impl Strategy<Value = String> {
    let two = |verb: &'static str| {
        (path(), path()).prop_map(move |(one, two)| format!("{verb} {one} {two}"))
    };
    let one = |verb: &'static str| path().prop_map(move |path| format!("{verb} {path} x"));
    prop_oneof![
        4 => one("make-dir"),
        4 => (target(), path()).prop_map(|(target, path)| format!("point {target} {path}")),
        4 => two("move"),
        1 => two("link"),
        1 => one("remove"),
        1 => one("remove-dir"),
        1 => one("create"),
    ]
}

/// Returns whether a host program that opens or creates the path leaves the root, on its way or at
/// its end.
fn leads_out(root: &Path, path: &Path) -> bool {
    let names = |path: &Path| -> Vec<OsString> {
        path.components()
            .rev()
            .map(|part| part.as_os_str().to_owned())
            .collect()
    };
    let mut ahead = names(path.strip_prefix(root).unwrap());
    let (mut here, mut links) = (root.to_owned(), 0);
    while let Some(name) = ahead.pop() {
        match Path::new(&name).components().next() {
            Some(Component::ParentDir) => {
                here.pop();
            }
            Some(Component::Normal(_)) => {
                let next = here.join(&name);
                match fs::read_link(&next) {
                    Ok(_) if links == 40 => return false,
                    Ok(target) => {
                        links += 1;
                        ahead.extend(names(&target));
                    }
                    Err(_) => here = next,
                }
            }
            Some(Component::RootDir) => return true,
            _ => {}
        }
        if !here.starts_with(root) {
            return true;
        }
    }
    false
}

/// Every symbolic link below a directory.
fn links(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_symlink() {
            found.push(entry.path());
        } else if kind.is_dir() {
            found.extend(links(&entry.path()));
        }
    }
    found
}

proptest! {
    #[test]
    fn links_never_lead_out_of_the_grant(attempts in prop::collection::vec(attempt(), 1..40)) {
        let mut fixture = open(empty(), DirMode::ReadWrite, Effect::Effectful, Resolver::Openat2);
        let root = fixture.dir.path().join("work").canonicalize().unwrap();
        for dir in DIRECTORIES {
            fs::create_dir(root.join(dir)).unwrap();
        }
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        for attempt in &attempts {
            let _outcome = runtime.block_on(fixture.act(attempt));
            let strays: Vec<PathBuf> =
                links(&root).into_iter().filter(|link| leads_out(&root, link)).collect();
            prop_assert_eq!(strays, Vec::<PathBuf>::new(), "after {:?}", attempt);
        }
    }
}

#[test]
fn oracle_finds_links_that_lead_out() {
    let dir = empty();
    let root = dir.path().join("work").canonicalize().unwrap();
    fs::create_dir_all(root.join("d/e")).unwrap();
    for (target, path, expected) in [
        ("d/e", "in", false),
        ("../d", "d/up", false),
        ("../../d", "d/out", true),
        ("in/../../..", "through", true),
        ("in/..", "within", false),
        ("through/x", "chained", true),
        ("../missing", "dangling", true),
        ("loop", "loop", false),
        ("/etc", "absolute", true),
    ] {
        std::os::unix::fs::symlink(target, root.join(path)).unwrap();
        assert_eq!(
            leads_out(&root, &root.join(path)),
            expected,
            "{path} -> {target}"
        );
    }
}
