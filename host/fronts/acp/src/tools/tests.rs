//! Tests of kinds and places.

use super::kind_of_run;
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    audit::AuditRequest,
};
use pretty_assertions::assert_eq;

#[test]
fn kind_of_a_run_is_what_the_gate_allowed() {
    let entry = |request: &str, verdict| AuditEntry {
        request: AuditRequest::from_text(request),
        verdict,
        rule: "grants.dir[0]".to_owned(),
        count: 1,
        grant: None,
        status: None,
    };
    for (requests, expected) in [
        (&["stat /a", "read /a"][..], Some("read")),
        (&["list /"], Some("read")),
        (&["read /a", "write /b"], Some("edit")),
        (&["move /a"], Some("move")),
        (&["GET https://example.com/", "read /a"], Some("fetch")),
        // A method that is called like an operation on files.
        (&["read https://example.com/"], Some("fetch")),
        (&["secret key"], None),
        (&["", "write"], None),
        (&[], None),
    ] {
        let allowed = requests
            .iter()
            .map(|request| entry(request, AuditVerdict::Allowed));
        let allowed: Vec<AuditEntry> = allowed.collect();
        assert_eq!(kind_of_run(&allowed), expected, "{requests:?}");
    }
    let denied = [entry("write /a", AuditVerdict::Denied)];
    assert_eq!(kind_of_run(&denied), None);
}
