//! Changes made as the sandbox makes them, undone: what is there afterwards, and what is reported.

mod bounds;
mod fuzz;

use crate::*;
use agent_host_types::id::CallId;
use pretty_assertions::assert_eq;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};
use tempfile::TempDir;

/// A granted directory and the log of a session.
pub(super) struct Project {
    pub(super) dir: TempDir,
    state: TempDir,
    pub(super) log: UndoLog,
}

impl Project {
    pub(super) fn new(max_bytes: u64) -> Self {
        let (dir, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let log = UndoLog::new(state.path().join("undo"), max_bytes);
        Self { dir, state, log }
    }

    pub(super) fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn undo_path(&self, name: &str) -> UndoPath {
        UndoPath::new(self.dir.path(), "/workspace", name)
    }

    /// Everything in the directory: files with their texts, links with their targets.
    pub(super) fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        list(self.dir.path(), "", &mut tree);
        tree
    }

    fn undo(&self, calls: &[&str], force: bool) -> Found {
        let calls = calls.iter().map(|call| CallId((*call).to_owned()));
        let changes = [Undo {
            log: self.log.clone(),
            calls: calls.collect(),
        }];
        let undone = undo(&changes, force).unwrap();
        let name = |path: &UndoPath| path.in_guest().replace("/workspace/", "");
        (
            undone
                .restored
                .iter()
                .map(|one| (name(&one.path), one.done))
                .collect(),
            undone
                .left
                .iter()
                .map(|one| (name(&one.path), one.reason.to_string()))
                .collect(),
        )
    }
}

fn list(dir: &Path, prefix: &str, tree: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().display());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            tree.insert(format!("{name}/"), String::new());
            list(&entry.path(), &format!("{name}/"), tree);
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            tree.insert(name, format!("-> {}", target.display()));
        } else {
            let text = fs::read(entry.path()).unwrap();
            tree.insert(name, String::from_utf8_lossy(&text).into_owned());
        }
    }
}

/// A run of a call, which keeps a path before each change as the sandbox does.
pub(super) struct Run<'p> {
    project: &'p Project,
    writer: UndoWriter,
}

impl<'p> Run<'p> {
    pub(super) fn new(project: &'p Project, call: &str) -> Self {
        let writer = project.log.writer(&CallId(call.to_owned()));
        Self { project, writer }
    }

    fn keep(&self, name: &str) {
        self.writer.keep(&self.project.undo_path(name)).unwrap();
    }

    pub(super) fn write(&self, name: &str, text: &str) -> &Self {
        self.keep(name);
        fs::write(self.project.path(name), text).unwrap();
        self
    }

    pub(super) fn remove(&self, name: &str) -> &Self {
        self.keep(name);
        fs::remove_file(self.project.path(name)).unwrap();
        self
    }

    pub(super) fn make_dir(&self, name: &str) -> &Self {
        self.keep(name);
        fs::create_dir(self.project.path(name)).unwrap();
        self
    }

    pub(super) fn remove_dir(&self, name: &str) -> &Self {
        self.keep(name);
        fs::remove_dir(self.project.path(name)).unwrap();
        self
    }

    fn link(&self, target: &str, name: &str) -> &Self {
        self.keep(name);
        symlink(target, self.project.path(name)).unwrap();
        self
    }

    fn second_name(&self, name: &str, other: &str) -> &Self {
        self.keep(name);
        self.keep(other);
        fs::hard_link(self.project.path(name), self.project.path(other)).unwrap();
        self
    }

    pub(super) fn rename(&self, from: &str, to: &str) -> &Self {
        let (old, new) = (self.project.path(from), self.project.path(to));
        if old.is_dir() {
            let (from, to) = (self.project.undo_path(from), self.project.undo_path(to));
            self.writer.keep_move(&from, &to).unwrap();
        } else {
            self.keep(from);
            self.keep(to);
        }
        fs::rename(old, new).unwrap();
        self
    }

    pub(super) fn end(&self) {
        self.writer.end().unwrap();
    }
}

fn names<T: Copy>(restored: &[(&str, T)]) -> Vec<(String, T)> {
    restored
        .iter()
        .map(|(name, done)| ((*name).to_owned(), *done))
        .collect()
}

