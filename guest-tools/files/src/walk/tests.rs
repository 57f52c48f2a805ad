use std::fs;

use pretty_assertions::assert_eq;

use super::{Bounds, Found, Kind, Walk, walk};

fn found(name: &str, kind: Kind, size_bytes: Option<u64>) -> Found {
    Found {
        name: name.to_owned(),
        kind,
        size_bytes,
    }
}

fn sample() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    fs::create_dir_all(root.join("b/deep/deeper")).expect("directories");
    fs::create_dir_all(root.join(".git/objects")).expect("directories");
    fs::write(root.join("a.txt"), "four").expect("a file");
    fs::write(root.join("b/c.txt"), "").expect("a file");
    fs::write(root.join("b/deep/d.txt"), "12").expect("a file");
    std::os::unix::fs::symlink("/", root.join("link")).expect("a link");
    directory
}

#[test]
fn entries_come_sorted_with_kinds_and_sizes() {
    let directory = sample();
    let top = vec![
        found(".git", Kind::Directory, None),
        found("a.txt", Kind::File, Some(4)),
        found("b", Kind::Directory, None),
        found("link", Kind::Symlink, None),
    ];
    assert_eq!(
        walk(
            directory.path(),
            Bounds {
                depth: 1,
                entries: 100
            }
        )
        .expect("a walk"),
        Walk {
            found: top,
            complete: true
        }
    );
}

#[test]
fn deeper_levels_skip_links_and_git() {
    let directory = sample();
    let walk = walk(
        directory.path(),
        Bounds {
            depth: 3,
            entries: 100,
        },
    )
    .expect("a walk");
    let names: Vec<&str> = walk.found.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(
        (names, walk.complete),
        (
            vec![
                ".git",
                "a.txt",
                "b",
                "b/c.txt",
                "b/deep",
                "b/deep/d.txt",
                "b/deep/deeper",
                "link"
            ],
            true
        )
    );
}

#[test]
fn walk_starting_in_git_lists_it() {
    let directory = sample();
    let walk = walk(
        &directory.path().join(".git"),
        Bounds {
            depth: 1,
            entries: 100,
        },
    )
    .expect("a walk");
    assert_eq!(walk.found, vec![found("objects", Kind::Directory, None)]);
}

#[test]
fn cut_leaves_out_deep_entries() {
    let directory = sample();
    let walk = walk(
        directory.path(),
        Bounds {
            depth: 9,
            entries: 5,
        },
    )
    .expect("a walk");
    let names: Vec<&str> = walk.found.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(
        (names, walk.complete),
        (vec![".git", "a.txt", "b", "b/c.txt", "link"], false)
    );
}

#[test]
fn missing_directory_is_an_error() {
    let directory = sample();
    let error = walk(
        &directory.path().join("none"),
        Bounds {
            depth: 1,
            entries: 1,
        },
    )
    .expect_err("no walk");
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
