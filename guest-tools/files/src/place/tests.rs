use pretty_assertions::assert_eq;

use super::{Mounts, locate};

fn mounts(roots: &[&str], working_folder: Option<&str>) -> Option<Mounts> {
    Mounts::new(
        roots.iter().map(ToString::to_string).collect(),
        working_folder.map(str::to_owned),
    )
}

#[test]
fn paths_are_asked_of_the_host() {
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
        let mounts = mounts(roots, None).expect("a folder is mounted");
        assert_eq!(mounts.locate(path), expected, "{path} in {roots:?}");
    }
}

#[test]
fn relative_paths_start_in_the_working_folder_where_it_is_mounted() {
    let cases = [
        (Some("/workspace/sub"), Some("/workspace/sub")),
        (Some("/elsewhere"), Some("/data")),
        (None, Some("/data")),
    ];
    for (working_folder, expected) in cases {
        let base = mounts(&["/data", "/workspace"], working_folder).map(|mounts| mounts.base);
        assert_eq!(base.as_deref(), expected, "{working_folder:?}");
    }
    assert_eq!(mounts(&[], Some("/workspace")), None);
    assert_eq!(mounts(&["."], None), None);
}

#[test]
fn paths_that_name_nothing_are_refused() {
    let cases = [
        ("", "the path is empty; use `.` for the folder itself"),
        (
            "a\0b",
            "the path contains a zero byte, which no file name can have",
        ),
    ];
    for (path, expected) in cases {
        assert_eq!(
            locate(path).map_err(|failure| failure.to_string()),
            Err(expected.to_owned())
        );
    }
}
