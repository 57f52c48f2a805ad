use super::{ApprovalFile, approval_id};
use agent_host_core::{
    id::{Digest, SessionId},
    policy::ApprovalRule,
};
use pretty_assertions::assert_eq;
use std::{os::unix::fs::PermissionsExt as _, path::Path};
use tempfile::TempDir;

fn rule(tool: &str) -> ApprovalRule {
    ApprovalRule {
        tool: tool.to_owned(),
        identity: Digest::of(tool.as_bytes()),
        input_digest: None,
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn approval_rule_lasts_in_its_project_until_removed() {
    let dir = TempDir::new().unwrap();
    let state = dir.path().join("state");
    let file = ApprovalFile::of(&state);
    let (here, there) = (Path::new("/here/agent.toml"), Path::new("/there"));
    let session = SessionId::new();
    assert_eq!(file.read().unwrap(), []);
    file.add(here, session, vec![rule("a"), rule("b")]).unwrap();
    file.add(there, session, vec![rule("a")]).unwrap();
    // Remembered once, however often it is given.
    file.add(here, SessionId::new(), vec![rule("a")]).unwrap();
    assert_eq!(file.rules(here).unwrap(), [rule("a"), rule("b")]);
    assert_eq!(file.rules(there).unwrap(), [rule("a")]);
    assert_eq!(file.rules(Path::new("/")).unwrap(), []);
    let all = file.read().unwrap();
    let kept: Vec<_> = all
        .iter()
        .map(|approval| (approval.project.as_path(), approval.session, approval.id()))
        .collect();
    let id = |project: &Path, tool| approval_id(&project.to_string_lossy(), &rule(tool));
    assert_eq!(
        kept,
        [
            (here, session, id(here, "a")),
            (here, session, id(here, "b")),
            (there, session, id(there, "a")),
        ]
    );
    file.remove(&all[..1]).unwrap();
    assert_eq!(file.rules(here).unwrap(), [rule("b")]);
    assert_eq!(file.rules(there).unwrap(), [rule("a")]);
    assert_eq!((mode(&state), mode(&file.file.path)), (0o700, 0o600));
}

/// Writers take turns, so that none writes back what another took out.
#[test]
fn entry_file_concurrent_changes_are_kept() {
    let dir = TempDir::new().unwrap();
    let file = ApprovalFile::of(dir.path());
    let project = Path::new("/p");
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let file = &file;
            scope.spawn(move || {
                for n in 0..5 {
                    let rules = vec![rule(&format!("{writer}-{n}"))];
                    file.add(project, SessionId::new(), rules).unwrap();
                }
            });
        }
    });
    assert_eq!(file.rules(project).unwrap().len(), 20);
}

#[test]
fn approval_file_untrusted_is_refused() {
    let dir = TempDir::new().unwrap();
    let file = ApprovalFile::of(dir.path());
    let refused = |text: &str| {
        std::fs::write(&file.file.path, text).unwrap();
        let added = file.add(Path::new("/p"), SessionId::new(), vec![rule("a")]);
        let error = file.read().unwrap_err().to_string();
        assert_eq!(added.unwrap_err().to_string(), error);
        // It stays as it was.
        assert_eq!(std::fs::read_to_string(&file.file.path).unwrap(), text);
        error.replace(&dir.path().display().to_string(), "STATE")
    };
    assert_eq!(
        refused("{"),
        "cannot use STATE/approvals.json: EOF while parsing an object at line 1 column 1; delete it, and you are asked again"
    );
    assert_eq!(
        refused(r#"{"version": 2, "approvals": []}"#),
        "cannot use STATE/approvals.json: it has version 2, and this program reads version 1; delete it, and you are asked \
         again"
    );
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(&file.file.path, open).unwrap();
    let error = refused(r#"{"version": 1, "approvals": []}"#);
    assert!(
        error.starts_with("cannot read the remembered approvals in STATE/approvals.json: every user of this machine may write to it (mode 0666)"),
        "{error}"
    );
}
