//! Snapshots of a directory, to detect any change in it.

use agent_host_types::id::Digest;
use std::{
    collections::BTreeMap,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

/// The state of one entry: kind, mode, and content or link target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    mode: u32,
    content: String,
}

/// Every entry below a directory, by its relative path.
pub(crate) type Snapshot = BTreeMap<PathBuf, Entry>;

/// Reads everything below `root`, without following links.
pub(crate) fn take(root: &Path) -> Snapshot {
    let mut found = Snapshot::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let meta = std::fs::symlink_metadata(&path).unwrap();
            let content = if meta.is_symlink() {
                std::fs::read_link(&path).unwrap().display().to_string()
            } else if meta.is_file() {
                Digest::of(&std::fs::read(&path).unwrap()).to_string()
            } else {
                String::new()
            };
            if meta.is_dir() {
                directories.push(path.clone());
            }
            let mode = meta.mode();
            found.insert(
                path.strip_prefix(root).unwrap().to_owned(),
                Entry { mode, content },
            );
        }
    }
    found
}

/// The paths that differ between two snapshots, except those below one of `expected`.
pub(crate) fn changes(before: &Snapshot, after: &Snapshot, expected: &[&str]) -> Vec<PathBuf> {
    let all = before.keys().chain(after.keys());
    let mut changed: Vec<PathBuf> = all
        .filter(|path| before.get(*path) != after.get(*path))
        .filter(|path| !expected.iter().any(|prefix| path.starts_with(prefix)))
        .cloned()
        .collect();
    changed.sort();
    changed.dedup();
    changed
}

#[test]
fn snapshot_detects_content_mode_kind_and_name() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::create_dir(at("kept")).unwrap();
    for name in ["content", "mode", "kind", "gone", "kept/inner"] {
        std::fs::write(at(name), "before").unwrap();
    }
    let before = take(directory.path());
    std::fs::write(at("content"), "after!").unwrap();
    std::fs::set_permissions(at("mode"), PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::remove_file(at("kind")).unwrap();
    std::os::unix::fs::symlink("gone", at("kind")).unwrap();
    std::fs::rename(at("gone"), at("new")).unwrap();
    std::fs::write(at("kept/inner"), "expected").unwrap();
    let after = take(directory.path());
    let names = ["content", "gone", "kind", "mode", "new"].map(PathBuf::from);
    assert_eq!(changes(&before, &after, &["kept"]), names);
}
