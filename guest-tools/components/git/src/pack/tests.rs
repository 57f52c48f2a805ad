use std::fs;
use std::path::PathBuf;

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::applied;
use crate::log::tests::Made;
use crate::object::Oid;
use crate::repository::Repository;

#[test]
fn difference_is_applied_or_refused() {
    let base = b"0123456789";
    let cases: Vec<(&[u8], Option<&[u8]>)> = vec![
        (b"\x0a\x03\x03abc", Some(b"abc")),
        (b"\x0a\x04\x91\x02\x04", Some(b"2345")),
        (b"\x0a\x05\x91\x08\x02\x03xyz", Some(b"89xyz")),
        (b"\x0b\x03\x03abc", None),
        (b"\x0a\x03\x02ab", None),
        (b"\x0a\x01\x02ab", None),
        (b"\x0a\x03\x00", None),
        (b"\x0a\x03\x05abc", None),
        (b"\x0a\x04\x91\x08\x04", None),
        (b"\x0a\x04\xff\xff\xff\xff\xff\xff\xff\xff", None),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", None),
        (b"", None),
    ];
    for (difference, expected) in cases {
        assert_eq!(
            applied(base, difference).as_deref(),
            expected,
            "{difference:?}"
        );
    }
}

/// The one pack of a repository.
fn pack_of(made: &Made) -> (PathBuf, PathBuf) {
    let entries = fs::read_dir(made.root().join(".git/objects/pack")).expect("a directory");
    let pack = entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| {
            path.extension()
                .is_some_and(|extension| extension == "pack")
        })
        .expect("a pack");
    (pack.with_extension("idx"), pack)
}

fn writable(path: &PathBuf, bytes: &[u8]) {
    // Git makes packs read-only.
    fs::remove_file(path).expect("a file");
    fs::write(path, bytes).expect("a file");
}

#[test]
fn damaged_pack_is_no_panic_fuzz() {
    let made = Made::new();
    let ids: Vec<Oid> = made
        .git(&["rev-list", "--all", "--objects"])
        .lines()
        .filter_map(|line| Oid::parse(line.split(' ').next()?))
        .collect();
    let (index, pack) = pack_of(&made);
    let originals = [&index, &pack].map(|path| fs::read(path).expect("a file"));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(100));
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30);
    let result = runner.run(&(0..2_usize, changes), |(which, changes)| {
        let mut bytes = originals.get(which).expect("a file").clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        writable(if which == 0 { &index } else { &pack }, &bytes);
        if let Ok(repository) = Repository::open(&made.path()) {
            for id in &ids {
                let _ = repository.read(id);
            }
            let _ = repository.with_prefix("abcd");
        }
        for (path, original) in [&index, &pack].into_iter().zip(&originals) {
            writable(path, original);
        }
        Ok(())
    });
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn every_object_of_git_is_read() {
    let made = Made::new();
    let repository = Repository::open(&made.path()).expect("a repository");
    let objects = made.git(&[
        "cat-file",
        "--batch-all-objects",
        "--batch-check=%(objectname) %(objecttype) %(objectsize)",
    ]);
    let mut count = 0;
    for line in objects.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let object = repository
            .read(&Oid::parse(fields[0]).expect("an id"))
            .expect("an object");
        let kind = format!("{:?}", object.kind).to_lowercase();
        assert_eq!(
            (kind.as_str(), object.data.len().to_string().as_str()),
            (fields[1], fields[2]),
            "{line}"
        );
        count += 1;
    }
    assert!(count > 150, "{count}");
}
