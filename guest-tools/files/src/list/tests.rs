use std::fs;

use agent_tool::Json;
use pretty_assertions::assert_eq;

use super::{Entry, ListDirectory, Listing, list_directory};
use crate::budget::MAX_RESULT_BYTES;
use crate::walk::Kind;

fn list(path: &str, depth: usize) -> Result<Listing, String> {
    list_directory(ListDirectory {
        path: path.to_owned(),
        depth,
    })
    .map(|Json(listing)| listing)
    .map_err(|failure| failure.to_string())
}

fn entry(name: &str, kind: Kind, size_bytes: Option<u64>) -> Entry {
    Entry {
        name: name.to_owned(),
        kind,
        size_bytes,
    }
}

#[test]
fn directory_is_listed_to_the_depth() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().to_str().expect("UTF-8");
    fs::create_dir(directory.path().join("sub")).expect("a directory");
    fs::write(directory.path().join("sub/inner.txt"), "abc").expect("a file");
    fs::write(directory.path().join("top.txt"), "").expect("a file");
    let sub = || entry("sub", Kind::Directory, None);
    let top = || entry("top.txt", Kind::File, Some(0));
    let cases = [
        (1, vec![sub(), top()]),
        (
            2,
            vec![sub(), entry("sub/inner.txt", Kind::File, Some(3)), top()],
        ),
    ];
    for (depth, entries) in cases {
        assert_eq!(
            list(root, depth),
            Ok(Listing {
                path: root.to_owned(),
                entries,
                truncated: false,
                note: None
            })
        );
    }
}

#[test]
fn failures_suggest_a_remedy() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory
        .path()
        .join("a.txt")
        .to_str()
        .expect("UTF-8")
        .to_owned();
    fs::write(&file, "").expect("a file");
    assert_eq!(
        list(&file, 1),
        Err(format!(
            "`{file}` is not a directory; use read_file to read it"
        ))
    );
    assert_eq!(
        list(&format!("{file}x"), 1),
        Err(format!(
            "no such file or directory `{file}x`; the directory `{}` has: a.txt",
            directory.path().display()
        ))
    );
}

#[test]
fn long_listing_is_cut_below_the_hosts_inline_size() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::create_dir(directory.path().join("a")).expect("a directory");
    for number in 0..300 {
        fs::write(
            directory
                .path()
                .join(format!("a/{number:03}-{}", "x".repeat(100))),
            "",
        )
        .expect("a file");
        fs::write(
            directory
                .path()
                .join(format!("{number:03}-{}", "\u{1}".repeat(4))),
            "",
        )
        .expect("a file");
    }
    let listing = list(directory.path().to_str().expect("UTF-8"), 2).expect("a listing");
    let shown = listing.entries.len();
    assert_eq!(
        listing
            .entries
            .iter()
            .filter(|entry| !entry.name.contains('/'))
            .count(),
        301
    );
    assert!(listing.truncated && (302..601).contains(&shown), "{shown}");
    assert_eq!(
        listing.note,
        Some(format!(
            "only {shown} entries are shown, those nearest to the top first; list a directory inside, or use search_files with a glob"
        ))
    );
    let json = serde_json::to_string(&listing).expect("JSON").len();
    assert!(json < MAX_RESULT_BYTES + 1024, "{json}");
}
