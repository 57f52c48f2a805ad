use std::io::{Error, ErrorKind};

use pretty_assertions::assert_eq;

use super::{Mounts, PathError, explain, locate};

fn mounts(roots: &[&str], working_directory: Option<&str>) -> Option<Mounts> {
    Mounts::new(
        roots.iter().map(ToString::to_string).collect(),
        working_directory.map(str::to_owned),
    )
}

#[test]
fn paths_outside_are_passed_to_the_host() {
    let workspace: &[&str] = &["/workspace", "."];
    let two: &[&str] = &["/data/in", "/workspace"];
    let cases = [
        (workspace, "a.txt", "/workspace/a.txt"),
        (workspace, ".", "/workspace"),
        (workspace, "./a//b/", "/workspace/a/b"),
        (workspace, "/workspace", "/workspace"),
        (workspace, "/workspace/a", "/workspace/a"),
        (workspace, "../secret", "/workspace/../secret"),
        (workspace, "/etc/passwd", "/workspace/../etc/passwd"),
        (workspace, "/", "/workspace/../"),
        (workspace, "/workspace2/a", "/workspace/../workspace2/a"),
        (workspace, "/workspace/../etc", "/workspace/../etc"),
        (two, "a", "/data/in/a"),
        (two, "/workspace/a", "/workspace/a"),
        (two, "/etc", "/data/in/../../etc"),
    ];
    for (roots, path, expected) in cases {
        let mounts = mounts(roots, None).expect("a directory is mounted");
        assert_eq!(mounts.locate(path), expected, "{path} in {roots:?}");
    }
}

#[test]
fn relative_paths_start_in_a_mounted_working_directory() {
    let cases = [
        (Some("/workspace/sub"), Some("/workspace/sub")),
        (Some("/elsewhere"), Some("/data")),
        (None, Some("/data")),
    ];
    for (working_directory, expected) in cases {
        let base = mounts(&["/data", "/workspace"], working_directory).map(|mounts| mounts.base);
        assert_eq!(base.as_deref(), expected, "{working_directory:?}");
    }
    assert_eq!(mounts(&[], Some("/workspace")), None);
    assert_eq!(mounts(&["."], None), None);
}

#[test]
fn invalid_paths_are_refused() {
    let cases = [
        (
            "",
            PathError::Empty,
            "the path is empty; use `.` for the directory itself",
        ),
        (
            "a\0b",
            PathError::ZeroByte,
            "the path contains a zero byte, which no file name can have",
        ),
    ];
    for (path, error, text) in cases {
        assert_eq!(locate(path), Err(error));
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn every_error_kind_suggests_the_next_step() {
    let cases = [
        (
            ErrorKind::PermissionDenied,
            "`a` may not be read: the operator's grants do not allow it; work inside the granted directory, and say so if the task needs more",
        ),
        (
            ErrorKind::ReadOnlyFilesystem,
            "`a` cannot be read: the directory is granted read-only",
        ),
        (
            ErrorKind::NotADirectory,
            "`a` cannot be read: it, or a part of it, is not a directory",
        ),
        (
            ErrorKind::IsADirectory,
            "`a` is a directory and cannot be read as a file; use list_directory to see what it has",
        ),
        (
            ErrorKind::StorageFull,
            "`a` cannot be read: there is no space left",
        ),
        (ErrorKind::TimedOut, "`a` cannot be read: timed out"),
    ];
    for (kind, expected) in cases {
        assert_eq!(explain(&Error::from(kind), "read", "a"), expected);
    }
}
