use super::*;
use agent_host_types::audit::{ArtifactOp, FileAction};

#[test]
fn changes_outside_the_session_are_found() {
    let file = |action| AuditRequest::file(action, "/a".to_owned());
    let secret = AuditRequest::Secret {
        name: "key".to_owned(),
        method: "POST".to_owned(),
        url: "https://e/".to_owned(),
    };
    let artifact = |action| AuditRequest::Artifact {
        action,
        name: "a".to_owned(),
    };
    for (request, expected) in [
        (file(FileAction::Stat), false),
        (file(FileAction::List), false),
        (file(FileAction::Read), false),
        (file(FileAction::ReadLink), false),
        (file(FileAction::Write), true),
        (file(FileAction::WriteExecutable), true),
        (file(FileAction::Move), true),
        (file(FileAction::Link), true),
        (AuditRequest::http("GET", "https://e/"), false),
        (AuditRequest::http("HEAD", "https://e/"), false),
        (AuditRequest::http("POST", "https://e/"), true),
        // Its text is that of a read.
        (AuditRequest::http("read", "https://e/"), true),
        (secret, false),
        (artifact(ArtifactOp::ReadArtifact), false),
        (artifact(ArtifactOp::StoreArtifact), false),
        (AuditRequest::Others, true),
    ] {
        let entry = |verdict| AuditEntry {
            request: request.clone(),
            verdict,
            rule: "r".to_owned(),
            count: 1,
            grant: None,
            status: None,
        };
        assert_eq!(
            changed(&[entry(AuditVerdict::Allowed)]),
            expected,
            "{request}"
        );
        assert!(!changed(&[entry(AuditVerdict::Denied)]), "{request}");
    }
}
