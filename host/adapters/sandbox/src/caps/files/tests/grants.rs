//! Grants that cannot be opened, and the audit log of one that can.

use super::{
    super::FilesError,
    fixture::{open_files, populated_dir, within, writable},
};
use crate::gate::Gate;
use agent_host_engine::{
    flow::{AudienceRule, CallFlow, FlowPolicy, RunFiles},
    policy::{DirGrant, DirMode, Grants, NameGlob},
};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    audit::AuditRequest,
    flow::{FlowMode, LabelledFile},
    limits::Limits,
    tool::Effect,
};
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// Within one call, what it reads and what it writes fit together, whichever comes first.
#[tokio::test]
async fn files_with_an_audience_stay_in_it() {
    let glob = |text: &str| NameGlob::new(text).unwrap();
    let policy = Arc::new(FlowPolicy {
        mode: FlowMode::Ask,
        audiences: vec![AudienceRule {
            from: glob("dir:/workspace/sub/**"),
            to: vec![
                glob("dir:/workspace/sub/**"),
                glob("dir:/workspace/shared*"),
            ],
        }],
        ..FlowPolicy::default()
    });
    let calls: [&[(&str, &str)]; 8] = [
        &[
            ("create x x", "1"),
            ("read a.txt", "alpha"),
            ("create y x", "1"),
        ],
        // By way of a link, too.
        &[
            ("read in", "beta"),
            ("create x x", "access"),
            ("create sub/x x", "1"),
        ],
        &[
            ("list sub", "b.txt deep"),
            ("read a.txt", "alpha"),
            ("create x x", "access"),
        ],
        &[("stat sub/b.txt", "4"), ("create x x", "access")],
        &[
            ("create x x", "1"),
            ("read sub/b.txt", "access"),
            ("read a.txt", "alpha"),
        ],
        &[
            ("move sub/b.txt b.txt", "access"),
            ("move sub/b.txt shared.txt", "done"),
        ],
        &[
            ("move sub sub2", "access"),
            ("link sub/b.txt b.txt", "access"),
        ],
        &[
            ("link sub/b.txt shared.txt", "done"),
            ("create x x", "access"),
        ],
    ];
    for attempts in calls {
        within(policy.audience(&[]).into()).check(attempts).await;
    }
    let before = ["dir:/workspace/sub/b.txt".to_owned()];
    let attempts = [("create x x", "access"), ("create shared x", "1")];
    within(policy.audience(&before).into())
        .check(&attempts)
        .await;
}

/// A file has the sources of a call as soon as the call writes it, also those that it reads later.
#[tokio::test]
async fn files_have_the_sources_of_their_call_at_once() {
    let policy = Arc::new(FlowPolicy {
        mode: FlowMode::Ask,
        untrusted: vec![NameGlob::new("dir:/workspace/sub/**").unwrap()],
        ..FlowPolicy::default()
    });
    let (seen, read) = ("http:news.example", "dir:/workspace/sub/b.txt");
    let file = |path: &str, sources: &[&str]| LabelledFile {
        path: path.to_owned(),
        sources: sources.iter().map(|&source| source.to_owned()).collect(),
    };
    type Case<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], Vec<LabelledFile>);
    let cases: [Case<'_>; 7] = [
        (&[], &[("create x x", "1"), ("read a.txt", "alpha")], vec![]),
        (
            &[seen],
            &[("create x x", "1")],
            vec![file("/workspace/x", &[seen])],
        ),
        (&[seen], &[("read a.txt", "alpha")], vec![]),
        // A denied change is none.
        (&[seen], &[("create agent.lock x", "access")], vec![]),
        (
            &[seen],
            &[
                ("create x x", "1"),
                ("read in", "beta"),
                ("create y x", "1"),
            ],
            vec![
                file("/workspace/x", &[read, seen]),
                file("/workspace/y", &[read, seen]),
            ],
        ),
        (
            &[seen],
            &[("move a.txt c.txt", "done")],
            vec![
                file("/workspace/a.txt", &[seen]),
                file("/workspace/c.txt", &[seen]),
            ],
        ),
        // What is moved or linked keeps the sources that it has by its path.
        (
            &[],
            &[("link sub/b.txt b.txt", "done")],
            vec![
                file("/workspace/b.txt", &[read]),
                file("/workspace/sub/b.txt", &[read]),
            ],
        ),
    ];
    for (seen, attempts, expected) in cases {
        let seen: Vec<String> = seen.iter().map(|&source| source.to_owned()).collect();
        let flow = CallFlow::from(policy.audience(&[]));
        let flow = flow.with_files(&policy, RunFiles::default(), &seen, Vec::new());
        within(flow.clone()).check(attempts).await;
        assert_eq!(flow.changed(), expected, "{attempts:?}");
    }
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
        request: AuditRequest::from_text(request),
        verdict,
        rule: rule.to_owned(),
        count,
        grant: None,
        status: None,
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
            dirs: vec![DirGrant::new(
                dir.path().join(host),
                "/workspace",
                DirMode::ReadWrite,
            )],
            ..Grants::default()
        };
        let gate = Gate::new(Arc::new(grants), Effect::Effectful, &Limits::default());
        open_files(gate, dir.path())
            .err()
            .map(|error: FilesError| error.to_string())
    };
    let cannot = |why: &str| {
        Some(format!(
            "cannot open the directory granted as /workspace: {why}; check that it exists and is readable, or change \
             the grant"
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
