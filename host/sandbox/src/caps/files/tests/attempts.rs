//! Tables of attempts with the expected value or error code.

use super::{
    super::{FilesCtx, FilesError, resolve::Resolver},
    fixture::{Fixture, open, populated_dir, protected, writable},
};
use crate::gate::Gate;
use agent_host_engine::policy::{DirGrant, DirMode, DirQuota, Grants, PathRules};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    limits::Limits,
    tool::Effect,
};
use pretty_assertions::assert_eq;
use std::{path::Path, sync::Arc};

/// Lookups and reads, allowed or not.
const LOOKING: &[(&str, &str)] = &[
    // Plain.
    ("read a.txt", "alpha"),
    ("read ./sub//b.txt", "beta"),
    ("read sub/../a.txt", "alpha"),
    ("read sub/deep/../../a.txt", "alpha"),
    ("stat sub/b.txt", "4"),
    ("lstat sub", "DescriptorType::Directory"),
    ("lstat sub/", "DescriptorType::Directory"),
    ("lstat sub/..", "DescriptorType::Directory"),
    ("hash a.txt", "hash"),
    ("read nothing", "no-entry"),
    ("stat nothing", "no-entry"),
    ("read a.txt/", "not-directory"),
    ("read a.txt/x", "not-directory"),
    ("list a.txt", "not-directory"),
    ("list sub", "b.txt deep"),
    ("list sub/", "b.txt deep"),
    ("list sub/deep/..", "b.txt deep"),
    ("list .git", "HEAD"),
    ("read .git/HEAD", "main"),
    // Links inside.
    ("read in", "beta"),
    ("read dir/b.txt", "beta"),
    ("list dir", "b.txt deep"),
    ("list dir/", "b.txt deep"),
    ("read dir/../a.txt", "alpha"),
    ("read chain1", "alpha"),
    ("read-link chain1", "chain2"),
    ("read-link a.txt", "invalid"),
    ("read-link-itself in", "loop"),
    ("lstat in", "DescriptorType::SymbolicLink"),
    ("read loop", "loop"),
    ("read loop/x", "loop"),
    ("read dangling", "no-entry"),
    // Out of the directory.
    ("read ../outside.txt", "not-permitted"),
    ("read sub/../../outside.txt", "not-permitted"),
    ("read dir/../../outside.txt", "not-permitted"),
    ("list ..", "not-permitted"),
    ("stat ../outside.txt", "not-permitted"),
    ("hash ../outside.txt", "not-permitted"),
    ("read /etc/passwd", "not-permitted"),
    ("read //etc/passwd", "not-permitted"),
    ("read out", "not-permitted"),
    ("read abs", "not-permitted"),
    ("stat abs", "not-permitted"),
    ("read-link abs", "not-permitted"),
    ("read proc", "not-permitted"),
    ("read up/outside.txt", "not-permitted"),
    ("list up", "not-permitted"),
    ("list up/", "not-permitted"),
    ("read up/work/a.txt", "not-permitted"),
    // Hidden by pattern.
    ("read .env", "no-entry"),
    ("read sub/.env.local", "no-entry"),
    ("read sub/../.env", "no-entry"),
    ("read ./.env", "no-entry"),
    ("read env", "no-entry"),
    ("read dir/.env.local", "no-entry"),
    ("stat .env", "no-entry"),
    ("lstat .env", "no-entry"),
    ("hash .env", "no-entry"),
    ("read .ssh/id", "no-entry"),
    ("list .ssh", "no-entry"),
    ("lstat .ssh", "no-entry"),
    ("list .ssh/", "no-entry"),
    ("list .ssh/.", "no-entry"),
    ("read .git/config", "no-entry"),
    ("read hardgit", "no-entry"),
    // Hidden because it is the host's.
    ("read agent.toml", "no-entry"),
    ("read conf", "no-entry"),
    ("read hard", "no-entry"),
    ("lstat hard", "no-entry"),
    ("hash hard", "no-entry"),
    ("list state", "no-entry"),
    ("read state/journal", "no-entry"),
    ("read state/blobs/one", "no-entry"),
    ("list state/blobs", "no-entry"),
    ("list state/blobs/..", "no-entry"),
    ("read st/journal", "no-entry"),
    ("list st", "no-entry"),
    ("read alias/conf.toml", "no-entry"),
    ("read real/conf.toml", "no-entry"),
    (
        "list .",
        ".git a.txt abs alias chain1 chain2 conf dangling dir env fifo in loop out proc real st sub up",
    ),
    // No other spelling tells whether a hidden path exists, or its type: the answers are those for
    // a missing name.
    ("read agent.toml/", "no-entry"),
    ("stat agent.toml/", "no-entry"),
    ("list agent.toml/", "no-entry"),
    ("lstat agent.toml/.", "no-entry"),
    ("stat agent.toml/..", "no-entry"),
    ("read agent.toml/../a.txt", "no-entry"),
    ("read agent.toml/x", "no-entry"),
    ("read conf/x", "no-entry"),
    ("stat conf/", "no-entry"),
    ("read hard/x", "no-entry"),
    ("read .env/x", "no-entry"),
    ("stat .env/", "no-entry"),
    ("stat env/..", "no-entry"),
    ("read sub/.env.local/../b.txt", "no-entry"),
    ("stat .ssh/..", "no-entry"),
    ("read .ssh/../a.txt", "no-entry"),
    ("read .ssh/id/", "no-entry"),
    ("read .ssh/id/x", "no-entry"),
    // Nor is a link, whatever its target.
    ("read .ssh/in", "no-entry"),
    ("read .ssh/abs", "no-entry"),
    ("lstat .ssh/abs", "no-entry"),
    ("read .ssh/abs/", "no-entry"),
    ("read .env.in", "no-entry"),
    ("read .env.out", "no-entry"),
    ("stat .env.out", "no-entry"),
    ("read state/../a.txt", "no-entry"),
    ("read state/blobs/../../a.txt", "no-entry"),
    ("read st/../a.txt", "no-entry"),
    ("read agent.lock/../a.txt", "no-entry"),
    ("stat agent.lock/", "no-entry"),
    ("stat agent.lock/..", "no-entry"),
    // A visible one is shown as it is.
    ("stat a.txt/", "not-directory"),
    ("read a.txt/x", "not-directory"),
    ("read a.txt/../a.txt", "not-directory"),
    ("read in/x", "not-directory"),
    // Neither file nor directory.
    ("read fifo", "access"),
    ("lstat fifo", "DescriptorType::Fifo"),
    // Odd paths.
    ("read .", "bad-descriptor"),
    ("read sub", "bad-descriptor"),
    ("read a\0b", "invalid"),
];

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

