//! The answers, records and bounds of the gate.

use super::{CallStats, Denial, Gate, Refused, audit_log};
use agent_host_engine::policy::{
    DirGrant, DirMode, FileOp, Grants, HttpGrant, HttpRequest, PathRules,
};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    audit::{AuditRequest, FileAction},
    limits::Limits,
    tool::Effect,
};
use pretty_assertions::assert_eq;
use std::sync::Arc;

fn gate(limits: &Limits) -> Arc<Gate> {
    let dir = |guest: &str, mode| DirGrant {
        deny: PathRules::new(&["private"]).unwrap(),
        ..DirGrant::new("/srv/secret-host-name", guest, mode)
    };
    let grants = Grants {
        dirs: vec![
            dir("/workspace", DirMode::ReadOnly),
            dir("/", DirMode::ReadWrite),
        ],
        http: vec![HttpGrant {
            host: "example.com".to_owned(),
            ..HttpGrant::default()
        }],
        ..Grants::default()
    };
    Gate::new(Arc::new(grants), Effect::Effectful, limits)
}

fn entry(request: &str, verdict: AuditVerdict, rule: &str, count: u64) -> AuditEntry {
    AuditEntry {
        request: AuditRequest::from_text(request),
        verdict,
        rule: rule.to_owned(),
        count,
        grant: None,
        status: None,
    }
}

/// A read of a path above the granted directory.
fn escape(path: &str) -> AuditRequest {
    AuditRequest::file(FileAction::Read, format!("/workspace/../{path}"))
}

const EXAMPLE: HttpRequest<'static> = HttpRequest {
    method: "GET",
    scheme: "https",
    host: "example.com",
    port: 443,
    path: "/",
};

#[test]
fn call_stats_record_every_request() {
    use AuditVerdict::{Allowed, Denied};
    let gate = gate(&Limits::default());
    assert_eq!(gate.check_file(0, FileOp::Read, "notes.txt"), Ok(()));
    assert_eq!(gate.check_file(0, FileOp::Read, "notes.txt"), Ok(()));
    assert_eq!(gate.check_file(0, FileOp::List, ""), Ok(()));
    assert_eq!(gate.refuse_escape(escape("etc/passwd")), Refused);
    assert_eq!(gate.check_file(0, FileOp::Write, "notes.txt"), Err(Refused));
    assert_eq!(gate.check_file(1, FileOp::Write, "a/b"), Ok(()));
    assert_eq!(gate.check_file(7, FileOp::Read, "x"), Err(Refused));
    assert_eq!(gate.check_http(&EXAMPLE, "https://example.com/"), Ok(()));
    let public = "93.184.216.34".parse().unwrap();
    let private = "10.0.0.1".parse().unwrap();
    let both = gate.allowed_addresses(
        &EXAMPLE,
        "https://example.com/",
        [(private, false), (public, false)],
    );
    assert_eq!(both, Ok(vec![public]));
    let none = gate.allowed_addresses(&EXAMPLE, "https://example.com/", [(private, false)]);
    assert_eq!(none, Err(Refused));
    for (url, status) in [("", 503), ("", 200), ("never-asked", 404)] {
        let url = format!("https://example.com/{url}");
        gate.record_status(AuditRequest::http("GET", &url), status);
    }
    gate.record_host("example.com");
    gate.record_host("example.com");
    gate.count_in(3);
    gate.count_in(4);
    gate.count_out(5);
    assert_eq!(
        gate.stats(),
        CallStats {
            audit: vec![
                entry("read /workspace/notes.txt", Allowed, "grants.dir[0]", 2),
                entry("list /workspace", Allowed, "grants.dir[0]", 1),
                entry("read /workspace/../etc/passwd", Denied, "default-deny", 1),
                AuditEntry {
                    grant: Some(
                        "# changed lines of the [[grants.dir]] with guest = \"/workspace\"\nmode = \"read-write\""
                            .to_owned()
                    ),
                    ..entry("write /workspace/notes.txt", Denied, "grants.dir[0].mode", 1)
                },
                entry("write /a/b", Allowed, "grants.dir[1]", 1),
                entry("read /x", Denied, "default-deny", 1),
                AuditEntry {
                    status: Some(200),
                    ..entry("GET https://example.com/", Allowed, "grants.http[0]", 1)
                },
                entry("GET https://example.com/", Denied, "address.private", 1),
            ],
            first_denial: Some(Denial {
                sentence: "read /workspace/../etc/passwd was refused: it leaves the granted directory (rule default-deny)"
                    .to_owned(),
                is_limit: false,
            }),
            bytes_in: 7,
            bytes_out: 5,
            hosts: vec!["example.com".to_owned()],
        }
    );
}

