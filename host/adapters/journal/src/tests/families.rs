//! Families of sessions: one that another program made that of an agent belongs to no other owner.

use super::{
    check::Place,
    input,
    suite::{families::started, owners::store_owned, transfer::exported},
};
use crate::{JournalStore, Ownership};
use agent_host_types::id::SessionId;
use pretty_assertions::assert_eq;

/// Stores a session of a project.
async fn stored(store: &dyn JournalStore, project: &str) -> SessionId {
    let ownership = Ownership {
        project: project.to_owned(),
        owner: None,
    };
    let events = vec![started(None), input(project)];
    store_owned(store, SessionId::new(), Some(ownership), events).await
}

/// The statement that makes a session that of an agent of another one.
fn adopt(parent: SessionId, session: SessionId) -> String {
    format!("UPDATE sessions SET parent = '{parent}' WHERE id = '{session}'")
}

#[tokio::test]
async fn session_of_another_owner_is_not_taken_for_that_of_an_agent() {
    for place in Place::all() {
        let store = place.open().await;
        let (root, other) = (
            stored(store.as_store(), "/here").await,
            stored(store.as_store(), "/there").await,
        );
        place.change(&adopt(root, other)).await;
        let file = exported(store.as_store(), root).await;
        let file = String::from_utf8(file).unwrap();
        assert!(!file.contains("/there") && file.contains("/here"), "{file}");
        store.delete(root).await.unwrap();
        let left: Vec<SessionId> = store.list().await.unwrap().iter().map(|s| s.id).collect();
        assert_eq!(left, [other]);
        store.delete(other).await.unwrap();
        // Nor does it hold up its own removal.
        let (root, other) = (
            stored(store.as_store(), "/here").await,
            stored(store.as_store(), "/there").await,
        );
        place.change(&adopt(root, other)).await;
        store.delete(other).await.unwrap();
        assert_eq!(store.list().await.unwrap().len(), 1);
    }
}
