//! Files that the user's programs run later, and executable files.

use super::fixture::{Fixture, writable};
use agent_host_types::accounting::AuditVerdict;
use pretty_assertions::assert_eq;
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The directory with a hook, a program and a link to the hooks.
fn prepared() -> Fixture {
    let fixture = writable();
    let work = fixture.dir.path().join("work");
    fs::create_dir_all(work.join(".git/hooks")).unwrap();
    fs::create_dir_all(work.join("own/.githooks")).unwrap();
    for (path, bits) in [
        (".git/hooks/pre-commit", 0o755),
        ("run.sh", 0o755),
        ("plain.sh", 0o644),
    ] {
        fs::write(work.join(path), "#!/bin/sh\n").unwrap();
        fs::set_permissions(work.join(path), fs::Permissions::from_mode(bits)).unwrap();
    }
    symlink(".git/hooks", work.join("hooks")).unwrap();
    fixture
}

#[tokio::test]
async fn run_later_files_are_read_only() {
    let mut fixture = prepared();
    fixture
        .check(&[
            ("read .git/hooks/pre-commit", "#!/bin/sh\n"),
            ("list .git/hooks", "pre-commit"),
            ("write .git/hooks/pre-commit x", "access"),
            ("replace .git/hooks/pre-commit x", "access"),
            ("create .git/hooks/post-checkout x", "access"),
            ("create hooks/post-checkout x", "access"),
            ("touch .git/hooks/pre-commit", "access"),
            ("remove .git/hooks/pre-commit", "access"),
            ("move .git/hooks/pre-commit x", "access"),
            ("move a.txt .git/hooks/post-checkout", "access"),
            ("link .git/hooks/pre-commit x", "access"),
            ("link a.txt .git/hooks/x", "access"),
            ("point ../../a.txt .git/hooks/x", "access"),
            ("make-dir .git/hooks/x", "access"),
            ("move .git/hooks x", "access"),
            // A directory that holds hooks does not replace one.
            ("make-dir evil", "done"),
            ("make-dir evil/hooks", "done"),
            ("create evil/hooks/pre-commit x", "1"),
            ("make-dir repo", "done"),
            ("move evil repo/.git", "access"),
            ("point ../evil repo/.git", "access"),
            ("create repo/.git x", "access"),
            ("link a.txt repo/.git", "access"),
            ("make-dir repo/.git", "done"),
            ("move evil/hooks repo/.git/hooks", "access"),
            ("point ../../evil/hooks repo/.git/hooks", "access"),
            ("touch repo/.git", "done"),
            ("remove-dir repo/.git", "done"),
            // Paths named by the grant may be written.
            ("create own/.githooks/pre-commit x", "1"),
            ("create .githooks x", "access"),
        ])
        .await;
    let audit = fixture.stats().audit;
    let hook = audit
        .iter()
        .find(|entry| entry.request.to_string() == "write /workspace/.git/hooks/post-checkout");
    let hook = hook.unwrap();
    assert_eq!(
        (hook.verdict, hook.rule.as_str()),
        (AuditVerdict::Denied, "files.run-later `**/.git/hooks`")
    );
    assert_eq!(
        hook.grant.as_deref(),
        Some(
            "# changed lines of the [[grants.dir]] with guest = \"/workspace\"\n\
             allow-run-later = [\"own/.githooks\", \"/.git/hooks/post-checkout\"]"
        )
    );
}

#[tokio::test]
async fn executable_files_are_not_created_and_changes_are_audited() {
    let mut fixture = prepared();
    fixture
        .check(&[
            ("create new.sh x", "1"),
            ("write plain.sh x", "1"),
            ("read run.sh", "#!/bin/sh\n"),
            ("write run.sh one", "3"),
            ("replace run.sh two", "3"),
            // A rename, also over a plain file; and a plain file over an executable one.
            ("move run.sh moved.sh", "done"),
            ("link moved.sh second.sh", "done"),
            ("write second.sh x", "1"),
            ("move plain.sh second.sh", "done"),
            // Removed and created again, it is not executable.
            ("remove moved.sh", "done"),
            ("create moved.sh x", "1"),
        ])
        .await;
    let work = fixture.dir.path().join("work");
    for path in ["new.sh", "moved.sh", "second.sh"] {
        assert_eq!(mode(&work.join(path)) & 0o111, 0, "{path}");
    }
    let audit = fixture.stats().audit;
    let changes: Vec<(String, u64)> = audit
        .iter()
        .map(|entry| (entry.request.to_string(), entry.count))
        .filter(|(request, _)| !request.starts_with("read "))
        .collect();
    assert_eq!(
        changes,
        [
            ("write /workspace/new.sh", 1),
            ("write /workspace/plain.sh", 2),
            ("write-executable /workspace/run.sh", 2),
            ("write /workspace/run.sh", 1),
            ("write-executable /workspace/moved.sh", 1),
            ("write /workspace/moved.sh", 3),
            ("write-executable /workspace/second.sh", 3),
        ]
        .map(|(request, count)| (request.to_owned(), count))
    );
}
