//! Remembered approvals and the continuation key.

use super::Backend;
use crate::{ProjectApproval, approval_id, stored_approval::MAX_APPROVALS, tests::text};
use agent_host_types::{
    approval::ApprovalRule,
    id::{Digest, SessionId},
};
use pretty_assertions::assert_eq;

pub(in crate::tests) fn approval(project: &str, tool: &str, session: SessionId) -> ProjectApproval {
    ProjectApproval {
        project: project.to_owned(),
        rule: ApprovalRule {
            tool: tool.to_owned(),
            identity: Digest::of(tool.as_bytes()),
            input_digest: None,
            pattern: None,
        },
        session,
        at_ms: 7,
    }
}

pub(super) async fn approval_holds_in_its_project_until_revoked(backend: &impl Backend) {
    let (store, other) = (backend.open().await, backend.open().await);
    assert_eq!(store.approvals(None).await.unwrap(), []);
    let (here, there) = ("/here/agent.toml", "/there");
    let session = SessionId::new();
    let all = [
        approval(here, "a", session),
        approval(here, "b", session),
        approval(there, "a", session),
    ];
    store.remember_approvals(all[..2].to_vec()).await.unwrap();
    other.remember_approvals(all[2..].to_vec()).await.unwrap();
    // Remembered once, however often it is given.
    let again = approval(here, "a", SessionId::new());
    store.remember_approvals(vec![again]).await.unwrap();
    assert_eq!(store.approvals(None).await.unwrap(), all);
    for (project, expected) in [(here, &all[..2]), (there, &all[2..]), ("/her", &[])] {
        let of_project = store.approvals(Some(project.to_owned())).await;
        assert_eq!(of_project.unwrap(), expected, "{project}");
    }
    assert_eq!(all[0].id(), approval_id(here, &all[0].rule));
    assert_eq!(all[0].id().len(), 12);
    // A revocation is in force at the next read of every process.
    other.revoke_approvals(all[..1].to_vec()).await.unwrap();
    assert_eq!(store.approvals(None).await.unwrap(), all[1..]);
    store.revoke_approvals(all.to_vec()).await.unwrap();
    assert_eq!(other.approvals(None).await.unwrap(), []);
}

pub(super) async fn approvals_by_many_writers_are_all_kept(backend: &impl Backend) {
    let store = backend.open().await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let store = backend.open().await;
        writers.spawn(async move {
            for n in 0..5 {
                let approval = approval("/p", &format!("{writer}-{n}"), SessionId::new());
                store.remember_approvals(vec![approval]).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    assert_eq!(store.approvals(None).await.unwrap().len(), 20);
}

pub(super) async fn approvals_are_bounded(backend: &impl Backend) {
    let store = backend.open().await;
    let session = SessionId::new();
    let approvals: Vec<_> = (0..MAX_APPROVALS)
        .map(|n| approval("/p", &n.to_string(), session))
        .collect();
    store.remember_approvals(approvals.clone()).await.unwrap();
    let more = approval("/p", "more", session);
    assert_eq!(
        text(store.remember_approvals(vec![more]).await),
        "cannot remember the approval: the maximum of 2048 remembered approvals is reached; revoke some with \
         `agent-host approvals revoke`"
    );
    assert_eq!(store.approvals(None).await.unwrap(), approvals);
}

pub(super) async fn continuation_key_is_the_same_for_every_store(backend: &impl Backend) {
    let key = backend.open().await.continuation_key().await.unwrap();
    assert_ne!(key, [0; 32]);
    assert_eq!(backend.open().await.continuation_key().await.unwrap(), key);
}
