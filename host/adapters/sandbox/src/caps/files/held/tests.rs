use super::{HeldDir, HiddenObject};
use pretty_assertions::assert_eq;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, openat, utimensat};
use std::{fs, path::Path};

fn held(dir: &Path) -> HeldDir {
    let open = |flags| openat(CWD, dir, flags, Mode::empty()).unwrap();
    let mut held = HeldDir::new(open(OFlags::PATH), true, "a".into());
    assert!(held.hold(&open(OFlags::PATH), &"b".into()));
    held
}

fn inodes(held: &HeldDir, has_times: bool) -> Vec<u64> {
    let mut objects: Vec<HiddenObject> = Vec::new();
    held.add_objects(has_times, &mut objects);
    objects.iter().map(|object| object.id.inode).collect()
}

fn inode(path: &Path) -> u64 {
    std::os::unix::fs::MetadataExt::ino(&fs::symlink_metadata(path).unwrap())
}

#[test]
fn change_of_a_held_name_is_seen_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (a, b, other) = (
        dir.path().join("a"),
        dir.path().join("b"),
        dir.path().join("other"),
    );
    let held = held(dir.path());
    for has_times in [true, false] {
        assert!(inodes(&held, has_times).is_empty());
        fs::write(&b, "").unwrap();
        assert_eq!(inodes(&held, has_times), [inode(&b)]);
        fs::write(&other, "").unwrap();
        fs::rename(&other, &b).unwrap();
        assert_eq!(inodes(&held, has_times), [inode(&b)]);
        fs::hard_link(&b, &a).unwrap();
        assert_eq!(inodes(&held, has_times), [inode(&a), inode(&b)]);
        fs::remove_file(&a).unwrap();
        fs::remove_file(&b).unwrap();
        assert!(inodes(&held, has_times).is_empty());
    }
}

/// A program can set the time of modification back, but not that of the change.
#[test]
fn change_is_seen_if_the_time_of_modification_is_set_back() {
    let dir = tempfile::tempdir().unwrap();
    let held = held(dir.path());
    let set_back = || {
        let time = Timespec {
            tv_sec: 1_000_000_000,
            tv_nsec: 0,
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        utimensat(CWD, dir.path(), &times, AtFlags::empty()).unwrap();
    };
    set_back();
    assert!(inodes(&held, true).is_empty());
    fs::write(dir.path().join("a"), "").unwrap();
    set_back();
    assert_eq!(inodes(&held, true), [inode(&dir.path().join("a"))]);
}

#[test]
fn names_in_an_unchanged_directory_are_looked_up_once() {
    // It is older than this build.
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let open = openat(CWD, dir, OFlags::PATH, Mode::empty()).unwrap();
    let held = HeldDir::new(open, true, "src".into());
    let expected = [inode(&dir.join("src"))];
    assert_eq!(inodes(&held, false), expected);
    assert!(super::lock(&held.seen).is_none());
    for _ in 0..2 {
        assert_eq!(inodes(&held, true), expected);
        assert!(super::lock(&held.seen).is_some());
    }
}