/// The content that must be unchanged after all attempts.
fn untouched(dir: &Path) -> Vec<(&'static str, Option<String>)> {
    [
        "outside.txt",
        "work/agent.toml",
        "work/agent.lock",
        "work/.env",
        "work/state/journal",
        "work/hard",
        "work/real/conf.toml",
        "work/.git/config",
        "work/.ssh/id",
        "x",
    ]
    .map(|path| (path, std::fs::read_to_string(dir.join(path)).ok()))
    .to_vec()
}

async fn check_all(mut fixture: Fixture, table: &[(&str, &str)]) {
    let before = untouched(fixture.dir.path());
    fixture.check(table).await;
    assert_eq!(untouched(fixture.dir.path()), before);
    let handles = format!("{:?}", fixture.stats());
    assert!(
        !handles.contains(&*fixture.dir.path().to_string_lossy()),
        "a host path is in {handles}"
    );
    assert!(!handles.contains("SECRET"));
}

#[tokio::test]
async fn lookups_return_expected_codes() {
    for resolver in [Resolver::Openat2, Resolver::Walk] {
        for (mode, effect) in [
            (DirMode::ReadOnly, Effect::ReadOnly),
            (DirMode::ReadWrite, Effect::Effectful),
        ] {
            check_all(open(populated_dir(), mode, effect, resolver), LOOKING).await;
        }
    }
}

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

