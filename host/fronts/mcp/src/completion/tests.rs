use super::{bounded, entry_paths, root_paths};
use crate::resources::DirEntry;
use pretty_assertions::assert_eq;

#[test]
fn paths_begin_with_what_was_typed() {
    let roots = ["/workspace".to_owned(), "/data/old/".to_owned()];
    for (typed, expected) in [
        ("", vec!["data/old/", "workspace/"]),
        ("w", vec!["workspace/"]),
        ("data/", vec!["data/old/"]),
        ("workspace/", vec![]),
        ("/workspace", vec![]),
        ("../etc", vec![]),
    ] {
        let found = Vec::from_iter(root_paths(&roots, typed));
        assert_eq!(found, expected, "{typed}");
    }
    let entry = |name: &str, kind: &str| DirEntry {
        name: name.to_owned(),
        kind: kind.to_owned(),
        size: None,
    };
    let entries = [
        entry("sub", "directory"),
        entry("summary.md", "file"),
        entry("a b", "file"),
    ];
    for (typed, expected) in [
        (
            "workspace/",
            vec!["workspace/sub/", "workspace/summary.md", "workspace/a b"],
        ),
        (
            "workspace/su",
            vec!["workspace/sub/", "workspace/summary.md"],
        ),
        ("workspace/x", vec![]),
    ] {
        assert_eq!(
            entry_paths("workspace", &entries, typed),
            expected,
            "{typed}"
        );
    }
}

#[test]
fn values_are_at_most_as_many_as_the_protocol_allows() {
    for (count, shown, has_more) in [(0, 0, false), (100, 100, false), (101, 100, true)] {
        let values = (0..count).map(|n| format!("{n:03}")).collect();
        let info = bounded(values).unwrap();
        let found = (info.values.len(), info.total, info.has_more);
        assert_eq!(found, (shown, Some(count), Some(has_more)));
    }
}