/// The restored paths, and those that are left with their reasons.
type Found = (Vec<(String, Restoring)>, Vec<(String, String)>);

/// The paths that a row restores.
type Expected = &'static [(&'static str, Restoring)];

/// The calls of a row.
type Calls = fn(&Project);

#[test]
fn undo_restores_what_calls_have_changed() {
    use Restoring::{Recreated, Removed, WrittenBack};
    let table: [(&str, Calls, Expected); 10] = [
        (
            "a file is written",
            |project| Run::new(project, "c").write("a", "two").end(),
            &[("a", WrittenBack)],
        ),
        (
            "a file is created, and one is removed",
            |project| Run::new(project, "c").write("new", "two").remove("a").end(),
            &[("a", Recreated), ("new", Removed)],
        ),
        (
            "a file is replaced by a temporary one",
            |project| {
                Run::new(project, "c")
                    .write("a.tmp", "two")
                    .rename("a.tmp", "a")
                    .end();
            },
            &[("a", WrittenBack)],
        ),
        (
            "directories are created with files",
            |project| {
                Run::new(project, "c")
                    .make_dir("x")
                    .make_dir("x/y")
                    .write("x/y/z", "two")
                    .end();
            },
            &[("x", Removed), ("x/y", Removed), ("x/y/z", Removed)],
        ),
        (
            "a directory is removed with its file",
            |project| {
                Run::new(project, "c")
                    .remove("dir/b")
                    .remove_dir("dir")
                    .end()
            },
            &[("dir", Recreated), ("dir/b", Recreated)],
        ),
        (
            "a directory is moved after and before a change in it",
            |project| {
                let run = Run::new(project, "c");
                run.write("dir/b", "two")
                    .rename("dir", "moved")
                    .write("moved/b", "three");
                run.end();
            },
            &[
                ("dir", Recreated),
                ("dir/b", WrittenBack),
                ("moved", Removed),
                ("moved/b", Removed),
            ],
        ),
        (
            "a link is replaced by a file",
            |project| {
                Run::new(project, "c")
                    .remove("link")
                    .write("link", "two")
                    .end()
            },
            &[("link", WrittenBack)],
        ),
        (
            "a file is replaced by a link",
            |project| Run::new(project, "c").remove("a").link("dir/b", "a").end(),
            &[("a", WrittenBack)],
        ),
        (
            "a file gets a second name, by which it is written",
            |project| {
                let run = Run::new(project, "c");
                run.second_name("a", "linked").write("linked", "two").end();
            },
            &[("a", WrittenBack), ("linked", Removed)],
        ),
        (
            "several calls change a file",
            |project| {
                Run::new(project, "c").write("a", "two").end();
                Run::new(project, "d").remove("a").end();
                Run::new(project, "c").write("a", "four").end();
            },
            &[("a", WrittenBack)],
        ),
    ];
    for (what, calls, restored) in table {
        let project = Project::new(DEFAULT_MAX_BYTES);
        fs::write(project.path("a"), "one").unwrap();
        fs::create_dir(project.path("dir")).unwrap();
        fs::write(project.path("dir/b"), "one").unwrap();
        symlink("a", project.path("link")).unwrap();
        let before = project.tree();
        calls(&project);
        assert_ne!(project.tree(), before, "{what}");
        let undone = project.undo(&["c", "d"], false);
        assert_eq!(undone, (names(restored), vec![]), "{what}");
        assert_eq!(project.tree(), before, "{what}");
        // The log is empty, so that nothing is left to undo.
        assert_eq!(project.undo(&["c", "d"], true), (vec![], vec![]), "{what}");
        assert_eq!(project.stored(), (0, 0), "{what}");
    }
}

