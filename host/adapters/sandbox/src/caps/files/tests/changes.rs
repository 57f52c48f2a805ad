//! A table of changes with the expected value or error code. A new attempt is one line.

use super::{
    super::resolve::Resolver,
    fixture::{check_all, open, populated_dir},
};
use agent_host_engine::policy::DirMode;
use agent_host_types::{accounting::AuditVerdict, tool::Effect};
use pretty_assertions::assert_eq;

/// Changes, in a directory where that is allowed.
const CHANGING: &[(&str, &str)] = &[
    // Plain.
    ("write a.txt ALPHA", "5"),
    ("read a.txt", "ALPHA"),
    ("write nothing x", "no-entry"),
    ("create new.txt one", "3"),
    ("create new.txt two!", "4"),
    ("read new.txt", "two!"),
    ("create-new new.txt x", "exist"),
    ("create-new in x", "exist"),
    ("replace new.txt z", "1"),
    ("read new.txt", "z"),
    ("read dangling", "z"),
    ("remove new.txt", "done"),
    ("create dangling q", "1"),
    ("read new.txt", "q"),
    ("create new/ x", "is-directory"),
    ("write sub x", "is-directory"),
    ("make-dir made", "done"),
    ("make-dir made", "exist"),
    ("make-dir .", "exist"),
    ("make-dir made/inner/", "done"),
    ("remove-dir made", "not-empty"),
    ("remove made", "is-directory"),
    ("remove-dir made/inner", "done"),
    ("remove-dir a.txt", "not-directory"),
    ("move new.txt made/moved.txt", "done"),
    ("read made/moved.txt", "q"),
    ("move made made2", "done"),
    ("link made2/moved.txt linked", "done"),
    ("read linked", "q"),
    ("link linked a.txt", "exist"),
    ("link sub linked2", "not-permitted"),
    ("point sub/b.txt pointer", "done"),
    ("read pointer", "beta"),
    ("point b.txt sub/pointer", "done"),
    ("point ../a.txt sub/pointer2", "done"),
    ("read sub/pointer2", "ALPHA"),
    ("touch a.txt", "done"),
    ("touch nothing", "no-entry"),
    ("remove linked", "done"),
    ("remove nothing", "no-entry"),
    // Out of the directory.
    ("create ../x x", "not-permitted"),
    ("create up/x x", "not-permitted"),
    ("create /tmp/x x", "not-permitted"),
    ("create out x", "not-permitted"),
    ("make-dir ../x", "not-permitted"),
    ("remove ../outside.txt", "not-permitted"),
    ("remove-dir ..", "not-permitted"),
    ("move ../outside.txt x", "not-permitted"),
    ("move a.txt ../x", "not-permitted"),
    ("move a.txt up/x", "not-permitted"),
    ("link ../outside.txt x", "not-permitted"),
    ("link a.txt ../x", "not-permitted"),
    ("touch out", "not-permitted"),
    ("point /etc/passwd x", "not-permitted"),
    ("point ../outside.txt x", "not-permitted"),
    ("point ../../outside.txt sub/x", "not-permitted"),
    ("point a/../../x x", "not-permitted"),
    ("point x ../x", "not-permitted"),
    // From grant to grant.
    ("move-over a.txt x", "cross-device"),
    ("link-over a.txt x", "cross-device"),
    ("move-over made2 x", "cross-device"),
    // A hidden object cannot be changed, because it does not exist for the guest.
    ("write .env x", "no-entry"),
    ("write env x", "no-entry"),
    ("write hard x", "no-entry"),
    ("write conf x", "no-entry"),
    ("write state/journal x", "no-entry"),
    ("touch agent.toml", "no-entry"),
    ("remove agent.toml", "no-entry"),
    ("remove hard", "no-entry"),
    ("remove-dir state", "no-entry"),
    ("remove-dir .ssh", "no-entry"),
    ("move agent.toml x", "no-entry"),
    ("move hard x", "no-entry"),
    ("move state x", "no-entry"),
    ("move .ssh x", "no-entry"),
    ("move .git/config x", "no-entry"),
    ("link agent.toml x", "no-entry"),
    ("link hard x", "no-entry"),
    ("link .env x", "no-entry"),
    // Nor can anything be put in its place, whether it exists or not.
    ("create .env x", "access"),
    ("create .env.new x", "access"),
    ("create env x", "access"),
    ("create-new agent.toml x", "access"),
    ("create agent.lock x", "access"),
    ("create sub/../agent.lock x", "access"),
    ("create hard x", "access"),
    ("create state/x x", "access"),
    ("create st/x x", "access"),
    ("create .ssh/x x", "access"),
    ("make-dir agent.lock", "access"),
    ("make-dir .ssh/x", "access"),
    ("make-dir state/blobs/x", "access"),
    ("move a.txt agent.toml", "access"),
    ("make-dir agent.toml/", "access"),
    ("make-dir agent.lock/", "access"),
    ("make-dir agent.toml/x", "no-entry"),
    ("make-dir agent.lock/x", "no-entry"),
    ("create .ssh/../x x", "no-entry"),
    ("move a.txt agent.lock", "access"),
    ("move a.txt hard", "access"),
    ("move a.txt state/x", "access"),
    ("move sub .ssh", "access"),
    ("link a.txt agent.lock", "access"),
    ("link a.txt .envrc", "access"),
    ("point a.txt agent.lock", "access"),
    ("point a.txt .env.x", "access"),
    // Nor can its ancestors be moved, replaced or removed.
    ("move .git x", "access"),
    ("move sub .git", "access"),
    ("move a.txt .git", "access"),
    ("move .git/HEAD .git/config", "access"),
    ("move real x", "access"),
    ("move alias x", "access"),
    ("remove alias", "access"),
    ("remove-dir real", "access"),
    ("point sub .later", "access"),
    ("create .later x", "access"),
    ("link a.txt .later", "access"),
    ("move sub .later", "access"),
    ("make-dir .later", "done"),
    ("make-dir .later/state", "access"),
    ("create .later/state x", "access"),
    ("create .later/other x", "1"),
    ("move .later x", "access"),
    ("remove .later/other", "done"),
    ("remove-dir .later", "access"),
    // Denied by rule.
    ("create x.key x", "access"),
    ("create sub/private x", "access"),
    ("move sub x", "access"),
    ("move made2 sub", "access"),
    ("stat sub/private", "access"),
    // Neither file nor directory.
    ("write fifo x", "access"),
    ("create fifo x", "access"),
    ("link fifo x", "not-permitted"),
    // The root itself.
    ("remove-dir .", "invalid"),
    ("move . x", "invalid"),
    ("move a.txt .", "invalid"),
];

