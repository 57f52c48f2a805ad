//! Whatever a guest changes is kept before, and undone.

use super::{
    super::resolve::Resolver,
    fixture::{open, populated_dir, writable},
    fuzz::attempt,
};
use agent_host_engine::policy::DirMode;
use agent_host_types::{id::CallId, tool::Effect};
use agent_host_undo::{DEFAULT_MAX_BYTES, Undo, UndoLog, undo};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;
use tokio::runtime::Builder;

/// Everything below a directory: the contents of files, the targets of links.
fn tree(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut tree = BTreeMap::new();
    let mut left = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let content = if kind.is_dir() {
                left.push(path.clone());
                Vec::new()
            } else if kind.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else if kind.is_file() {
                fs::read(&path).unwrap()
            } else {
                Vec::new()
            };
            tree.insert(path, content);
        }
    }
    tree
}

/// Runs attempts in one call, undoes it, and returns what is left and the directory before and
/// after.
fn undone(
    fixture: super::fixture::Fixture,
    attempts: &[String],
) -> (Vec<String>, [BTreeMap<PathBuf, Vec<u8>>; 2]) {
    let (left, [before, _, after]) = undone_in_steps(fixture, attempts);
    (left, [before, after])
}

/// As `undone`, with the directory before, after the attempts, and after they are undone.
fn undone_in_steps(
    mut fixture: super::fixture::Fixture,
    attempts: &[String],
) -> (Vec<String>, [BTreeMap<PathBuf, Vec<u8>>; 3]) {
    let (state, call) = (TempDir::new().unwrap(), CallId("call_1".to_owned()));
    let log = UndoLog::new(state.path().join("undo"), DEFAULT_MAX_BYTES);
    let writer = Arc::new(log.writer(&call));
    Arc::get_mut(&mut fixture.files).unwrap().undo = Some(Arc::clone(&writer));
    let before = tree(fixture.dir.path());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    for attempt in attempts {
        runtime.block_on(fixture.act(attempt));
    }
    writer.end().unwrap();
    let changed = tree(fixture.dir.path());
    let calls = [call].into();
    let undone = undo(&[Undo { log, calls }], /* force */ false).unwrap();
    let left = undone.left.iter();
    let left = left.map(|left| format!("{}: {}", left.path.in_guest(), left.reason));
    (left.collect(), [before, changed, tree(fixture.dir.path())])
}

#[test]
fn every_change_of_a_guest_is_undone() {
    let table = [
        ["write a.txt ALPHA", "read a.txt"].as_slice(),
        &["create new.txt one", "replace new.txt two"],
        &["create-new new.txt one"],
        &["replace a.txt A"],
        &["remove a.txt"],
        &[
            "make-dir made",
            "create made/new.txt one",
            "make-dir made/inner",
        ],
        &["make-dir made", "remove-dir made"],
        &["remove-dir fifo", "remove-dir a.txt"],
        &["move a.txt sub/moved.txt", "write sub/moved.txt ALPHA"],
        &["create a.tmp ALPHA", "move a.tmp a.txt"],
        &[
            "write deep/dir/c.txt GAMMA",
            "move deep deeper",
            "write deeper/dir/c.txt X",
        ],
        &["link a.txt linked", "write linked ALPHA"],
        &["point sub/b.txt pointer", "write pointer BETA"],
    ];
    for attempts in table {
        let attempts: Vec<String> = attempts.iter().map(|one| (*one).to_owned()).collect();
        let (left, [before, after]) = undone(writable(), &attempts);
        assert_eq!(left, Vec::<String>::new(), "{attempts:?}");
        assert_eq!(after, before, "{attempts:?}");
    }
}

/// Git configuration is truncated only when a write is accepted, or at the close.
#[test]
fn truncated_git_config_is_undone() {
    for (attempt, content) in [
        ("truncate x.gitconfig", ""),
        ("replace x.gitconfig # new", "# new"),
        (
            "replace x.gitconfig [core]\nfsmonitor = x",
            "[user]\nname = old",
        ),
    ] {
        let fixture = writable();
        let path = fixture.dir.path().join("work/x.gitconfig");
        fs::write(&path, "[user]\nname = old").unwrap();
        let attempts = [attempt.to_owned()];
        let (left, [before, changed, after]) = undone_in_steps(fixture, &attempts);
        assert_eq!(left, Vec::<String>::new(), "{attempt}");
        assert_eq!(
            changed.get(&path).map(Vec::as_slice),
            Some(content.as_bytes()),
            "{attempt}"
        );
        assert_eq!(after, before, "{attempt}");
    }
}

/// A fifo that is removed cannot be made again, and is told of.
#[test]
fn removed_fifo_is_left() {
    let (left, [before, after]) = undone(writable(), &["remove fifo".to_owned()]);
    let reason = "/workspace/fifo: it was not a file, a directory or a link";
    assert_eq!(left, [reason]);
    assert_ne!(after, before);
}

proptest! {
    #[test]
    fn any_changes_of_a_guest_are_undone(attempts in prop::collection::vec(attempt(), 1..24), walk in any::<bool>()) {
        let resolver = if walk { Resolver::Walk } else { Resolver::Openat2 };
        let directory = populated_dir();
        fs::remove_file(directory.path().join("work/fifo")).unwrap();
        let fixture = open(directory, DirMode::ReadWrite, Effect::Effectful, resolver);
        let (left, [before, after]) = undone(fixture, &attempts);
        prop_assert_eq!(left, Vec::<String>::new());
        prop_assert_eq!(after, before);
    }
}