#[test]
fn undo_leaves_what_was_changed_since_unless_forced() {
    let changed = "it has changed since";
    let killed = "the program ended during the call, so it may have changed since";
    let table: [(&str, Calls, &str, &str); 6] = [
        (
            "written",
            |project| {
                Run::new(project, "c").write("a", "two").end();
                fs::write(project.path("a"), "mine").unwrap();
            },
            "a",
            changed,
        ),
        (
            "removed",
            |project| {
                Run::new(project, "c").write("a", "two").end();
                fs::remove_file(project.path("a")).unwrap();
            },
            "a",
            changed,
        ),
        (
            "between two calls",
            |project| {
                Run::new(project, "c").write("a", "two").end();
                fs::write(project.path("a"), "mine").unwrap();
                Run::new(project, "d").write("a", "three").end();
            },
            "a",
            changed,
        ),
        (
            "created file written",
            |project| {
                Run::new(project, "c").write("new", "two").end();
                fs::write(project.path("new"), "mine").unwrap();
            },
            "new",
            changed,
        ),
        (
            "written after the end, as expected",
            |project| {
                let run = Run::new(project, "c");
                run.keep("a");
                run.writer.expect_change();
                run.end();
                fs::write(project.path("a"), "two").unwrap();
            },
            "a",
            changed,
        ),
        (
            "killed",
            |project| {
                Run::new(project, "c").write("a", "two");
            },
            "a",
            killed,
        ),
    ];
    for (what, calls, path, reason) in table {
        let project = Project::new(DEFAULT_MAX_BYTES);
        fs::write(project.path("a"), "one").unwrap();
        let before = project.tree();
        calls(&project);
        let left = vec![(path.to_owned(), reason.to_owned())];
        let (restored, found) = project.undo(&["c", "d"], false);
        assert_eq!(found, left, "{what}");
        assert_eq!(restored, vec![], "{what}");
        assert_eq!(project.undo(&["c", "d"], true).1, vec![], "{what}");
        assert_eq!(project.tree(), before, "{what}");
    }
}

#[test]
fn undo_leaves_directories_with_files_of_others() {
    let project = Project::new(DEFAULT_MAX_BYTES);
    Run::new(&project, "c")
        .make_dir("x")
        .write("x/a", "two")
        .end();
    fs::write(project.path("x/mine"), "mine").unwrap();
    let (restored, left) = project.undo(&["c"], true);
    assert_eq!(restored, names(&[("x/a", Restoring::Removed)]));
    assert_eq!(left, [("x".to_owned(), "it is not empty".to_owned())]);
    assert_eq!(fs::read_to_string(project.path("x/mine")).unwrap(), "mine");
}

#[test]
fn undo_keeps_to_the_calls_that_it_is_given() {
    let project = Project::new(DEFAULT_MAX_BYTES);
    fs::write(project.path("a"), "one").unwrap();
    Run::new(&project, "c").write("a", "two").end();
    Run::new(&project, "d").write("a", "three").end();
    assert_eq!(
        project.undo(&["d"], false).0,
        names(&[("a", Restoring::WrittenBack)])
    );
    assert_eq!(fs::read_to_string(project.path("a")).unwrap(), "two");
    assert_eq!(
        project.undo(&["c"], false).0,
        names(&[("a", Restoring::WrittenBack)])
    );
    assert_eq!(fs::read_to_string(project.path("a")).unwrap(), "one");
}

#[test]
fn restored_file_has_its_permissions() {
    let project = Project::new(DEFAULT_MAX_BYTES);
    let path = project.path("run.sh");
    fs::write(&path, "one").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    Run::new(&project, "c").remove("run.sh").end();
    project.undo(&["c"], false);
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
        0o751
    );
}

/// The way to a restored path has no link, which could lead out of the grant.
#[test]
fn undo_follows_no_link() {
    let (project, outside) = (Project::new(DEFAULT_MAX_BYTES), TempDir::new().unwrap());
    fs::create_dir(project.path("dir")).unwrap();
    fs::write(project.path("dir/b"), "one").unwrap();
    Run::new(&project, "c").write("dir/b", "two").end();
    fs::rename(project.path("dir"), project.path("away")).unwrap();
    symlink(outside.path(), project.path("dir")).unwrap();
    let (restored, left) = project.undo(&["c"], true);
    assert_eq!(restored, vec![]);
    let reason = "Not a directory (os error 20)".to_owned();
    assert_eq!(left, [("dir/b".to_owned(), reason)]);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}
