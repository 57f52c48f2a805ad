//! Rulings on file operations.

use super::{rules, short};
use crate::policy::{DirGrant, DirMode, FileOp, Grants, Ruling, decide_file};
use agent_host_types::tool::Effect;
use pretty_assertions::assert_eq;

fn dir(mode: DirMode, allow: &[&str], deny: &[&str]) -> DirGrant {
    DirGrant {
        allow: rules(allow),
        deny: rules(deny),
        ..DirGrant::new("/srv/work", "/workspace", mode)
    }
}

#[test]
fn file_ruling_follows_grant_effect_and_operation() {
    use DirMode::{ReadOnly as Ro, ReadWrite as Rw};
    use Effect::{Effectful, Idempotent, ReadOnly};
    use FileOp::{List, Move, Read, Stat, Write};
    let grants = Grants {
        dirs: vec![
            dir(Ro, &[], &[]),
            dir(Rw, &[], &["private", "a/b/c"]),
            dir(Rw, &["docs/**", "*.md"], &["docs/draft.md"]),
        ],
        ..Grants::default()
    };
    let table = [
        (0, Effectful, Stat, "x", "allow grants.dir[0]"),
        (0, Effectful, List, "", "allow grants.dir[0]"),
        (0, Effectful, Read, "x", "allow grants.dir[0]"),
        (0, Effectful, Write, "x", "deny grants.dir[0].mode"),
        (0, Effectful, Move, "x", "deny grants.dir[0].mode"),
        (1, Effectful, Write, "x", "allow grants.dir[1]"),
        (1, Idempotent, Write, "x", "allow grants.dir[1]"),
        (1, ReadOnly, Write, "x", "deny effect.read-only"),
        (1, ReadOnly, Move, "x", "deny effect.read-only"),
        (1, ReadOnly, Read, "x", "allow grants.dir[1]"),
        (
            1,
            Effectful,
            Stat,
            "private",
            "deny grants.dir[1].deny `private`",
        ),
        (
            1,
            Effectful,
            List,
            "x/private/y",
            "deny grants.dir[1].deny `private`",
        ),
        (
            1,
            Effectful,
            Read,
            "private/y",
            "deny grants.dir[1].deny `private`",
        ),
        (1, Effectful, Write, "a", "allow grants.dir[1]"),
        (1, Effectful, Move, "a", "deny grants.dir[1].deny `a/b/c`"),
        (1, Effectful, Move, "a/b", "deny grants.dir[1].deny `a/b/c`"),
        (1, Effectful, Move, "z", "allow grants.dir[1]"),
        (2, Effectful, Read, "docs/a/b", "allow grants.dir[2]"),
        (2, Effectful, Read, "x/y.md", "allow grants.dir[2]"),
        (
            2,
            Effectful,
            Read,
            "docs/draft.md",
            "deny grants.dir[2].deny `docs/draft.md`",
        ),
        (2, Effectful, Read, "src/x.rs", "deny grants.dir[2].allow"),
        (2, Effectful, Write, "src/x.rs", "deny grants.dir[2].allow"),
        (2, Effectful, Move, "src", "deny grants.dir[2].allow"),
        (2, Effectful, Stat, "src/x.rs", "allow grants.dir[2]"),
        (2, Effectful, List, "src", "allow grants.dir[2]"),
        (3, Effectful, Read, "x", "deny default-deny"),
    ];
    for (grant, effect, op, path, expected) in table {
        assert_eq!(
            short(decide_file(&grants, effect, grant, op, path)),
            expected,
            "{effect:?} {op:?} {path} in {grant}"
        );
    }
    assert_eq!(
        decide_file(&Grants::default(), Effectful, 0, Read, "x"),
        Ruling::Deny {
            rule: "default-deny".to_owned(),
            reason: "no directory grant covers this path".to_owned(),
            grant: None,
        }
    );
}

#[test]
fn file_denial_suggests_the_smallest_grant_change() {
    use DirMode::{ReadOnly as Ro, ReadWrite as Rw};
    use Effect::{Effectful, ReadOnly};
    use FileOp::{Read, Write};
    let dir = |mode, allow: &[&str]| DirGrant {
        guest: "/work \"1\"\u{202e}".to_owned(),
        ..dir(mode, allow, &["private"])
    };
    let grants = Grants {
        dirs: vec![dir(Ro, &[]), dir(Ro, &["docs/*"]), dir(Rw, &["docs/*"])],
        ..Grants::default()
    };
    let head = "# changed lines of the [[grants.dir]] with guest = \"/work \\\"1\\\"\\U0000202E\"";
    let mode = "mode = \"read-write\"";
    let allow = |path: &str| format!("allow = [\"docs/*\", \"{path}\"]");
    for (grant, effect, op, path, expected) in [
        (0, Effectful, Write, "a", Some(vec![mode.to_owned()])),
        (0, Effectful, Write, "private", None),
        (0, ReadOnly, Write, "a", None),
        (1, ReadOnly, Read, "a", Some(vec![allow("/a")])),
        (1, ReadOnly, Write, "a", None),
        (1, Effectful, Write, "docs/a", Some(vec![mode.to_owned()])),
        (
            1,
            Effectful,
            Write,
            "src/a*",
            Some(vec![allow("/src/a[*]"), mode.to_owned()]),
        ),
        // No pattern can name this path.
        (2, Effectful, Read, "a{b", None),
        (2, ReadOnly, Write, "docs/a", None),
    ] {
        let lines = |lines: Vec<String>| format!("{head}\n{}", lines.join("\n"));
        let Ruling::Deny { grant: found, .. } = decide_file(&grants, effect, grant, op, path)
        else {
            panic!("{path} is allowed");
        };
        assert_eq!(
            found,
            expected.map(lines),
            "{effect:?} {op:?} {path} in {grant}"
        );
    }
}
