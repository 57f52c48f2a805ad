//! The bounds of the log, and damage in it.

use super::{Project, Run};
use crate::*;
use pretty_assertions::assert_eq;
use std::fs;

impl Project {
    /// The number of entries, and of contents.
    pub(super) fn stored(&self) -> (usize, usize) {
        let log = self.state.path().join("undo");
        let count = |dir| fs::read_dir(dir).map_or(0, Iterator::count);
        (count(log.clone()) - 1, count(log.join("contents")))
    }
}

#[test]
fn call_that_changes_nothing_has_no_entry() {
    let project = Project::new(DEFAULT_MAX_BYTES);
    fs::write(project.path("a"), "one").unwrap();
    Run::new(&project, "c").write("a", "one").end();
    Run::new(&project, "c")
        .write("tmp", "two")
        .remove("tmp")
        .end();
    assert_eq!(project.stored().0, 0);
}

#[test]
fn file_that_is_too_large_is_left() {
    let project = Project::new(DEFAULT_MAX_BYTES);
    let max = usize::try_from(MAX_FILE_BYTES).unwrap();
    for (name, size) in [("fits", max), ("large", max + 1)] {
        fs::write(project.path(name), vec![b'x'; size]).unwrap();
    }
    Run::new(&project, "c")
        .write("fits", "two")
        .write("large", "two")
        .end();
    let (restored, left) = project.undo(&["c"], true);
    assert_eq!(restored, super::names(&[("fits", Restoring::WrittenBack)]));
    let reason = "it was larger than 16 MiB before the change, so it was not kept";
    assert_eq!(left, [("large".to_owned(), reason.to_owned())]);
    assert_eq!(
        fs::metadata(project.path("fits")).unwrap().len(),
        MAX_FILE_BYTES
    );
}

#[test]
fn call_keeps_no_more_than_the_log_may_hold() {
    let project = Project::new(900);
    for name in ["a", "b", "c"] {
        fs::write(project.path(name), name.repeat(400)).unwrap();
    }
    Run::new(&project, "c")
        .write("a", "two")
        .write("b", "two")
        .write("c", "two")
        .end();
    let (restored, left) = project.undo(&["c"], true);
    assert_eq!(restored, super::names(&[("a", Restoring::WrittenBack)]));
    let reason = "the call changed more than the undo log may hold; this change and later ones were not kept";
    assert_eq!(left, [("b".to_owned(), reason.to_owned())]);
}

#[test]
fn older_entries_make_room_for_newer_ones() {
    let project = Project::new(4_000);
    for number in 0..20 {
        fs::write(project.path("a"), number.to_string().repeat(500)).unwrap();
        Run::new(&project, &format!("c{number}"))
            .write("a", "two")
            .end();
    }
    let (entries, contents) = project.stored();
    assert_eq!((entries, contents), (3, 3));
    assert_eq!(
        project.undo(&["c19"], false).0,
        super::names(&[("a", Restoring::WrittenBack)])
    );
    assert_eq!(
        fs::read_to_string(project.path("a")).unwrap(),
        "19".repeat(500)
    );
}

#[test]
fn equal_contents_are_stored_once() {
    let project = Project::new(DEFAULT_MAX_BYTES);
    for name in ["a", "b"] {
        fs::write(project.path(name), "one").unwrap();
    }
    Run::new(&project, "c")
        .write("a", "two")
        .write("b", "two")
        .end();
    assert_eq!(project.stored(), (1, 1));
}

/// A damaged entry is removed where the log is too large, so that no tool is kept from writing.
#[test]
fn damaged_entry_keeps_no_call_from_writing() {
    let project = Project::new(600);
    fs::write(project.path("a"), "one").unwrap();
    for call in ["c", "d", "e"] {
        Run::new(&project, call).write("a", call).end();
        for entry in fs::read_dir(project.state.path().join("undo")).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && call != "e" {
                fs::write(path, "{}\n".repeat(300)).unwrap();
            }
        }
    }
    assert_eq!(
        project.undo(&["e"], false).0,
        super::names(&[("a", Restoring::WrittenBack)])
    );
    assert_eq!(fs::read_to_string(project.path("a")).unwrap(), "d");
}

#[test]
fn damaged_log_is_refused_and_a_cut_line_is_not() {
    let project = Project::new(DEFAULT_MAX_BYTES);
    fs::write(project.path("a"), "one").unwrap();
    Run::new(&project, "c").write("a", "two").end();
    let entry = |project: &Project| {
        let mut entries = fs::read_dir(project.state.path().join("undo")).unwrap();
        entries
            .find_map(|entry| Some(entry.unwrap().path()).filter(|path| path.is_file()))
            .unwrap()
    };
    let path = entry(&project);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let killed = "the program ended during the call, so it may have changed since";
    assert_eq!(
        project.undo(&["c"], false).1,
        [("a".to_owned(), killed.to_owned())]
    );

    fs::write(
        &path,
        [b"{\"kind\":\"nothing\"}\n", whole.as_slice()].concat(),
    )
    .unwrap();
    let changes = [Undo {
        log: project.log.clone(),
        calls: [].into(),
    }];
    let error = undo(&changes, false).unwrap_err();
    assert!(
        error.to_string().starts_with("unknown variant `nothing`"),
        "{error}"
    );

    fs::write(&path, &whole).unwrap();
    let contents = project.state.path().join("undo/contents");
    let content = fs::read_dir(contents)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::write(content, "other").unwrap();
    let reason = "a stored file of the undo log is damaged";
    assert_eq!(
        project.undo(&["c"], false).1,
        [("a".to_owned(), reason.to_owned())]
    );
    assert_eq!(fs::read_to_string(project.path("a")).unwrap(), "two");
}
