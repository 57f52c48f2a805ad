//! Rules for creating and moving links.

use super::{
    super::{links::MAX_ENTRIES, resolve::Resolver},
    fixture::{Fixture, empty, open, populated_dir, writable},
};
use agent_host_engine::policy::DirMode;
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    tool::Effect,
};
use pretty_assertions::assert_eq;
use std::{fs, os::unix::fs::symlink};

/// The refusals, each with its rule.
fn refusals(fixture: &Fixture) -> Vec<(String, String)> {
    let denied = |entry: AuditEntry| {
        (entry.verdict == AuditVerdict::Denied).then_some((entry.request.to_string(), entry.rule))
    };
    fixture
        .stats()
        .audit
        .into_iter()
        .filter_map(denied)
        .collect()
}

#[tokio::test]
async fn symlink_creation_is_allowed_only_within_the_grant() {
    for resolver in [Resolver::Openat2, Resolver::Walk] {
        let mut fixture = open(
            populated_dir(),
            DirMode::ReadWrite,
            Effect::Effectful,
            resolver,
        );
        fixture
            .check(&[
                // As package managers do: `packages` is linked, and a program in it is linked
                // through that link.
                ("make-dir modules", "done"),
                ("make-dir modules/.bin", "done"),
                ("point ../sub modules/lib", "done"),
                ("point ../lib/b.txt modules/.bin/b", "done"),
                ("read modules/.bin/b", "beta"),
                ("point ./.././/sub/ modules/.bin/later", "done"),
                ("point missing/for/now modules/dangling", "done"),
                // Out of the grant, from the link's directory.
                ("point /etc/passwd x", "not-permitted"),
                ("point .. x", "not-permitted"),
                ("point ../.. sub/x", "not-permitted"),
                ("point ../../../outside.txt sub/deep/x", "not-permitted"),
                // The meaning of `..` after a name depends on that name at the time.
                ("point sub/.. x", "not-permitted"),
                ("point dir/../../outside.txt sub/x", "not-permitted"),
                ("point missing/../a.txt x", "not-permitted"),
                // Through a link that leads out.
                ("point up/outside.txt x", "not-permitted"),
                ("point ../up sub/x", "not-permitted"),
                ("point out x", "not-permitted"),
                ("point abs x", "not-permitted"),
                // At a path that leads through a link.
                ("point a.txt dir/x", "not-permitted"),
                ("point ../a.txt dir/deep/x", "not-permitted"),
            ])
            .await;
    }
}

#[tokio::test]
async fn symlink_move_is_allowed_only_within_the_grant() {
    let mut fixture = writable();
    fixture
        .check(&[
            ("make-dir one", "done"),
            ("make-dir one/two", "done"),
            ("make-dir one/two/three", "done"),
            ("point ../../../a.txt one/two/three/link", "done"),
            ("read one/two/three/link", "alpha"),
            // A link, up and down.
            ("move one/two/three/link one/two/link", "not-permitted"),
            ("move one/two/three/link one/two/three/again", "done"),
            ("move one/two/three/again one/two/three/link", "done"),
            // The directory that it is in, and those above.
            ("move one/two/three three", "not-permitted"),
            ("move one/two two", "not-permitted"),
            ("move one/two/three one/three", "not-permitted"),
            ("move one/two one/renamed", "done"),
            ("move one/renamed one/two", "done"),
            ("move one made", "done"),
            ("make-dir deeper", "done"),
            ("move made deeper/made", "done"),
            ("move deeper/made/two/three deeper/made/three", "done"),
            ("read deeper/made/three/link", "alpha"),
            // A link of the host that leads out is neither moved nor renamed.
            ("move up x", "not-permitted"),
            ("move out x", "not-permitted"),
            ("remove out", "done"),
            // A hard link of a link would be a link at another path.
            ("link in sub/in", "not-permitted"),
        ])
        .await;
    let refused = |request: &str| (request.to_owned(), "files.links".to_owned());
    assert_eq!(
        refusals(&fixture),
        [
            refused("move /workspace/one/two/three/link to /workspace/one/two/link"),
            refused("move /workspace/one/two/three to /workspace/three"),
            refused("move /workspace/one/two to /workspace/two"),
            refused("move /workspace/one/two/three to /workspace/one/three"),
            refused("move /workspace/up to /workspace/x"),
            refused("move /workspace/out to /workspace/x"),
        ]
    );
    let denial = fixture.stats().first_denial.unwrap();
    assert_eq!(
        denial.sentence,
        "move /workspace/one/two/three/link to /workspace/one/two/link was refused: its target is outside of the \
         granted directory (rule files.links)"
    );
}

#[tokio::test]
async fn directory_move_up_to_max_entries_succeeds() {
    let dir = empty();
    let work = dir.path().join("work");
    for (name, count) in [("most", MAX_ENTRIES), ("more", MAX_ENTRIES + 1)] {
        fs::create_dir_all(work.join("from").join(name)).unwrap();
        for index in 0..count {
            let path = work.join("from").join(name).join(index.to_string());
            fs::hard_link(work.join("file"), &path)
                .or_else(|_| {
                    fs::write(work.join("file"), "x")
                        .and_then(|()| fs::hard_link(work.join("file"), path))
                })
                .unwrap();
        }
    }
    let mut fixture = open(
        dir,
        DirMode::ReadWrite,
        Effect::Effectful,
        Resolver::Openat2,
    );
    fixture
        .check(&[
            ("move from/most most", "done"),
            ("move from/more more", "not-permitted"),
            ("move from/more from/other", "done"),
        ])
        .await;
}

#[tokio::test]
async fn directory_with_escaping_host_link_is_not_moved() {
    let dir = empty();
    let work = dir.path().join("work");
    for (name, target) in [
        ("out", "../../outside"),
        ("abs", "/etc"),
        ("odd", "x/../../.."),
    ] {
        fs::create_dir_all(work.join(name).join("inner")).unwrap();
        symlink(target, work.join(name).join("inner/link")).unwrap();
    }
    fs::create_dir(work.join("to")).unwrap();
    let mut fixture = open(
        dir,
        DirMode::ReadWrite,
        Effect::Effectful,
        Resolver::Openat2,
    );
    fixture
        .check(&[
            ("move out to/out", "done"),
            ("move to/out out", "done"),
            ("move out/inner moved", "not-permitted"),
            ("move abs to/abs", "not-permitted"),
            ("move odd to/odd", "not-permitted"),
        ])
        .await;
}
