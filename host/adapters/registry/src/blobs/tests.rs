use super::Blobs;
use agent_host_types::id::Digest;
use pretty_assertions::assert_eq;
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, thread};

fn names(path: &Path) -> usize {
    fs::read_dir(path).unwrap().count()
}

#[test]
fn blob_is_verified_on_every_read() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("blobs");
    let blobs = Blobs::open(&path, 1000).unwrap();
    let digest = blobs.put(b"component").unwrap();
    assert_eq!(digest, Digest::of(b"component"));
    let read = || blobs.get(digest, 100).unwrap();
    assert_eq!(read(), Some(b"component".to_vec()));
    let file = path.join(digest.hex());

    let damage: [&dyn Fn(); 4] = [
        &|| fs::write(&file, b"Component").unwrap(),
        &|| fs::write(&file, b"component and more").unwrap(),
        &|| fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap(),
        &|| {
            fs::rename(&file, path.join("elsewhere")).unwrap();
            std::os::unix::fs::symlink(path.join("elsewhere"), &file).unwrap();
        },
    ];
    for damage in damage {
        blobs.put(b"component").unwrap();
        damage();
        assert_eq!(read(), None);
        assert!(fs::symlink_metadata(&file).is_err());
    }
    blobs.put(b"component").unwrap();
    assert_eq!(read(), Some(b"component".to_vec()));
    assert_eq!(blobs.get(Digest::of(b"other"), 100).unwrap(), None);
}

#[test]
fn blobs_stay_below_their_bound() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("blobs");
    let blobs = Blobs::open(&path, 100).unwrap();
    for byte in 0..10_u8 {
        blobs.put(&[byte; 40]).unwrap();
        let kept: u64 = fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(kept <= 100, "{kept}");
    }
    assert_eq!(names(&path), 2);
}

#[test]
fn unfinished_blob_leaves_nothing() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("blobs");
    let blobs = Blobs::open(&path, 100).unwrap();
    let mut new = blobs.start().unwrap();
    new.write(b"half").unwrap();
    assert_eq!(names(&path), 1);
    drop(new);
    assert_eq!(names(&path), 0);
}

#[test]
fn concurrent_writers_of_one_blob_both_succeed() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("blobs");
    let content = vec![7; 100_000];
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let blobs = Blobs::open(&path, 1 << 20).unwrap();
                for _ in 0..20 {
                    let digest = blobs.put(&content).unwrap();
                    assert_eq!(blobs.get(digest, 100_000).unwrap().as_ref(), Some(&content));
                }
            });
        }
    });
    assert_eq!(names(&path), 1);
}