#[test]
fn http_requests_beyond_limit_are_refused() {
    let gate = gate(&Limits {
        http_requests: 2,
        ..Limits::default()
    });
    let answers = [0; 3].map(|_| gate.check_http(&EXAMPLE, "https://example.com/"));
    assert_eq!(answers, [Ok(()), Ok(()), Err(Refused)]);
    assert_eq!(
        gate.stats().first_denial,
        Some(Denial {
            sentence: "GET https://example.com/ was refused: a call may send at most 2 requests (rule limits.http-requests)"
                .to_owned(),
            is_limit: true,
        })
    );
}

#[test]
fn audit_log_entries_and_hosts_are_bounded() {
    let gate = gate(&Limits::default());
    for index in 0..audit_log::MAX_ENTRIES + 10 {
        let _ = gate.check_file(0, FileOp::Read, &format!("{index}"));
        gate.record_host(&format!("{index}"));
    }
    for _ in 0..3 {
        let _ = gate.check_file(0, FileOp::Write, "x");
    }
    let stats = gate.stats();
    assert_eq!(stats.hosts.len(), audit_log::MAX_HOSTS);
    assert_eq!(stats.audit.len(), audit_log::MAX_ENTRIES + 2);
    assert_eq!(
        stats.audit.get(audit_log::MAX_ENTRIES..),
        Some(
            [
                entry("others", AuditVerdict::Allowed, "others", 10),
                entry("others", AuditVerdict::Denied, "others", 3),
            ]
            .as_slice()
        )
    );
    assert_eq!(
        stats.first_denial.map(|denial| denial.sentence).as_deref(),
        Some(
            "write /workspace/x was refused: /workspace is granted read-only (rule grants.dir[0].mode)"
        )
    );
}

#[test]
fn audit_log_texts_are_bounded_and_one_line() {
    let gate = gate(&Limits::default());
    let _ = gate.refuse_escape(escape(&"x".repeat(5_000)));
    let both = AuditRequest::File {
        action: FileAction::Link,
        path: "x".repeat(500),
        to: Some("y".repeat(500)),
    };
    let _ = gate.refuse(both, "files.links", "it is too long");
    let _ = gate.check_file(0, FileOp::Read, "a\nread /b\u{1b}[2J\u{202e}c\td");
    let stats = gate.stats();
    assert_eq!(
        stats
            .audit
            .iter()
            .map(|entry| entry.request.to_string().len())
            .collect::<Vec<_>>(),
        [
            "read ".len() + audit_log::MAX_REQUEST_BYTES,
            "link  to ".len() + audit_log::MAX_REQUEST_BYTES,
            "read /workspace/a\u{FFFD}read /b\u{FFFD}[2J\u{FFFD}c\u{FFFD}d".len()
        ]
    );
    assert!(stats.first_denial.is_some_and(|denial| {
        denial.sentence.len() <= audit_log::MAX_DENIAL_BYTES
            && denial
                .sentence
                .ends_with("it leaves the granted directory (rule default-deny)")
    }));
    assert_eq!(
        stats.audit.last(),
        Some(&entry(
            "read /workspace/a\u{FFFD}read /b\u{FFFD}[2J\u{FFFD}c\u{FFFD}d",
            AuditVerdict::Allowed,
            "grants.dir[0]",
            1
        ))
    );
}
