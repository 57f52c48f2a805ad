use crate::{CacheDir, Pruned, mark_used};
use pretty_assertions::assert_eq;
use std::{
    fs::{self, File, FileTimes},
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    time::{Duration, SystemTime},
};

fn new() -> (tempfile::TempDir, PathBuf, CacheDir) {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("cache");
    let dir = CacheDir::create(&path).unwrap();
    (parent, path, dir)
}

fn names(dir: &CacheDir) -> Vec<String> {
    let mut names: Vec<String> = dir.files().unwrap().into_iter().map(|it| it.name).collect();
    names.sort();
    names
}

#[test]
fn new_file_is_seen_whole_or_not_at_all() {
    let (_parent, _, dir) = new();
    let mut dropped = dir.new_file().unwrap();
    dropped.write_all(b"half").unwrap();
    assert_eq!(names(&dir).len(), 1);
    drop(dropped);
    assert_eq!(names(&dir), Vec::<String>::new());

    let mut kept = dir.new_file().unwrap();
    kept.write_all(b"wh").unwrap();
    kept.write_all(b"ole").unwrap();
    kept.finish("entry").unwrap();
    assert_eq!(names(&dir), ["entry"]);
    assert_eq!(dir.read("entry", 5).unwrap(), b"whole");
    assert!(dir.read("entry", 4).is_err());
}

#[test]
fn file_of_others_or_link_is_refused() {
    let (_parent, path, dir) = new();
    dir.replace("open", &[b"x"]).unwrap();
    fs::set_permissions(path.join("open"), fs::Permissions::from_mode(0o644)).unwrap();
    dir.replace("target", &[b"x"]).unwrap();
    std::os::unix::fs::symlink(path.join("target"), path.join("link")).unwrap();
    fs::create_dir(path.join("directory")).unwrap();
    for name in ["open", "link", "directory", "absent"] {
        assert!(dir.open_file(name, 10).is_err(), "{name}");
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(CacheDir::open(&path).is_err());
}

#[test]
fn eviction_removes_least_recently_used_entries() {
    let (_parent, path, dir) = new();
    for (name, used_s) in [("a", 3), ("b", 1), ("c", 2), ("other", 0)] {
        dir.replace(name, &[b"12345"]).unwrap();
        let times =
            FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH + Duration::from_secs(used_s));
        let file = File::options().append(true).open(path.join(name)).unwrap();
        file.set_times(times).unwrap();
    }
    mark_used(&dir.open_file("c", 5).unwrap());
    let evicted = dir.evict(10, |name| name != "other").unwrap();
    assert_eq!(evicted, Pruned { files: 1, bytes: 5 });
    assert_eq!(names(&dir), ["a", "c", "other"]);
    dir.evict(9, |name| name != "other").unwrap();
    assert_eq!(names(&dir), ["c", "other"]);
}

#[test]
fn incomplete_file_is_abandoned_after_an_hour() {
    let (_parent, path, dir) = new();
    let young = dir.new_file().unwrap();
    let listed = dir.files().unwrap();
    assert!(!listed[0].is_abandoned());
    let file = File::options()
        .append(true)
        .open(path.join(&listed[0].name));
    let old = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    file.unwrap().set_modified(old).unwrap();
    assert!(dir.files().unwrap()[0].is_abandoned());
    drop(young);
}
