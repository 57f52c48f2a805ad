use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::{Kind, MAX_NAMES_BYTES, Member, Names, safe_path};
use agent_tool_bounded::Failure;

#[test]
fn name_that_may_mislead_is_refused() {
    let long = "x".repeat(256);
    let deep = "d/".repeat(65);
    let whole = "d/".repeat(3_000);
    let cases: &[(&str, Result<&str, &str>)] = &[
        ("a/b.txt", Ok("a/b.txt")),
        ("./a//b/", Ok("a/b")),
        (".", Ok("")),
        ("a..b/...", Ok("a..b/...")),
        ("größe", Ok("größe")),
        ("/a", Err("its name is an absolute path")),
        ("..", Err("its name leads out of the directory by `..`")),
        ("a/../a", Err("its name leads out of the directory by `..`")),
        (
            "a\\b",
            Err("its name has a backslash, which some systems take for a slash"),
        ),
        ("a\0b", Err("its name has a control character")),
        ("a\u{85}b", Err("its name has a control character")),
        ("a\u{fffd}", Err("its name is not UTF-8")),
        ("C:/a", Err("its name starts with a drive")),
        ("./c:a", Err("its name starts with a drive")),
        (&long, Err("a part of its name is too long")),
        (&deep, Err("it lies in too many directories")),
        (&whole, Err("its name is too long")),
    ];
    for (name, expected) in cases {
        assert_eq!(
            safe_path(name).as_deref(),
            expected.as_ref().copied(),
            "{name:?}"
        );
    }
}

#[test]
fn member_that_is_no_plain_file_is_refused() {
    let file = Member {
        index: 0,
        name: "a".to_owned(),
        kind: Kind::File,
        size: Some(1),
        encrypted: false,
        target: None,
    };
    let of_kind = |kind| Member {
        kind,
        ..file.clone()
    };
    let cases = [
        (file.clone(), Ok("a".to_owned())),
        (of_kind(Kind::Directory), Ok("a".to_owned())),
        (
            of_kind(Kind::Symlink),
            Err("it is a symbolic link; links are not created"),
        ),
        (
            of_kind(Kind::HardLink),
            Err("it is a hard link; links are not created"),
        ),
        (
            of_kind(Kind::Other),
            Err("it is neither a file nor a directory"),
        ),
        (
            Member {
                encrypted: true,
                ..file.clone()
            },
            Err("it is encrypted, and no password can be given"),
        ),
        (
            Member {
                name: "./".to_owned(),
                ..file.clone()
            },
            Err("it has no name"),
        ),
    ];
    for (member, expected) in cases {
        assert_eq!(member.safe_path(), expected, "{member:?}");
    }
}

#[test]
fn names_are_bounded_together() {
    let mut names = Names::default();
    let name = "x".repeat(MAX_NAMES_BYTES);
    assert_eq!(names.add(&name), Ok(true));
    assert_eq!(names.add(&name), Ok(false));
    assert_eq!(
        names.add("y"),
        Err(Failure::new(
            "the names of the archive's members have more than 8388608 bytes; it cannot be read"
        ))
    );
}

proptest! {
    #[test]
    fn safe_path_stays_below_fuzz(name in "[a./\\\\:C\u{0}\u{e9}]{0,40}") {
        if let Ok(path) = safe_path(&name) {
            prop_assert!(!path.starts_with('/'));
            for part in path.split('/') {
                prop_assert!(part != ".." && part != ".", "{}", path);
                prop_assert!(path.is_empty() || !part.is_empty(), "{}", path);
            }
        }
    }
}
