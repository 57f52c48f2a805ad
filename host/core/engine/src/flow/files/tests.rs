//! Tests the table of labelled files.

use super::*;
use pretty_assertions::assert_eq;

fn labelled(paths: &[&str]) -> LabelledFiles {
    let mut files = LabelledFiles::default();
    for path in paths {
        files.label(path, &[format!("http:{}", path.replace('/', "."))]);
    }
    files
}

#[test]
fn file_has_the_sources_above_and_below_it() {
    let files = labelled(&["/w/a", "/w/a/b", "/w/ab", "/x"]);
    let cases: [(&str, &[&str]); 6] = [
        ("/w/a", &["http:.w.a", "http:.w.a.b"]),
        ("/w/a/b", &["http:.w.a", "http:.w.a.b"]),
        ("/w/a/b/c", &["http:.w.a", "http:.w.a.b"]),
        ("/w/a/", &["http:.w.a", "http:.w.a.b"]),
        ("/w", &["http:.w.a", "http:.w.a.b", "http:.w.ab"]),
        ("/y", &[]),
    ];
    for (path, expected) in cases {
        let found: Vec<String> = files.sources_of(path).into_iter().collect();
        assert_eq!(found, expected, "{path}");
    }
}

/// An event names the directories in place of too many files, and loses no source.
#[test]
fn many_files_are_recorded_as_their_directories() {
    let mut files = LabelledFiles::default();
    for n in 0..3 * MAX_FILES {
        let path = format!("/w/d{}/f{n}", n % 2);
        files.label(&path, &[format!("http:h{}", n % 2)]);
    }
    files.label("/w/top", &["mcp:mail".to_owned()]);
    let file = |path: &str, source: &str| LabelledFile {
        path: path.to_owned(),
        sources: vec![source.to_owned()],
    };
    let expected = [
        file("/w/d0", "http:h0"),
        file("/w/d1", "http:h1"),
        file("/w/top", "mcp:mail"),
    ];
    assert_eq!(files.recorded(), expected);
    // Without directories, the root stands for all.
    let mut flat = LabelledFiles::default();
    for n in 0..=MAX_FILES {
        flat.label(&format!("/f{n}"), &["mcp:mail".to_owned()]);
    }
    assert_eq!(flat.recorded(), [file("/", "mcp:mail")]);
    let mut read = LabelledFiles::default();
    for LabelledFile { path, sources } in flat.recorded() {
        read.label(&path, &sources);
    }
    assert_eq!(read.sources_of("/any/f").len(), 1);
}

/// A session sees what another one of its run wrote, and records its own alone.
#[test]
fn sessions_of_a_run_share_what_was_written() {
    let mut caller = labelled(&["/w/a"]);
    let mut agent = LabelledFiles::of(caller.run());
    agent.label("/w/b", &["mcp:mail".to_owned()]);
    assert_eq!(agent.sources_of("/w/a").len(), 1);
    assert_eq!(caller.sources_of("/w/b").len(), 1);
    assert_eq!(agent.recorded().len(), 1);
    caller.label("/w/c", &["mcp:mail".to_owned()]);
    assert_eq!(agent.sources_of("/w").len(), 2);
}