#[tokio::test]
async fn changes_return_expected_codes() {
    for resolver in [Resolver::Openat2, Resolver::Walk] {
        check_all(
            open(
                populated_dir(),
                DirMode::ReadWrite,
                Effect::Effectful,
                resolver,
            ),
            CHANGING,
        )
        .await;
    }
}

#[tokio::test]
async fn read_only_grant_or_tool_changes_nothing() {
    let attempts = [
        "write a.txt x",
        "create new x",
        "replace a.txt x",
        "make-dir x",
        "remove a.txt",
        "remove-dir sub/deep",
        "move a.txt x",
        "move dir x",
        "link a.txt x",
        "point a.txt x",
        "touch a.txt",
        "link-over a.txt x",
    ];
    for (mode, effect, rule) in [
        (DirMode::ReadOnly, Effect::Effectful, "grants.dir[0].mode"),
        (DirMode::ReadWrite, Effect::ReadOnly, "effect.read-only"),
    ] {
        let mut fixture = open(populated_dir(), mode, effect, Resolver::Openat2);
        for attempt in attempts {
            assert_eq!(fixture.act(attempt).await, "access", "{attempt}");
        }
        assert_eq!(fixture.act("read a.txt").await, "alpha");
        let rules: Vec<String> = fixture
            .stats()
            .audit
            .into_iter()
            .filter(|entry| entry.verdict == AuditVerdict::Denied)
            .map(|entry| entry.rule)
            .collect();
        assert_eq!(rules, vec![rule; rules.len()]);
    }
}