#[tokio::test]
async fn long_paths_and_link_chains_are_refused() {
    let mut fixture = writable();
    let work = fixture.dir.path().join("work");
    for index in 0..45 {
        std::os::unix::fs::symlink(format!("l{}", index + 1), work.join(format!("l{index}")))
            .unwrap();
    }
    std::fs::write(work.join("l45"), "end").unwrap();
    assert_eq!(fixture.act("read l5").await, "end");
    assert_eq!(fixture.act("read l4").await, "loop");
    let long = "x/".repeat(2_100);
    assert_eq!(fixture.act(&format!("read {long}y")).await, "name-too-long");
    assert_eq!(
        fixture.act(&format!("read {}", "n".repeat(300))).await,
        "name-too-long"
    );
    assert_eq!(fixture.act("read ").await, "no-entry");
}

#[tokio::test]
async fn non_utf8_names_are_not_listed() {
    use std::os::unix::ffi::OsStrExt;
    let mut fixture = writable();
    let name = std::ffi::OsStr::from_bytes(b"sub/deep/\xff.txt");
    std::fs::write(fixture.dir.path().join("work").join(name), "x").unwrap();
    std::fs::write(fixture.dir.path().join("work/sub/deep/\u{e9}.txt"), "x").unwrap();
    assert_eq!(fixture.act("list sub/deep").await, "\u{e9}.txt");
}

#[tokio::test]
async fn audit_log_lists_requests_and_first_denial() {
    let mut fixture = writable();
    for attempt in [
        "read a.txt",
        "read in",
        "read sub/b.txt",
        "read ../outside.txt",
        "stat sub",
        "create agent.lock x",
        "move real x",
        "read fifo",
        "list dir",
    ] {
        let _ = fixture.act(attempt).await;
    }
    let entry = |request: &str, verdict, rule: &str, count| AuditEntry {
        request: request.to_owned(),
        verdict,
        rule: rule.to_owned(),
        count,
        grant: None,
    };
    use AuditVerdict::{Allowed, Denied};
    let stats = fixture.stats();
    assert_eq!(
        stats.audit,
        [
            entry("read /workspace/a.txt", Allowed, "grants.dir[0]", 1),
            entry("read /workspace/sub/b.txt", Allowed, "grants.dir[0]", 2),
            entry("read /workspace/../outside.txt", Denied, "default-deny", 1),
            entry("stat /workspace/sub", Allowed, "grants.dir[0]", 2),
            entry("write /workspace/agent.lock", Denied, "host.protected", 1),
            entry("move /workspace/real", Allowed, "grants.dir[0]", 1),
            entry("move /workspace/real", Denied, "host.protected", 1),
            entry("read /workspace/fifo", Denied, "files.regular-only", 1),
            entry("list /workspace/sub", Allowed, "grants.dir[0]", 1),
        ]
    );
    assert_eq!(
        (
            stats.first_denial.map(|denial| denial.sentence).as_deref(),
            stats.bytes_in,
            stats.bytes_out
        ),
        (
            Some(
                "read /workspace/../outside.txt was refused: it leaves the granted directory (rule default-deny)"
            ),
            13,
            0
        )
    );
}

#[test]
fn unusable_grants_fail_to_open() {
    let dir = populated_dir();
    let open = |host: &str| {
        let grants = Grants {
            dirs: vec![DirGrant {
                host: dir.path().join(host),
                guest: "/workspace".to_owned(),
                mode: DirMode::ReadWrite,
                allow: PathRules::default(),
                deny: PathRules::default(),
                mask: PathRules::default(),
                allow_run_later: PathRules::default(),
                quota: DirQuota::default(),
            }],
            ..Grants::default()
        };
        let gate = Gate::new(Arc::new(grants), Effect::Effectful, &Limits::default());
        FilesCtx::open(gate, &protected(dir.path()))
            .err()
            .map(|error: FilesError| error.to_string())
    };
    let cannot = |why: &str| {
        Some(format!(
            "the directory granted as /workspace cannot be opened: {why}; check that it exists and may be read, or change the grant"
        ))
    };
    let own = Some("the directory granted as /workspace belongs to agent-host itself (configuration, state or cache); grant another directory".to_owned());
    let table = [
        ("work", None),
        ("work/dir", None),
        (".", None),
        ("nowhere", cannot("No such file or directory (os error 2)")),
        ("work/a.txt", cannot("Not a directory (os error 20)")),
        ("work/state", own.clone()),
        ("work/st", own.clone()),
        ("work/state/blobs", own),
    ];
    for (host, expected) in table {
        assert_eq!(open(host), expected, "{host}");
    }
}
